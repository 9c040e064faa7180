//! Walks through models over the API, compared with a plain replay of the same steps.

use crate::client::{Served, models};
use preempt_core::{Describe, Enabled, Outcome, Step, Switch, System, Value as Shown, replay};
use preempt_promela::interpret::Interpreter;
use preempt_testing::Random;
use preempt_verify::Control;
use preempt_verify::promela::{observed, read};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How many random walks per model.
fn walks() -> u64 {
    let asked = std::env::var("PREEMPT_SERVE_WALKS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(4)
}

fn interpreter(name: &str) -> Interpreter {
    let text = std::fs::read_to_string(models().join(name)).unwrap();
    let model = read(models().join(name).to_str().unwrap(), &text).unwrap();
    observed(&model, &Default::default(), &Control::new()).unwrap()
}

fn encode(choices: &[usize]) -> String {
    let letter = |choice: &usize| match u32::try_from(*choice) {
        Ok(small) if small < 36 => char::from_digit(small, 36).unwrap().to_string(),
        _ => format!("({choice})"),
    };
    choices.iter().map(letter).collect()
}

fn shown(value: &Shown) -> Value {
    match value {
        Shown::Int(number) => json!(number),
        Shown::Name(name) => json!(name),
        Shown::Queue(messages) => json!(messages),
    }
}

/// A random execution: choices, steps, and the states in front of each step and at the end.
fn execution(
    system: &dyn System,
    random: &mut Random,
    most: usize,
) -> (Vec<usize>, Vec<Step>, Vec<Vec<u8>>) {
    let (mut state, mut enabled) = (Vec::new(), Enabled::new());
    system.initial(&mut state);
    let (mut choices, mut steps, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..most {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        if enabled.is_empty() {
            break;
        }
        states.push(state.clone());
        let choice = random.below(enabled.steps().len());
        let step = enabled.steps()[choice];
        choices.push(choice);
        steps.push(step);
        if let Outcome::Broken(_) = system.apply(&mut state, step) {
            return (choices, steps, states);
        }
    }
    enabled.clear();
    system.enabled(&mut state, &mut enabled);
    states.push(state);
    (choices, steps, states)
}

#[test]
fn walks_are_what_a_replay_says() {
    let names: Vec<String> = std::fs::read_dir(models())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".pml"))
        .collect();
    let list: Vec<&str> = names.iter().map(String::as_str).collect();
    let served = Served::examples(&list);
    for (model, name) in names.iter().enumerate() {
        let system = interpreter(name);
        for seed in 0..walks() {
            let mut random = Random::linear(seed * 1_000 + model as u64);
            let (choices, steps, states) = execution(&system, &mut random, 90);
            let (trace, _, _) = replay(&system, &steps).unwrap();
            // Points of the path in any order, some on another branch: what the server remembers must not show.
            for _ in 0..6 {
                let here = random.below(states.len());
                let mut path = choices.clone();
                if random.below(3) == 0 {
                    path.truncate(random.below(choices.len() + 1).max(here));
                }
                let look = served.ask(
                    "look",
                    json!({ "model": model, "path": encode(&path), "here": here, "from": 0, "rows": 400 }),
                );
                compare(&system, name, &look, (&trace, &states), path.len(), here);
                if here > 0 {
                    let other = [&choices[..here - 1], &[0]].concat();
                    served.ask("look", json!({ "model": model, "path": encode(&other) }));
                }
            }
        }
    }
}

fn compare(
    system: &Interpreter,
    name: &str,
    look: &Value,
    (trace, states): (&preempt_core::Trace, &[Vec<u8>]),
    length: usize,
    here: usize,
) {
    assert_eq!(look["length"], json!(length), "{name}");
    let rows = look["rows"].as_array().unwrap();
    assert_eq!(rows.len(), length, "{name}");
    for (row, step) in rows.iter().zip(&trace.steps) {
        let switch = match step.switch {
            Switch::None => "none",
            Switch::Forced => "forced",
            Switch::Preemption => "preemption",
        };
        assert_eq!(row["text"], json!(step.text), "{name}");
        assert_eq!(row["process"], json!(step.process), "{name}");
        assert_eq!(row["line"], json!(step.line), "{name}");
        assert_eq!(row["switch"], json!(switch), "{name} {}", step.text);
        assert_eq!(row["output"], json!(step.output), "{name}");
        let changes: Vec<Value> = step
            .changes
            .iter()
            .map(|c| json!({ "name": c.name, "from": c.from.as_ref().map(shown), "to": c.to.as_ref().map(shown) }))
            .collect();
        assert_eq!(row["changes"], json!(changes), "{name}");
    }
    let variables: Vec<Value> = system
        .variables(&states[here])
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": shown(value) }))
        .collect();
    assert_eq!(look["variables"], json!(variables), "{name} at {here}");
    let (mut state, mut enabled) = (states[here].clone(), Enabled::new());
    system.enabled(&mut state, &mut enabled);
    let offered = look["enabled"].as_array().unwrap();
    assert_eq!(offered.len(), enabled.steps().len(), "{name} at {here}");
    let last = here.checked_sub(1).map(|at| trace.raw[at].mover());
    for (step, offer) in enabled.steps().iter().zip(offered) {
        assert_eq!(offer["text"], json!(system.describe(&state, *step).2), "{name}");
        let costs = preempt_core::classify(last, &enabled, step) == Switch::Preemption;
        assert_eq!(offer["switch"] == "preemption", costs, "{name} at {here}");
    }
    let cost = trace.steps[..here].iter().filter(|step| step.switch == Switch::Preemption).count();
    assert_eq!(look["cost"]["preemptions"], json!(cost), "{name}");
}

/// Every variable is an expression, and so is every comparison with its value.
#[test]
fn watches_have_the_values_of_the_variables() {
    let names = [
        "peterson.pml",
        "bounded_buffer.pml",
        "readers_writers.pml",
        "leader_election.pml",
        "wsq.pml",
    ];
    let served = Served::examples(&names);
    let mut compared = 0;
    for (model, name) in names.iter().enumerate() {
        let system = interpreter(name);
        let mut random = Random::linear(model as u64 + 77);
        let (choices, ..) = execution(&system, &mut random, 60);
        let here = random.below(choices.len() + 1);
        let path = encode(&choices[..here]);
        let look = served.ask("look", json!({ "model": model, "path": path }));
        let plain: Vec<(String, i64)> = look["variables"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|v| Some((v["name"].as_str()?.to_string(), v["value"].as_i64()?)))
            .filter(|(name, _)| !name.contains(':'))
            .take(10)
            .collect();
        let texts: Vec<String> = plain
            .iter()
            .flat_map(|(name, value)| {
                [
                    name.clone(),
                    format!("{name} == {value} && !({name} != {value})"),
                    format!("{name} + 1"),
                ]
            })
            .collect();
        let look = served.ask("look", json!({ "model": model, "path": path, "watches": texts }));
        for (at, (variable, value)) in plain.iter().enumerate() {
            let watched = |offset: usize| look["watches"][3 * at + offset]["value"].clone();
            assert_eq!(watched(0), json!(value), "{name}: {variable}");
            assert_eq!(watched(1), json!(1), "{name}: {variable}");
            assert_eq!(watched(2), json!(value + 1), "{name}: {variable}");
            compared += 1;
        }
    }
    assert!(compared > 10, "{compared}");
    let problem = |text: &str| {
        let look = served.ask("look", json!({ "model": 0, "watches": [text] }));
        look["watches"][0]["problem"].as_str().unwrap_or("").to_string()
    };
    assert!(problem("[] (inside < 2)").contains("temporal"));
    assert!(problem("outside == 1").contains("outside"));
    assert!(!problem("1 +").is_empty());
    assert!(!problem("process[0]:other == 1 || len(q) > 0 || 1").is_empty());
}

#[test]
fn peterson_reaches_its_critical_section_and_never_both() {
    let served = Served::examples(&["peterson.pml"]);
    let run = |until: &str| {
        served.ask("run", json!({ "model": 0, "path": "", "mode": "nearest", "until": until }))
    };
    // wants = true, turn = other, the wait, inside++.
    let found = run("inside == 1");
    assert_eq!((&found["end"], found["path"].as_str().unwrap().len()), (&json!("condition"), 4));
    assert_eq!(run("inside == 2")["end"], json!("nowhere"));
    let look =
        served.ask("look", json!({ "model": 0, "path": found["path"], "watches": ["inside"] }));
    assert_eq!(look["watches"][0]["value"], json!(1));
    // Alone a process goes round for ever: the limit ends it. A breakpoint ends it earlier.
    let line = look["processes"][0]["line"].as_u64().unwrap();
    let name = served.ask("open", json!({ "model": 0 }))["sources"][0]["file"].clone();
    let alone =
        json!({ "model": 0, "path": "", "mode": "process", "process": 0, "lines": [[name, line]] });
    assert_eq!(served.ask("run", alone)["end"], json!("breakpoint"));
    let alone = json!({ "model": 0, "path": "", "mode": "process", "process": 1, "steps": 50 });
    let ran = served.ask("run", alone);
    assert_eq!((&ran["end"], ran["path"].as_str().unwrap().len()), (&json!("limit"), 50));
}

#[test]
fn a_check_tells_its_progress_and_opens_as_a_path() {
    let served = Served::examples(&[
        "peterson_no_turn.pml",
        "traffic_light_starving.pml",
        "boolean/bluetooth-2-1.bp",
    ]);
    let mut events = served.events();
    served
        .ask("check", json!({ "model": 0, "property": "safety", "iterate": true, "seconds": 60 }));
    let done = events.next("checked");
    let claim = &done["results"]["claims"][0];
    assert_eq!(
        (&claim["verdict"], &claim["violation"]["preemptions"]),
        (&json!("violated"), &json!(1))
    );
    assert_eq!(claim["violation"]["complete"], json!(true));
    let look = served.ask("look", json!({ "model": 0, "path": claim["violation"]["path"] }));
    assert_eq!((&look["end"], &look["cost"]["preemptions"]), (&json!("deadlock"), &json!(1)));
    // An infinite execution, found with a property beside the model.
    let open = served.ask("open", json!({ "model": 1 }));
    let ltl: Vec<&Value> = open["properties"].as_array().unwrap().iter().collect();
    let mut cycles = 0;
    for property in ltl.iter().filter(|p| p["id"].as_str().unwrap().starts_with("ltl:")) {
        served.ask("check", json!({ "model": 1, "property": property["id"] }));
        let done = events.next("checked");
        let violation = &done["results"]["claims"][0]["violation"];
        if violation["cycle"].is_u64() {
            let path = violation["path"].as_str().unwrap();
            let at = violation["cycle"].as_u64().unwrap() as usize;
            assert!(at < path.len(), "{violation}");
            let variables = |here: usize| {
                served.ask("look", json!({ "model": 1, "path": path, "here": here }))["variables"]
                    .clone()
            };
            assert_eq!(variables(at), variables(path.len()), "the cycle closes");
            cycles += 1;
        }
    }
    assert_eq!(cycles, 1);
    let formula = json!({ "model": 0, "formula": "[] (inside <= 1)", "bound": 0 });
    served.ask("check", formula);
    let done = events.next("checked");
    assert_eq!(done["results"]["claims"][0]["verdict"], json!("holds_within_bound"), "{done}");
    served.ask("check", json!({ "model": 0, "formula": "[] (nothing" }));
    assert!(events.next("checked")["results"]["problem"].is_string());
    served.ask("check", json!({ "model": 2, "property": "reach" }));
    let done = events.next("checked");
    let claim = &done["results"]["claims"][0];
    assert_eq!(claim["verdict"], json!("violated"), "{done}");
    assert_eq!(claim["violation"]["complete"], json!(true), "{done}");
    let look = served.ask("look", json!({ "model": 2, "path": claim["violation"]["path"] }));
    assert!(look["fault"]["message"].is_string(), "{}", look["fault"]);
}

#[test]
fn a_check_is_cancelled() {
    let endless = "int a, b, c, d;
        active [3] proctype p() { do :: a < b + 900 -> a++ :: b < c + 900 -> b++ :: c < d + 900 -> c++ :: d++ od }";
    let (served, _) = Served::text("cancelled", endless);
    let mut events = served.events();
    let id =
        served.ask("check", json!({ "model": 0, "property": "safety", "memory": 1500 }))["check"]
            .clone();
    let progress = events.next("progress");
    assert!(progress["progress"]["states"].as_u64().unwrap() > 0);
    assert_eq!(served.ask("cancel", json!({ "check": id }))["was_running"], json!(true));
    let done = events.next("checked");
    let claim = &done["results"]["claims"][0];
    assert_eq!(claim["verdict"], json!("inconclusive"));
    assert!(claim["sentence"].as_str().unwrap().contains("interrupted"), "{claim}");
    assert_eq!(served.ask("cancel", json!({ "check": id }))["was_running"], json!(false));
}

#[test]
fn a_file_that_changes_is_read_again() {
    let text =
        "byte x;\nactive proctype p() { x = 1; x = 2; x = 3 }\nactive proctype q() { x = 9 }\n";
    let (served, path) = Served::text("reload", text);
    let mut events = served.events();
    // q, then all of p.
    let taken =
        served.ask("run", json!({ "model": 0, "path": "0", "mode": "process", "process": 0 }));
    let old = taken["path"].as_str().unwrap().to_string();
    let carry =
        |version: u64| served.ask("carry", json!({ "model": 0, "path": old, "version": version }));
    // A line more in front, and another last statement: all but that is found again.
    std::fs::write(&path, format!("byte y;\n{}", text.replace("x = 3", "y = 3"))).unwrap();
    assert_eq!(events.next("changed")["version"], json!(2));
    let carried = carry(1);
    assert_eq!((&carried["kept"], &carried["version"]), (&json!(3), &json!(2)), "{carried}");
    let look = served.ask("look", json!({ "model": 0, "path": carried["path"] }));
    let texts: Vec<&str> =
        look["rows"].as_array().unwrap().iter().map(|row| row["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["x = 9", "x = 1", "x = 2"]);
    // A mistake: shown, and nothing is lost once it is mended.
    std::fs::write(&path, "byte x;\nactive proctype p() { x = }\n").unwrap();
    assert_eq!(events.next("changed")["version"], json!(3));
    let open = served.ask("open", json!({ "model": 0 }));
    assert_eq!((&open["kind"], &open["mistakes"][0]["line"]), (&Value::Null, &json!(2)));
    assert_eq!(served.refused("look", json!({ "model": 0, "path": "" })).0, 409);
    std::fs::write(&path, format!("{text}\n")).unwrap();
    assert_eq!(events.next("changed")["version"], json!(4));
    let carried = served.ask("carry", json!({ "model": 0, "path": "0", "version": 2 }));
    assert_eq!((&carried["kept"], &carried["of"]), (&json!(1), &json!(1)), "{carried}");
}

#[test]
fn two_branches_are_compared() {
    let served = Served::examples(&["peterson.pml"]);
    let answer = served.ask("compare", json!({ "model": 0, "paths": ["00", "01"] }));
    assert_eq!(answer["common"], json!(1));
    let names: Vec<&str> = answer["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 1, "{answer}");
    assert_eq!(answer["sides"][0]["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn automata_say_where_they_are() {
    let text =
        "byte x; active proctype p() { x = 1; x = 2; L: x = 3 } ltl never_two { [] (x != 2) }
        never counts { do :: x == 1 -> break :: else od; do :: x == 3 -> break :: else od }";
    let (served, _) = Served::text("automata", text);
    let at = |path: &str| {
        served.ask("automata", json!({ "model": 0, "path": path }))["automata"].clone()
    };
    let here = |automaton: &Value| -> Vec<String> {
        let nodes = automaton["nodes"].as_array().unwrap().iter();
        let marked = nodes.filter(|node| !node["here"].as_array().unwrap().is_empty());
        marked.map(|node| node["label"].as_str().unwrap().to_string()).collect()
    };
    let start = at("");
    assert_eq!(start.as_array().unwrap().len(), 3, "{start}");
    assert_eq!(
        (&start[0]["name"], &start[0]["edges"].as_array().unwrap().len()),
        (&json!("p"), &3)
    );
    assert_eq!(here(&start[0]).len(), 1);
    // The formula's automaton has to read x = 2 to get to its accepting state.
    let accepting = |automata: &Value| {
        let nodes = automata[2]["nodes"].as_array().unwrap().clone();
        nodes.iter().any(|n| n["accepting"] == true && !n["here"].as_array().unwrap().is_empty())
    };
    assert!(!accepting(&start) && !accepting(&at("0")));
    assert!(accepting(&at("00")) && accepting(&at("000")));
    // The claim is completed when x was 1, and then 3.
    assert_eq!(here(&at("000")[1]), ["violated"], "{}", at("000")[1]);
    assert_ne!(here(&at("00")[1]), ["violated"]);
}

#[test]
fn the_graph_grows_level_by_level() {
    let served = Served::examples(&["peterson_no_turn.pml"]);
    let graph = |levels: usize, merge: &[&str]| {
        served.ask(
            "graph",
            json!({ "model": 0, "path": "", "levels": levels, "merge": merge, "trace": "01" }),
        )
    };
    let count = |graph: &Value| graph["nodes"].as_array().unwrap().len();
    let levels: Vec<usize> = (0..4).map(|levels| count(&graph(levels, &[]))).collect();
    assert_eq!(levels[..2], [1, 3], "here, and a step of each process");
    assert!(levels.windows(2).all(|pair| pair[0] < pair[1]), "{levels:?}");
    // All states: as many as a search without reduction and merging stores, by another way.
    let all = graph(40, &[]);
    assert_eq!(
        (count(&all), &all["full"]),
        (reachable(&interpreter("peterson_no_turn.pml")), &json!(false))
    );
    let nodes = all["nodes"].as_array().unwrap();
    assert_eq!(nodes.iter().filter(|node| node["error"] == true).count(), 1, "one deadlock");
    assert_eq!(nodes.iter().filter(|node| node["marked"] == true).count(), 3);
    let wrong = nodes.iter().find(|node| node["error"] == true).unwrap();
    let look = served.ask("look", json!({ "model": 0, "path": wrong["path"] }));
    assert_eq!(look["end"], json!("deadlock"));
    assert_eq!(count(&graph(40, &["inside"])), 2);
}

fn reachable(system: &dyn System) -> usize {
    let mut enabled = Enabled::new();
    let mut first = Vec::new();
    system.initial(&mut first);
    system.enabled(&mut first, &mut enabled);
    let mut seen = std::collections::HashSet::from([first.clone()]);
    let mut stack = vec![first];
    while let Some(mut state) = stack.pop() {
        enabled.clear();
        system.enabled(&mut state, &mut enabled);
        for step in enabled.steps().to_vec() {
            let mut next = state.clone();
            system.apply(&mut next, step);
            system.enabled(&mut next, &mut Enabled::new());
            if seen.insert(next.clone()) {
                stack.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn messages_are_charted() {
    let (served, _) = Served::text(
        "chart",
        "chan c = [1] of { byte }; chan d = [0] of { byte };
         active proctype s() { c!1; d!2 } active proctype r() { byte x; c?x; d?x }",
    );
    let run = served
        .ask("run", json!({ "model": 0, "path": "", "mode": "random", "steps": 3, "seed": 1 }));
    let chart = served.ask("chart", json!({ "model": 0, "path": run["path"] }));
    let labels: Vec<&str> = chart["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["c!1", "d!2"], "{chart}");
}

#[test]
fn a_step_that_never_ends_is_given_up() {
    let (served, _) = Served::text(
        "endless",
        "int x; active proctype p() { x = 1; d_step { do :: x > 0 -> x = 1 :: x < 0 -> break od } }",
    );
    let start = Instant::now();
    served.ask("look", json!({ "model": 0, "path": "0" }));
    let look = served.ask("look", json!({ "model": 0, "path": "00" }));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(look["end"], json!("broken"), "{look}");
}

/// An action takes the same time at the end of a long path.
#[test]
fn long_paths_and_many_processes_stay_quick() {
    let (served, _) = Served::text(
        "long",
        "byte x[200]; active [200] proctype p() { byte n; do :: x[_pid]++ :: n++ od }",
    );
    let mut path = String::new();
    while path.len() < 100_000 {
        let body = json!({ "model": 0, "path": path, "mode": "random", "steps": 10_000, "seed": path.len() });
        let longer = served.ask("run", body)["path"].as_str().unwrap().to_string();
        assert!(longer.len() > path.len());
        path = longer;
    }
    let mut times = Vec::new();
    for (more, here) in
        [("0", None), ("00", None), ("", Some(50_000)), ("", Some(99_000)), ("", Some(3))]
    {
        let body = json!({ "model": 0, "path": format!("{path}{more}"), "here": here });
        let start = Instant::now();
        served.ask("look", body);
        times.push(start.elapsed());
    }
    println!("an action at the end of {} characters of path: {times:?}", path.len());
    assert!(times.iter().all(|time| *time < Duration::from_secs(10)), "{times:?}");
}

#[test]
fn threads_of_boolean_programs_stand_at_lines() {
    let served = Served::examples(&["boolean/bluetooth-2-1.bp"]);
    let look = |path: &str| served.ask("look", json!({ "model": 0, "path": path }));
    let at = |look: &Value, pid: usize| {
        let process = &look["processes"][pid];
        (process["line"].as_u64().unwrap(), process["text"].as_str().unwrap().to_string())
    };
    let start = look("");
    assert_eq!(at(&start, 0), (10, "pending := 1".into()));
    // It has no values to choose: what it takes next is its first statement.
    assert_eq!(at(&start, 1), (22, "pending := pending + 1".into()));
    assert_eq!(start["standing"][0]["line"], 10);
    // After `init` the threads are at their first statements.
    let later = look("0000");
    assert_eq!(later["followed"], 4, "{later}");
    assert_eq!(at(&later, 0).1, "-end-");
    let lines: Vec<u64> = (1..4).map(|pid| at(&later, pid).0).collect();
    assert!(lines.iter().all(|line| *line >= 20), "{lines:?}");
}
