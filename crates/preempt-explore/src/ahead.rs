//! Failures that need several stale choices, early.
//!
//! A search by bounds comes to executions with two stale choices after all those with one, and what goes wrong where a fence is
//! missing needs one for each side. But an execution of the search is only needed up to a certain step: in the beginning every
//! second one goes on from there with the oldest values that its threads may read. If it fails, the search goes on for a while,
//! because it finds the simplest failure; if it finds none, this one is made simpler by trying out ([`simplify`]).
//!
//! Invariant: bounds that are said to be complete do not depend on it, because nothing is left out.

use crate::run_along::Tail;
use crate::{Ending, Finding, Halt, Limits, Move, Program, Run, Schedule, Session, simplify};
use std::mem::discriminant;
use std::time::{Duration, Instant};

/// The first so many executions look ahead, every second one.
const LOOKING: u64 = 64;
/// Most stale choices of such an execution. Each of them takes time that grows with the square of the execution.
const MOST: u32 = 16;
/// So many executions, and for so long, a search that knows of a failure goes on in search of a simpler one.
const FURTHER: u64 = 1000;
const TIME: Duration = Duration::from_secs(1);

/// What executions with stale choices that a search had not come to yet have shown.
#[derive(Default)]
pub(crate) struct Ahead {
    /// Whether there are any.
    pub(crate) looks: bool,
    /// The failure with the fewest stale choices, and its path.
    found: Option<(Finding, Vec<Move>)>,
    /// The limits that the search has otherwise.
    limits: Option<Limits>,
}

impl Ahead {
    /// What the next execution does after the steps that the search needs.
    pub(crate) fn tail<P>(&self, session: &Session<'_, P>, steps: usize) -> Tail {
        let executions = session.statistics.executions;
        let due = executions < LOOKING && executions % 2 == 1 && steps > 0;
        let most = session.limits.stale.map_or(MOST, |most| most.min(MOST));
        let looks = self.looks && due && session.run.rules.weak && !session.limits.keep_going;
        if looks { Tail::Stale(most) } else { Tail::Newest }
    }

    /// Keeps the failure of an execution that ended like this. Returns how it ended as far as the search is concerned.
    pub(crate) fn keep<P>(
        &mut self,
        session: &mut Session<'_, P>,
        tail: Tail,
        path: &[Move],
        ending: Ending,
    ) -> Ending {
        let is_stale = |step: &Move| step.choice != 0 && step.choice != Move::TIMEOUT;
        let taken = session.run.path.get(path.len()..).unwrap_or_default();
        if tail == Tail::Newest || !taken.iter().any(is_stale) {
            return ending;
        }
        match ending {
            Ending::Complete | Ending::Restart | Ending::Nondeterminism(_) => return ending,
            // A loop may read what is outdated again and again.
            Ending::StepLimit | Ending::Livelock | Ending::Cycle(_) => return Ending::Abandoned,
            _ => {}
        }
        let Run { stale, preemptions, ref path, .. } = session.run;
        let schedule = Schedule::of(&session.run);
        let finding = Finding { ending, schedule, preemptions, stale };
        if self.found.as_ref().is_none_or(|(known, _)| known.cost() > finding.cost()) {
            self.found = Some((finding, path.clone()));
        }
        if self.limits.is_none() {
            self.limits = Some(session.limits.clone());
            let executions = session.statistics.executions;
            session.statistics.first_failure = Some(executions);
            let Limits { executions: most, deadline, first_deadline, .. } = &mut session.limits;
            *most = executions.saturating_add(FURTHER).min(*most);
            let end = Instant::now() + TIME;
            *deadline = Some(deadline.map_or(end, |deadline| deadline.min(end)));
            *first_deadline = first_deadline.map(|deadline| deadline.min(end));
        }
        Ending::Abandoned
    }

    /// After a search that came back like this: the failure that it did not come to, made simpler.
    pub(crate) fn settle<P: Program>(&mut self, session: &mut Session<'_, P>, halt: Halt) -> Halt {
        if let Some(limits) = self.limits.take() {
            session.limits = limits;
        }
        let Some((finding, path)) = self.found.take() else { return halt };
        if matches!(halt, Halt::Failure | Halt::Restart) {
            return halt;
        }
        let executions = session.statistics.executions;
        let kind = discriminant(&finding.ending);
        let same = |_: &P, ending: &Ending| discriminant(ending) == kind;
        let simpler = simplify(session, &path, Instant::now() + TIME, &same);
        // These executions are not the strategy's.
        session.statistics.executions = executions;
        session.statistics.failure = Some(simpler.unwrap_or(finding));
        session.statistics.fewer_stale = false;
        Halt::Failure
    }
}
