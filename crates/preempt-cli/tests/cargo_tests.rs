//! `preempt cargo test`: what tests mean, which are chosen, what is shown, and inputs that are wrong.

mod rust_crates;

use rust_crates::{Crate, Ended};
use serde_json::Value;

const USES: &str = "use std::sync::{Arc, atomic::{AtomicUsize, Ordering::*}};\nuse std::thread;\n";

/// An update that another thread may overwrite.
const LOST: &str = r#"#[test]
fn lost() {
    let visits = Arc::new(AtomicUsize::new(0));
    let theirs = visits.clone();
    let other = thread::Builder::new().name("visitor".into()).spawn(move || {
        let seen = theirs.load(SeqCst);
        theirs.store(seen + 1, SeqCst);
    });
    let seen = visits.load(SeqCst);
    visits.store(seen + 1, SeqCst);
    other.unwrap().join().unwrap();
    assert_eq!(visits.load(SeqCst), 2, "a visit is lost");
}
"#;

fn verdict(value: &Value) -> &str {
    value["verdict"].as_str().unwrap_or_default()
}

#[test]
fn what_tests_mean_stays() {
    let text = format!(
        r#"{USES}
        #[test] fn alone() {{ assert_eq!(1 + 1, 2); }}
        #[test] #[should_panic] fn panics() {{ thread::spawn(|| panic!("inner")).join().unwrap(); }}
        #[test] #[should_panic(expected = "boom")] fn booms() {{ panic!("a boom"); }}
        #[test] #[should_panic(expected = "boom")] fn other() {{ panic!("another"); }}
        #[test] #[should_panic] fn silent() {{ }}
        #[test] fn good() -> Result<(), String> {{ Ok(()) }}
        #[test] fn bad() -> Result<(), String> {{ Err("no".into()) }}
        #[test] fn caught() {{ assert!(std::panic::catch_unwind(|| panic!("x")).is_err()); }}
        #[test] fn poisoned() {{
            let m = Arc::new(std::sync::Mutex::new(1));
            let n = m.clone();
            let t = thread::spawn(move || {{ let _g = n.lock().unwrap(); panic!("in the lock"); }});
            assert!(t.join().is_err());
            assert!(m.is_poisoned() && m.lock().is_err());
        }}
        #[test] fn joined() {{ thread::spawn(|| panic!("the cause")).join().unwrap(); }}
        thread_local! {{ static LOCAL: Dropped = const {{ Dropped }}; }}
        struct Dropped;
        static DROPS: AtomicUsize = AtomicUsize::new(0);
        impl Drop for Dropped {{ fn drop(&mut self) {{ DROPS.fetch_add(1, SeqCst); }} }}
        #[test] fn locals_are_dropped() {{
            thread::spawn(|| LOCAL.with(|_| ())).join().unwrap();
            assert_eq!(DROPS.load(SeqCst), 1);
        }}
        #[test] fn scoped() {{
            let mut n = 1;
            thread::scope(|s| {{ s.spawn(|| n += 1); }});
            assert_eq!(n, 2);
        }}
        #[test] fn left_alone() {{
            let (go, wait) = (Arc::new(std::sync::Barrier::new(2)), thread::current());
            let theirs = go.clone();
            let _ = thread::spawn(move || {{ if wait.name().is_some() {{ panic!("too early"); }} theirs.wait(); }});
            go.wait();
        }}
        #[test] fn overflows() {{ let big = std::hint::black_box(255u8); let _ = big + 1; }}
        "#
    );
    let ended = Crate::library(&text).run(&["test", "--", "--json"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let holds =
        ["alone", "panics", "booms", "good", "caught", "poisoned", "locals_are_dropped", "scoped"];
    for name in holds {
        let value = ended.test(name);
        assert!(verdict(&value).starts_with("holds"), "{value}");
    }
    let violated = [
        ("other", "does not contain"),
        ("silent", "did not panic"),
        ("bad", "non-zero"),
        ("joined", "the cause"),
        ("left_alone", "panicked at src/lib.rs"),
        ("overflows", "overflow"),
    ];
    for (name, part) in violated {
        let value = ended.test(name);
        assert_eq!(verdict(&value), "violated", "{value}");
        let message = value["violation"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{name}: {message}");
        assert_eq!(value["violation"]["file"], "src/lib.rs", "{value}");
    }
    let alone = ended.test("alone");
    assert_eq!((verdict(&alone), &alone["executions"]), ("holds", &Value::from(1)));
}

#[test]
fn a_lost_update_is_told_for_people() {
    let subject = Crate::library(&format!("{USES}{LOST}"));
    let ended = subject.run(&["test"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    for part in [
        "test lost ... VIOLATED (1 preemption, ",
        "visitor 1",
        "8 load theirs -> 0",
        "9 store theirs = 1",
        "assertion `left == right` failed: a visit is lost, left: 1, right: 2 at src/lib.rs:14",
        "preemption 1",
        "preempt result: VIOLATED. 0 hold, 0 hold within a bound, 1 violated, 0 inconclusive, 0 ignored",
    ] {
        let part = part.replace("theirs", "visits");
        let seen = ended.stdout.contains(&part)
            || ended.stdout.contains(&part.replace("visits", "theirs"));
        assert!(seen, "{part}\n{}", ended.stdout);
    }
    // Nothing of std's own is shown.
    assert!(
        !ended.stdout.contains("atomic.rs") && !ended.stdout.contains("ThreadId"),
        "{}",
        ended.stdout
    );
    // The command that is printed repeats it.
    let line =
        ended.stdout.lines().find_map(|line| line.strip_prefix("repeat it:  preempt cargo "));
    let words: Vec<&str> = line.expect("a command").split(' ').collect();
    let again = subject.run(&words);
    assert_eq!(again.code, 1, "{}", again.stdout);
    assert!(again.stdout.contains("a visit is lost"), "{}", again.stdout);
    // A schedule is of one test.
    let all = format!("{USES}{LOST}#[test] fn b() {{}}\n");
    let ended = Crate::library(&all).run(&["test", "--", "--replay", "p1.0x2"]);
    assert_eq!(ended.code, 2, "{}", ended.stdout);
    assert!(ended.stderr.contains("2 tests are selected"), "{}", ended.stderr);
}

/// The user's lines alone would not tell: scc 2.4.0 reads the number of entries of a bucket without the bucket's lock.
#[test]
fn a_race_inside_a_package_is_told_with_the_package_s_lines() {
    let text = "#[test] fn both_insert() {\n\
        let map = std::sync::Arc::new(scc::HashMap::new());\nlet theirs = map.clone();\n\
        let other = std::thread::spawn(move || theirs.insert(1, 1).is_ok());\n\
        assert!(map.insert(1, 2).is_ok() ^ other.join().unwrap()); }\n";
    let subject = Crate::new("[dependencies]\nscc = \"=2.4.0\"\n", &[("src/lib.rs", text)]);
    let report = subject.run(&["test", "--", "--json"]).test("both_insert");
    assert_eq!(report["violation"]["kind"], "data_race", "{report}");
    let message = report["violation"]["message"].as_str().unwrap_or_default();
    for place in [
        "at src/lib.rs:",
        "(in scc-2.4.0/src/hash_table.rs:",
        "(in scc-2.4.0/src/hash_table/bucket.rs:",
    ] {
        assert!(message.contains(place), "{message}");
    }
}

#[test]
fn a_race_in_unsafe_code_is_found() {
    let text = r#"
        use std::{cell::UnsafeCell, sync::Arc, thread};
        struct C(UnsafeCell<u32>);
        unsafe impl Sync for C {}
        #[test] fn races() {
            let c = Arc::new(C(UnsafeCell::new(0)));
            let d = c.clone();
            let t = thread::spawn(move || unsafe { *d.0.get() += 1 });
            unsafe { *c.0.get() += 1 };
            t.join().unwrap();
        }
    "#;
    let subject = Crate::library(text);
    let value = subject.run(&["test", "--", "--json"]).test("races");
    assert_eq!(value["violation"]["kind"], "data_race", "{value}");
    let message = value["violation"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("src/lib.rs:8") && message.contains("src/lib.rs:9"), "{message}");
    let value = subject.run(&["test", "--", "--json", "--races", "off"]).test("races");
    assert_eq!(verdict(&value), "holds", "{value}");
}

/// Memory with an atomic flag in it is made by one thread and looked into by another one, which has read its address
/// without acquiring it: the flag is found before it was initialised. The flag itself is acquired, so this takes a
/// preemption between publishing the address and setting the flag.
#[test]
fn looking_into_what_was_not_acquired_is_a_race() {
    let text = |order: &str| {
        format!(
            r#"{USES}
            use std::sync::atomic::{{AtomicBool, AtomicPtr}};
            struct Entry {{ present: AtomicBool, value: std::cell::UnsafeCell<u64> }}
            #[test] fn looks() {{
                let bucket = Arc::new(AtomicPtr::<Entry>::new(std::ptr::null_mut()));
                let theirs = bucket.clone();
                let t = thread::spawn(move || {{
                    let entry = Entry {{ present: AtomicBool::new(false), value: 0.into() }};
                    let entry = Box::into_raw(Box::new(entry));
                    theirs.store(entry, Release);
                    unsafe {{ *(*entry).value.get() = 7; (*entry).present.store(true, Release); }}
                }});
                let entry = bucket.load({order});
                if !entry.is_null() && unsafe {{ (*entry).present.load(Acquire) }} {{
                    assert_eq!(unsafe {{ *(*entry).value.get() }}, 7);
                }}
                t.join().unwrap();
                drop(unsafe {{ Box::from_raw(bucket.load(Relaxed)) }});
            }}"#
        )
    };
    let value = Crate::library(&text("Acquire")).run(&["test", "--", "--json"]).test("looks");
    assert_eq!(verdict(&value), "holds", "{value}");
    let value = Crate::library(&text("Relaxed")).run(&["test", "--", "--json"]).test("looks");
    assert_eq!(value["violation"]["kind"], "data_race", "{value}");
    assert_eq!(value["violation"]["preemptions"], 2, "{value}");
}

/// Slices are compared by a function of the C library, which reads both.
#[test]
fn comparing_slices_reads_them() {
    let text = r#"
        use std::{cell::UnsafeCell, sync::Arc, thread};
        struct C(UnsafeCell<[u8; 40]>);
        unsafe impl Sync for C {}
        #[test] fn compares() {
            let c = Arc::new(C(UnsafeCell::new([0; 40])));
            let d = c.clone();
            let t = thread::spawn(move || unsafe { (*d.0.get())[20] = 1 });
            let other = std::hint::black_box(vec![2u8; 40]);
            let _ = std::hint::black_box(unsafe { (&(*c.0.get()))[..] == other[..] });
            t.join().unwrap();
        }
    "#;
    let value = Crate::library(text).run(&["test", "--", "--json"]).test("compares");
    assert_eq!(value["violation"]["kind"], "data_race", "{value}");
}

#[test]
fn tests_are_chosen_as_with_libtest() {
    let text = "#[test] fn ab() {} #[test] fn abc() {} #[test] #[ignore] fn later() {}\n";
    let subject = Crate::library(text);
    let names = |words: &[&str]| {
        let mut all = vec!["test"];
        all.extend(words);
        all.extend(if words.contains(&"--") { &["--json"][..] } else { &["--", "--json"][..] });
        let names: Vec<String> = subject.run(&all).tests().into_iter().map(|(n, _)| n).collect();
        names.join(" ")
    };
    assert_eq!(names(&[]), "ab abc");
    assert_eq!(names(&["abc"]), "abc");
    assert_eq!(names(&["--lib", "ab"]), "ab abc");
    assert_eq!(names(&["ab", "--", "--exact"]), "ab");
    assert_eq!(names(&["--", "--skip", "abc"]), "ab");
    assert_eq!(names(&["--", "--ignored"]), "later");
    assert_eq!(names(&["--", "--include-ignored"]), "ab abc later");
    let ended = subject.run(&["test", "nowhere"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("nothing to check"), "{}", ended.stderr);
    let ended = subject.run(&["test", "nowhere", "--", "--json"]);
    assert_eq!((ended.code, verdict(&ended.tests()[0].1)), (2, "nothing"));
    // Ignored tests alone are nothing to check, either.
    assert_eq!(subject.run(&["test", "later"]).code, 2);
}

#[test]
fn workspaces_features_profiles_and_programs_as_tests() {
    let manifest = "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"2\"\n[workspace.package]\nversion = \"0.1.0\"\n[package]\nname = \"top\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let member = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
    };
    let subject = Crate::new(
        manifest,
        &[
            ("src/lib.rs", "#[test] fn top() {}"),
            ("a/Cargo.toml", &member("a", "[features]\nmore = []\n")),
            (
                "a/src/lib.rs",
                "#[cfg(feature = \"more\")] #[test] fn more() {} #[test] fn a() { assert!(cfg!(debug_assertions)); }",
            ),
            (
                "a/tests/it.rs",
                "#[test] fn whole() { assert_eq!(env!(\"CARGO_PKG_NAME\"), \"a\"); assert!(std::path::Path::new(\"here.txt\").exists()); }",
            ),
            ("a/here.txt", ""),
            (
                "b/Cargo.toml",
                &member(
                    "b",
                    "[[test]]\nname = \"own\"\nharness = false\n[build-dependencies]\nmaker = { path = \"../maker\" }\n[dependencies]\nmaker = { path = \"../maker\" }\nderive = { path = \"../derive\" }\n",
                ),
            ),
            (
                "b/build.rs",
                "fn main() { assert_eq!(maker::three(), 3); assert!(std::env::var_os(\"RUSTC_BOOTSTRAP\").is_none()); println!(\"cargo::rustc-env=MADE=yes\"); }",
            ),
            (
                "b/src/lib.rs",
                "#[test] fn made() { assert_eq!(env!(\"MADE\"), \"yes\"); assert_eq!(maker::three(), derive::three!()); }",
            ),
            (
                "b/tests/own.rs",
                "fn main() { let t = std::thread::spawn(|| ()); t.join().unwrap(); }",
            ),
            ("maker/Cargo.toml", &member("maker", "")),
            ("maker/src/lib.rs", "pub fn three() -> u32 { 3 }"),
            ("derive/Cargo.toml", &member("derive", "[lib]\nproc-macro = true\n")),
            (
                "derive/src/lib.rs",
                "#[proc_macro] pub fn three(_: proc_macro::TokenStream) -> proc_macro::TokenStream { \"3\".parse().unwrap() }",
            ),
        ],
    );
    let names = |words: &[&str]| {
        let mut all = vec!["test"];
        all.extend(words);
        all.extend(["--", "--json"]);
        let ended = subject.run(&all);
        let mut names: Vec<String> = ended
            .tests()
            .into_iter()
            .map(|(name, value)| {
                let verdict = verdict(&value);
                if verdict == "holds" { name } else { format!("{name}: {verdict} {value}") }
            })
            .collect();
        names.sort();
        assert!(!names.is_empty(), "{words:?}: {}", ended.stderr);
        names.join(" ")
    };
    assert_eq!(names(&[]), "top");
    assert_eq!(names(&["-p", "a"]), "a whole");
    assert_eq!(names(&["-p", "a", "--features", "more", "--lib"]), "a more");
    assert_eq!(names(&["--workspace"]), "a made own top whole");
    assert_eq!(names(&["--test", "it", "--workspace"]), "whole");
    let released = subject.run(&["test", "-p", "a", "--lib", "--release", "--", "--json"]);
    assert_eq!(verdict(&released.test("a")), "violated", "optimised: no debug assertions");
    let manifest = subject.path("a/Cargo.toml");
    let manifest = manifest.to_string_lossy();
    assert_eq!(names(&["--manifest-path", &manifest, "whole"]), "whole");
}

#[test]
fn schedules_are_kept_and_pages_written() {
    let subject = Crate::library(&format!("{USES}{LOST}"));
    let ended = subject.run(&["test", "--", "--export", "--html", "pages", "--trace", "traces"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stdout.contains("is executed first from now on"), "{}", ended.stdout);
    assert!(subject.path("preempt-schedules/subject--lost.schedule").is_file());
    let page = std::fs::read_to_string(subject.path("pages/subject--lost.html")).expect("a page");
    assert!(page.contains("a visit is lost"));
    assert!(subject.path("traces/subject--lost.json").is_file());
    let again = subject.run(&["test", "--", "--json"]).test("lost");
    assert_eq!(verdict(&again), "violated");
    assert_eq!(again["executions"], 1, "{again}");
    assert!(again["notes"].to_string().contains("before any search"), "{again}");
    // A schedule of what is mended does no harm.
    let mended = LOST
        .replace("let seen = theirs.load(SeqCst);", "")
        .replace("theirs.store(seen + 1, SeqCst)", "theirs.fetch_add(1, SeqCst)");
    let mended = mended.replace(
        "    let seen = visits.load(SeqCst);\n    visits.store(seen + 1, SeqCst);",
        "    visits.fetch_add(1, SeqCst);",
    );
    subject.write("src/lib.rs", &format!("{USES}{mended}"));
    assert_eq!(verdict(&subject.run(&["test", "--", "--json"]).test("lost")), "holds");
}

#[test]
fn wrong_inputs_get_one_sentence() {
    let broken = Crate::library("fn f() { let x: u32 = \"\"; }");
    let ended = broken.run(&["test"]);
    assert_eq!(ended.code, 2, "{}", ended.stdout);
    assert!(ended.stderr.contains("E0308"), "cargo's own message: {}", ended.stderr);
    let empty = Crate::library("pub fn f() {}");
    let ended = empty.run(&["test"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("nothing to check: no test is selected"), "{}", ended.stderr);
    for (words, part) in [
        (&["bench"][..], "no `cargo bench`"),
        (&["test", "--doc"], "documentation tests"),
        (&["test", "--target", "wasm32-unknown-unknown"], "only"),
        (&["test", "--", "--seed", "1"], "--seed needs"),
        (&["test", "--", "--search", "random", "--bound", "0"], "it keeps no --bound"),
        (&["test", "--", "--search", "random", "--stale", "1"], "it keeps no --bound"),
        (&["run", "--", "x"], "second --"),
    ] {
        let ended = empty.run(words);
        assert_eq!(ended.code, 2, "{words:?}");
        assert!(ended.stderr.contains(part), "{words:?}: {}", ended.stderr);
    }
    let nowhere = tempfile::tempdir().expect("a folder");
    let output =
        empty.command(&["test"]).current_dir(nowhere.path()).output().expect("preempt runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn unusual_crates_are_right_too() {
    // Without std in the library; tests have it.
    let bare = Crate::library(
        "#![no_std]\n#[cfg(test)] extern crate std;\n#[test] fn t() { std::thread::spawn(|| ()).join().unwrap(); }",
    );
    assert!(verdict(&bare.run(&["test", "--", "--json"]).test("t")).starts_with("holds"));
    // An allocator of its own, around the system's.
    let counting = format!(
        "{USES}use std::alloc::{{GlobalAlloc, Layout, System}};\nstruct A;\nstatic N: AtomicUsize = AtomicUsize::new(0);\nunsafe impl GlobalAlloc for A {{\n unsafe fn alloc(&self, l: Layout) -> *mut u8 {{ N.fetch_add(1, Relaxed); System.alloc(l) }}\n unsafe fn dealloc(&self, p: *mut u8, l: Layout) {{ System.dealloc(p, l) }}\n}}\n#[global_allocator] static GLOBAL: A = A;\n{LOST}"
    );
    let value = Crate::library(&counting).run(&["test", "--", "--json"]).test("lost");
    assert_eq!(
        (verdict(&value), &value["violation"]["kind"]),
        ("violated", &"assertion".into()),
        "{value}"
    );
    // A panic that aborts.
    let main = "use std::thread;\nfn main() { let t = thread::spawn(|| { panic!(\"at once\") }); let _ = t.join(); }";
    let aborting = Crate::new("[profile.dev]\npanic = \"abort\"\n", &[("src/main.rs", main)]);
    let value = aborting.run(&["run", "--", "--json"]).test("subject");
    assert_eq!(verdict(&value), "violated", "{value}");
    let message = value["violation"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("at once at src/main.rs:2"), "{message}");
    // A program that fails, and one that merely ends with a code.
    let failing = Crate::new(
        "",
        &[(
            "src/main.rs",
            "fn main() { assert!(std::env::args().count() > 1, \"no arguments\"); std::process::exit(7); }",
        )],
    );
    assert_eq!(verdict(&failing.run(&["run", "--", "--json"]).test("subject")), "violated");
    assert_eq!(verdict(&failing.run(&["run", "--", "--json", "--", "x"]).test("subject")), "holds");
    let strict = failing.run(&["run", "--", "--json", "--exit-code", "--", "x"]).test("subject");
    assert_eq!(strict["violation"]["kind"], "exit_code", "{strict}");
    // What reaches outside but has one thread is run as it is; with threads it is refused.
    let text = "#[test] fn asks() { let o = std::process::Command::new(\"true\").status(); assert!(o.unwrap().success()); }\n#[test] fn asks_late() { let o = std::process::Command::new(\"true\").status(); o.unwrap(); std::thread::spawn(|| ()).join().unwrap(); }";
    let ended = Crate::library(text).run(&["test", "--", "--json"]);
    let value = ended.test("asks");
    assert_eq!((verdict(&value), &value["executions"]), ("holds", &Value::from(1)), "{value}");
    let value = ended.test("asks_late");
    assert_eq!(verdict(&value), "inconclusive", "{value}");
}

/// With the precompiled std the first of these seems to be a deadlock, and the second one a race.
#[test]
fn without_an_instrumented_std_nothing_is_claimed() {
    let text = "use std::{sync::{Arc, RwLock}, thread};\n#[test] fn locked() { let l = Arc::new(RwLock::new(0)); let m = l.clone(); let t = thread::spawn(move || *m.write().unwrap() += 1); let _r = *l.read().unwrap(); t.join().unwrap(); }\n#[test] fn scoped() { let mut v = vec![1, 2]; thread::scope(|s| { for x in v.iter_mut() { s.spawn(move || *x += 1); } }); assert_eq!(v, [2, 3]); }\n#[test] fn alone() {}";
    let subject = Crate::library(text);
    let kept = tempfile::tempdir().expect("a folder");
    let run = || {
        let mut command = subject.command(&["test", "--", "--json"]);
        command.env("PREEMPT_RUNTIME_DIR", kept.path());
        Ended::of(&command.output().expect("preempt runs"))
    };
    assert_eq!(run().code, 0);
    let folders = std::fs::read_dir(kept.path()).expect("a folder").map(|e| e.expect("it").path());
    let mut parts = folders.filter(|folder| folder.join("std.o").is_file());
    let parts = parts.next().expect("an instrumented std");
    for part in ["std.o", "libtest.o"] {
        std::fs::remove_file(parts.join(part)).expect("it is there");
    }
    std::fs::write(parts.join("std.missing"), "there is no linker").expect("a file");
    // Programs are linked again where the compiler's own words have changed.
    std::fs::remove_dir_all(subject.path("target")).expect("a folder");
    let ended = run();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    for name in ["locked", "scoped"] {
        let value = ended.test(name);
        assert_eq!(verdict(&value), "inconclusive", "{value}");
        assert!(value["violation"].is_null(), "{value}");
        let claim = value["claim"].as_str().unwrap_or_default();
        assert!(claim.contains("std is not instrumented (there is no linker)"), "{value}");
        assert!(value["notes"].to_string().contains("rustup"), "{value}");
    }
    assert_eq!(verdict(&ended.test("alone")), "holds");
}

#[test]
fn cargo_finds_the_command_under_its_own_name() {
    let subject = Crate::library("#[test] fn a() {}");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_cargo-preempt"));
    command.args(["preempt", "test", "--", "--json"]).current_dir(subject.path(""));
    for (name, value) in subject.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let ended = rust_crates::Ended::of(&command.output().expect("cargo-preempt runs"));
    assert_eq!((ended.code, verdict(&ended.test("a"))), (0, "holds"), "{}", ended.stderr);
}

#[test]
fn calls_of_std_are_steps_and_locks_have_holders() {
    let subject = Crate::library(
        r#"
use std::sync::*;
#[test]
fn order() {
    let a = Arc::new((Mutex::new(0), RwLock::new(0)));
    let b = a.clone();
    let t = std::thread::spawn(move || {
        let _x = b.1.write().unwrap();
        let _y = b.0.lock().unwrap();
    });
    let _x = a.0.lock().unwrap();
    let _y = a.1.read().unwrap();
    drop((_x, _y));
    t.join().unwrap();
}
"#,
    );
    let ended = subject.run(&["test", "--", "--json", "--time", "5s"]);
    let value = ended.test("order");
    let violation = &value["violation"];
    assert_eq!(violation["kind"], "deadlock", "{value}");
    let waiting = violation["waiting"].as_array().expect("threads that wait");
    for (pid, other, words) in [
        (0, 1, ["RwLock::read at src/lib.rs:12", "has held since the step at src/lib.rs:8"]),
        (1, 0, ["Mutex::lock at src/lib.rs:9", "main has held since the step at src/lib.rs:11"]),
    ] {
        let row = waiting.iter().find(|row| row["pid"] == pid).expect("a row");
        assert_eq!(row["waits_for"], serde_json::json!([other]), "{row}");
        let reasons = row["reasons"].to_string();
        assert!(words.iter().all(|part| reasons.contains(part)), "{row}");
    }
    // Waiting for a lock takes std hundreds of steps.
    let steps = violation["trace"].as_array().expect("steps");
    assert!(steps.len() < 20, "{} steps", steps.len());
    let texts: Vec<&str> = steps.iter().filter_map(|step| step["text"].as_str()).collect();
    assert!(texts.iter().any(|text| text.starts_with("Mutex::lock (")), "{texts:?}");
}

#[test]
fn a_thread_with_an_impossible_stack_is_not_made() {
    let subject = Crate::library(
        "#[test]\nfn huge() { assert!(std::thread::Builder::new().stack_size(1 << 60).spawn(|| ()).is_err()); }\n",
    );
    let ended = subject.run(&["test", "--", "--json"]);
    assert_eq!(ended.test("huge")["verdict"], "holds", "{}", ended.stderr);
}

/// Time ends an execution wherever it is, and the answer says where that was; so does what cannot be explored.
#[test]
fn what_does_not_end_is_told_with_its_line() {
    let subject = Crate::library(
        "use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};\nuse std::thread;\n\
         #[test] fn counts() {\nstatic N: AtomicUsize = AtomicUsize::new(0);\n\
         thread::spawn(|| while N.fetch_add(1, SeqCst) < usize::MAX {}).join().unwrap();\n}\n\
         #[test] fn computes() {\n\
         thread::spawn(|| loop {\nstd::hint::black_box(7);\n}).join().unwrap();\n}\n\
         #[test] fn crowds() {\n\
         let all: Vec<_> = (0..300).map(|_|\nthread::spawn(|| ())).collect();\n\
         all.into_iter().for_each(|one| one.join().unwrap());\n}\n",
    );
    let ended = subject.run(&["test", "--", "--json", "--time", "2s", "--depth", "1000000000"]);
    for (name, words, places) in [
        ("counts", "while an execution of", &["src/lib.rs:5"][..]),
        ("computes", "while an execution of", &["src/lib.rs:8", "src/lib.rs:9"]),
        ("crowds", "more than 256 threads", &["src/lib.rs:14"]),
    ] {
        let value = ended.test(name);
        let claim = value["claim"].as_str().unwrap_or_default();
        assert_eq!(value["verdict"], "inconclusive", "{value}");
        assert!(claim.contains(words), "{name}: {claim}");
        assert!(places.iter().any(|place| claim.contains(place)), "{name}: {claim}");
    }
}
