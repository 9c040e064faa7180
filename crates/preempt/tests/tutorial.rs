//! What the README and the tutorial show of a failing test is what it prints.

#[allow(dead_code)]
#[path = "../examples/lost_update.rs"]
mod lost_update;

#[allow(dead_code)]
#[path = "../examples/visits_fixed.rs"]
mod visits_fixed;

use preempt::{Check, Outcome};

#[test]
fn the_documents_show_what_is_printed() {
    let report = Check::new().run(lost_update::visits_are_counted);
    let failure = report.failure().unwrap_or_else(|| panic!("{report}"));
    assert_eq!(failure.preemptions, 1);
    let printed = failure.to_string().replace("tests/../examples", "examples");
    for document in ["README.md", "docs/src/tutorial.md"] {
        let path = format!("{}/../../{document}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        for line in printed.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            assert!(text.lines().any(|l| l == line), "{document} lacks: {line}");
        }
    }
}

#[test]
fn the_fixed_test_is_proven() {
    let report = Check::new().strict().run(visits_fixed::visits_are_counted);
    assert!(matches!(report.outcome, Outcome::Holds), "{report}");
    let printed = report.to_string();
    let sentence = printed.split(", all explored").next().unwrap();
    let path = format!("{}/../../docs/src/find-fix-prove.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(sentence), "the chapter lacks: {sentence}");
}
