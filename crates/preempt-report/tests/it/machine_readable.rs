//! JSON reports and saved traces.

use crate::examples;
use crate::schema::problems;
use preempt_core::{Claim, Verdict};
use preempt_report::json::{Subject, report, worst};
use preempt_report::{SavedTrace, json};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../../docs/src/reference/report.schema.json");

fn claims() -> Vec<Claim> {
    vec![
        examples::peterson_without_turn(),
        examples::check_then_set(),
        examples::lasso(),
        examples::protocol(),
        examples::within_bound(),
        examples::inconclusive(),
        examples::observed_deadlock(),
        examples::decided(),
    ]
}

fn validate(text: &str) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    // Strict on the alternative that applies: every key we write is documented.
    let name = if value.get("results").is_some() { "reports" } else { "report" };
    let found = problems(&schema, &schema["$defs"][name], &value, "$", true);
    assert!(found.is_empty(), "{found:#?}");
    assert!(problems(&schema, &schema, &value, "$", false).is_empty());
}

#[test]
fn reports_fit_the_schema() {
    let subject = Subject { file: "a.pml", bound: Some(2), test: None };
    for claim in claims() {
        validate(&report(subject, &[claim]));
    }
    validate(&report(subject, &claims()));
    validate(&report(Subject::default(), &[]));
}

#[test]
fn a_report_reads_like_the_claim() {
    let subject = Subject { file: "lock.pml", bound: None, test: None };
    let value: Value =
        serde_json::from_str(&report(subject, &[examples::check_then_set()])).unwrap();
    assert_eq!(value["schema"], json::SCHEMA);
    assert_eq!(value["verdict"], "violated");
    assert_eq!(value["bound"], Value::Null);
    let violation = &value["violation"];
    assert_eq!(violation["kind"], "assertion");
    assert_eq!(violation["preemptions"], 2);
    assert_eq!(violation["switches"], 2);
    assert_eq!(violation["blocks"], 3);
    assert_eq!(violation["steps"], 9);
    assert_eq!(violation["trace"][1]["preemption"], true);
    assert_eq!(
        violation["trace"][2]["changes"][0],
        serde_json::json!({"name": "locked", "from": 0, "to": 1})
    );
}

#[test]
fn numbers_that_json_cannot_hold_do_not_break_it() {
    let mut claim = examples::within_bound();
    claim.statistics.seconds = f64::NAN;
    claim.statistics.bytes_per_state = f64::INFINITY;
    validate(&report(Subject::default(), &[claim]));
}

#[test]
fn the_worst_of_several_decides() {
    let with = |verdict| Claim { verdict, ..examples::within_bound() };
    let holds = with(Verdict::Holds);
    let two = with(Verdict::HoldsWithinBound(2));
    let one = with(Verdict::HoldsWithinBound(1));
    assert_eq!(worst(std::slice::from_ref(&holds)), Verdict::Holds);
    assert_eq!(worst(&[holds, two.clone(), one]), Verdict::HoldsWithinBound(1));
    let bad = examples::lasso();
    assert_eq!(worst(&[bad, examples::inconclusive(), two]), Verdict::Violated);
}

#[test]
fn saved_traces_come_back_as_they_were() {
    for claim in claims().iter().filter(|c| c.violation.is_some()) {
        let saved = SavedTrace::of("m.pml", &["-D".into(), "N=3".into()], claim).unwrap();
        let read = SavedTrace::from_json(&saved.to_json()).unwrap();
        assert_eq!(read, saved);
        // Remarks are made anew when the trace is replayed.
        let mut told = claim.violation.as_ref().unwrap().trace.clone();
        told.observations = preempt_core::Observations::default();
        assert_eq!(read.trace, told);
    }
    assert_eq!(SavedTrace::of("m.pml", &[], &examples::within_bound()), None);
}

#[test]
fn bad_trace_files_are_errors_with_a_place() {
    let error = |text: &str| SavedTrace::from_json(text).unwrap_err().to_string();
    assert!(error("{\n  \"schema\": 1,\n  oops").starts_with("3:3: not a saved trace"));
    assert_eq!(error("{}"), "not a saved trace: \"format\" is not \"preempt-trace\"");
    assert_eq!(
        error(r#"{"schema": 2, "format": "preempt-trace"}"#),
        "this preempt reads saved traces of schema 1 only"
    );
    assert!(error(r#"{"schema": 1, "format": "preempt-trace"}"#).contains("missing field `file`"));
    let cycle = r#"{"schema":1,"format":"preempt-trace","file":"","trace":[],"cycle_start":0}"#;
    assert_eq!(error(cycle), "broken trace: the cycle starts after the last step");
}

/// Whatever is cut off or flipped, reading gives a value or an error.
#[test]
fn damaged_trace_files_never_panic() {
    let text = SavedTrace::of("m.pml", &[], &examples::protocol()).unwrap().to_json();
    let mut seed = 0x9e37_79b9_u32;
    for _ in 0..2000 {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        let mut bytes = text.clone().into_bytes();
        let at = seed as usize % bytes.len();
        bytes[at] = b"0\"[{}],x:-9"[(seed >> 16) as usize % 11];
        if seed % 3 == 0 {
            bytes.truncate(at);
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(saved) = SavedTrace::from_json(&text)
        {
            let look = preempt_report::Look::plain(80);
            preempt_report::lanes::render(&saved.trace, None, &look);
            preempt_report::chart::terminal(&saved.trace, &look);
        }
    }
}
