//! The successors of a state by a selection of its steps.
//!
//! Chooses as a [`Selector`](super::Selector) does, but looks for a process that may be explored alone
//! before any other steps are listed, and for stubborn sets only when all successors are there: the
//! most frequent outcome of that search is that all of them are needed.

use super::stubborn::Closure;
use crate::search::Form;
use crate::{Options, Reduction};
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
        form: &mut impl Form,
    ) -> Pick {
        if !self.reduces() || system.process_count(form.state()) < 2 {
            form.expand(system);
            return Pick::Everything;
        }
        let behind = match tried {
            None => None,
            Some(Pick::Ample(process)) => Some(process),
            Some(pick) => return self.expand_stubborn(system, Some(pick), form),
        };
        match form.expand_ample(system, behind, self.observed) {
            Some(process) => Pick::Ample(process),
            None => self.expand_stubborn(system, None, form),
        }
    }

    /// Adds the successors by a selection that was made in this state before.
    pub(crate) fn expand_again<S: System + ?Sized>(
        &mut self,
        system: &S,
        pick: Pick,
        form: &mut impl Form,
    ) {
        let start = form.list().len();
        let mut tried = None;
        if pick == Pick::Everything {
            return form.expand(system);
        }
        loop {
            let found = self.expand(system, tried, form);
            if found == pick || found == Pick::Everything {
                return;
            }
            form.truncate(start);
            tried = Some(found);
        }
    }

    /// As [`Self::expand`], where no process may be explored alone.
    fn expand_stubborn<S: System + ?Sized>(
        &mut self,
        system: &S,
        tried: Option<Pick>,
        form: &mut impl Form,
    ) -> Pick {
        let start = form.list().len();
        form.expand(system);
        if self.rule != Reduction::Full {
            return Pick::Everything;
        }
        self.movers.clear();
        for lead in form.list().from(start) {
            let process = lead.step().process;
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
        self.stubborn.enter(system, form.state());
        for at in seeds..self.movers.len() {
            let seed = self.movers[at];
            if self.stubborn.grow(system, form.state(), &self.movers, seed, self.observed) {
                form.retain(start, |process| self.stubborn.contains(process));
                return Pick::Stubborn(seed);
            }
        }
        Pick::Everything
    }
}
