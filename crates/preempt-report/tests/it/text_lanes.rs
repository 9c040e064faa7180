//! Lanes in a terminal.

use crate::examples;
use insta::assert_snapshot;
use preempt_core::Claim;
use preempt_report::lanes::{self, Lanes};
use preempt_report::{Cast, Look};

fn draw(claim: &Claim, look: &Look) -> String {
    let violation = claim.violation.as_ref().unwrap();
    lanes::render(&violation.trace, Some(violation), look)
}

#[test]
fn peterson_without_turn() {
    assert_snapshot!(draw(&examples::peterson_without_turn(), &Look::plain(100)));
}

#[test]
fn check_then_set() {
    assert_snapshot!(draw(&examples::check_then_set(), &Look::plain(90)));
}

#[test]
fn check_then_set_ascii_and_narrow() {
    assert_snapshot!(draw(&examples::check_then_set(), &Look::ascii(60)));
}

#[test]
fn lasso_is_bracketed() {
    assert_snapshot!(draw(&examples::lasso(), &Look::plain(80)));
}

#[test]
fn channels_show_their_content() {
    assert_snapshot!(draw(&examples::protocol(), &Look::plain(110)));
}

#[test]
fn a_crowd_becomes_rails() {
    assert_snapshot!(draw(&examples::crowd(8), &Look::plain(80)));
}

#[test]
fn long_runs_collapse() {
    assert_snapshot!(draw(&examples::long(60), &Look::plain(100).with_collapse(4)));
}

#[test]
fn colours_only_repeat_what_the_text_says() {
    for claim in [examples::check_then_set(), examples::lasso(), examples::crowd(12)] {
        let look = Look::plain(80);
        let colored = draw(&claim, &look.with_color(true));
        assert!(colored.contains("\u{1b}["));
        assert_eq!(without_escapes(&colored), draw(&claim, &look));
    }
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let claims = [
        examples::peterson_without_turn(),
        examples::check_then_set(),
        examples::lasso(),
        examples::protocol(),
        examples::crowd(3),
        examples::crowd(40),
        examples::long(120),
    ];
    for claim in &claims {
        for width in [40, 60, 72, 80, 100, 132, 200] {
            for look in [Look::plain(width), Look::ascii(width).with_collapse(5)] {
                for line in draw(claim, &look).lines() {
                    assert!(
                        unicode_width::UnicodeWidthStr::width(line) <= width,
                        "wider than {width}: {line}"
                    );
                }
            }
        }
    }
}

#[test]
fn ascii_is_ascii() {
    for claim in [examples::check_then_set(), examples::lasso(), examples::crowd(9)] {
        assert!(draw(&claim, &Look::ascii(80).with_collapse(3)).is_ascii());
    }
}

/// A simulator does not know who will come.
#[test]
fn step_by_step_with_a_newcomer() {
    let claim = examples::check_then_set();
    let trace = &claim.violation.as_ref().unwrap().trace;
    let mut lanes = Lanes::new(Cast::default(), &Look::plain(80));
    let text: String = trace.steps.iter().map(|step| lanes.step(step)).collect();
    assert_snapshot!(text);
}

#[test]
fn an_empty_trace_says_so() {
    let text = lanes::render(&preempt_core::Trace::default(), None, &Look::plain(80));
    assert_eq!(text, "(no steps: the initial state)\n");
}

fn without_escapes(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in text.chars() {
        match (inside, c) {
            (false, '\u{1b}') => inside = true,
            (true, 'm') => inside = false,
            (false, c) => out.push(c),
            _ => {}
        }
    }
    out
}

/// Drawing takes time in proportion to the trace: a quadratic step would not end here.
#[test]
fn a_hundred_thousand_steps_are_drawn_in_text_too() {
    let trace = examples::long(100_000).violation.unwrap().trace;
    let text = lanes::render(&trace, None, &Look::plain(120).with_collapse(4));
    assert!(text.lines().count() > 50_000);
    let chart = preempt_report::chart::terminal(&trace, &Look::plain(120));
    assert!(chart.lines().count() > 50_000);
}
