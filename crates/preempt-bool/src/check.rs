//! The one entry point: a program, a question, an answer with what it rests on.

use crate::Diagnostic;
use crate::direct;
use crate::explicit::{Layers, Machine, search};
use crate::flow::{Mark, Program, Targets};
use crate::limits::{Limits, Watch};
use crate::proof::holds_for_every_number;
use crate::replay::{Context, Replayed, moves_of, replay};
use crate::sequentialize::{Solved, solve, translate};
use crate::witness;
use preempt_core::{BoundRow, Claim, Statistics, Stop, Verdict, Violation, ViolationKind};

/// How to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Method {
    /// Translate to Lazy_k and solve the sequential program. Paper: [LMP09] section 5.
    Lazy,
    /// Translate to Eager_k and solve the sequential program. Paper: [LMP09] section 4.
    Eager,
    /// A symbolic fixpoint over what each thread can do between given boundaries, context by
    /// context, without translation.
    Direct,
    /// States one by one, stacks included.
    Explicit,
}

impl Method {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Lazy => "lazy",
            Method::Eager => "eager",
            Method::Direct => "direct",
            Method::Explicit => "explicit",
        }
    }
}

/// How many context switches to allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Switches {
    /// At most this many.
    AtMost(u32),
    /// None, one, two, … until violated, proven for every number, or this many are done.
    Iterate(u32),
}

/// The question.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How; `None` chooses.
    pub method: Option<Method>,
    /// How many context switches.
    pub switches: Switches,
    /// The label to reach; `None` means `Target` and `SLIC_ERROR`. Assertions always count.
    pub target: Option<&'a str>,
    /// Go on to the full fixpoint after a violation was found, as the paper's tables do.
    pub full: bool,
    /// Most frames on a stack that explicit search follows.
    pub max_frames: usize,
    /// What may be used.
    pub limits: Limits<'a>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            method: None,
            switches: Switches::Iterate(8),
            target: None,
            full: false,
            max_frames: 64,
            limits: Limits::default(),
        }
    }
}

/// The answer.
#[derive(Clone, Debug)]
pub struct Report {
    /// The verdict; its bound counts context switches.
    pub claim: Claim,
    /// How it was found.
    pub method: Method,
    /// Why that method.
    pub why: String,
    /// The contexts of the counterexample.
    pub contexts: Vec<Context>,
    /// The smallest number of switches for which a violation is known to exist.
    pub switches: Option<u32>,
}

/// What an engine found out.
#[derive(Default)]
pub(crate) struct Finding {
    /// A counterexample.
    pub(crate) replayed: Option<Replayed>,
    /// Everything with at most this many switches was searched.
    pub(crate) covered: Option<u32>,
    /// The answer holds for every number of switches.
    pub(crate) exhausted: bool,
    pub(crate) stop: Option<Stop>,
    pub(crate) statistics: Statistics,
    pub(crate) notes: Vec<String>,
}

/// Answers the question. Fails only when the target label does not exist.
pub fn check(program: &Program, options: &Options<'_>) -> Result<Report, Diagnostic> {
    let targets = program.targets(options.target)?;
    let watch = Watch::new(options.limits);
    let (method, why, mut finding) = match options.method {
        Some(method) => {
            let finding = by(method, program, &targets, u64::MAX, options, &watch);
            (method, "it was asked for".into(), finding)
        }
        None => choose(program, &targets, options, &watch),
    };
    finding.statistics.seconds = watch.seconds();
    Ok(report(program, finding, method, why, options))
}

/// Tries what is fastest for such programs first.
fn choose(
    program: &Program,
    targets: &Targets,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> (Method, String, Finding) {
    if program.is_recursive() {
        let finding = by(Method::Direct, program, targets, u64::MAX, options, watch);
        return (Method::Direct, "the program is recursive".into(), finding);
    }
    let finding = by(Method::Explicit, program, targets, EXPLICIT_STATES, options, watch);
    match finding.stop {
        Some(Stop::Memory | Stop::Depth) => {
            let finding = by(Method::Direct, program, targets, u64::MAX, options, watch);
            (Method::Direct, "the program has too many states to list them".into(), finding)
        }
        _ => (Method::Explicit, "the program has no recursion and few states".into(), finding),
    }
}

/// Most search states that the explicit engine may use when nobody asked for it.
const EXPLICIT_STATES: u64 = 1 << 20;
/// Most visible states that a proof for every number of switches may use.
const PROOF_STATES: usize = 200_000;

fn by(
    method: Method,
    program: &Program,
    targets: &Targets,
    max_states: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    watch.method.set(method.name());
    let (max, open) = match options.switches {
        Switches::AtMost(k) => (k, false),
        Switches::Iterate(k) => (k, true),
    };
    if open && method != Method::Explicit {
        match holds_for_every_number(program, targets, PROOF_STATES, watch) {
            Ok(true) => {
                let note = "the visible states of all executions were covered: a proof for every \
                            number of context switches";
                let notes = vec![note.into()];
                return Finding { exhausted: true, notes, ..Finding::default() };
            }
            Ok(false) => {}
            Err(stop) => return Finding { stop: Some(stop), ..Finding::default() },
        }
    }
    match method {
        Method::Lazy | Method::Eager => translated(program, targets, method, options, watch),
        Method::Direct => directly(program, targets, max, options, watch),
        Method::Explicit => explicit(program, targets, max, max_states, options, watch),
    }
}

pub(crate) fn explicit(
    program: &Program,
    targets: &Targets,
    max: u32,
    max_states: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let machine = Machine::with_targets(program, targets.clone(), options.max_frames);
    let mut finding = Finding::default();
    let mut layers = Layers::default();
    let stop = search(&machine, max, max_states, false, options.full, watch, &mut layers).err();
    let statistics = &mut finding.statistics;
    statistics.states = layers.states.last().copied().unwrap_or(0);
    statistics.transitions = layers.transitions;
    statistics.memory_bytes = layers.bytes;
    let rows = layers.states.iter().zip(0..);
    statistics.per_bound = rows
        .map(|(states, bound)| BoundRow { bound, states: *states, ..BoundRow::default() })
        .collect();
    finding.exhausted = layers.exhausted && layers.found.is_none();
    if let Some((steps, _)) = &layers.found {
        match replay(program, targets, &moves_of(&machine, steps)) {
            Ok(replayed) => finding.replayed = Some(replayed),
            Err(why) => finding.notes.push(format!("a counterexample does not replay: {why}")),
        }
        return finding;
    }
    finding.stop = stop.or(layers.truncated);
    finding.covered = match (layers.truncated, stop) {
        (Some(_), _) => None,
        (None, Some(_)) => (layers.states.len() as u32).checked_sub(1),
        (None, None) => Some(max),
    };
    finding
}

pub(crate) fn directly(
    program: &Program,
    targets: &Targets,
    max: u32,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let outcome = direct::search(program, targets, max, options.full, watch);
    let mut finding = Finding {
        covered: outcome.covered,
        exhausted: outcome.exhausted,
        stop: outcome.stop,
        ..Finding::default()
    };
    finding.statistics.states = outcome.nodes;
    finding.statistics.memory_bytes = outcome.bytes;
    if let Some(schedule) = &outcome.found {
        match witness::execution(program, targets, schedule, watch) {
            Ok(replayed) => finding.replayed = Some(replayed),
            Err(witness::Failure::Stop(stop)) => finding.stop = Some(stop),
            Err(witness::Failure::Wrong(why)) => {
                finding.stop = Some(Stop::Fault);
                finding.notes.push(format!("a counterexample does not replay: {why}"));
            }
        }
    }
    finding
}

/// Solves the sequential program; the counterexample comes from the direct engine, which must
/// agree that there is one.
fn translated(
    program: &Program,
    targets: &Targets,
    method: Method,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let mut finding = Finding::default();
    let bounds = match options.switches {
        Switches::AtMost(k) => k..=k,
        Switches::Iterate(max) => 0..=max,
    };
    for k in bounds {
        watch.switches.set(k);
        match solve_translation(program, method, k, options, watch) {
            Err(stop) => {
                finding.stop = Some(stop);
                return finding;
            }
            Ok(solved) => {
                let statistics = &mut finding.statistics;
                statistics.states = statistics.states.max(solved.nodes);
                statistics.memory_bytes = statistics.memory_bytes.max(solved.bytes);
                if solved.reachable {
                    let shown =
                        directly(program, targets, k, &Options { full: false, ..*options }, watch);
                    finding.notes.extend(shown.notes);
                    finding.stop = shown.stop;
                    if shown.replayed.is_none() && shown.stop.is_none() {
                        finding.stop = Some(Stop::Fault);
                        let note = "the translation and the direct engine disagree";
                        finding.notes.push(note.into());
                    }
                    finding.replayed = shown.replayed;
                    return finding;
                }
                finding.covered = Some(k);
            }
        }
    }
    finding
}

fn solve_translation(
    program: &Program,
    method: Method,
    switches: u32,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Result<Solved, Stop> {
    let module = translate(program, method, switches, options.target);
    // A translation that is not a program, or lost its target, is a mistake in preempt.
    let sequential = Program::from_module(module).map_err(|_| Stop::Fault)?;
    let targets = sequential.targets(None).map_err(|_| Stop::Fault)?;
    let targets = match options.target {
        Some(label) => sequential.targets(Some(label)).unwrap_or(targets),
        None => targets,
    };
    solve(&sequential, &targets, options.full, watch)
}

fn report(
    program: &Program,
    finding: Finding,
    method: Method,
    why: String,
    options: &Options<'_>,
) -> Report {
    let property = match options.target {
        Some(label) => format!("the label {label} and failed assertions are unreachable"),
        None => "the labels Target and SLIC_ERROR and failed assertions are unreachable".into(),
    };
    let Finding { replayed, covered, exhausted, stop, mut statistics, notes } = finding;
    let mut contexts = Vec::new();
    let mut switches = None;
    let (verdict, sentence, violation) = match replayed {
        Some(replayed) => {
            statistics.errors = 1;
            let cost = replayed.trace.cost();
            switches = Some(cost.switches);
            let (mark, line) = program.mark(replayed.mark.0, replayed.mark.1);
            let (kind, message) = match mark {
                Mark::Label(label) => {
                    (ViolationKind::Reachable, format!("the label {label} is reached"))
                }
                Mark::Assertion(text) => {
                    (ViolationKind::Assertion, format!("assertion violated: {text}"))
                }
            };
            let sentence = format!("{message} with {}", count(cost.switches));
            contexts = replayed.contexts;
            let violation = Violation {
                kind,
                message,
                file: program.file.clone(),
                line,
                trace: replayed.trace,
                simplest: method == Method::Explicit,
            };
            (Verdict::Violated, sentence, Some(violation))
        }
        None if exhausted => {
            let sentence = "no execution reaches it, with any number of context switches".into();
            (Verdict::Holds, sentence, None)
        }
        None => match (covered, stop) {
            (Some(k), None) => {
                let sentence = format!(
                    "no execution with at most {} reaches it; any other needs at least {}",
                    count(k),
                    k + 1
                );
                (Verdict::HoldsWithinBound(k), sentence, None)
            }
            (covered, stop) => {
                let stop = stop.unwrap_or(Stop::Fault);
                let sentence = match covered {
                    Some(k) => format!("{stop}; no execution with at most {} reaches it", count(k)),
                    None => format!("{stop}; nothing is known"),
                };
                (Verdict::Inconclusive(stop), sentence, None)
            }
        },
    };
    let claim =
        Claim { property, verdict, sentence, violation, statistics, unreached: Vec::new(), notes };
    Report { claim, method, why, contexts, switches }
}

fn count(switches: u32) -> String {
    match switches {
        0 => "no context switch".into(),
        1 => "1 context switch".into(),
        n => format!("{n} context switches"),
    }
}
