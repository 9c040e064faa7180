//! Lanes in a terminal.

use crate::examples;
use insta::assert_snapshot;
use preempt_core::{Claim, Position, Switch, Trace, TraceStep};
use preempt_report::lanes::{self, Lanes};
use preempt_report::{Cast, Look};
use preempt_testing::Random;

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

/// A simulator does not know which processes will be created.
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

/// Random executions of two to five processes that meet each other in either direction: in every row
/// the sender's text stands in the sender's lane and the receiver's in the receiver's. Where the two are
/// mixed up, case 1 shows it.
#[test]
fn handshakes_show_each_side_in_its_own_lane() {
    let mut random = Random::shifts(0x9e37_79b9_7f4a_7c15, 32);
    let mut leftwards = 0;
    for case in 0..300 {
        let processes = 2 + random.below(4);
        let mut trace = Trace::default();
        for number in 0..1 + random.below(6) {
            let sender = random.below(processes);
            let receiver = (sender + 1 + random.below(processes - 1)) % processes;
            leftwards += usize::from(receiver < sender);
            trace.steps.push(TraceStep {
                process: format!("p{sender}"),
                pid: sender,
                partner: Some(receiver),
                file: "m.pml".into(),
                line: 0,
                text: format!("s{sender}!{number} => r{receiver}?{number}"),
                switch: Switch::None,
                changes: Vec::new(),
                output: String::new(),
            });
        }
        for pid in 0..processes {
            let (process, file, text) = (format!("p{pid}"), "m.pml".into(), "-end-".into());
            trace.rest.push(Position { process, pid, file, line: 0, text });
        }
        let text = lanes::render(&trace, None, &Look::plain(120));
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let lane = |pid: usize| header.find(&format!("p{pid}")).expect("every process has a lane");
        for (step, line) in trace.steps.iter().zip(lines.skip(1)) {
            let at = |column: usize| line.chars().skip(column).collect::<String>();
            let (sender, receiver) = (step.pid, step.partner.unwrap_or_default());
            let (send, receive) = step.text.split_once(" => ").expect("both sides");
            assert!(at(lane(sender)).starts_with(send), "case {case}\n{text}");
            let arrow = if sender < receiver { "⇒" } else { "⇐" };
            let joined = format!("{arrow} {receive}");
            assert!(at(lane(receiver)).starts_with(&joined), "case {case}\n{text}");
        }
    }
    assert!(leftwards > 100, "both directions occur");
}

/// Long counterexamples keep their beginning and their end, and say how much is missing.
#[test]
fn long_traces_are_abridged() {
    let step = |number: usize| TraceStep {
        process: format!("the process with number {}", number % 2),
        pid: number % 2,
        partner: None,
        file: "m.pml".into(),
        line: 1,
        text: format!("x = {number}"),
        switch: if number == 0 { Switch::None } else { Switch::Preemption },
        changes: Vec::new(),
        output: String::new(),
    };
    for cycle_start in [None, Some(0), Some(13_000), Some(25_999)] {
        let steps = (0..26_000).map(step).collect();
        let trace = Trace { steps, cycle_start, ..Trace::default() };
        let text = lanes::render(&trace, None, &Look::plain(100).with_most_steps(100));
        assert!(text.lines().count() < 250, "{} lines", text.lines().count());
        assert!(text.contains("25,900 more steps with 25,900 preemptions"), "{text}");
        assert_eq!(text.contains("repeats for ever"), cycle_start.is_some(), "{text}");
        for shown in ["x = 0", "x = 49\n", "x = 25950", "x = 25999", "preemption 25999"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        for hidden in ["x = 50\n", "x = 25949"] {
            assert!(!text.contains(hidden), "{hidden}");
        }
        let last = text.lines().find(|line| line.contains("x = 25999")).unwrap_or_default();
        assert!(last.contains("26000 "), "steps are numbered as they are: {last}");
    }
}

/// What a step looked at stands beside it; why each process waits stands below.
#[test]
fn observations_are_in_the_text() {
    let claim = examples::observed_deadlock();
    let violation = claim.violation.as_ref().unwrap();
    let text = lanes::render(&violation.trace, Some(violation), &Look::plain(100));
    assert_eq!(text.matches("other: 1").count(), violation.trace.steps.len(), "{text}");
    let why = "`!wants[1]` is false: wants[1] is 1; only user (1) could change that";
    assert!(text.contains(why), "{text}");
    let claim = examples::decided();
    let violation = claim.violation.as_ref().unwrap();
    let text = lanes::render(&violation.trace, Some(violation), &Look::plain(100));
    assert!(!text.contains("repeats for ever"), "{text}");
    assert!(text.contains("whose_end_differs < 3 becomes false"), "{text}");
    assert!(text.contains("\n  p < 3 is false: p is 3\n"), "{text}");
    assert!(
        text.contains("  4 steps (the first 2 are shown),"),
        "the rest does not matter: {text}"
    );
}

/// Names that differ at the end can be told apart.
#[test]
fn long_names_lose_their_middle() {
    let mut claim = examples::observed_deadlock();
    let violation = claim.violation.as_mut().unwrap();
    let trace = &mut violation.trace;
    let long = |pid| format!("a_process_with_a_name_that_is_far_too_long_{pid}({pid})");
    trace.steps.iter_mut().for_each(|step| step.process = long(step.pid));
    trace.rest.iter_mut().for_each(|place| place.process = long(place.pid));
    let text = lanes::render(&violation.trace, None, &Look::plain(60));
    let header = text.lines().find(|line| line.contains("…")).unwrap();
    assert!(header.contains("_0(0)") && header.contains("_1(1)"), "{text}");
}
