//! Ten programs over std's own types, as they are: as programs and as tests.
//!
//! What is right is known from what std promises. The same tests run with data races looked for and
//! not, and none of them has a race.

mod rust_crates;

use rust_crates::Crate;
use serde_json::Value;

const USES: &str =
    "use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, OnceLock, RwLock};\nuse std::thread;\n";

/// The kind of a violation and its preemptions.
type Violation = (&'static str, u64);

/// Name, body, and what fails.
const TEN: [(&str, &str, Option<Violation>); 10] = [
    (
        "mpsc",
        r#"let (s, r) = mpsc::channel(); let t = thread::spawn(move || { s.send(1).unwrap(); s.send(2).unwrap(); }); assert_eq!(r.recv().unwrap() + r.recv().unwrap(), 3); t.join().unwrap();"#,
        None,
    ),
    (
        "mutex",
        r#"let m = Arc::new(Mutex::new(0)); let n = m.clone(); let t = thread::spawn(move || *n.lock().unwrap() += 1); *m.lock().unwrap() += 1; t.join().unwrap(); assert_eq!(*m.lock().unwrap(), 2);"#,
        None,
    ),
    (
        "condvar",
        r#"let p = Arc::new((Mutex::new(false), Condvar::new())); let q = p.clone(); let t = thread::spawn(move || { *q.0.lock().unwrap() = true; q.1.notify_one(); }); let mut g = p.0.lock().unwrap(); while !*g { g = p.1.wait(g).unwrap(); } drop(g); t.join().unwrap();"#,
        None,
    ),
    (
        "lost_signal",
        r#"let p = Arc::new((Mutex::new(false), Condvar::new())); let q = p.clone(); let t = thread::spawn(move || { q.1.notify_one(); *q.0.lock().unwrap() = true; }); let mut g = p.0.lock().unwrap(); while !*g { g = p.1.wait(g).unwrap(); } drop(g); t.join().unwrap();"#,
        Some(("deadlock", 1)),
    ),
    (
        "lock_order",
        r#"let a = Arc::new((Mutex::new(0), Mutex::new(0))); let b = a.clone(); let t = thread::spawn(move || { let _x = b.1.lock().unwrap(); let _y = b.0.lock().unwrap(); }); { let _x = a.0.lock().unwrap(); let _y = a.1.lock().unwrap(); } t.join().unwrap();"#,
        Some(("deadlock", 1)),
    ),
    (
        "once",
        r#"static O: OnceLock<u32> = OnceLock::new(); let t = thread::spawn(|| *O.get_or_init(|| 1)); let a = *O.get_or_init(|| 2); assert_eq!(t.join().unwrap(), a);"#,
        None,
    ),
    (
        "rw",
        r#"let l = Arc::new(RwLock::new(0)); let m = l.clone(); let t = thread::spawn(move || *m.write().unwrap() += 1); let _r = *l.read().unwrap(); t.join().unwrap(); assert_eq!(*l.read().unwrap(), 1);"#,
        None,
    ),
    (
        "scope",
        r#"let mut v = vec![1, 2]; thread::scope(|s| { for x in v.iter_mut() { s.spawn(move || *x += 1); } }); assert_eq!(v, [2, 3]);"#,
        None,
    ),
    (
        "park",
        r#"let me = thread::current(); let t = thread::spawn(move || me.unpark()); thread::park(); t.join().unwrap();"#,
        None,
    ),
    (
        "barrier",
        r#"let b = Arc::new(Barrier::new(2)); let c = b.clone(); let t = thread::spawn(move || { c.wait(); }); b.wait(); t.join().unwrap();"#,
        None,
    ),
];

/// The names that no program here uses are no errors.
fn quiet() -> &'static str {
    "#![allow(unused)]\n"
}

fn check(name: &str, value: &Value, right: Option<(&str, u64)>) {
    match right {
        None => {
            let verdict = value["verdict"].as_str().unwrap_or_default();
            assert!(verdict.starts_with("holds"), "{name}: {value}");
            // Something was interleaved.
            assert!(value["executions"].as_u64() > Some(1), "{name}: {value}");
            // Whatever the time, the first bounds are finished.
            assert!(verdict == "holds" || value["bound"].as_u64() >= Some(1), "{name}: {value}");
        }
        Some((kind, preemptions)) => {
            assert_eq!(value["verdict"], "violated", "{name}: {value}");
            assert_eq!(value["violation"]["kind"], kind, "{name}: {value}");
            assert_eq!(value["violation"]["preemptions"], preemptions, "{name}: {value}");
        }
    }
}

fn tests() -> Crate {
    let mut text = format!("{}{USES}", quiet());
    for (name, body, _) in TEN {
        text.push_str(&format!("#[test]\nfn {name}() {{ {body} }}\n"));
    }
    Crate::library(&text)
}

#[test]
fn as_tests() {
    let subject = tests();
    for more in [&[][..], &["--races", "off"]] {
        let mut words = vec!["test", "--", "--json", "--time", "8s"];
        words.extend(more);
        let ended = subject.run(&words);
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        assert_eq!(ended.tests().len(), TEN.len());
        for (name, _, right) in TEN {
            let value = ended.test(name);
            check(name, &value, right);
            let said = value["notes"].to_string().contains("races were not looked for");
            assert_eq!(said, !more.is_empty(), "{value}");
        }
    }
}

#[test]
fn as_programs() {
    let mut text = format!("{}{USES}fn main() {{\n", quiet());
    text.push_str("match std::env::args().nth(1).as_deref() {\n");
    for (name, body, _) in TEN {
        text.push_str(&format!("Some({name:?}) => {{ {body} }}\n"));
    }
    text.push_str("_ => {}\n}\n}\n");
    let subject = Crate::new("", &[("src/main.rs", &text)]);
    for (name, _, right) in TEN {
        let ended = subject.run(&["run", "--", "--json", "--time", "5s", "--", name]);
        let value = ended.test("subject");
        check(name, &value, right);
        assert_eq!(ended.code, i32::from(right.is_some()), "{name}: {}", ended.stderr);
    }
}
