//! Models written in Rust, and executions of programs that are not there any more.

use crate::client::{Served, folder};
use preempt_core::{Claim, Trace};
use preempt_model::{Model, Property};
use preempt_report::{Page, SavedTrace, Source, page};
use preempt_serve::{RecordedFile, RustModel};
use preempt_verify::{Control, Request, verify_promela};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

struct LostUpdate;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct State {
    counter: u8,
    seen: [Option<u8>; 2],
    done: [bool; 2],
}

#[derive(Debug)]
enum Action {
    Load(usize),
    Store(usize),
}

impl Model for LostUpdate {
    type State = State;
    type Action = Action;

    fn initial_states(&self) -> Vec<State> {
        vec![State { counter: 0, seen: [None; 2], done: [false; 2] }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for who in 0..2 {
            match state.seen[who] {
                None => actions.push(Action::Load(who)),
                Some(_) if !state.done[who] => actions.push(Action::Store(who)),
                Some(_) => {}
            }
        }
    }

    fn next(&self, state: &State, action: &Action) -> Option<State> {
        let mut next = state.clone();
        match *action {
            Action::Load(who) => next.seen[who] = Some(state.counter),
            Action::Store(who) => {
                next.counter = state.seen[who]? + 1;
                next.done[who] = true;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("no update is lost", |_, state: &State| {
            state.done != [true; 2] || state.counter == 2
        })]
    }

    fn process(&self, action: &Action) -> usize {
        let (Action::Load(who) | Action::Store(who)) = *action;
        who
    }

    fn processes(&self) -> Vec<String> {
        vec!["left".into(), "right".into()]
    }
}

#[test]
fn a_model_in_rust_is_walked_and_checked() {
    let served = Served::new(vec![Box::new(RustModel::new("lost update", LostUpdate))]);
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!(open["kind"], "model in Rust");
    let look = |path: &str| served.ask("look", json!({ "model": 0, "path": path }));
    let start = look("");
    let steps: Vec<&str> =
        start["enabled"].as_array().unwrap().iter().map(|s| s["text"].as_str().unwrap()).collect();
    assert_eq!(steps, ["Load(0)", "Load(1)"]);
    // Both load before one stores; the one that is let in then preempts.
    let lost = look("01");
    assert_eq!(lost["cost"]["preemptions"], 1, "{lost}");
    let end = look("0100");
    assert_eq!(end["length"], 4, "{end}");
    let counter = end["variables"].as_array().unwrap().iter().find(|v| v["name"] == "counter");
    assert_eq!(counter.unwrap()["value"], 1, "the update is lost");
    let mut events = served.events();
    served.ask("check", json!({ "model": 0, "property": "all", "seconds": 60 }));
    let done = events.next("checked");
    let claim = &done["results"]["claims"][0];
    assert_eq!(claim["verdict"], "violated");
    let path = claim["violation"]["path"].as_str().unwrap();
    assert_eq!(look(path)["length"], path.len());
}

#[test]
fn a_model_in_rust_is_served_by_one_call() {
    let server = preempt_serve::explore(LostUpdate).name("lost").bind().unwrap();
    assert!(server.url().starts_with("http://127.0.0.1:"));
}

const PROGRAM: &str = "byte counter, done;
active [2] proctype adder() { byte seen; seen = counter; counter = seen + 1; done++; printf(\"%d\\n\", seen) }
active proctype judge() { done == 2 -> assert(counter == 2) }
";

fn violated(text: &str) -> Claim {
    verify_promela("program.rs", text, &Request::default(), &Control::new()).unwrap().remove(0)
}

/// The whole of a recorded execution over the API, against the trace.
fn walk(served: &Served, trace: &Trace) {
    // It opens at its end, with every step, and says what is violated.
    let open = served.ask("open", json!({ "model": 0 }));
    let path = open["recording"]["path"].as_str().unwrap().to_string();
    assert_eq!(open["recording"]["verdict"], "violated");
    let cost = trace.cost();
    let count = json!({
        "steps": cost.steps, "preemptions": cost.preemptions, "switches": cost.switches,
    });
    assert_eq!(open["recording"]["cost"], count);
    let look = served.ask("look", json!({ "model": 0, "path": path, "from": 0, "rows": 400 }));
    assert_eq!(look["length"], trace.steps.len(), "{look}");
    assert_eq!(look["cost"], count);
    assert_eq!(look["end"], "violated", "{look}");
    assert!(look["fault"]["message"].as_str().is_some_and(|m| !m.is_empty()), "{look}");
    let rows = look["rows"].as_array().unwrap();
    for (row, step) in rows.iter().zip(&trace.steps) {
        assert_eq!(row["text"], step.text);
        assert_eq!(row["line"], step.line);
        assert_eq!(row["process"], step.process);
        assert_eq!(row["output"], step.output);
        assert_eq!(row["changes"].as_array().unwrap().len(), step.changes.len());
    }
    // The variables at each point are those of the start with all changes so far.
    let mut now: Vec<(String, String)> =
        trace.initial.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
    for (at, step) in trace.steps.iter().enumerate() {
        for change in &step.changes {
            now.retain(|(name, _)| *name != change.name);
            now.extend(change.to.as_ref().map(|to| (change.name.clone(), to.to_string())));
        }
        let look = served.ask("look", json!({ "model": 0, "path": path, "here": at + 1 }));
        // Nothing is offered but what was recorded.
        let enabled = look["enabled"].as_array().unwrap().len();
        assert_eq!(enabled, usize::from(at + 1 < trace.steps.len()), "{look}");
        for (name, value) in &now {
            let all = look["variables"].as_array().unwrap();
            let found = all.iter().find(|v| v["name"] == name.as_str()).unwrap();
            let shown = match &found["value"] {
                Value::String(text) => text.clone(),
                Value::Array(_) => continue,
                other => other.to_string(),
            };
            assert_eq!(&shown, value, "{name} after step {}", at + 1);
        }
    }
}

#[test]
fn the_page_of_a_failing_test_is_walked_through() {
    let claim = violated(PROGRAM);
    let trace = &claim.violation.as_ref().unwrap().trace;
    let sources = [Source { file: "program.rs".into(), text: PROGRAM.into() }];
    let html = page(&Page {
        title: "a::test",
        claim: &claim,
        trace: None,
        sources: &sources,
        drawing: None,
    });
    let folder = folder("recorded");
    std::fs::write(folder.join("test.html"), &html).unwrap();
    let served = Served::new(vec![Box::new(RecordedFile::new(folder.join("test.html")))]);
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!(open["kind"], "saved execution");
    assert_eq!(open["sources"][0]["text"], PROGRAM);
    walk(&served, trace);
    let saved = SavedTrace::of("program.rs", &[], &claim).unwrap().to_json();
    std::fs::write(folder.join("test.json"), saved).unwrap();
    walk(&Served::new(vec![Box::new(RecordedFile::new(folder.join("test.json")))]), trace);
}

#[test]
fn an_endless_execution_goes_round() {
    let claim =
        violated("byte n; active proctype P() { do :: n = 1 - n od } ltl f { <> (n == 7) }");
    let trace = &claim.violation.as_ref().unwrap().trace;
    let html = page(&Page { title: "t", claim: &claim, trace: None, sources: &[], drawing: None });
    let folder = folder("recorded-cycle");
    std::fs::write(folder.join("test.html"), html).unwrap();
    let served = Served::new(vec![Box::new(RecordedFile::new(folder.join("test.html")))]);
    let path = "0".repeat(3 * trace.steps.len());
    let look = served.ask("look", json!({ "model": 0, "path": path }));
    assert_eq!(look["length"], path.len(), "{look}");
}

#[test]
fn files_that_are_no_executions_are_refused_and_survived() {
    let folder = folder("recorded-wrong");
    let claim = violated(PROGRAM);
    let html = page(&Page { title: "t", claim: &claim, trace: None, sources: &[], drawing: None });
    let mut texts =
        vec![String::new(), "<html>".into(), html.replace("\"strings\":[", "\"strings\":[1,")];
    // Data that points nowhere.
    for (from, to) in [
        ("\"variables\":[", "\"variables\":[99999,"),
        ("\"pid\":[", "\"pid\":[70000,"),
        ("\"changes\":[[", "\"changes\":[[5000,0,"),
        ("\"line\":[", "\"line\":[],\"old\":["),
    ] {
        texts.push(html.replacen(from, to, 1));
    }
    // Behind its data a page may be cut: nothing else of it is read.
    let data = html.find("id=\"data\"").unwrap();
    let end = data + html[data..].find("</script>").unwrap();
    for length in (0..end).step_by(end / 8).filter(|at| html.is_char_boundary(*at)) {
        texts.push(html[..length].to_string());
    }
    for text in texts {
        std::fs::write(folder.join("test.html"), &text).unwrap();
        let served = Served::new(vec![Box::new(RecordedFile::new(folder.join("test.html")))]);
        let open = served.ask("open", json!({ "model": 0 }));
        assert!(
            !open["mistakes"].as_array().unwrap().is_empty(),
            "{}",
            &text[..text.len().min(60)]
        );
    }
}

/// A data race may need no scheduling point at all: there is nothing to walk along, but it is violated.
#[test]
fn an_execution_without_steps_is_violated_all_the_same() {
    let saved = SavedTrace {
        file: "race".into(),
        kind: "data_race".into(),
        message: "data race: both write".into(),
        schedule: Some("p1".into()),
        ..SavedTrace::default()
    };
    let folder = folder("recorded-empty");
    std::fs::write(folder.join("test.json"), saved.to_json()).unwrap();
    let served = Served::new(vec![Box::new(RecordedFile::new(folder.join("test.json")))]);
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!(open["recording"]["verdict"], "violated");
    assert_eq!(open["recording"]["message"], "data race: both write");
    let look = served.ask("look", json!({ "model": 0, "path": "" }));
    assert_eq!(look["end"], "violated", "{look}");
    assert_eq!(look["fault"]["message"], "data race: both write");
}
