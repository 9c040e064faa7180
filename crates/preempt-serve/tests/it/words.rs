//! One execution is told in the same words wherever it is shown: what each step changes and looks at, why the last
//! one fails, which processes wait, since when and for which. The terminal, the report, the page, the page in the
//! explorer, and the explorer's own walk are compared on random models.

use crate::client::{Served, file, folder};
use crate::counts::promela;
use preempt_core::{Claim, ProcessId};
use preempt_report::json::{Subject, report};
use preempt_report::{Look, Page, change_words, lanes, page, reasons, remarks, waits};
use preempt_serve::RecordedFile;
use preempt_testing::Random;
use preempt_verify::{Control, Request, verify_promela};
use serde_json::{Value, json};

/// Text without the places where lines were broken.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The data of a page.
fn island(html: &str) -> Value {
    let begin = html.find("id=\"data\">").unwrap() + "id=\"data\">".len();
    let end = begin + html[begin..].find("</script>").unwrap();
    serde_json::from_str(&html[begin..end]).unwrap()
}

/// Compares everything that shows the counterexample; how many remarks, reasons and waiting processes it has.
fn compare(name: &str, text: &str, claim: &Claim) -> [usize; 3] {
    let Some(violation) = &claim.violation else { return [0; 3] };
    let trace = &*violation.trace.decisive();
    let told: Vec<Vec<String>> = (0..trace.steps.len()).map(|at| remarks(trace, at)).collect();
    let changes: Vec<Vec<String>> =
        trace.steps.iter().map(|s| change_words(&s.changes, &s.process, "→")).collect();
    let (why, waits) = (reasons(trace), waits(trace));
    let own_reasons = &trace.observations.reasons;
    // The terminal.
    let shown = lanes::render(&violation.trace, Some(violation), &Look::plain(10_000));
    let shown = flat(&shown);
    let waiting = waits.iter().map(|wait| wait.text());
    for words in told.iter().flatten().chain(own_reasons).cloned().chain(waiting) {
        assert!(shown.contains(&flat(&words)), "{words}\n{shown}\n{text}");
    }
    // The report.
    let subject = Subject { file: "m", bound: None, test: None };
    let machine: Value =
        serde_json::from_str(&report(subject, std::slice::from_ref(claim))).unwrap();
    let found = &machine["violation"];
    assert_eq!(found["reasons"], json!(own_reasons));
    for (at, words) in told.iter().enumerate() {
        let said = &found["trace"][at]["remarks"];
        assert!(*said == json!(words) || words.is_empty() && said.is_null(), "{said} {words:?}");
    }
    for (at, wait) in waits.iter().enumerate() {
        assert_eq!(found["waiting"][at]["text"], json!(wait.text()));
        assert_eq!(found["waiting"][at]["since"], json!(wait.since));
    }
    // The page.
    let folder = folder(name);
    let html = page(&Page { title: "m", claim, trace: None, sources: &[], drawing: None });
    let data = island(&html);
    let strings = |list: &Value| -> Vec<Value> {
        let at = |number: &Value| data["strings"][number.as_u64().unwrap() as usize].clone();
        list.as_array().into_iter().flatten().map(at).collect()
    };
    for at in 0..trace.steps.len() {
        assert_eq!(json!(strings(&data["words"][at])), json!(changes[at]));
        assert_eq!(json!(strings(&data["seen"][at])), json!(told[at]));
    }
    for (at, wait) in waits.iter().enumerate() {
        let said = &data["waiting"][at];
        assert_eq!(
            (&said["name"], &said["since"], &said["reasons"], &said["who"]),
            (&json!(wait.name), &json!(wait.since_words()), &json!(wait.reasons), &json!(wait.who))
        );
    }
    // The page in the explorer, and a walk along the same steps.
    std::fs::write(folder.join("page.html"), &html).unwrap();
    std::fs::write(folder.join("model.pml"), text).unwrap();
    let served = Served::new(vec![
        Box::new(RecordedFile::new(folder.join("page.html"))),
        file(folder.join("model.pml")),
    ]);
    let is_own = |step: &&preempt_core::TraceStep| step.pid != ProcessId::PROPERTY.index();
    let own = trace.steps.iter().take_while(is_own).count();
    if own != trace.steps.len() || own == 0 {
        return [told.iter().flatten().count(), own_reasons.len(), waits.len()];
    }
    let mut events = served.events();
    let property = if text.contains("ltl f") { "ltl:f" } else { "safety" };
    served.ask("check", json!({ "model": 1, "property": property, "seconds": 60 }));
    let done = events.next("checked");
    let again = &done["results"]["claims"][0]["violation"];
    let open = served.ask("open", json!({ "model": 0 }));
    let recorded = (0, open["recording"]["path"].as_str().unwrap().to_string());
    let walked = again["path"].as_str().filter(|path| path.len() >= own);
    for (model, path) in
        [Some(recorded), walked.map(|path| (1, path.to_string()))].into_iter().flatten()
    {
        let rows = json!({ "model": model, "path": path, "from": 0, "rows": 400, "here": own });
        let look = served.ask("look", rows);
        for at in 0..own {
            let row = &look["rows"][at];
            let step = &trace.steps[at];
            if (row["text"].as_str(), row["process"].as_str())
                != (Some(&step.text), Some(&step.process))
            {
                // A search of its own may find another one of equal cost.
                break;
            }
            // What becomes of the property is no matter of the step alone, and a walk shows what a search leaves out.
            let said: Vec<String> = serde_json::from_value(row["seen"].clone()).unwrap_or_default();
            let plain = told[at].iter().filter(|words| !words.contains(" becomes "));
            for words in plain {
                assert!(said.contains(words), "{words}: {said:?} at step {}\n{text}", at + 1);
            }
            if model == 0 {
                assert_eq!(row["words"], json!(changes[at]), "step {}\n{text}", at + 1);
            }
        }
        if path.len() == own && look["end"] == "deadlock" {
            for wait in &waits {
                let said = look["waits"].as_array().unwrap().iter().find(|w| w["pid"] == wait.pid);
                let said = said.unwrap_or_else(|| panic!("{} {look}\n{text}", wait.name));
                assert_eq!(said["reasons"], json!(wait.reasons), "{model}\n{text}");
                assert_eq!(said["since"], json!(wait.since_words()), "{model}\n{text}");
                assert_eq!(said["who"], json!(wait.who), "{model}\n{text}");
            }
        }
        let last = &look["rows"][own - 1]["fault"];
        if path.len() == own && last.is_object() && !own_reasons.is_empty() {
            assert_eq!(last["reasons"], json!(own_reasons), "{model}\n{text}");
        }
    }
    if again["message"] == violation.message.as_str()
        && walked.is_some_and(|path| path.len() == own)
    {
        assert_eq!(again["reasons"].as_array().unwrap().len(), why.len(), "{again}\n{text}");
    }
    [told.iter().flatten().count(), own_reasons.len(), waits.len()]
}

#[test]
fn every_view_of_an_execution_says_the_same() {
    let cases = std::env::var("PREEMPT_COUNTS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let mut random = Random::linear(11);
    let mut found = [0; 3];
    for _ in 0..cases {
        let text = promela(&mut random);
        let claims = verify_promela("m.pml", &text, &Request::default(), &Control::new());
        for claim in claims.unwrap_or_else(|error| panic!("{error}\n{text}")) {
            let counts = compare("words", &text, &claim);
            found.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    let [remarks, reasons, waiting] = found;
    eprintln!("{remarks} remarks, {reasons} reasons, {waiting} processes that wait");
    assert!(remarks > cases && reasons > 0 && waiting > cases / 4, "{found:?}");
}
