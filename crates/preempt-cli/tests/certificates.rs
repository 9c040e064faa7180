//! Certificates on the command line: what is written, what is accepted, and the exit codes.

mod c_programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn model(name: &str) -> PathBuf {
    c_programs::root().join("models").join(name)
}

fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("certificates");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder.join(name)
}

fn preempt(words: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_preempt"));
    words.iter().for_each(|word| _ = command.arg(word));
    command.output().expect("preempt runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Checks the model with these options, and then its certificate; the exit codes.
fn certify(model: &Path, certificate: &Path, options: &[&str]) -> (Option<i32>, Option<i32>) {
    let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> =
        vec![&"check", &model, &"-q", &"--certificate", &certificate];
    options.iter().for_each(|option| words.push(option));
    let answer = preempt(&words);
    let checked = preempt(&[&"check-certificate", &certificate, &model]);
    (answer.status.code(), checked.status.code())
}

#[test]
fn answers_are_certified() {
    let rows: &[(&str, &[&str], i32)] = &[
        ("boolean/bluetooth-1-1.bp", &[], 0),
        ("boolean/recursive-lock.bp", &[], 0),
        ("boolean/recursive-lock-broken.bp", &[], 1),
        ("boolean/recursive-lock-broken.bp", &["--bound", "2"], 1),
        ("boolean/bluetooth-2-2.bp", &["--method", "lazy", "--iterate"], 1),
        ("boolean/workers.bp", &[], 1),
        ("boolean/ask-and-unwind.pds", &[], 1),
        ("lost_update.pml", &[], 1),
        ("philosophers.pml", &["--iterate"], 1),
        ("traffic_light_starving.pml", &[], 1),
    ];
    for (number, (name, options, verdict)) in rows.iter().enumerate() {
        let certificate = file(&format!("{number}.cert"));
        let codes = certify(&model(name), &certificate, options);
        assert_eq!(codes, (Some(*verdict), Some(0)), "{name} {options:?}");
    }
}

#[test]
fn a_certificate_of_something_else_proves_nothing() {
    let certificate = file("lock.cert");
    let lock = model("boolean/recursive-lock.bp");
    assert_eq!(certify(&lock, &certificate, &[]), (Some(0), Some(0)));
    let broken = model("boolean/recursive-lock-broken.bp");
    let refused = preempt(&[&"check-certificate", &certificate, &broken]);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));

    let trace = file("lost.cert");
    assert_eq!(certify(&model("lost_update.pml"), &trace, &[]), (Some(1), Some(0)));
    let refused = preempt(&[&"check-certificate", &trace, &model("peterson.pml")]);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    let text = std::fs::read_to_string(&trace).expect("the trace");
    let other = file("other.cert");
    std::fs::write(&other, text.replace("assertion violated", "something else")).expect("a file");
    let refused = preempt(&[&"check-certificate", &other, &model("lost_update.pml")]);
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
}

#[test]
fn what_cannot_be_read_is_no_certificate() {
    let lock = model("boolean/recursive-lock.bp");
    let damaged = file("damaged.cert");
    for text in ["", "{}", "certificate", "{\"preempt_certificate\":2}"] {
        std::fs::write(&damaged, text).expect("a file");
        for model in [&lock, &model("peterson.pml")] {
            let refused = preempt(&[&"check-certificate", &damaged, model]);
            assert_eq!(refused.status.code(), Some(2), "{text}: {}", said(&refused));
        }
    }
    let refused = preempt(&[&"check-certificate", &file("missing.cert"), &lock]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
}

#[test]
fn an_answer_without_a_certificate_says_so() {
    let certificate = file("none.cert");
    for (name, options) in [
        ("peterson.pml", &[][..]),
        ("boolean/recursive-lock.bp", &["--switches", "1"]),
        ("boolean/wide-64-any.bp", &[]),
    ] {
        std::fs::write(&certificate, "of another answer").expect("a file");
        let model = model(name);
        let mut words: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"check", &model, &"-q", &"--certificate", &certificate];
        options.iter().for_each(|option| words.push(option));
        let answer = preempt(&words);
        assert_eq!(answer.status.code(), Some(0), "{name}: {}", said(&answer));
        assert!(said(&answer).contains("was not written: "), "{name}: {}", said(&answer));
        assert!(!certificate.exists(), "{name}");
    }
}

#[test]
fn automata_are_compared_with_their_formulas() {
    let automaton = file("response.hoa");
    let formula = "[] (p -> <> q)";
    let written = preempt(&[&"ltl", &formula, &"--certificate", &automaton]);
    assert_eq!(written.status.code(), Some(0), "{}", said(&written));
    for (other, code) in [
        (formula, 0),
        ("[] (!p || <> q)", 0),
        ("! <> (p && [] !q)", 0),
        ("[] (q -> <> p)", 1),
        ("[] (p -> <> r)", 1),
        ("[] (p ->", 2),
    ] {
        let checked = preempt(&[&"check-certificate", &automaton, &other]);
        assert_eq!(checked.status.code(), Some(code), "{other}: {}", said(&checked));
    }
}
