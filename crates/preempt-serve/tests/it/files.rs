//! Results that stay, texts that are changed on the page, files that are gone, executions that are taken along.

use crate::client::Served;
use preempt_report::SavedTrace;
use serde_json::{Value, json};
use std::fs;

const RACE: &str = "byte n;\nactive [2] proctype adder() { byte seen; seen = n; n = seen + 1 }\n\
                    active proctype reader() { (n == 2); assert(n == 2); n = 9 }\nltl small { [] (n < 2) }\n";

#[test]
fn results_stay_for_pages_that_come_later() {
    let (served, path) = Served::text("results", RACE);
    let mut events = served.events();
    served.ask("check", json!({ "model": 0, "property": "ltl:small", "seconds": 60 }));
    let started = events.next("started");
    assert_eq!(
        (&started["model"], &started["asked"]["property"]),
        (&json!(0), &json!("ltl:small"))
    );
    let done = events.next("checked");
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!(open["results"], json!([done]));
    assert_eq!(open["running"], json!([]));
    assert_eq!(open["results"][0]["version"], open["version"]);
    // After a change they are of an earlier version, and still there.
    fs::write(&path, RACE.replace("n < 2", "n < 3")).unwrap();
    events.next("changed");
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!(open["results"].as_array().unwrap().len(), 1);
    assert_ne!(open["results"][0]["version"], open["version"]);
}

#[test]
fn a_check_under_way_is_told_to_pages_that_come_later() {
    let endless = "int a, b, c, d;
        active [3] proctype p() { do :: a < b + 900 -> a++ :: b < c + 900 -> b++ :: c < d + 900 -> c++ :: d++ od }";
    let (served, _) = Served::text("under_way", endless);
    let mut events = served.events();
    let check = served.ask("check", json!({ "model": 0, "property": "safety" }))["check"].clone();
    events.next("progress");
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!(open["running"][0]["check"], check);
    assert_eq!(open["running"][0]["asked"]["property"], "safety");
    served.ask("cancel", json!({ "check": check }));
    events.next("checked");
    assert_eq!(served.ask("open", json!({ "model": 0 }))["running"], json!([]));
}

#[test]
fn a_text_is_tried_before_it_is_saved() {
    let (served, path) = Served::text("tried", RACE);
    let open = || served.ask("open", json!({ "model": 0 }));
    assert_eq!(open()["file"]["text"], RACE);
    let mut events = served.events();
    let better = RACE.replace("seen = n; n = seen + 1", "n++");
    served.ask("edit", json!({ "model": 0, "text": better }));
    events.next("changed");
    // It counts, and the file is as it was.
    assert_eq!(
        (open()["file"]["is_draft"].clone(), fs::read_to_string(&path).unwrap()),
        (json!(true), RACE.into())
    );
    assert_eq!(open()["sources"][0]["text"], better.as_str());
    // A text with errors stays as it is, with their lines.
    let wrong = better.replace("n++", "n + ;");
    served.ask("edit", json!({ "model": 0, "text": wrong }));
    let refused = open();
    assert_eq!(refused["file"]["text"], wrong.as_str());
    assert_eq!((&refused["kind"], &refused["mistakes"][0]["line"]), (&Value::Null, &json!(2)));
    // A change on disk does not touch it, and is said.
    fs::write(&path, RACE.replace("n = 9", "n = 8")).unwrap();
    assert_eq!(events.next("disk")["model"], 0);
    assert_eq!(open()["file"]["text"], wrong.as_str());
    // Nor is what is there now written over.
    let (status, why) =
        served.refused("save", json!({ "model": 0, "text": better, "before": RACE }));
    assert!(status == 409 && why.contains("has changed meanwhile"), "{why}");
    assert!(fs::read_to_string(&path).unwrap().contains("n = 8"));
    let (status, _) = served.refused("save", json!({ "model": 0, "text": better }));
    assert_eq!(status, 409, "what the file held has to be said");
    // Discarded: the file counts.
    served.ask("edit", json!({ "model": 0 }));
    assert!(open()["sources"][0]["text"].as_str().unwrap().contains("n = 8"));
    let before = fs::read_to_string(&path).unwrap();
    served.ask("save", json!({ "model": 0, "text": better, "before": before }));
    assert_eq!(fs::read_to_string(&path).unwrap(), better);
    assert_eq!(open()["file"]["is_draft"], false);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn only_given_files_are_written() {
    let served = Served::examples(&["peterson.pml"]);
    let body = json!({ "model": 1, "text": "x", "path": "/tmp/other" });
    assert_eq!(served.refused("save", body).0, 400);
    let token = format!("/{}/api/save", "0".repeat(served.token.len()));
    let strange = served.request("POST", &token, "content-type: application/json\r\n", "{}");
    assert!(strange.status == 403 || strange.status == 404, "{}", strange.status);
}

#[test]
fn a_file_that_is_gone_is_said_to_be_gone() {
    let (served, path) = Served::text("gone", RACE);
    let mut events = served.events();
    fs::remove_file(&path).unwrap();
    events.next("changed");
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!(
        (&open["file"]["is_gone"], &open["file"]["editable"]),
        (&json!(true), &json!(false))
    );
    let said = open["mistakes"][0]["message"].as_str().unwrap();
    assert!(said.contains("is gone: it was deleted or renamed"), "{said}");
    let (status, why) = served.refused("look", json!({ "model": 0, "path": "0" }));
    assert!(status == 409 && why.contains("is gone"), "{why}");
    fs::write(&path, RACE).unwrap();
    events.next("changed");
    let carried = served.ask("carry", json!({ "model": 0, "path": "00", "version": 1 }));
    assert_eq!(carried["kept"], 2);
}

/// What is no text cannot be shown as one, and is not written over by one.
#[test]
fn a_file_that_is_no_text_is_not_written_over() {
    let (served, path) = Served::text("no_text", RACE);
    let mut events = served.events();
    let bytes = [RACE.as_bytes(), b"/* \xe9 */\n"].concat();
    fs::write(&path, &bytes).unwrap();
    events.next("changed");
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!(open["file"]["editable"], false);
    let (status, _) = served.refused("save", json!({ "model": 0, "text": RACE, "before": RACE }));
    assert_eq!((status, fs::read(&path).unwrap()), (409, bytes));
}

#[test]
fn an_execution_is_taken_along() {
    let (served, path) = Served::text("taken", RACE);
    let export = |path: &str, form: &str| {
        let answer = served.ask("export", json!({ "model": 0, "path": path, "form": form }));
        (answer["name"].as_str().unwrap().to_string(), answer["text"].as_str().unwrap().to_string())
    };
    // The first process reads, the second reads and writes, the first writes: an addition is lost.
    let mut walk = String::new();
    for process in ["adder(0)", "adder(1)", "adder(1)", "adder(0)"] {
        let look = served.ask("look", json!({ "model": 0, "path": walk }));
        let steps = look["enabled"].as_array().unwrap();
        let step = steps.iter().find(|step| step["process"] == process).unwrap();
        walk += &step["index"].to_string();
    }
    let look = served.ask("look", json!({ "model": 0, "path": walk }));
    assert_eq!(look["end"], "deadlock", "{look}");
    let (name, text) = export(&walk, "trace");
    assert_eq!(name, "model.trace.json");
    let saved = SavedTrace::from_json(&text).unwrap();
    assert_eq!((saved.kind.as_str(), saved.trace.raw.len()), ("invalid_end_state", 4));
    assert_eq!(saved.file, path.display().to_string());
    let (name, html) = export(&walk, "page");
    assert_eq!(name, "model.html");
    let waits = look["waits"][0]["reasons"][0].as_str().unwrap().replace('<', "\\u003c");
    assert!(html.contains(&waits), "{waits}");
    assert!(html.contains("seen: 0"), "what steps read is on the page");
    let (_, report) = export(&walk, "report");
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["violation"]["preemptions"], look["cost"]["preemptions"]);
    assert!(export(&walk, "chart").1.starts_with("<svg"));
    let (name, trail) = export(&walk, "trail");
    assert_eq!(name, "model.trail");
    assert_eq!(trail.lines().filter(|line| !line.starts_with('-')).count(), 4, "{trail}");
    // In the middle nothing is violated.
    let (_, text) = export(&walk[..2], "trace");
    assert_eq!(SavedTrace::from_json(&text).unwrap().kind, "");
    let (status, _) = served.refused("export", json!({ "model": 0, "path": "", "form": "film" }));
    assert_eq!(status, 400);
}
