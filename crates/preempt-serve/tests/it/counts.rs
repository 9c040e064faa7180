//! One execution has one number of steps, preemptions and switches, wherever it is shown.
//!
//! Random models and Boolean programs are checked; what the sentence, the lanes, the JSON report, the page, a saved trace
//! in the explorer, a page in the explorer and the explorer's own walk along the counterexample say is compared with the
//! trace. `PREEMPT_COUNTS` makes more of them.

use crate::client::{Served, file, folder};
use preempt_core::{Claim, ProcessId, SwitchCount};
use preempt_report::json::{Subject, report};
use preempt_report::{Look, Page, SavedTrace, lanes, page, summary};
use preempt_serve::RecordedFile;
use preempt_testing::Random;
use preempt_verify::boolean::Settings;
use preempt_verify::{Control, Request, verify_promela};
use serde_json::{Value, json};

/// Two or three processes that share variables and a channel, with a property that often fails.
pub(crate) fn promela(random: &mut Random) -> String {
    let steps = [
        "x = y + 1",
        "y = x",
        "x = 0",
        "y++",
        "x > 0 -> x--",
        "c!1",
        "c?x",
        "r!2",
        "r?y",
        "skip",
        "atomic { x++; y-- }",
        "if :: x = 1 :: y = 2 fi",
        "x < 3 -> x++",
    ];
    let mut text = "byte x, y; chan c = [1] of { byte }; chan r = [0] of { byte };\n".to_string();
    for process in 0..2 + random.below(2) {
        let body: Vec<&str> = (0..1 + random.below(4)).map(|_| random.pick(&steps)).collect();
        let body = body.join("; ");
        text += &match random.below(3) {
            0 => format!("active proctype P{process}() {{ do :: {body} od }}\n"),
            _ => format!("active proctype P{process}() {{ {body} }}\n"),
        };
    }
    text + match random.below(5) {
        0 => "active proctype M() { assert(x != 1 || y != 2) }\n",
        1 => "active proctype M() { assert(x + y < 3) }\n",
        2 => "ltl f { [] (x < 2) }\n",
        3 => "ltl f { <> (x == 2 && y == 1) }\n",
        _ => "",
    }
}

/// Two or three threads, and a label that is often reached.
fn boolean(random: &mut Random) -> String {
    let steps =
        ["a := T;", "b := a;", "a := !b;", "assume(b);", "skip;", "a, b := b, a;", "b := T;"];
    let mut text = "decl bool a, b;\n".to_string();
    let start = ["a, b := F, F;", "a := F; b := F;", "a, b := T, *;"];
    text += &format!("void init() begin {} end\n", random.pick(&start));
    let threads = 2 + random.below(2);
    for thread in 0..threads {
        let body: Vec<&str> = (0..1 + random.below(4)).map(|_| random.pick(&steps)).collect();
        let last = match thread {
            0 => "assume(a & !b); Target: skip;",
            _ => "skip;",
        };
        text += &format!("thread t{thread}() begin {} {last} end\n", body.join(" "));
    }
    text
}

fn numbers(cost: SwitchCount) -> Value {
    json!({ "steps": cost.steps, "preemptions": cost.preemptions, "switches": cost.switches })
}

/// `3 steps` as text has it.
fn many(number: u32, noun: &str) -> String {
    match (number, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "switch") => format!("{number} switches"),
        _ => format!("{number} {noun}s"),
    }
}

/// Everything that shows the claim's counterexample; false if it has none.
fn compare(name: &str, ending: &str, text: &str, claim: &Claim) -> bool {
    let Some(violation) = &claim.violation else { return false };
    let cost = violation.trace.cost();
    let what = |where_: &str| format!("{where_}: {cost:?}\n{text}\n{}", claim.sentence);
    let words = [
        many(cost.steps, "step"),
        many(cost.preemptions, "preemption"),
        many(cost.switches, "switch"),
    ];
    // The terminal.
    let look = Look::plain(10_000);
    let shown = lanes::render(&violation.trace, Some(violation), &look);
    let last = shown.lines().find(|line| words.iter().all(|word| line.contains(word.as_str())));
    assert!(last.is_some(), "{}\n{shown}", what("lanes"));
    let sentence = summary::sentence(claim, &look);
    let counted = sentence.split([';', ',', ' ']).any(|word| word == "steps" || word == "step");
    assert!(!counted || sentence.contains(&words[0]), "{}", what("sentence"));
    // The report.
    let subject = Subject { file: "m", bound: None, test: None };
    let machine: Value =
        serde_json::from_str(&report(subject, std::slice::from_ref(claim))).unwrap();
    let found = &machine["violation"];
    for key in ["steps", "preemptions", "switches"] {
        assert_eq!(found[key], numbers(cost)[key], "{}", what("json"));
    }
    assert_eq!(found["trace"].as_array().unwrap().len(), cost.steps as usize, "{}", what("json"));
    // The page, the page in the explorer, a saved trace in the explorer.
    let folder = folder(name);
    let html = page(&Page { title: "m", claim, trace: None, sources: &[], drawing: None });
    let begin = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let island = &html[begin..begin + html[begin..].find("</script>").unwrap()];
    let island: Value = serde_json::from_str(island).unwrap();
    let counts = json!([cost.steps, cost.preemptions, cost.switches]);
    assert_eq!(
        Value::from(island["cost"].as_array().unwrap()[..3].to_vec()),
        counts,
        "{}",
        what("page")
    );
    std::fs::write(folder.join("page.html"), &html).unwrap();
    let saved = SavedTrace::of("m", &[], claim).unwrap().to_json();
    std::fs::write(folder.join("trace.json"), saved).unwrap();
    let model = folder.join(format!("model.{ending}"));
    std::fs::write(&model, text).unwrap();
    let served = Served::new(vec![
        Box::new(RecordedFile::new(folder.join("page.html"))),
        Box::new(RecordedFile::new(folder.join("trace.json"))),
        file(model),
    ]);
    // Moves of the property are no steps of the model.
    let own = violation.trace.steps.iter().filter(|step| step.pid != ProcessId::PROPERTY.index());
    let own = own.count();
    for model in [0, 1] {
        let open = served.ask("open", json!({ "model": model }));
        assert_eq!(open["recording"]["cost"], numbers(cost), "{}", what("recording"));
        let path = open["recording"]["path"].as_str().unwrap();
        let look = served.ask("look", json!({ "model": model, "path": path }));
        assert_eq!(look["length"], path.len(), "{}", what("recorded path"));
        if path.len() == own {
            let count = SwitchCount { steps: own as u32, ..cost };
            assert_eq!(look["cost"], numbers(count), "{}", what("recorded walk"));
        }
    }
    // The explorer's own walk along the same steps.
    let mut events = served.events();
    let asked = json!({ "model": 2, "property": if ending == "bp" { "reach" } else { "safety" }, "seconds": 60 });
    served.ask("check", asked);
    let done = events.next("checked");
    let found = &done["results"]["claims"][0]["violation"];
    if let (Some(path), Some(true)) = (found["path"].as_str(), found["complete"].as_bool()) {
        let look = served.ask("look", json!({ "model": 2, "path": path }));
        for key in ["steps", "preemptions"] {
            assert_eq!(look["cost"][key], found[key], "{}\n{look}", what("walk"));
        }
        if ending == "bp" && done["results"]["claims"][0]["sentence"] == claim.sentence.as_str() {
            assert_eq!(look["cost"], numbers(cost), "{}", what("walk"));
        }
    }
    true
}

#[test]
fn every_view_of_an_execution_counts_the_same() {
    let cases = std::env::var("PREEMPT_COUNTS").ok().and_then(|n| n.parse().ok()).unwrap_or(30);
    let mut random = Random::linear(7);
    let (mut models, mut programs) = (0, 0);
    for _ in 0..cases {
        let text = promela(&mut random);
        let claims = verify_promela("m.pml", &text, &Request::default(), &Control::new());
        for claim in claims.unwrap_or_else(|error| panic!("{error}\n{text}")) {
            models += usize::from(compare("counts", "pml", &text, &claim));
        }
        let text = boolean(&mut random);
        let parsed = preempt_bool::parse(&text, "m.bp", preempt_bool::Dialect::Slam);
        let (program, _) = parsed.unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
        let (settings, request) = (Settings::default(), Request::default());
        let answer =
            preempt_verify::boolean::check(&program, &settings, &request, &Control::new()).unwrap();
        programs += usize::from(compare("counts", "bp", &text, &answer.claim));
    }
    eprintln!("{models} counterexamples of models, {programs} of Boolean programs");
    assert!(models > cases / 5 && programs > cases / 10, "{models} {programs}");
}
