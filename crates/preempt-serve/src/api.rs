//! What a page can ask, as JSON. One function per question; nothing here knows HTTP.
//!
//! Every question about states names the path to the state, so that a page can be reloaded, shared and
//! branched without the server keeping track of it. Only long paths are not sent again and again: see
//! [`Route`]. Answers have what is in view, and numbers for the rest.

use crate::explorer::{Explorer, Loaded, Refusal, Route};
use crate::find::{self, Goal};
use crate::search_options::{About, SearchOptions};
use crate::subject::{Evaluate, Question, Subject};
use crate::walk::{Moment, Walk};
use crate::{checks, files, graph, path, show};
use preempt_core::{ProcessId, Step, System, Trace, changes_between};
use preempt_report::{Wait, messages, wait};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Rows of the lanes that are sent at once.
const MOST_ROWS: usize = 400;
/// Steps that a chart of messages covers.
const MOST_CHARTED: usize = 2_000;
/// States of a path that claims read.
const MOST_READ: usize = 20_000;
/// Expressions that are watched at once.
const MOST_WATCHES: usize = 40;
/// Steps that are taken by themselves at most.
const MOST_STEPS: usize = 100_000;
/// States that are searched for the nearest one.
const MOST_STATES: usize = 300_000;
/// Seconds that a graph may take.
const LONGEST_GRAPH: f64 = 60.0;
/// Levels of the graph around a state.
const MOST_LEVELS: usize = 40;
/// Bytes of bookmarks that are kept.
const LARGEST_BOOKMARKS: usize = 1 << 20;

/// Answers a question.
pub(crate) fn answer(
    explorer: &Arc<Explorer>,
    question: &str,
    body: &[u8],
) -> Result<Value, Refusal> {
    match question {
        "models" => {
            let options = explorer.options().map(SearchOptions::shown);
            Ok(json!({ "models": explorer.names(), "options": options }))
        }
        "open" => open(explorer, &read(body)?),
        "look" => look(explorer, &read(body)?, true),
        "rows" => look(explorer, &read(body)?, false),
        "compare" => compare(explorer, &read(body)?),
        "run" => run(explorer, &read(body)?),
        "path" => whole_path(explorer, &read(body)?),
        "chart" => chart(explorer, &read(body)?),
        "graph" => around(explorer, &read(body)?),
        "automata" => automata(explorer, &read(body)?),
        "carry" => carry(explorer, &read(body)?),
        "bookmarks" => bookmarks(explorer, read(body)?),
        "export" => files::export(explorer, &read(body)?),
        "edit" => files::edit(explorer, read(body)?),
        "save" => files::save(explorer, &read(body)?),
        "check" => check(explorer, read(body)?),
        "cancel" => {
            let Cancel { check, graph } = read(body)?;
            let was_running = check.is_some_and(|check| explorer.cancel(check))
                | graph.is_some_and(|graph| explorer.cancel_graph(graph));
            Ok(json!({ "was_running": was_running }))
        }
        _ => Err(Refusal { status: 404, message: "unknown request".into() }),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::bad(format!("not understood: {error}")))
}

#[derive(Deserialize)]
struct Open {
    model: usize,
}

/// A model: its sources, mistakes and properties.
fn open(explorer: &Explorer, asked: &Open) -> Result<Value, Refusal> {
    let loaded = explorer.model(asked.model)?;
    let name = explorer.names().swap_remove(asked.model);
    let about = json!({
        "name": name, "version": loaded.version, "bookmarks": loaded.bookmarks,
        "results": loaded.results, "running": explorer.under_way(asked.model),
        "file": files::text(explorer, asked.model, loaded.draft.as_deref()),
        "drawing": loaded.picture.as_ref().map(|picture| picture.scene()),
    });
    let rest = match &loaded.subject {
        Err(mistakes) => {
            json!({ "mistakes": mistakes.iter().map(show::mistake).collect::<Value>() })
        }
        Ok(subject) => {
            let source = |s: &preempt_report::Source| json!({ "file": s.file, "text": s.text });
            let properties = subject.properties();
            let property = properties.iter().map(|p| {
                let command = subject.command(&p.id);
                json!({ "id": p.id, "label": p.label, "command": command })
            });
            json!({
                "kind": subject.kind(),
                "sources": subject.sources().iter().map(source).collect::<Value>(),
                "mistakes": subject.warnings().iter().map(show::mistake).collect::<Value>(),
                "properties": property.collect::<Value>(),
                "expressions": subject.expressions(), "has_formulas": subject.has_formulas(),
                "statements": subject.statements().into_iter().collect::<BTreeSet<_>>(),
                "recording": subject.recording().as_ref().map(show::recording),
                "is_launched": properties.iter().any(|p| subject.command(&p.id).is_some()),
            })
        }
    };
    Ok(joined(about, rest))
}

fn joined(mut a: Value, b: Value) -> Value {
    if let (Some(a), Value::Object(b)) = (a.as_object_mut(), b) {
        a.extend(b);
    }
    a
}

#[derive(Deserialize)]
struct Look {
    model: usize,
    #[serde(flatten)]
    route: Route,
    /// The step to look behind; the last one when it is not given.
    here: Option<usize>,
    #[serde(default)]
    watches: Vec<String>,
    /// The first row of the lanes to send; those at the end when it is not given.
    from: Option<usize>,
    /// How many rows.
    rows: Option<usize>,
    /// So many processes are described, and those that have to do with the steps before and behind; all
    /// when it is not given.
    processes: Option<usize>,
    /// So many variables, and those that the last step changed; all when it is not given.
    variables: Option<usize>,
}

/// Which of the processes that are shown wait, and for what; `steps` lead to the moment.
fn waits(
    subject: &dyn Subject,
    system: &dyn System,
    steps: &[Step],
    moment: &Moment,
    is_shown: impl Fn(usize) -> bool,
) -> Vec<Wait> {
    let last_move = |pid: usize| {
        let moves = |step: &Step| [Some(step.process), step.partner].into_iter().flatten();
        steps.iter().rposition(|step| moves(step).any(|process| process.index() == pid))
    };
    // Inside an indivisible sequence the others wait for its end only.
    let blocked: Vec<ProcessId> = match system.is_transient(&moment.state) {
        true => Vec::new(),
        false => (0..system.process_count(&moment.state))
            .filter(|pid| is_shown(*pid))
            .filter_map(|pid| Some(ProcessId(u16::try_from(pid).ok()?)))
            .filter(|process| !moment.enabled.can_move(*process))
            .collect(),
    };
    let name = |pid: usize| {
        system.process_name(&moment.state, ProcessId(u16::try_from(pid).unwrap_or(u16::MAX)))
    };
    let waits = subject.waiting(&moment.state, &blocked);
    waits.iter().filter_map(|one| wait(one, last_move(one.pid), &name)).collect()
}

/// A part of the lanes of a path, and with `state` the state behind one of its steps and what can happen
/// there.
fn look(explorer: &Explorer, asked: &Look, state: bool) -> Result<Value, Refusal> {
    if asked.watches.len() > MOST_WATCHES {
        return Err(Refusal::bad("too many watched expressions"));
    }
    let mut loaded = explorer.model(asked.model)?;
    let subject = loaded.subject()?;
    let compiled = loaded.compiled(&asked.watches);
    let (version, picture) = (loaded.version, loaded.picture.clone());
    let usable: Vec<Option<Evaluate>> = compiled.iter().map(|w| w.as_ref().ok().cloned()).collect();
    loaded.at(&asked.route, |system, walk, far| {
        let here = asked.here.unwrap_or(walk.len()).min(walk.len());
        let rows = asked.rows.unwrap_or(100).min(MOST_ROWS);
        let from = asked.from.unwrap_or_else(|| here.saturating_sub(rows / 2));
        let shown = walk.rows(system, from..from.saturating_add(rows));
        let both = (&*subject, system);
        let row = |(at, row)| show::row(both, from + at, row, &usable);
        let answer = json!({
            "version": version, "trail": walk.trail(), "length": walk.len(), "followed": far,
            "from": from, "rows": shown.iter().enumerate().map(row).collect::<Value>(),
            "preemptions": walk.cost(from).preemptions, "lanes": lanes(system, walk),
        });
        if !state {
            return Ok(answer);
        }
        let moment = walk.moment(system, here);
        let watched = compiled.iter().map(|watch| match watch {
            Ok(watch) => json!({ "value": watch(&moment.state) }),
            Err(problem) => json!({ "problem": problem }),
        });
        let around = walk.steps()[here.saturating_sub(1)..walk.len().min(here + 1)].iter();
        let movers: Vec<usize> = around
            .flat_map(|step| [Some(step.process), step.partner])
            .flatten()
            .map(|process| process.index())
            .collect();
        let most = asked.processes.unwrap_or(usize::MAX);
        let count = system.process_count(&moment.state);
        // What is no process of the state, such as a claim, is always shown.
        let is_shown = |pid: usize| pid < most || pid >= count || movers.contains(&pid);
        let changed = match here.checked_sub(1) {
            Some(last) if asked.variables.is_some() => walk.rows(system, last..here),
            _ => Vec::new(),
        };
        let changed: HashSet<&str> =
            changed.iter().flat_map(|row| &row.step.changes).map(|c| c.name.as_str()).collect();
        let waits = waits(&*subject, system, &walk.steps()[..here], &moment, is_shown);
        let variables = system.variables(&moment.state);
        let most = asked.variables.unwrap_or(usize::MAX);
        let in_view = show::in_view(&variables, most, &changed);
        Ok(joined(
            answer,
            json!({
                "here": here, "cost": show::cost(walk, here),
                "processes": show::processes(system, &moment, &is_shown), "process_count": count,
                "standing": show::standing(system, &moment, &movers),
                "variables": in_view, "variable_count": variables.len(),
                "enabled": show::enabled(both, &moment.state, &moment.previews(system, is_shown)),
                "waits": show::waits(&waits),
                "end": show::end(system, &moment), "fault": show::fault(system, moment.fault),
                "indivisible": system.is_transient(&moment.state),
                "watches": watched.collect::<Value>(),
                "drawn": picture.map(|picture| picture.values(&*subject, system, &moment.state)),
            }),
        ))
    })
}

#[derive(Deserialize)]
struct Compare {
    model: usize,
    paths: [String; 2],
}

/// Two branches: where they part, their steps since then, and in what their states differ.
fn compare(explorer: &Explorer, asked: &Compare) -> Result<Value, Refusal> {
    let mut loaded = explorer.model(asked.model)?;
    let read = |text: &String| path::read(text).ok_or_else(|| Refusal::bad("this is not a path"));
    let (a, b) = (read(&asked.paths[0])?, read(&asked.paths[1])?);
    let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let subject = loaded.subject()?;
    let mut sides = Vec::new();
    let mut variables = Vec::new();
    for text in &asked.paths {
        let side = loaded.at(&Route::whole(text), |system, walk, _| {
            variables.push(system.variables(walk.state()));
            let from = common.min(walk.len());
            let rows = walk.rows(system, from..from + MOST_ROWS);
            let rows = rows
                .iter()
                .enumerate()
                .map(|(at, row)| show::row((&*subject, system), from + at, row, &[]));
            let moment = walk.moment(system, walk.len());
            Ok(json!({
                "rows": rows.collect::<Value>(), "length": walk.len(),
                "cost": show::cost(walk, walk.len()), "end": show::end(system, &moment),
                "processes": show::processes(system, &moment, &|_| true),
                "fault": show::fault(system, moment.fault),
            }))
        })?;
        sides.push(side);
    }
    let differences = show::changes(&changes_between(&variables[0], &variables[1]));
    Ok(json!({ "common": common, "sides": sides, "differences": differences }))
}

#[derive(Deserialize)]
struct Run {
    model: usize,
    #[serde(flatten)]
    route: Route,
    /// `nearest`, `random` or `process`.
    mode: String,
    until: Option<String>,
    #[serde(default)]
    lines: Vec<(String, u32)>,
    process: Option<usize>,
    steps: Option<usize>,
    #[serde(default)]
    seed: u64,
}

/// Goes on by itself.
fn run(explorer: &Explorer, asked: &Run) -> Result<Value, Refusal> {
    let mut loaded = explorer.model(asked.model)?;
    let condition = match &asked.until {
        Some(text) => loaded.compiled(std::slice::from_ref(text)).swap_remove(0).map(Some),
        None => Ok(None),
    };
    let goal = Goal { condition: condition.map_err(Refusal::bad)?, lines: asked.lines.clone() };
    if asked.mode == "nearest" && goal.condition.is_none() && goal.lines.is_empty() {
        return Err(Refusal::bad("a condition or a breakpoint is needed"));
    }
    let steps = asked.steps.unwrap_or(10_000).min(MOST_STEPS);
    loaded.at(&asked.route, |system, walk, _| {
        let mut seen = None;
        let end = match asked.mode.as_str() {
            "nearest" => {
                let (end, states) = find::nearest(system, walk, &goal, MOST_STATES);
                seen = Some(states);
                end
            }
            "random" => find::run(system, walk, &goal, None, steps, asked.seed),
            "process" => {
                let Some(pid) = asked.process else {
                    return Err(Refusal::bad("say which process"));
                };
                find::run(system, walk, &goal, Some(pid), steps, asked.seed)
            }
            _ => return Err(Refusal::bad("unknown way to run")),
        };
        let path = path::write(&walk.choices()[asked.route.kept().min(walk.len())..]);
        Ok(json!({ "path": path, "end": end.name(), "states": seen, "trail": walk.trail() }))
    })
}

#[derive(Deserialize)]
struct At {
    model: usize,
    #[serde(flatten)]
    route: Route,
}

/// A path in full, for a page that only knows the name of its walk.
fn whole_path(explorer: &Explorer, asked: &At) -> Result<Value, Refusal> {
    let mut loaded = explorer.model(asked.model)?;
    loaded.at(&asked.route, |_, walk, _| Ok(json!({ "path": path::write(walk.choices()) })))
}

/// The messages of the last part of a path.
fn chart(explorer: &Explorer, asked: &At) -> Result<Value, Refusal> {
    explorer.model(asked.model)?.at(&asked.route, |system, walk, _| {
        let from = walk.len().saturating_sub(MOST_CHARTED);
        let rows = walk.rows(system, from..walk.len());
        let mut initial = Vec::new();
        match walk.len() {
            0 => initial = system.variables(walk.state()),
            _ => walk.states(system, from..from + 1, &mut |_, s| initial = system.variables(s)),
        }
        let names = lanes(system, walk);
        let steps = rows.into_iter().map(|row| row.step).collect();
        let trace = Trace { initial, steps, ..Trace::default() };
        let event = |event: Option<preempt_report::Event>| {
            event.map(|event| json!({ "step": from + event.step, "pid": event.pid }))
        };
        let shown = messages(&trace).into_iter().map(|message| {
            json!({
                "label": message.label(), "sent": event(message.sent),
                "received": event(message.received),
            })
        });
        Ok(json!({ "from": from, "lanes": names, "messages": shown.collect::<Value>() }))
    })
}

/// The processes that take part, by id.
fn lanes(system: &dyn System, walk: &Walk) -> Value {
    let name = |pid: usize| {
        let name = walk.name(system, pid);
        match walk.has_moved(pid) {
            true => json!({ "pid": pid, "name": name, "moves": true }),
            false => json!({ "pid": pid, "name": name }),
        }
    };
    walk.cast(system).map(name).collect()
}

#[derive(Deserialize)]
struct Graph {
    model: usize,
    #[serde(flatten)]
    route: Route,
    levels: usize,
    #[serde(default)]
    merge: Vec<String>,
    /// A counterexample to highlight.
    trace: Option<String>,
    /// How long states may be looked for.
    seconds: Option<f64>,
    /// A number by which the page can cancel it, and recognises its progress.
    number: Option<u64>,
}

/// The reachable graph around the end of a path.
fn around(explorer: &Explorer, asked: &Graph) -> Result<Value, Refusal> {
    let mut loaded = explorer.model(asked.model)?;
    let marked = match &asked.trace {
        Some(trace) => states_of(&mut loaded, &Route::whole(trace))?.into_iter().collect(),
        None => HashSet::new(),
    };
    let subject = loaded.subject()?;
    let walk = loaded.at(&asked.route, |system, walk, _| Ok(walk.copy(system, walk.len())))?;
    // Others can look at the model while this takes its time.
    drop(loaded);
    let time = match asked.seconds {
        Some(seconds) if seconds > 0.0 && seconds <= LONGEST_GRAPH => {
            Duration::from_secs_f64(seconds)
        }
        Some(_) => return Err(Refusal::bad("the time for a graph is at most 60 seconds")),
        None => graph::USUAL_TIME,
    };
    let number = asked.number;
    let flag = number.map(|number| explorer.begin_graph(number)).unwrap_or_default();
    let progress = |looked_at: usize, drawn: usize| {
        let event = json!({
            "event": "graph", "model": asked.model, "number": number, "looked_at": looked_at, "drawn": drawn,
        });
        explorer.notify(&event);
    };
    let mut picture = Value::Null;
    subject.explore(&mut |system| {
        let levels = asked.levels.min(MOST_LEVELS);
        let kept = asked.route.kept().min(walk.len());
        let (merge, marked, progress) = (&asked.merge, &marked, &progress);
        let limits = graph::Limits { time, cancel: &flag, progress };
        let what = graph::Around { levels, merge, marked, kept, limits };
        let names = system.variables(walk.state()).into_iter().map(|(name, _)| name);
        let names = json!({ "variables": names.collect::<Value>() });
        picture = joined(graph::around(system, &walk, &what), names);
    });
    number.inspect(|number| explorer.end_graph(*number));
    Ok(picture)
}

/// The states of the last part of a path, the one at its end included.
fn states_of(loaded: &mut Loaded, route: &Route) -> Result<Vec<Vec<u8>>, Refusal> {
    loaded.at(route, |system, walk, _| {
        let mut states = Vec::new();
        let from = walk.len().saturating_sub(MOST_READ);
        walk.states(system, from..walk.len(), &mut |_, state| states.push(state.to_vec()));
        if walk.broken().is_none() || walk.len() == 0 {
            states.push(walk.state().to_vec());
        }
        Ok(states)
    })
}

/// The automata, with where they are at the end of a path.
fn automata(explorer: &Explorer, asked: &At) -> Result<Value, Refusal> {
    let (states, subject) = {
        let mut loaded = explorer.model(asked.model)?;
        (states_of(&mut loaded, &asked.route)?, loaded.subject()?)
    };
    let list = subject.automata(&states);
    Ok(json!({ "automata": list.iter().map(graph::automaton).collect::<Value>() }))
}

#[derive(Deserialize)]
struct Carry {
    model: usize,
    path: String,
    version: u64,
}

/// A path through an earlier version of a model, in the present one.
fn carry(explorer: &Explorer, asked: &Carry) -> Result<Value, Refusal> {
    let mut loaded = explorer.model(asked.model)?;
    let carried = loaded.carry_over(&asked.path, asked.version)?;
    Ok(json!({
        "path": carried.path, "kept": carried.kept, "of": carried.of, "version": loaded.version,
    }))
}

#[derive(Deserialize)]
struct Bookmarks {
    model: usize,
    bookmarks: Value,
}

/// Keeps what the page wants to find again.
fn bookmarks(explorer: &Explorer, asked: Bookmarks) -> Result<Value, Refusal> {
    if asked.bookmarks.to_string().len() > LARGEST_BOOKMARKS {
        return Err(Refusal::bad("too many bookmarks"));
    }
    explorer.model(asked.model)?.bookmarks = asked.bookmarks;
    Ok(json!({}))
}

#[derive(Deserialize)]
struct Check {
    model: usize,
    #[serde(default)]
    property: String,
    formula: Option<String>,
    bound: Option<u32>,
    #[serde(default)]
    iterate: bool,
    #[serde(default)]
    fair: bool,
    /// Megabytes.
    memory: Option<u64>,
    seconds: Option<f64>,
    /// Options of the search, with their values.
    #[serde(default)]
    options: Vec<(String, Option<String>)>,
}

/// Starts a check.
fn check(explorer: &Arc<Explorer>, asked: Check) -> Result<Value, Refusal> {
    let (subject, version) = {
        let loaded = explorer.model(asked.model)?;
        (loaded.subject()?, loaded.version)
    };
    let time = match asked.seconds {
        Some(seconds) => match Duration::try_from_secs_f64(seconds) {
            Ok(time) if !time.is_zero() => Some(time),
            _ => return Err(Refusal::bad("the time limit must be a positive number of seconds")),
        },
        None => None,
    };
    if asked.memory == Some(0) {
        return Err(Refusal::bad("the memory limit must be a positive number of megabytes"));
    }
    let request = match explorer.options().filter(|_| !asked.options.is_empty()) {
        Some(options) => {
            let about = about(&*subject, &asked);
            let request = options.request(&asked.options, asked.words(), about);
            Some(request.map_err(Refusal::bad)?)
        }
        None if asked.options.is_empty() => None,
        None => return Err(Refusal::bad("no options are offered here")),
    };
    let question = Question {
        options: asked.options.into_iter().map(words).collect(),
        request,
        property: asked.property,
        formula: asked.formula,
        bound: asked.bound,
        iterate: asked.iterate,
        fair: asked.fair,
        memory: asked.memory.map(|megabytes| megabytes.saturating_mul(1 << 20)),
    };
    let id = checks::start(explorer, (asked.model, version), subject, question, time)?;
    Ok(json!({ "check": id }))
}

impl Check {
    /// What else it asks for, as options.
    fn words(&self) -> Vec<String> {
        let bound = self.bound.map(|bound| format!("--bound={bound}"));
        let flag = |given: bool, name: &str| given.then(|| name.to_string());
        [bound, flag(self.iterate, "--iterate"), flag(self.fair, "--fair")]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn words((name, value): (String, Option<String>)) -> String {
    value.map_or_else(|| name.clone(), |value| format!("{name} {value}"))
}

/// What a check is about, for the options that depend on it.
fn about(subject: &dyn Subject, asked: &Check) -> About {
    let property = asked.property.as_str();
    match &asked.formula {
        _ if !subject.has_formulas() => About::Boolean,
        None if property == "safety" => About::Finite,
        None if property.starts_with("claim:") => About::Completion,
        _ => About::Infinite,
    }
}

#[derive(Deserialize)]
struct Cancel {
    check: Option<u64>,
    /// The number that the page gave to a graph.
    graph: Option<u64>,
}
