//! Bugs put into published crates, one at a time, each looked for by one plain `#[test]` over std's own types.
//!
//! A copy of the crate gets one changed line and a version of its own, so that one crate of tests can depend on all copies. The
//! same tests run with the crates as they are, where nothing must be found.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sources::{Sources, copy};

/// A change.
struct Seed {
    krate: &'static str,
    version: &'static str,
    features: &'static str,
    file: &'static str,
    from: &'static str,
    /// Which of the places with this text, from 1.
    nth: usize,
    to: &'static str,
    what: &'static str,
    /// Which of [`TESTS`] looks for it.
    test: &'static str,
}

/// Bodies over a crate that is called `subject`.
const TESTS: &[(&str, &str)] = &[
    (
        "array_queue",
        "let q = Arc::new(subject::ArrayQueue::new(1)); let o = q.clone();
         let t = thread::spawn(move || { let _ = o.push(Box::new(5)); });
         if let Some(b) = q.pop() { assert_eq!(*b, 5); }
         let _ = q.push(Box::new(6)); t.join().unwrap();",
    ),
    (
        "array_queue_again",
        "let q = Arc::new(subject::ArrayQueue::new(1)); q.push(Box::new(5)).unwrap(); let o = q.clone();
         let t = thread::spawn(move || { if let Some(b) = o.pop() { assert!(*b == 5 || *b == 6); } });
         let _ = q.push(Box::new(6)); t.join().unwrap();",
    ),
    (
        "seg_queue",
        "let q = Arc::new(subject::SegQueue::new()); let o = q.clone();
         let t = thread::spawn(move || o.push(Box::new(5)));
         if let Some(b) = q.pop() { assert_eq!(*b, 5); }
         t.join().unwrap();",
    ),
    (
        "single",
        "let q = Arc::new(subject::ConcurrentQueue::bounded(1)); let o = q.clone();
         let t = thread::spawn(move || { let _ = o.push(Box::new(5)); });
         if let Ok(b) = q.pop() { assert_eq!(*b, 5); }
         t.join().unwrap();",
    ),
    (
        "bounded",
        "let q = Arc::new(subject::ConcurrentQueue::bounded(2)); let o = q.clone();
         let t = thread::spawn(move || { let _ = o.push(Box::new(5)); });
         if let Ok(b) = q.pop() { assert_eq!(*b, 5); }
         t.join().unwrap();",
    ),
    (
        "unbounded",
        "let q = Arc::new(subject::ConcurrentQueue::unbounded()); let o = q.clone();
         let t = thread::spawn(move || { let _ = o.push(Box::new(5)); });
         if let Ok(b) = q.pop() { assert_eq!(*b, 5); }
         t.join().unwrap();",
    ),
    (
        "shared",
        "let a = subject::Arc::new(vec![5]); let o = a.clone();
         let t = thread::spawn(move || { assert_eq!(o[0], 5); drop(o); });
         drop(a); t.join().unwrap();",
    ),
    (
        "shared_then_own",
        "let mut a = subject::Arc::new(vec![5]); let o = a.clone();
         let t = thread::spawn(move || { assert_eq!(o[0], 5); drop(o); });
         if let Some(own) = subject::Arc::get_mut(&mut a) { own[0] = 6; }
         t.join().unwrap();",
    ),
    (
        "of_threads",
        "let l = Arc::new(subject::ThreadLocal::new()); let o = l.clone();
         let t = thread::spawn(move || { o.get_or(|| Box::new(7)); });
         for seen in l.iter() { assert_eq!(**seen, 7); }
         t.join().unwrap();",
    ),
    (
        "once",
        "let c = Arc::new(subject::sync::OnceCell::new()); let o = c.clone();
         let t = thread::spawn(move || { let _ = o.set(Box::new(7)); });
         if let Some(seen) = c.get() { assert_eq!(**seen, 7); }
         t.join().unwrap();",
    ),
    (
        "once_box",
        "let c = Arc::new(subject::race::OnceBox::new()); let o = c.clone();
         let t = thread::spawn(move || { let _ = o.set(Box::new(7)); });
         if let Some(seen) = c.get() { assert_eq!(*seen, 7); }
         t.join().unwrap();",
    ),
    (
        "lock",
        "let m = Arc::new(subject::Mutex::new(0)); let o = m.clone();
         let t = thread::spawn(move || *o.lock() += 1);
         *m.lock() += 1; t.join().unwrap(); assert_eq!(*m.lock(), 2);",
    ),
    (
        "tickets",
        "let m = Arc::new(subject::mutex::TicketMutex::<_>::new(0)); let o = m.clone();
         let t = thread::spawn(move || *o.lock() += 1);
         *m.lock() += 1; t.join().unwrap(); assert_eq!(*m.lock(), 2);",
    ),
    (
        "readers",
        "let m = Arc::new(subject::RwLock::new(0)); let o = m.clone();
         let t = thread::spawn(move || *o.write() += 1);
         let seen = *m.read(); assert!(seen <= 1); *m.write() += 1; t.join().unwrap();",
    ),
    (
        "spin_once",
        "let c = Arc::new(subject::Once::new()); let o = c.clone();
         let t = thread::spawn(move || { o.call_once(|| Box::new(7)); });
         if let Some(seen) = c.get() { assert_eq!(**seen, 7); }
         t.join().unwrap();",
    ),
    (
        "parks",
        "let (p, u) = subject::pair();
         let t = thread::spawn(move || { u.unpark(); });
         p.park(); t.join().unwrap();",
    ),
    (
        "parks_in_utils",
        "let p = subject::sync::Parker::new(); let u = p.unparker().clone();
         let t = thread::spawn(move || u.unpark());
         p.park(); t.join().unwrap();",
    ),
    (
        "waits_for_all",
        "let w = subject::sync::WaitGroup::new(); let o = w.clone();
         let t = thread::spawn(move || drop(o));
         w.wait(); t.join().unwrap();",
    ),
    (
        "waker",
        "struct Count(AtomicUsize);
         impl std::task::Wake for Count { fn wake(self: Arc<Self>) { self.0.fetch_add(1, Ordering::Relaxed); } }
         let c = Arc::new(Count(AtomicUsize::new(0))); let waker: std::task::Waker = c.clone().into();
         let w = Arc::new(subject::AtomicWaker::new()); let o = w.clone();
         let ready = Arc::new(std::sync::atomic::AtomicBool::new(false)); let r = ready.clone();
         let t = thread::spawn(move || { r.store(true, Ordering::Relaxed); o.wake(); });
         w.register(&waker);
         let seen = ready.load(Ordering::Relaxed);
         t.join().unwrap();
         assert!(seen || c.0.load(Ordering::Relaxed) > 0);",
    ),
];

#[rustfmt::skip]
const SEEDS: &[Seed] = &[
    Seed { krate: "crossbeam-queue", version: "0.3.14", features: "", file: "src/array_queue.rs", nth: 1, test: "array_queue",
           from: "slot.stamp.store(tail + 1, Ordering::Release);", to: "slot.stamp.store(tail + 1, Ordering::Relaxed);",
           what: "`ArrayQueue::push` marks the slot without release" },
    Seed { krate: "crossbeam-queue", version: "0.3.14", features: "", file: "src/array_queue.rs", nth: 2, test: "array_queue",
           from: "let stamp = slot.stamp.load(Ordering::Acquire);", to: "let stamp = slot.stamp.load(Ordering::Relaxed);",
           what: "`ArrayQueue::pop` looks at the slot without acquire" },
    Seed { krate: "crossbeam-queue", version: "0.3.14", features: "", file: "src/array_queue.rs", nth: 1, test: "array_queue_again",
           from: ".store(head.wrapping_add(self.one_lap), Ordering::Release);", to: ".store(head.wrapping_add(self.one_lap), Ordering::Relaxed);",
           what: "`ArrayQueue::pop` frees the slot without release" },
    Seed { krate: "crossbeam-queue", version: "0.3.14", features: "", file: "src/seg_queue.rs", nth: 1, test: "seg_queue",
           from: "slot.state.fetch_or(WRITE, Ordering::Release);", to: "slot.state.fetch_or(WRITE, Ordering::Relaxed);",
           what: "`SegQueue::push` marks the slot without release" },
    Seed { krate: "crossbeam-queue", version: "0.3.14", features: "", file: "src/seg_queue.rs", nth: 1, test: "seg_queue",
           from: "while self.state.load(Ordering::Acquire) & WRITE == 0", to: "while self.state.load(Ordering::Relaxed) & WRITE == 0",
           what: "`SegQueue::pop` waits for the slot without acquire" },
    Seed { krate: "concurrent-queue", version: "2.5.0", features: "", file: "src/single.rs", nth: 1, test: "single",
           from: "self.state.fetch_and(!LOCKED, Ordering::Release);", to: "self.state.fetch_and(!LOCKED, Ordering::Relaxed);",
           what: "`push` unlocks the only slot without release" },
    Seed { krate: "concurrent-queue", version: "2.5.0", features: "", file: "src/single.rs", nth: 1, test: "single",
           from: ".compare_exchange(0, LOCKED | PUSHED, Ordering::SeqCst, Ordering::SeqCst)", to: ".compare_exchange(0, PUSHED, Ordering::SeqCst, Ordering::SeqCst)",
           what: "`push` marks the only slot as full before the value is there" },
    Seed { krate: "concurrent-queue", version: "2.5.0", features: "", file: "src/bounded.rs", nth: 2, test: "bounded",
           from: "slot.stamp.store(tail + 1, Ordering::Release);", to: "slot.stamp.store(tail + 1, Ordering::Relaxed);",
           what: "bounded `push` marks the slot without release" },
    Seed { krate: "concurrent-queue", version: "2.5.0", features: "", file: "src/unbounded.rs", nth: 1, test: "unbounded",
           from: "slot.state.fetch_or(WRITE, Ordering::Release);", to: "slot.state.fetch_or(WRITE, Ordering::Relaxed);",
           what: "unbounded `push` marks the slot without release" },
    Seed { krate: "triomphe", version: "0.1.17", features: "", file: "src/arc.rs", nth: 1, test: "shared",
           from: "self.inner().count.fetch_sub(1, Release) != 1", to: "self.inner().count.fetch_sub(1, Relaxed) != 1",
           what: "`drop` gives its count back without release" },
    Seed { krate: "triomphe", version: "0.1.17", features: "", file: "src/arc.rs", nth: 1, test: "shared_then_own",
           from: "this.inner().count.load(Acquire)", to: "this.inner().count.load(Relaxed)",
           what: "`get_mut` looks at the count without acquire" },
    Seed { krate: "thread_local", version: "1.1.10", features: "", file: "src/lib.rs", nth: 1, test: "of_threads",
           from: "entry.present.store(true, Ordering::Release);", to: "entry.present.store(true, Ordering::Relaxed);",
           what: "an entry is marked without release" },
    Seed { krate: "thread_local", version: "1.1.10", features: "", file: "src/lib.rs", nth: 1, test: "of_threads",
           from: "let bucket = bucket.load(Ordering::Acquire);", to: "let bucket = bucket.load(Ordering::Relaxed);",
           what: "an iterator takes a bucket without acquire" },
    Seed { krate: "once_cell", version: "1.21.4", features: "", file: "src/imp_std.rs", nth: 1, test: "once",
           from: "self.queue.swap(self.new_queue, Ordering::AcqRel);", to: "self.queue.swap(self.new_queue, Ordering::Acquire);",
           what: "the cell is completed without release" },
    Seed { krate: "once_cell", version: "1.21.4", features: "", file: "src/imp_std.rs", nth: 1, test: "once",
           from: "self.queue.load(Ordering::Acquire) == COMPLETE_PTR", to: "self.queue.load(Ordering::Relaxed) == COMPLETE_PTR",
           what: "`get` looks at the state without acquire" },
    Seed { krate: "once_cell", version: "1.21.4", features: "\"race\"", file: "src/race.rs", nth: 1, test: "once_box",
           from: "ptr::null_mut(),\n                ptr,\n                Ordering::Release,", to: "ptr::null_mut(),\n                ptr,\n                Ordering::Relaxed,",
           what: "`OnceBox::set` publishes without release" },
    Seed { krate: "spin", version: "0.9.9", features: "", file: "src/mutex/spin.rs", nth: 2, test: "lock",
           from: "self.lock.store(false, Ordering::Release);", to: "self.lock.store(false, Ordering::Relaxed);",
           what: "the guard of a spin lock unlocks without release" },
    Seed { krate: "spin", version: "0.9.9", features: "\"ticket_mutex\"", file: "src/mutex/ticket.rs", nth: 1, test: "tickets",
           from: "self.next_serving.store(new_ticket, Ordering::Release);", to: "self.next_serving.store(new_ticket, Ordering::Relaxed);",
           what: "the guard of a ticket lock unlocks without release" },
    Seed { krate: "spin", version: "0.9.9", features: "", file: "src/rwlock.rs", nth: 1, test: "readers",
           from: "            .fetch_and(!(WRITER | UPGRADED), Ordering::Release);", to: "            .fetch_and(!(WRITER | UPGRADED), Ordering::Relaxed);",
           what: "a writer unlocks without release" },
    Seed { krate: "spin", version: "0.9.9", features: "", file: "src/once.rs", nth: 1, test: "spin_once",
           from: "self.status.store(Status::Complete, Ordering::Release);", to: "self.status.store(Status::Complete, Ordering::Relaxed);",
           what: "`Once` is completed without release" },
    Seed { krate: "parking", version: "2.2.1", features: "", file: "src/lib.rs", nth: 1, test: "parks",
           from: "drop(self.lock.lock().unwrap());\n        self.cvar.notify_one();", to: "self.cvar.notify_one();",
           what: "`unpark` does not take the lock before it notifies" },
    Seed { krate: "crossbeam-utils", version: "0.8.23", features: "", file: "src/sync/parker.rs", nth: 1, test: "parks_in_utils",
           from: "drop(self.lock.lock().unwrap());\n        self.cvar.notify_one();", to: "self.cvar.notify_one();",
           what: "`unpark` does not take the lock before it notifies" },
    Seed { krate: "crossbeam-utils", version: "0.8.23", features: "", file: "src/sync/wait_group.rs", nth: 1, test: "waits_for_all",
           from: "self.inner.cvar.notify_all();", to: "",
           what: "the last `WaitGroup` does not notify" },
    Seed { krate: "atomic-waker", version: "1.1.2", features: "", file: "src/lib.rs", nth: 1, test: "waker",
           from: ".compare_exchange(REGISTERING, WAITING, AcqRel, Acquire);", to: ".compare_exchange(REGISTERING, WAITING, Acquire, Acquire);",
           what: "`register` makes the waker visible without release" },
];

/// The crates of the seeds, once each.
pub(crate) fn crates() -> Vec<(&'static str, &'static str)> {
    let mut crates: Vec<_> = SEEDS.iter().map(|seed| (seed.krate, seed.version)).collect();
    crates.sort_unstable();
    crates.dedup();
    crates
}

/// Runs all of them, and gives the table.
pub(crate) fn run(
    preempt: &Path,
    sources: &Sources,
    folder: &Path,
    seconds: u64,
) -> Result<String> {
    let folder = folder.join("seeded");
    let _ = fs::remove_dir_all(folder.join("tests"));
    for part in ["src", "tests"] {
        fs::create_dir_all(folder.join(part))?;
    }
    fs::write(folder.join("src/lib.rs"), "")?;
    let mut manifest = String::from(
        "[package]\nname = \"seeded\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\nexclude = [\"planted\"]\n[dependencies]\n",
    );
    for (number, seed) in SEEDS.iter().enumerate() {
        let from = sources.folder_of(seed.krate)?;
        let body = TESTS.iter().find(|(name, _)| *name == seed.test).context("no such test")?.1;
        for (kind, change) in [("right", None), ("seeded", Some(seed))] {
            let name = format!("{kind}_{number}");
            let to = folder.join("planted").join(&name);
            plant(from, &to, change, number, kind)?;
            let Seed { krate, features, .. } = seed;
            writeln!(
                manifest,
                "{name} = {{ path = \"planted/{name}\", package = {krate:?}, features = [{features}] }}"
            )?;
            let text = format!(
                "#![allow(unused_imports)]\nuse {name} as subject;\nuse std::sync::Arc;\n\
                 use std::sync::atomic::{{AtomicUsize, Ordering}};\nuse std::thread;\n\
                 #[test]\nfn {name}() {{\n    {body}\n}}\n"
            );
            fs::write(folder.join(format!("tests/{name}.rs")), text)?;
        }
    }
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let output = Command::new(preempt)
        .args(["cargo", "test", "--", "--json", "--time", &format!("{seconds}s")])
        .current_dir(&folder)
        .output()
        .context("preempt does not run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let reports: Vec<Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let report = |name: String| {
        let found = reports.iter().find(|report| report["test"] == name.as_str());
        found.with_context(|| format!("{name}: {}", String::from_utf8_lossy(&output.stderr)))
    };
    let mut table = String::from(
        "| crate | seed | found | preemptions | stale | executions | seconds | without the seed |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (number, seed) in SEEDS.iter().enumerate() {
        let found = report(format!("seeded_{number}"))?;
        let right = report(format!("right_{number}"))?;
        let violation = &found["violation"];
        writeln!(
            table,
            "| {} {} | {} | {} | {} | {} | {} | {:.2} | {}{} |",
            seed.krate,
            seed.version,
            seed.what,
            violation["kind"].as_str().unwrap_or("**not found**"),
            violation["preemptions"],
            violation["stale"],
            found["executions"],
            found["seconds"].as_f64().unwrap_or(0.0),
            right["verdict"].as_str().unwrap_or_default(),
            right["bound"].as_u64().map_or(String::new(), |bound| format!(" {bound}")),
        )?;
    }
    Ok(table)
}

/// Copies a crate, with a change and a version of its own.
fn plant(from: &Path, to: &Path, change: Option<&Seed>, number: usize, kind: &str) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    copy(from, to)?;
    let manifest = to.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    let at = text.find("\nversion = ").context("a manifest without a version")? + 1;
    let end = at + text[at..].find('\n').context("a manifest that ends there")?;
    // Copies of one crate must differ in their versions, and still satisfy what others ask for.
    let major = usize::from(kind == "right");
    let version = format!("version = \"{}.{number}.0\"", 100 + major);
    fs::write(manifest, format!("{}{version}{}", &text[..at], &text[end..]))?;
    let Some(seed) = change else { return Ok(()) };
    let path = to.join(seed.file);
    let text = fs::read_to_string(&path)?;
    let places: Vec<usize> = text.match_indices(seed.from).map(|(at, _)| at).collect();
    ensure!(places.len() >= seed.nth, "{}: {:?} is not there", seed.krate, seed.from);
    let at = places[seed.nth - 1];
    let (before, after) = (&text[..at], &text[at + seed.from.len()..]);
    Ok(fs::write(path, format!("{before}{}{after}", seed.to))?)
}
