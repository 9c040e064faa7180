//! The successors of a state by a selection of its steps.
//!
//! Chooses as a [`Selector`](super::Selector) does, but looks for a process that may be explored alone
//! before any other steps are listed, and for stubborn sets only when all successors are there: the
//! most frequent outcome of that search is that all of them are needed.

use super::stubborn::Closure;
use crate::search::StateAccess;
use crate::{Options, Reduction};
use preempt_core::engine::Request;
use preempt_core::{ProcessId, System};

/// A selection of a state's steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pick {
    /// Those of one process, by Spin's rule.
    Ample(ProcessId),
    /// Those of the stubborn set grown from a process.
    Stubborn(ProcessId),
    /// All of them.
    Everything,
}

/// Expands states by selections.
#[derive(Debug)]
pub(crate) struct Reducer {
    rule: Reduction,
    /// Steps that a property can see must not be reordered.
    observed: bool,
    stubborn: Closure,
    movers: Vec<ProcessId>,
}

impl Reducer {
    pub(crate) fn new(options: &Options) -> Self {
        Reducer {
            rule: options.reduction,
            observed: options.observed,
            stubborn: Closure::default(),
            movers: Vec::new(),
        }
    }

    /// Whether anything is ever left out.
    #[inline(always)]
    pub(crate) fn reduces(&self) -> bool {
        self.rule != Reduction::None
    }

    /// Adds the successors of a state by its first selection, or the first behind the one that was
    /// `tried`, and says which it is. The state must not lie inside an indivisible sequence.
    pub(crate) fn expand<S: System + ?Sized>(
        &mut self,
        system: &S,
        tried: Option<Pick>,
        states: &mut impl StateAccess,
    ) -> Pick {
        if !self.reduces() || system.process_count(states.state()) < 2 {
            states.expand(system, Request::All);
            return Pick::Everything;
        }
        let behind = match tried {
            None => None,
            Some(Pick::Ample(process)) => Some(process),
            Some(pick) => return self.expand_stubborn(system, Some(pick), states),
        };
        let request = Request::Ample { behind, observed: self.observed };
        match states.expand(system, request).ample() {
            Some(process) => Pick::Ample(process),
            None => self.expand_stubborn(system, None, states),
        }
    }

    /// Adds the successors by a selection that was made in this state before.
    pub(crate) fn expand_again<S: System + ?Sized>(
        &mut self,
        system: &S,
        pick: Pick,
        states: &mut impl StateAccess,
    ) {
        let start = states.headers().len();
        let mut tried = None;
        if pick == Pick::Everything {
            states.expand(system, Request::All);
            return;
        }
        loop {
            let found = self.expand(system, tried, states);
            if found == pick || found == Pick::Everything {
                return;
            }
            states.truncate(start);
            tried = Some(found);
        }
    }

    /// As [`Self::expand`], where no process may be explored alone.
    fn expand_stubborn<S: System + ?Sized>(
        &mut self,
        system: &S,
        tried: Option<Pick>,
        states: &mut impl StateAccess,
    ) -> Pick {
        let start = states.headers().len();
        states.expand(system, Request::All);
        if self.rule != Reduction::Full {
            return Pick::Everything;
        }
        self.movers.clear();
        for header in &states.headers()[start..] {
            let process = header.step().process;
            if self.movers.last() != Some(&process) {
                self.movers.push(process);
            }
        }
        let seeds = match tried {
            Some(Pick::Stubborn(last)) => self
                .movers
                .iter()
                .position(|process| *process == last)
                .map_or(self.movers.len(), |at| at + 1),
            Some(_) => self.movers.len(),
            None => 0,
        };
        if self.movers.len() < 2 || seeds == self.movers.len() {
            return Pick::Everything;
        }
        self.stubborn.enter(system, states.state());
        for at in seeds..self.movers.len() {
            let seed = self.movers[at];
            if self.stubborn.grow(system, states.state(), &self.movers, seed, self.observed) {
                states.list_mut().retain(start, |process| self.stubborn.contains(process));
                return Pick::Stubborn(seed);
            }
        }
        Pick::Everything
    }
}
