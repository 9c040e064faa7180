//! The report in words and numbers.

use crate::examples;
use insta::assert_snapshot;
use preempt_report::{Look, moments, summary};

#[test]
fn holds_within_a_bound() {
    assert_snapshot!(summary::render(&examples::within_bound(), &Look::plain(80)));
}

#[test]
fn violated() {
    assert_snapshot!(summary::render(&examples::peterson_without_turn(), &Look::ascii(80)));
}

/// The lines that scripts written for Spin look for.
#[test]
fn spin_scripts_find_their_lines() {
    let text = summary::numbers(&examples::peterson_without_turn().statistics);
    let lines: Vec<&str> = text.lines().take(5).collect();
    assert_eq!(
        lines,
        [
            "State-vector 28 byte, depth reached 8, errors: 1",
            "        9 states, stored",
            "        1 states, matched",
            "       10 transitions (= stored+matched)",
            "        0 atomic steps",
        ]
    );
}

#[test]
fn moments_tell_who_was_stopped_before_what() {
    let claim = examples::check_then_set();
    let violation = claim.violation.as_ref().unwrap();
    let text: Vec<String> = moments(&violation.trace, Some(violation))
        .iter()
        .map(|m| format!("{}: {}: {}", m.step + 1, m.title, m.detail))
        .collect();
    assert_eq!(
        text,
        [
            "2: preemption 1: worker (0) could go on but is stopped before line 9 `locked = true`; worker (1) runs instead.",
            "7: preemption 2: worker (1) could go on but is stopped before line 13 `inside--`; worker (0) runs instead.",
            "9: assertion violated: inside == 1 (lock.pml:11)",
        ]
    );
}
