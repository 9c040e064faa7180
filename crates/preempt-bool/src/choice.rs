//! Which engine gets how much of the work, and when a proof for every number of switches is tried.
//!
//! Budgets are numbers of states and nodes, so that the same question is answered the same way on
//! every machine.

use crate::direct::{self, Extent, Remember};
use crate::engines::{Finding, directly, list_states, translated};
use crate::flow::{Program, Targets};
use crate::limits::Watch;
use crate::options::{Method, Options, Switches};
use crate::proof::{Attempt, holds_for_every_number};
use preempt_core::Stop;

/// How much a method may use before the next one gets its turn.
struct Turn {
    method: Method,
    /// Search states, or nodes of diagrams.
    size: u64,
    why: &'static str,
}

/// Without recursion: most programs have few states, and listing them is fastest; some have small
/// diagrams; long programs are often solved by the lazy translation, which carries one thread at a
/// time, as long as there are few switches; what is left is worth more time to either.
const TURNS: [Turn; 6] = [
    Turn {
        method: Method::Explicit,
        size: 1 << 16,
        why: "the program has no recursion and few states",
    },
    Turn {
        method: Method::Direct,
        size: SMALL_DIAGRAMS,
        why: "the program has many states and small diagrams",
    },
    Turn {
        method: Method::Lazy,
        size: 1 << 20,
        why: "the program has large diagrams for all threads at once, not for one at a time",
    },
    Turn {
        method: Method::Direct,
        size: 1 << 21,
        why: "the program has many states and diagrams of moderate size",
    },
    Turn {
        method: Method::Explicit,
        size: 1 << 22,
        why: "the program has large diagrams, and not too many states to list them",
    },
    Turn { method: Method::Direct, size: u64::MAX, why: "the program has too many states to list" },
];

/// What the direct engine may use before the lazy translation gets its turn.
const SMALL_DIAGRAMS: u64 = 1 << 18;

/// Diagrams for all threads of a long program at once are seldom small.
fn is_long(program: &Program) -> bool {
    program.functions.iter().map(|f| f.edges.len()).sum::<usize>() > 3000
}

/// Tries what is fastest for such programs first.
pub(crate) fn choose(
    program: &Program,
    targets: &Targets,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> (Method, String, Finding) {
    if program.is_recursive() {
        if let Some(finding) = shallow(program, targets, options, watch) {
            let why = "few states reach it, with few calls in progress";
            return (Method::Explicit, why.into(), finding);
        }
        let finding = by(Method::Direct, program, targets, u64::MAX, options, watch);
        return (Method::Direct, "the program is recursive".into(), finding);
    }
    let [first @ .., last] = &TURNS;
    for Turn { method, size, why } in first {
        let rounds = *method == Method::Lazy && options.switches.counts_rounds();
        if rounds || *size == SMALL_DIAGRAMS && is_long(program) {
            continue;
        }
        let finding = by(*method, program, targets, *size, options, watch);
        if !matches!(finding.stop, Some(Stop::Memory | Stop::Depth)) {
            return (*method, (*why).into(), finding);
        }
    }
    let finding = by(last.method, program, targets, last.size, options, watch);
    (last.method, last.why.into(), finding)
}

/// Of a recursive program: a violation that a small search over states finds. If stacks were cut,
/// the direct engine says whether fewer switches do, unless that takes too long.
fn shallow(
    program: &Program,
    targets: &Targets,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Option<Finding> {
    if options.full || options.switches.counts_rounds() {
        return None;
    }
    watch.method.set(Method::Explicit.name());
    let max_frames = options.max_frames.min(SHALLOW_FRAMES);
    let options = Options { max_frames, ..*options };
    let mut finding = list_states(program, targets, SHALLOW_STATES, &options, watch);
    let found = finding.replayed.as_ref()?.trace.cost().switches;
    if !finding.cut || found == 0 {
        return Some(finding);
    }
    watch.method.set(Method::Direct.name());
    let fewer = Options { switches: Switches::AtMost(found - 1), ..options };
    let checked = directly(program, targets, SHALLOW_NODES, &fewer, watch);
    if checked.replayed.is_some() {
        return None;
    }
    if checked.stop.is_some() {
        let note = format!(
            "an execution with fewer context switches may exist, with more than {max_frames} calls \
             in progress"
        );
        finding.notes.push(note);
    }
    Some(finding)
}

/// How far the small search over the states of a recursive program goes: states, calls in progress,
/// and nodes of diagrams to see whether fewer switches do.
const SHALLOW_STATES: u64 = 1 << 15;
const SHALLOW_FRAMES: usize = 8;
const SHALLOW_NODES: u64 = 1 << 17;

/// Most visible states that a proof may use before the search, and after it has found nothing.
const QUICK_PROOF: usize = 10_000;
const LONG_PROOF: usize = 300_000;
/// How many switches are searched between the two.
const FEW_SWITCHES: u32 = 2;
/// Most nodes of diagrams that a proof may use after a search has found nothing.
const PROOF_NODES: usize = 1 << 21;

/// Answers by one method, which may use so much, and with a proof where one is wanted.
pub(crate) fn by(
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
    // Without recursion, the search itself ends with a proof if the program is that small; and what
    // has had another turn before has no quick proof.
    let first = options.method.is_some() || program.is_recursive();
    if open && first && (program.is_recursive() || method != Method::Direct) {
        match prove_early(method, program, targets, size, options, watch) {
            Ok(Some(finding)) => return finding,
            Ok(None) => {}
            Err(stop) => return Finding { stop: Some(stop), ..Finding::unknown() },
        }
    }
    let finding = match method {
        Method::Lazy | Method::Eager => translated(program, targets, method, size, options, watch),
        Method::Direct => directly(program, targets, size, options, watch),
        Method::Explicit => list_states(program, targets, size, options, watch),
    };
    let nothing_found = finding.replayed.is_none() && finding.stop.is_none() && !finding.exhausted;
    if !(open && nothing_found) {
        return finding;
    }
    if program.is_recursive() && method == Method::Direct {
        return finding; // Tried before the search.
    }
    match prove(program, targets, watch) {
        Ok(true) => Finding { statistics: finding.statistics, ..proven() },
        Ok(false) => finding,
        Err(stop) => Finding { stop: Some(stop), ..finding },
    }
}

/// A proof of moderate size, before a search to many switches: with few switches nothing is found
/// in most programs that have one. What this finds is the answer.
fn prove_early(
    method: Method,
    program: &Program,
    targets: &Targets,
    size: u64,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Result<Option<Finding>, Stop> {
    let attempt = |states| holds_for_every_number(program, targets, states, watch);
    match attempt(QUICK_PROOF)? {
        Attempt::Proven => return Ok(Some(proven())),
        Attempt::Impossible => return Ok(None),
        Attempt::TooLarge if method != Method::Direct => return Ok(None),
        Attempt::TooLarge => {}
    }
    if options.switches.most() > FEW_SWITCHES {
        let few = Options { switches: Switches::Iterate(FEW_SWITCHES), ..*options };
        let finding = directly(program, targets, size, &few, watch);
        if finding.replayed.is_some() || finding.stop.is_some() {
            return Ok(Some(finding));
        }
    }
    Ok((attempt(LONG_PROOF)? == Attempt::Proven).then(proven))
}

fn proven() -> Finding {
    let note = "the visible states of all executions were covered: a proof for every number of \
                context switches";
    Finding { exhausted: true, notes: vec![note.into()], ..Finding::unknown() }
}

/// Whether no number of switches reaches a target; `false` when that is not known.
fn prove(program: &Program, targets: &Targets, watch: &Watch<'_>) -> Result<bool, Stop> {
    if !direct::is_call_free(program) {
        let attempt = holds_for_every_number(program, targets, LONG_PROOF, watch)?;
        return Ok(attempt == Attempt::Proven);
    }
    let extent = Extent { switches: u32::MAX, rounds: false, nodes: PROOF_NODES, full: false };
    let outcome = direct::search(program, targets, Remember::WholeStates, extent, watch);
    match outcome.stop {
        Some(Stop::Memory) | None => Ok(outcome.exhausted && outcome.found.is_none()),
        Some(stop) => Err(stop),
    }
}
