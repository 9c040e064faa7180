//! The HTML page.

use crate::examples::{self, source};
use preempt_report::{Page, Source, page};
use std::path::PathBuf;

/// Where pages for the browser and for people go.
pub(crate) fn output_folder() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("preempt-report");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

pub(crate) fn write(name: &str, claim: &preempt_core::Claim, sources: &[Source]) -> PathBuf {
    let text = page(&Page { title: name, claim, trace: None, sources, drawing: None });
    let path = output_folder().unwrap().join(format!("{name}.html"));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn nothing_from_the_model_becomes_markup() {
    let mut claim = examples::check_then_set();
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u{2028}{{data}}";
    claim.sentence = evil.into();
    claim.property = evil.into();
    let violation = claim.violation.as_mut().unwrap();
    violation.message = evil.into();
    violation.trace.steps[0].text = evil.into();
    violation.trace.steps[0].process = evil.into();
    violation.trace.initial.push((evil.into(), preempt_core::Value::Name(evil.into())));
    let sources = [source("lock.pml", evil)];
    let text =
        page(&Page { title: evil, claim: &claim, trace: None, sources: &sources, drawing: None });
    assert_eq!(text.matches("<script").count(), 2, "the island and the script");
    assert_eq!(text.matches("</script>").count(), 2);
    assert!(!text.contains("<img"));
    // The placeholder inside the data stayed data.
    assert_eq!(text.matches("id=\"data\"").count(), 1);
}

/// Under weak memory the page has what was read from where, and draws it.
#[test]
fn reads_from_is_in_the_page() {
    let claim = examples::message_passing();
    let text =
        page(&Page { title: "mp.rs", claim: &claim, trace: None, sources: &[], drawing: None });
    assert!(text.contains(r#""reads":[[2,1,-1],[3,-1,0]]"#), "step, source, newer write");
    assert!(text.contains("reads-svg") && text.contains("What was read from where"));
    let text = page(&Page {
        claim: &examples::protocol(),
        title: "p",
        trace: None,
        sources: &[],
        drawing: None,
    });
    assert!(text.contains(r#""reads":[]"#), "nothing to draw");
}

#[test]
fn the_page_loads_nothing() {
    let claim = examples::protocol();
    let sources = [source("protocol.pml", examples::PROTOCOL)];
    let text = page(&Page {
        title: "protocol.pml",
        claim: &claim,
        trace: None,
        sources: &sources,
        drawing: None,
    });
    for forbidden in ["<link", "src=", "@import", "url(http", "fetch(", "XMLHttpRequest", "{{"] {
        assert!(!text.contains(forbidden), "{forbidden}");
    }
    let addresses: Vec<&str> =
        text.match_indices("http").map(|(at, _)| &text[at..text.len().min(at + 26)]).collect();
    // The name of the SVG language and the policy that forbids loading are not addresses to load.
    assert!(
        addresses
            .iter()
            .all(|a| a.starts_with("http://www.w3.org/2000/svg") || a.starts_with("http-equiv")),
        "{addresses:?}"
    );
}

#[test]
fn the_island_is_json_and_says_the_claim() {
    let claim = examples::lasso();
    let text =
        page(&Page { title: "serve.pml", claim: &claim, trace: None, sources: &[], drawing: None });
    let (_, after) = text.split_once("id=\"data\">").unwrap();
    let (island, _) = after.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(island).unwrap();
    assert_eq!(data["claim"], claim.sentence);
    assert_eq!(data["cycle"], 2);
    assert_eq!(data["pid"].as_array().unwrap().len(), 4);
}

#[test]
fn a_hundred_thousand_steps_are_a_few_megabytes() {
    let claim = examples::long(100_000);
    let text =
        page(&Page { title: "long.pml", claim: &claim, trace: None, sources: &[], drawing: None });
    assert!(text.len() < 12 << 20, "{} bytes", text.len());
}

#[test]
fn a_claim_without_a_trace_has_a_page() {
    let text = page(&Page {
        title: "p",
        claim: &examples::within_bound(),
        trace: None,
        sources: &[],
        drawing: None,
    });
    assert!(text.contains("data-verdict=\"holds_within_bound\""));
}

#[test]
fn the_table_of_keys_in_the_book_is_the_one_definition() {
    let book =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/keys.md");
    let book = std::fs::read_to_string(book).unwrap();
    let table = preempt_report::keys::markdown();
    assert!(book.ends_with(&table), "the book should end with:\n{table}");
}
