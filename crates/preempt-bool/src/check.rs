//! The one entry point: a program, a question, an answer with what it rests on.

use crate::Diagnostic;
use crate::direct::{self, Extent, Remember, Schedule};
use crate::explicit::{self, Layers, Machine, search};
use crate::flow::{Mark, Program, Targets};
use crate::limits::{Limits, Watch};
use crate::proof::holds_for_every_number;
use crate::replay::{Context, Replayed, moves_of, replay};
use crate::sequentialize::answer;
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
    /// Any number, in at most this many rounds: in a round every thread may run once, in the order
    /// of the program. The translations know no rounds; the direct engine answers for them.
    Rounds(u32),
}

impl Switches {
    /// Switches, or rounds after the first.
    fn most(self) -> u32 {
        match self {
            Switches::AtMost(most) | Switches::Iterate(most) => most,
            Switches::Rounds(rounds) => rounds.saturating_sub(1),
        }
    }

    fn counts_rounds(self) -> bool {
        matches!(self, Switches::Rounds(_))
    }
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
    /// What the direct engine kept.
    pub(crate) remembers: Option<&'static str>,
    pub(crate) statistics: Statistics,
    pub(crate) notes: Vec<String>,
}

/// Most threads that are made for `start_thread`s that may run more than once.
const MAX_INSTANCES: u32 = 16;

/// Answers the question. Fails when the target label does not exist, and when the question is about
/// rounds and the program starts any number of threads.
pub fn check(program: &Program, options: &Options<'_>) -> Result<Report, Diagnostic> {
    let watch = Watch::new(options.limits);
    if program.instances.is_none() {
        return answer_about(program, options, watch);
    }
    let (most, kind): (u32, fn(u32) -> Switches) = match options.switches {
        Switches::AtMost(most) => (most, Switches::AtMost),
        Switches::Iterate(most) => (most, Switches::Iterate),
        Switches::Rounds(_) => return Err(program.not_fixed()),
    };
    let searched = most.min(MAX_INSTANCES);
    let more = program.with_threads_for(searched as usize)?;
    let options = Options { switches: kind(searched), ..*options };
    let mut report = answer_about(more.as_ref().unwrap_or(program), &options, watch)?;
    let claim = &mut report.claim;
    if searched < most && matches!(claim.verdict, Verdict::HoldsWithinBound(_)) {
        claim.verdict = Verdict::Inconclusive(Stop::Depth);
        claim.sentence = format!(
            "{}; more switches are not searched, because the number of threads is not fixed",
            claim.sentence
        );
    }
    Ok(report)
}

fn answer_about(
    program: &Program,
    options: &Options<'_>,
    watch: Watch<'_>,
) -> Result<Report, Diagnostic> {
    let targets = program.targets(options.target)?;
    let (method, why, mut finding) = match options.method {
        Some(Method::Lazy | Method::Eager) if options.switches.counts_rounds() => {
            let finding = by(Method::Direct, program, &targets, u64::MAX, options, &watch);
            (Method::Direct, "the translations know no rounds".into(), finding)
        }
        Some(method) => {
            let finding = by(method, program, &targets, u64::MAX, options, &watch);
            (method, "it was asked for".into(), finding)
        }
        None => choose(program, &targets, options, &watch),
    };
    if program.instances.is_some() && std::mem::take(&mut finding.exhausted) {
        // With more switches there are more threads.
        finding.covered = Some(options.switches.most());
    }
    finding.statistics.seconds = watch.seconds();
    Ok(report(program, finding, method, why, options))
}

/// How much a method may use before the next one gets its turn.
struct Turn {
    method: Method,
    /// Search states, or nodes of diagrams.
    size: u64,
    why: &'static str,
}

/// Without recursion: most programs have few states, and listing them is fastest; some have few
/// diagrams; what is left is worth more time to either.
const TURNS: [Turn; 4] = [
    Turn {
        method: Method::Explicit,
        size: 1 << 16,
        why: "the program has no recursion and few states",
    },
    Turn {
        method: Method::Direct,
        size: 1 << 21,
        why: "the program has many states and small diagrams",
    },
    Turn {
        method: Method::Explicit,
        size: 1 << 22,
        why: "the program has large diagrams, and not too many states to list them",
    },
    Turn { method: Method::Direct, size: u64::MAX, why: "the program has too many states to list" },
];

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
    let [first @ .., last] = &TURNS;
    for Turn { method, size, why } in first {
        let finding = by(*method, program, targets, *size, options, watch);
        if !matches!(finding.stop, Some(Stop::Memory | Stop::Depth)) {
            return (*method, (*why).into(), finding);
        }
    }
    let finding = by(last.method, program, targets, last.size, options, watch);
    (last.method, last.why.into(), finding)
}

/// Most visible states that a proof may use before the search, and after it has found nothing.
const QUICK_PROOF: usize = 10_000;
const LONG_PROOF: usize = 300_000;
/// Most nodes of diagrams that a proof may use after a search has found nothing.
const PROOF_NODES: usize = 1 << 21;

fn by(
    method: Method,
    program: &Program,
    targets: &Targets,
    size: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    watch.method.set(method.name());
    let open = matches!(options.switches, Switches::Iterate(_))
        && method != Method::Explicit
        && program.instances.is_none();
    // Without recursion, the search itself ends with a proof if the program is that small.
    if open && (program.is_recursive() || method != Method::Direct) {
        match holds_for_every_number(program, targets, QUICK_PROOF, watch) {
            Ok(true) => return proven(),
            Ok(false) => {}
            Err(stop) => return Finding { stop: Some(stop), ..Finding::default() },
        }
    }
    let finding = match method {
        Method::Lazy | Method::Eager => translated(program, targets, method, options, watch),
        Method::Direct => directly(program, targets, size, options, watch),
        Method::Explicit => list_states(program, targets, size, options, watch),
    };
    let nothing_found = finding.replayed.is_none() && finding.stop.is_none() && !finding.exhausted;
    if !(open && nothing_found) {
        return finding;
    }
    match prove(program, targets, watch) {
        Ok(true) => Finding { statistics: finding.statistics, ..proven() },
        Ok(false) => finding,
        Err(stop) => Finding { stop: Some(stop), ..finding },
    }
}

fn proven() -> Finding {
    let note = "the visible states of all executions were covered: a proof for every number of \
                context switches";
    Finding { exhausted: true, notes: vec![note.into()], ..Finding::default() }
}

/// Whether no number of switches reaches a target; `false` when that is not known.
fn prove(program: &Program, targets: &Targets, watch: &Watch<'_>) -> Result<bool, Stop> {
    if !direct::is_call_free(program) {
        return holds_for_every_number(program, targets, LONG_PROOF, watch);
    }
    let extent = Extent { switches: u32::MAX, rounds: false, nodes: PROOF_NODES, full: false };
    let outcome = direct::search(program, targets, Remember::WholeStates, extent, watch);
    match outcome.stop {
        Some(Stop::Memory) | None => Ok(outcome.exhausted && outcome.found.is_none()),
        Some(stop) => Err(stop),
    }
}

fn list_states(
    program: &Program,
    targets: &Targets,
    max_states: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let machine = Machine::with_targets(program, targets.clone(), options.max_frames);
    let mut finding = Finding::default();
    let mut layers = Layers::default();
    let extent = explicit::Extent {
        switches: options.switches.most(),
        rounds: options.switches.counts_rounds(),
        states: max_states,
        everywhere: false,
        full: options.full,
    };
    let stop = search(&machine, extent, watch, &mut layers).err();
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
        (None, None) => Some(options.switches.most()),
    };
    finding
}

fn directly(
    program: &Program,
    targets: &Targets,
    max_nodes: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let nodes = usize::try_from(max_nodes).unwrap_or(usize::MAX);
    let (switches, rounds) = (options.switches.most(), options.switches.counts_rounds());
    let extent = Extent { switches, rounds, nodes, full: options.full };
    let by = Remember::choose(program, extent);
    let outcome = direct::search(program, targets, by, extent, watch);
    let mut finding = Finding {
        covered: outcome.covered,
        exhausted: outcome.exhausted,
        stop: outcome.stop,
        remembers: Some(by.name()),
        ..Finding::default()
    };
    finding.statistics.states = outcome.nodes;
    finding.statistics.memory_bytes = outcome.bytes;
    if let Some(schedule) = &outcome.found {
        finding.show(program, targets, schedule, watch);
    }
    finding
}

/// Solves the sequential program; the counterexample is the one it found.
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
        other => 0..=other.most(),
    };
    for k in bounds {
        watch.switches.set(k);
        match answer(program, method, k, options.target, options.full, watch) {
            Err(stop) => {
                finding.stop = Some(stop);
                return finding;
            }
            Ok(answer) => {
                let statistics = &mut finding.statistics;
                statistics.states = statistics.states.max(answer.nodes);
                statistics.memory_bytes = statistics.memory_bytes.max(answer.bytes);
                if let Some(schedule) = &answer.schedule {
                    finding.show(program, targets, schedule, watch);
                } else if answer.reachable {
                    finding.stop = Some(Stop::Fault);
                    finding.notes.push("the translation reaches its target in no context".into());
                }
                if answer.reachable {
                    return finding;
                }
                finding.covered = Some(k);
            }
        }
    }
    finding
}

impl Finding {
    /// Turns the schedule of a counterexample into an execution, and runs it.
    fn show(
        &mut self,
        program: &Program,
        targets: &Targets,
        schedule: &Schedule,
        watch: &Watch<'_>,
    ) {
        match witness::execution(program, targets, schedule, watch) {
            Ok(replayed) => self.replayed = Some(replayed),
            Err(witness::Failure::Stop(stop)) => self.stop = Some(stop),
            Err(witness::Failure::Wrong(why)) => {
                self.stop = Some(Stop::Fault);
                self.notes.push(format!("a counterexample does not replay: {why}"));
            }
        }
    }
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
    let Finding { replayed, covered, exhausted, stop, remembers, mut statistics, notes } = finding;
    let why = match remembers {
        Some(kept) => format!("{why}; it keeps {kept}"),
        None => why,
    };
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
            (Some(k), None) if options.switches.counts_rounds() => {
                let rounds = k.saturating_add(1);
                let sentence = format!("no execution of at most {rounds} rounds reaches it");
                (Verdict::HoldsWithinBound(rounds), sentence, None)
            }
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
                    Some(k) if !options.switches.counts_rounds() => {
                        format!("{stop}; no execution with at most {} reaches it", count(k))
                    }
                    _ => format!("{stop}; nothing is known"),
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
