//! Message sequence charts.

use crate::examples;
use insta::assert_snapshot;
use preempt_report::{Look, chart, messages};

#[test]
fn messages_are_followed_through_their_queues() {
    let claim = examples::protocol();
    let list: Vec<String> = messages(&claim.violation.as_ref().unwrap().trace)
        .iter()
        .map(|m| {
            format!("{} {:?} {:?}", m.label(), m.sent.map(|e| e.step), m.received.map(|e| e.step))
        })
        .collect();
    assert_eq!(
        list,
        [
            "line!hello Some(0) Some(0)",
            "to_receiver!data,1 Some(1) Some(3)",
            "to_receiver!data,2 Some(2) Some(7)",
            "to_sender!ack Some(4) Some(5)",
            "to_receiver!data,3 Some(6) None",
        ]
    );
}

#[test]
fn terminal() {
    let claim = examples::protocol();
    assert_snapshot!(chart::terminal(&claim.violation.unwrap().trace, &Look::plain(80)));
}

#[test]
fn terminal_in_ascii_fits() {
    let trace = examples::protocol().violation.unwrap().trace;
    for width in [24, 40, 60, 100] {
        let text = chart::terminal(&trace, &Look::ascii(width));
        assert!(text.is_ascii());
        assert!(text.lines().all(|l| l.len() <= width), "{width}:\n{text}");
    }
}

#[test]
fn without_messages() {
    let trace = examples::check_then_set().violation.unwrap().trace;
    assert_eq!(chart::terminal(&trace, &Look::plain(80)), "(no messages)\n");
}

#[test]
fn svg_has_an_arrow_per_message_and_no_markup_from_outside() {
    let mut trace = examples::protocol().violation.unwrap().trace;
    trace.steps[0].text = "line!<script>&".into();
    let svg = chart::svg(&trace);
    assert_eq!(svg.matches("class=\"arrow").count(), 5);
    assert!(svg.contains("line!&lt;script&gt;&amp;"));
    assert!(!svg.contains("<script"));
}
