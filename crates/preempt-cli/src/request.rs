//! The options of `check` as a request to the engines.

use crate::arguments::{
    Backend, CheckArguments, Compat, ModelArguments, SearchOrder, StoreKind, Switch,
};
use crate::terminal::{INTERRUPTED, ProgressLine};
use crate::{deadline, output};
use preempt_verify::promela::{self, Selection, Settings};
use preempt_verify::{
    Compatibility, Control, Event, Preemptions, Reduction, Request, Search, Storage,
};
use std::sync::{Mutex, PoisonError};

/// The first depth of iterative depth bounding, and by how much it grows.
const DEPTH_STEP: u64 = 20;

/// How many seeds a swarm uses.
const SEARCHES_OF_A_SWARM: u64 = 32;

/// What is asked of a Promela model.
pub(crate) fn request(arguments: &CheckArguments) -> Request {
    Request {
        preemptions: match (arguments.bound, arguments.iterate) {
            (Some(bound), _) => Preemptions::AtMost(bound),
            (None, Some(last)) => Preemptions::Iterate { last },
            (None, None) => Preemptions::Any,
        },
        search: match arguments.search {
            SearchOrder::Auto => Search::Auto,
            SearchOrder::Dfs => Search::Depth,
            SearchOrder::Bfs => Search::Breadth,
            SearchOrder::Idfs => Search::IterativeDepth { step: DEPTH_STEP },
            SearchOrder::Sample(sampler) => Search::Sample { sampler, seed: arguments.seed },
        },
        storage: match arguments.store {
            None => Storage::Auto,
            Some(StoreKind::Exact) => Storage::Exact,
            Some(StoreKind::Tree) => Storage::Tree,
            Some(StoreKind::Compact) => Storage::Compact,
            Some(StoreKind::Bitstate) => {
                Storage::Bitstate { bits: arguments.bits, hashes: arguments.hashes }
            }
        },
        reduction: reduction(arguments, arguments.gpu),
        always_reduce: arguments.por == Some(Switch::On),
        compatibility: match arguments.compat {
            Some(Compat::Spin) => Compatibility::Spin,
            None => Compatibility::None,
        },
        // Each part of a swarm has seeds of its own.
        swarm: arguments.swarm.then(|| {
            let before = arguments.part.map_or(0, |part| u64::from(part.number) - 1);
            arguments.seed.wrapping_add(before.wrapping_mul(SEARCHES_OF_A_SWARM))
        }),
        first: arguments.first,
        max_errors: arguments.max_errors,
        depth: arguments.depth,
        assertions: !arguments.no_assert,
        deadlocks: !arguments.no_deadlock,
        fair: arguments.fair,
        memory: arguments.memory,
        threads: arguments.threads.unwrap_or(0),
        explain_plan: arguments.explain_plan,
        elsewhere: None,
    }
}

/// Which interleavings may be skipped; a card skips none.
pub(crate) fn reduction(arguments: &CheckArguments, on_card: bool) -> Reduction {
    match (arguments.por, arguments.compat) {
        (Some(Switch::Off), _) => Reduction::None,
        _ if on_card => Reduction::None,
        (_, Some(Compat::Spin)) => Reduction::Spin,
        _ => Reduction::Full,
    }
}

/// How a model is made runnable.
pub(crate) fn settings(arguments: &CheckArguments) -> Settings {
    Settings {
        empty_channels: arguments.empty_channels,
        backend: match arguments.backend {
            Backend::Native => promela::Backend::Native,
            Backend::Interp => promela::Backend::Interpreter,
        },
        ..model_settings(&arguments.model)
    }
}

/// The same for commands that take no options of `check`.
pub(crate) fn model_settings(model: &ModelArguments) -> Settings {
    Settings {
        merge: !model.no_merge,
        reset_dead: !model.no_reset,
        hide_unread: !model.no_hide,
        ..Settings::default()
    }
}

/// Which properties are meant.
pub(crate) fn selection(arguments: &CheckArguments) -> Selection {
    Selection {
        formula: arguments.formula.clone(),
        ltl: arguments.ltl.clone(),
        claim: arguments.claim.clone(),
        no_claim: arguments.no_claim,
        acceptance: arguments.acceptance,
        no_acceptance: arguments.no_acceptance,
        non_progress: arguments.non_progress,
    }
}

/// Shows what happens on the way to an answer, and keeps what the last resort will need.
pub(crate) struct Watcher {
    line: Mutex<ProgressLine>,
}

impl Watcher {
    pub(crate) fn new(quiet: bool) -> Self {
        Watcher { line: Mutex::new(ProgressLine::new(quiet)) }
    }

    pub(crate) fn see(&self, event: Event<'_>) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Plan(plan) => output::print(&format!("plan: {plan}\n")),
            Event::Progress(progress) => {
                deadline::note(progress);
                line.show(progress);
            }
            Event::Symbolic(progress) => line.show_symbolic(progress),
            Event::Found => deadline::found(),
            Event::SearchEnded => line.clear(),
            _ => {}
        }
    }
}

/// The deadline of the command, Ctrl-C, and who is told about progress.
pub(crate) fn control<'a>(
    arguments: &CheckArguments,
    listener: &'a (dyn Fn(Event<'_>) + Sync),
) -> Control<'a> {
    interruptible().deadline(arguments.deadline()).listener(listener)
}

/// Ctrl-C alone.
pub(crate) fn interruptible() -> Control<'static> {
    Control::new().interrupt(INTERRUPTED.clone())
}
