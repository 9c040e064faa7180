//! Searches for assertions, invalid ends, faults, and claims that complete.

use super::verify::verify;
use crate::arguments::{CheckArguments, Compat, SearchOrder, StoreKind, Switch};
use crate::failure::Failure;
use crate::terminal::{INTERRUPTED, ProgressLine};
use preempt_check::{
    Check, Compatibility, Finding, Options, Preemptions, Reduction, Search, Storage, conclude,
};
use preempt_core::{Claim, System, Verdict};

/// The first depth of iterative depth bounding, and by how much it grows.
const DEPTH_STEP: u64 = 20;
/// The options of a search, as the command line has them.
pub(super) fn options(arguments: &CheckArguments, property: String, observed: bool) -> Options {
    let reduction = match (arguments.por, arguments.compat) {
        (Some(Switch::Off), _) => Reduction::None,
        (_, Some(Compat::Spin)) => Reduction::Spin,
        _ => Reduction::Full,
    };
    Options {
        property,
        search: match arguments.search {
            SearchOrder::Dfs => Search::Depth,
            SearchOrder::Bfs => Search::Breadth,
            SearchOrder::Random => Search::Random { seed: arguments.seed },
            SearchOrder::Idfs => Search::IterativeDepth { step: DEPTH_STEP },
            SearchOrder::Auto if arguments.compat.is_some() => Search::Depth,
            SearchOrder::Auto => Search::Auto,
        },
        storage: storage(arguments),
        reduction,
        preemptions: match (arguments.bound, arguments.iterate) {
            (Some(bound), _) => Preemptions::AtMost(bound),
            (None, Some(last)) => Preemptions::Iterate { last, extra: arguments.csb },
            (None, None) => Preemptions::Any,
        },
        compatibility: match arguments.compat {
            Some(Compat::Spin) => Compatibility::Spin,
            None => Compatibility::None,
        },
        free_cycles: arguments.free_cycles,
        shorten: arguments.shorten,
        first: arguments.first,
        swarm: arguments.swarm.then_some(arguments.seed),
        observed,
        assertions: !arguments.no_assert,
        deadlocks: !arguments.no_deadlock,
        max_errors: arguments.max_errors,
        depth: arguments.depth,
        memory: arguments.memory.map(|bytes| bytes as usize),
        time: arguments.time_left(),
        threads: arguments.threads,
    }
}

pub(super) fn storage(arguments: &CheckArguments) -> Storage {
    match arguments.store {
        None => Storage::Auto,
        Some(StoreKind::Exact) => Storage::Exact,
        Some(StoreKind::Tree) => Storage::Tree,
        Some(StoreKind::Compact) => Storage::Compact,
        Some(StoreKind::Bitstate) => {
            Storage::Bitstate { bits: arguments.bits, hashes: arguments.hashes }
        }
    }
}

/// Checks `system`; what is found is confirmed on `reference`, another implementation of the same.
pub(super) fn check<S: System + ?Sized>(
    system: &S,
    reference: &dyn System,
    options: Options,
    arguments: &CheckArguments,
) -> Result<Claim, Failure> {
    let mut line = ProgressLine::new(arguments.quiet);
    let mut listener = |progress: &preempt_check::Progress| line.show(progress);
    let answer = Check::new(system)
        .options(options.clone())
        .interrupt(&INTERRUPTED)
        .progress(&mut listener)
        .run_compiled_for(system);
    line.clear();
    let Some(found) = answer.counterexample else { return Ok(answer.claim) };
    let claim = answer.claim;
    verify(reference, &found)?;
    let finding = Finding {
        counterexample: Some(found),
        simplest: claim.violation.as_ref().is_some_and(|violation| violation.simplest),
        bound: options.preemptions.limit(),
        statistics: claim.statistics,
        unreached: claim.unreached,
        notes: claim.notes,
        ..Finding::default()
    };
    Ok(conclude(reference, &options.property, finding).claim)
}

/// The finding behind a claim about a search that found nothing; `None` if it found something.
pub(super) fn reopen(claim: &Claim) -> Option<Finding> {
    let (stop, bound) = match claim.verdict {
        Verdict::Holds => (None, None),
        Verdict::HoldsWithinBound(bound) => (None, Some(bound)),
        Verdict::Inconclusive(stop) => (Some(stop), None),
        Verdict::Violated => return None,
    };
    Some(Finding {
        stop,
        bound,
        statistics: claim.statistics.clone(),
        unreached: claim.unreached.clone(),
        notes: claim.notes.clone(),
        ..Finding::default()
    })
}
