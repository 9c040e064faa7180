//! Bugs that were published, each found by a plain `#[test]` over the version that has it.
//!
//! The versions are those before the fix; most are yanked. Cargo takes a yanked version only from a lock file, so that is where they
//! are named.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

struct Known {
    krate: &'static str,
    version: &'static str,
    features: &'static str,
    what: &'static str,
    test: &'static str,
}

impl Known {
    /// The name of its test.
    fn name(&self, number: usize) -> String {
        format!("{}_{number}", self.krate.replace('-', "_"))
    }
}

const KNOWN: &[Known] = &[
    Known {
        krate: "crossbeam-channel",
        version: "0.5.14",
        features: "",
        what: "RUSTSEC-2025-0024: memory is freed twice when the receiver is dropped during the first sends",
        test: "let (s, r) = crossbeam_channel::unbounded::<u32>();
            let other = s.clone();
            let a = thread::spawn(move || { let _ = s.send(1); });
            let b = thread::spawn(move || { let _ = other.send(2); });
            drop(r);
            a.join().unwrap();
            b.join().unwrap();",
    },
    Known {
        krate: "tokio",
        version: "1.13.0",
        features: "\"sync\"",
        what: "RUSTSEC-2021-0124: a oneshot channel that is closed is sent to and received from",
        test: "let (tx, mut rx) = tokio::sync::oneshot::channel::<Box<u32>>();
            let t = thread::spawn(move || { let _ = tx.send(Box::new(1)); });
            rx.close();
            let _ = rx.try_recv();
            t.join().unwrap();",
    },
    Known {
        krate: "thread_local",
        version: "1.1.3",
        features: "",
        what: "an iterator yields an entry that its size does not count yet: the size is negative",
        test: "let tl = Arc::new(thread_local::ThreadLocal::new());
            let other = tl.clone();
            let t = thread::spawn(move || { other.get_or(|| 7usize); });
            let seen: Vec<usize> = tl.iter().copied().collect();
            assert!(seen.iter().all(|&x| x == 7));
            t.join().unwrap();",
    },
    Known {
        krate: "thread_local",
        version: "1.1.3",
        features: "",
        what: "RUSTSEC-2022-0006: an iterator looks into a bucket whose address it has read without acquiring it",
        test: "let tl = Arc::new(thread_local::ThreadLocal::with_capacity(0));
            let other = tl.clone();
            let t = thread::spawn(move || { other.get_or(|| 7usize); });
            if let Some(seen) = tl.iter().next() { assert_eq!(*seen, 7); }
            t.join().unwrap();",
    },
    Known {
        krate: "spin",
        version: "0.9.7",
        features: "",
        what: "RUSTSEC-2023-0031: another thread waits for an initialisation that fails",
        test: "let once = Arc::new(spin::Once::<Box<u32>>::new());
            let other = once.clone();
            let t = thread::spawn(move || { let _ = other.try_call_once(|| Err::<Box<u32>, ()>(())); });
            assert_eq!(once.try_call_once(|| Ok::<_, ()>(Box::new(5))).map(|b| **b), Ok(5));
            t.join().unwrap();",
    },
    Known {
        krate: "oneshot",
        version: "0.1.10",
        features: "",
        what: "a receiver that was polled is dropped: it drops its waker after the sender may free the channel (0.1.11, too)",
        test: "struct Nothing;
            impl std::task::Wake for Nothing { fn wake(self: Arc<Self>) {} }
            let (tx, mut rx) = oneshot::channel::<u32>();
            let waker: std::task::Waker = Arc::new(Nothing).into();
            let mut context = std::task::Context::from_waker(&waker);
            assert!(std::future::Future::poll(std::pin::Pin::new(&mut rx), &mut context).is_pending());
            let t = thread::spawn(move || { let _ = tx.send(1); });
            drop(rx);
            t.join().unwrap();",
    },
    Known {
        krate: "internment",
        version: "0.3.12",
        features: "",
        what: "RUSTSEC-2020-0017: a reference is made while the last one is dropped",
        test: "let a = internment::ArcIntern::new(5usize);
            let t = thread::spawn(move || drop(a));
            let b = internment::ArcIntern::new(5usize);
            assert_eq!(*b, 5);
            drop(b);
            t.join().unwrap();",
    },
];

/// Runs all of them, and gives the table.
pub(crate) fn run(preempt: &Path, folder: &Path) -> Result<String> {
    let folder = folder.join("known");
    fs::create_dir_all(folder.join("src"))?;
    fs::create_dir_all(folder.join("tests"))?;
    fs::write(folder.join("src/lib.rs"), "")?;
    let mut manifest = String::from(
        "[package]\nname = \"known\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n",
    );
    for (number, known) in KNOWN.iter().enumerate() {
        let Known { krate, features, .. } = known;
        if !KNOWN[..number].iter().any(|earlier| earlier.krate == *krate) {
            writeln!(manifest, "{krate} = {{ version = \"*\", features = [{features}] }}")?;
        }
        let name = known.name(number);
        let uses = "#![allow(unused_imports)]\nuse std::sync::Arc;\nuse std::thread;\n";
        let text = format!("{uses}#[test]\nfn {name}() {{\n    {}\n}}\n", known.test);
        fs::write(folder.join(format!("tests/{name}.rs")), text)?;
    }
    fs::write(folder.join("Cargo.toml"), manifest)?;
    lock(&folder)?;
    let output = Command::new(preempt)
        .args(["cargo", "test", "--", "--json", "--time", "60s"])
        .current_dir(&folder)
        .output()
        .context("preempt does not run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut table = String::from(
        "## Known bugs\n\nPublished versions with a bug, each under one plain `#[test]` over std's own types.\n\n\
         | crate | bug | found | preemptions | executions | seconds |\n|---|---|---|---|---|---|\n",
    );
    for (number, known) in KNOWN.iter().enumerate() {
        let name = known.name(number);
        let mut tests = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found = tests.rfind(|test| test["test"] == name.as_str());
        let found = found.with_context(|| {
            format!("{name} was not run: {}", String::from_utf8_lossy(&output.stderr))
        })?;
        let violation = &found["violation"];
        let kind = violation["kind"].as_str().unwrap_or("**not found**");
        writeln!(
            table,
            "| {} {} | {} | {kind} | {} | {} | {:.2} |",
            known.krate,
            known.version,
            known.what,
            violation["preemptions"],
            found["executions"],
            found["seconds"].as_f64().unwrap_or(0.0)
        )?;
    }
    Ok(table)
}

/// Names the versions in the lock file.
fn lock(folder: &Path) -> Result<()> {
    let made = Command::new("cargo").arg("generate-lockfile").current_dir(folder).status()?;
    ensure!(made.success(), "cargo makes no lock file");
    let path = folder.join("Cargo.lock");
    let text = fs::read_to_string(&path)?;
    let mut packages: Vec<String> = text.split("[[package]]").map(str::to_string).collect();
    for known in KNOWN {
        let name = format!("name = \"{}\"\n", known.krate);
        for package in packages.iter_mut().filter(|package| package.contains(&name)) {
            let line = |line: &str| match line {
                line if line.starts_with("version") => {
                    Some(format!("version = \"{}\"", known.version))
                }
                // It belongs to the other version; cargo finds the right one.
                line if line.starts_with("checksum") => None,
                line => Some(line.to_string()),
            };
            *package = package.lines().filter_map(line).collect::<Vec<_>>().join("\n") + "\n\n";
        }
    }
    Ok(fs::write(path, packages.join("[[package]]"))?)
}
