//! The visit rule: which processes a visit to a state runs, and at which count of preemptions.
//!
//! Paper: [MQ07] Algorithm 1, the procedure Search
//! Paper: [HF] Fig. 3
//!
//! A visit is a state, the process that moved last, and a count of preemptions. If the last mover can go on, every other
//! process costs one preemption more; if it cannot, or if there is none, all processes go on at the same count. A state has
//! several visits at its lowest count, one per last mover, and each process need be run once: a last mover by its own visit, the
//! others by the first visit that may.
//!
//! Every search with a count of preemptions asks this module, and no other place knows the rule: one thread or several, exact
//! or lossy stores, owners, files, buckets or a stack, with and without reduction. How they remember what was run differs, so
//! the rule is told so by closures.
//!
//! Invariant: of all visits to a state at its lowest count, together with those that had to wait, each process with steps is run
//! by exactly one, at the least count that [`classify`](preempt_core::classify) allows.

use preempt_core::ProcessId;

/// Which processes a visit runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// The last mover goes on; to leave it is a preemption.
    Mover,
    /// No switch is a preemption, so each process goes on that no other visit runs.
    All,
    /// No switch is a preemption, but another visit has run all processes.
    Nothing,
    /// One preemption later: the processes that had to wait go on.
    Waited,
}

/// When a visit runs a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Due {
    /// At the count of the visit.
    Now,
    /// With one preemption more.
    Later,
    /// Not at all: another visit to the state runs it.
    Never,
}

/// The turn of a visit whose last mover, if there is one, can or cannot go on; `all_run` says whether another visit to the
/// state has run all processes at the same count.
#[inline(always)]
pub fn turn(mover_can_move: bool, all_run: bool) -> Turn {
    match (mover_can_move, all_run) {
        (true, _) => Turn::Mover,
        (false, false) => Turn::All,
        (false, true) => Turn::Nothing,
    }
}

impl Turn {
    /// When a process that has steps is run. `is_mover` says whether it is the last mover of this visit, or of one that is dealt with
    /// together with it; `has_run` whether it is the last mover of some visit at the same count. The property moves with every
    /// visit and preempts no process.
    #[inline(always)]
    pub fn due(
        self,
        process: ProcessId,
        is_mover: impl FnOnce(ProcessId) -> bool,
        has_run: impl FnOnce(ProcessId) -> bool,
    ) -> Due {
        if process == ProcessId::PROPERTY {
            return match self {
                Turn::Mover | Turn::All => Due::Now,
                Turn::Nothing | Turn::Waited => Due::Never,
            };
        }
        if self != Turn::Waited && is_mover(process) {
            return Due::Now;
        }
        match self {
            Turn::Nothing => Due::Never,
            _ if has_run(process) => Due::Never,
            Turn::Mover => Due::Later,
            Turn::All | Turn::Waited => Due::Now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_core::{Enabled, Step, Switch, classify};

    const PROCESSES: u16 = 3;

    fn enabled_of(set: u16) -> Enabled {
        let mut enabled = Enabled::new();
        let can_move = (0..PROCESSES).filter(|process| set >> process & 1 != 0);
        can_move.for_each(|process| enabled.push(Step::new(ProcessId(process), 0)));
        enabled.push(Step::new(ProcessId::PROPERTY, 0));
        enabled
    }

    /// The first visit to a state runs now what costs no preemption, and later what costs one.
    #[test]
    fn a_first_visit_does_what_classify_says() {
        let movers = std::iter::once(None).chain((0..PROCESSES).map(|one| Some(ProcessId(one))));
        for (last, set) in movers.flat_map(|last| (0..1 << PROCESSES).map(move |set| (last, set))) {
            let enabled = enabled_of(set);
            let can_move = last.is_some_and(|last| !enabled.of(last).is_empty());
            for step in enabled.steps() {
                let is_mover = |process| Some(process) == last;
                let due = turn(can_move, false).due(step.process, is_mover, is_mover);
                let expected = match classify(last, &enabled, step) {
                    Switch::None | Switch::Forced => Due::Now,
                    Switch::Preemption => Due::Later,
                };
                assert_eq!(due, expected, "{last:?} before {step:?}, enabled {set:b}");
            }
        }
    }

    /// What is remembered of one state.
    #[derive(Default)]
    struct Seen {
        movers: Vec<ProcessId>,
        all_run: bool,
        deferred: bool,
    }

    /// Visits a state after these last movers, one after the other or all known from the start, and then runs what had to wait.
    /// Gives how often each process was run at the same count and at the next one.
    fn run_visits(
        visits: &[Option<ProcessId>],
        enabled: &Enabled,
        together: bool,
    ) -> Vec<(u32, u32)> {
        let mut seen = Seen::default();
        let mut runs = vec![(0, 0); PROCESSES.into()];
        let known = |visits: &[Option<ProcessId>]| visits.iter().flatten().copied().collect();
        for (at, last) in visits.iter().enumerate() {
            seen.movers = known(if together { visits } else { &visits[..=at] });
            let can_move = last.is_some_and(|last| !enabled.of(last).is_empty());
            let turn = turn(can_move, seen.all_run);
            for (process, _) in enabled.by_process().filter(|(p, _)| *p != ProcessId::PROPERTY) {
                let has_run = |process| seen.movers.contains(&process);
                match turn.due(process, |process| Some(process) == *last, has_run) {
                    Due::Now => runs[process.index()].0 += 1,
                    Due::Later => seen.deferred = true,
                    Due::Never => {}
                }
            }
            seen.all_run |= turn == Turn::All;
            // A later visit by a new last mover is covered.
            if seen.all_run && !together {
                break;
            }
        }
        if seen.deferred && !seen.all_run {
            for (process, _) in enabled.by_process() {
                let has_run = |process| seen.movers.contains(&process);
                if Turn::Waited.due(process, |_| false, has_run) == Due::Now {
                    runs[process.index()].1 += 1;
                }
            }
        }
        runs
    }

    /// All sequences of up to four different last movers, for every set of processes that can move: each of these is run once,
    /// without another preemption if some visit allows that, else with one.
    #[test]
    fn each_process_is_run_once_at_its_least_count() {
        let all: Vec<_> =
            std::iter::once(None).chain((0..PROCESSES).map(|one| Some(ProcessId(one)))).collect();
        let mut sequences: Vec<Vec<Option<ProcessId>>> = all.iter().map(|one| vec![*one]).collect();
        let mut tried = 0;
        while let Some(visits) = sequences.pop() {
            let more = all.iter().filter(|one| !visits.contains(one));
            sequences.extend(more.map(|one| [&visits[..], &[*one]].concat()));
            for (set, together) in (0..1 << PROCESSES).flat_map(|set| [(set, false), (set, true)]) {
                tried += 1;
                let enabled = enabled_of(set);
                let runs = run_visits(&visits, &enabled, together);
                for (process, steps) in enabled.by_process() {
                    if process == ProcessId::PROPERTY {
                        continue;
                    }
                    let preempts = |last: &Option<ProcessId>| {
                        classify(*last, &enabled, &steps[0]) == Switch::Preemption
                    };
                    let expected = if visits.iter().all(preempts) { (0, 1) } else { (1, 0) };
                    let found = runs[process.index()];
                    assert_eq!(found, expected, "{process:?} after {visits:?}, enabled {set:b}");
                }
            }
        }
        assert_eq!(tried, 64 * 16);
    }
}
