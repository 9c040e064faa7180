//! The table of codes keeps its word: the wrong example of each code draws it, the right one does
//! not, and is accepted.

mod support;

use preempt_promela::ir::{LowerOptions, can_be_lowered};
use preempt_promela::syntax::{Parsed, codes, render::render_all};

/// Parses a text; what is wrong with its translation is found as well.
fn parse_text(text: &str) -> Parsed {
    let mut parsed = support::parse_text(text);
    if let Some(model) = &parsed.model
        && let Err(error) = can_be_lowered(model, LowerOptions::default())
    {
        parsed.diagnostics.push(error.diagnostic());
    }
    parsed
}

/// Codes whose wrong example only hints at a text too long to print, or at a command.
const TOO_LONG_TO_SHOW: &[&str] =
    &["P0006", "P0013", "P0017", "P0021", "P0061", "P0074", "P0075", "P0093"];

#[test]
fn ids_are_unique_and_sorted() {
    let ids: Vec<&str> = codes::TABLE.iter().map(|c| c.id).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(ids, sorted);
    assert!(ids.iter().all(|id| id.len() == 5 && id.starts_with('P')));
    assert_eq!(codes::find("p0012").map(|c| c.id), Some("P0012"));
    assert!(codes::find("P9999").is_none());
}

#[test]
fn the_reference_lists_every_code() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/src/reference/promela.md");
    let text = std::fs::read_to_string(page).expect("the reference page");
    let listed: Vec<&str> = text.lines().filter(|l| l.starts_with("| P0")).collect();
    let wanted: Vec<String> =
        codes::TABLE.iter().map(|c| format!("| {} | {} |", c.id, c.title)).collect();
    assert_eq!(listed, wanted);
}

#[test]
fn wrong_examples_draw_their_code_and_right_ones_do_not() {
    for code in codes::TABLE {
        if !TOO_LONG_TO_SHOW.contains(&code.id) {
            let parsed = parse_text(code.wrong);
            let text = render_all(&parsed.diagnostics, &parsed.sources, false);
            assert!(
                parsed.diagnostics.iter().any(|d| d.code == code.id),
                "{} wrong:\n{text}",
                code.id
            );
        }
        let parsed = parse_text(code.right);
        let text = render_all(&parsed.diagnostics, &parsed.sources, false);
        assert!(parsed.model.is_some(), "{} right:\n{text}", code.id);
        assert!(parsed.diagnostics.iter().all(|d| d.code != code.id), "{} right:\n{text}", code.id);
    }
}
