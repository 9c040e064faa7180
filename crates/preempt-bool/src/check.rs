//! The one entry point: a program, a question, an answer with what it rests on.

use crate::Diagnostic;
use crate::choice::{by, choose};
use crate::direct::{self, Extent, Remember, Schedule};
use crate::explicit::{self, Layers, Machine, search};
use crate::flow::{Mark, Program, Targets};
use crate::limits::{Limits, Watch};
use crate::replay::{Context, Replayed, moves_of, replay};
use crate::sequentialize::{Question, answer};
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
    pub(crate) fn most(self) -> u32 {
        match self {
            Switches::AtMost(most) | Switches::Iterate(most) => most,
            Switches::Rounds(rounds) => rounds.saturating_sub(1),
        }
    }

    pub(crate) fn counts_rounds(self) -> bool {
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
    /// A counterexample was found, but executions with deeper stacks were not followed.
    pub(crate) cut: bool,
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
    if targets.is_empty() {
        return Ok(nothing_to_check(options, &watch));
    }
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
    let most = options.switches.most();
    let searched = finding.covered.is_some_and(|k| k < most) && !options.switches.counts_rounds();
    if searched && finding.replayed.is_none() && finding.stop.is_none() && !finding.exhausted {
        // An engine has a limit of its own.
        finding.stop = Some(Stop::Depth);
    }
    finding.statistics.seconds = watch.seconds();
    Ok(report(program, finding, method, why, options))
}

fn nothing_to_check(options: &Options<'_>, watch: &Watch<'_>) -> Report {
    let sentence = "nothing to check: the program has no assertion and no label Target or \
                    SLIC_ERROR, and no other label was given";
    let statistics = Statistics { seconds: watch.seconds(), ..Statistics::default() };
    let claim = Claim {
        property: "nothing".into(),
        verdict: Verdict::Holds,
        sentence: sentence.into(),
        violation: None,
        statistics,
        unreached: Vec::new(),
        notes: Vec::new(),
    };
    let method = options.method.unwrap_or(Method::Explicit);
    let why = "there is nothing to search for".into();
    Report { claim, method, why, contexts: Vec::new(), switches: None }
}

pub(crate) fn list_states(
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
        finding.cut = layers.truncated.is_some();
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

pub(crate) fn directly(
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
pub(crate) fn translated(
    program: &Program,
    targets: &Targets,
    method: Method,
    max_nodes: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Finding {
    let mut finding = Finding::default();
    let bounds = match options.switches {
        // Who chose no method expects the fewest switches.
        Switches::AtMost(k) if options.method.is_some() => k..=k,
        other => 0..=other.most(),
    };
    let nodes = usize::try_from(max_nodes).unwrap_or(usize::MAX);
    for k in bounds {
        watch.switches.set(k);
        let ask =
            Question { method, switches: k, target: options.target, full: options.full, nodes };
        match answer(program, &ask, watch) {
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
    let Finding { replayed, covered, exhausted, stop, cut, remembers, mut statistics, notes } =
        finding;
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
                simplest: method == Method::Explicit && !cut,
                stale: None,
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
