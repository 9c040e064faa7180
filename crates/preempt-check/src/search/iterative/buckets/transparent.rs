//! With reduction, the steps of a process that touch nothing but its own data are *transparent*: they are
//! taken at once, alone, and the last mover stays the same.
//!
//! That neither loses nor adds an execution at any bound (unlike the credit of [HF] Fig. 5, which adds
//! some): such a step can be moved to right behind the step of its process before it, where it costs no
//! switch.
//!
//! Invariant: a transparent step is taken alone only if one of its successors has a visit that is expanded
//! later than this one, so no process is put off for ever.

use super::{Bucketed, CurrentVisit, Movers, Task, insert, when};
use crate::search::bounded::least_preemptions::StateRecord;
use crate::search::iterative::outgoing::{Edge, When};
use crate::search::iterative::visit_log::Entry;
use crate::search::iterative::visit_memory::VisitMemory;
use crate::search::iterative::visited_set::{Key, VisitedSet};
use crate::search::shared::halt::Halt;
use crate::store::Pending;
use preempt_core::{Locality, ProcessId, System};

impl<S: System + ?Sized, V: VisitedSet> Bucketed<'_, S, V> {
    /// With reduction: what a visit is for is known when it is acted on.
    pub(super) fn add_task(
        &mut self,
        visit: u32,
        first: usize,
        current: CurrentVisit,
        invalid_end: bool,
    ) {
        self.want_some(self.visited.entry(visit), first, current);
        let outgoing = (first as u32, self.outgoing.list.len() as u32);
        self.tasks.push(Task { visit, outgoing, current, invalid_end });
    }

    /// Runs what a visit adds, after trying to get by with a process whose steps no other notices.
    pub(super) fn act_reduced(&mut self, task: &Task) -> Result<(), Halt> {
        let entry = self.visited.entry(task.visit);
        if task.current.movers != Movers::WentOn {
            let before = self.change_record(entry.state, StateRecord::expanded);
            if task.invalid_end && !before.is_expanded() {
                self.invalid_end(task.visit)?;
            }
            if self.run_transparent(task)? {
                return Ok(());
            }
        }
        if self.outgoing.has_wide_edges(task.outgoing) {
            self.visited.memory_mut().hold_wide_movers();
        }
        let (record, rest) = loop {
            let record = self.visited.memory().record(entry.state);
            let (then, rest) = self.put_off(record, task.current);
            if self.visited.memory_mut().claim(entry.state, record, then) {
                break (record, rest);
            }
        };
        self.count_put_off(task.visit, record, task.current, rest);
        let result = (task.outgoing.0..task.outgoing.1).try_for_each(|at| {
            let mut edge = self.outgoing.list[at as usize];
            let known = (entry, record);
            if let Some(when) = when(self.visited.memory(), known, task.current, rest, edge.process)
            {
                edge.when = when;
                self.follow(edge, None)?;
            }
            Ok(())
        });
        self.visited.memory_mut().release_wide_movers();
        result
    }

    /// Changes the record of a state; gives what it was before.
    fn change_record(
        &mut self,
        state: Key<V>,
        change: impl Fn(StateRecord) -> StateRecord,
    ) -> StateRecord {
        loop {
            let record = self.visited.memory().record(state);
            if self.visited.memory_mut().claim(state, record, change(record)) {
                return record;
            }
        }
    }

    /// Takes the steps of one process that touches nothing shared, and no others, if there is one
    /// with a successor that is yet to be expanded.
    fn run_transparent(&mut self, task: &Task) -> Result<bool, Halt> {
        let mover = task.current.mover.filter(|_| task.current.movers != Movers::Stuck);
        let (mut at, end) = (task.outgoing.0 as usize, task.outgoing.1 as usize);
        while at < end {
            let Edge { process, transparent, .. } = self.outgoing.list[at];
            let mut open = false;
            while at < end && self.outgoing.list[at].process == process {
                if transparent {
                    let edge = self.outgoing.list[at];
                    open |= self.follow(edge, Some(mover))?;
                }
                at += 1;
            }
            if open {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// With reduction, wants those arrivals from `first` on stored that are certain to be needed.
    fn want_some(&mut self, entry: Entry<Key<V>>, first: usize, current: CurrentVisit) {
        let (alone, rest) = match current.movers {
            Movers::WentOn => (None, true),
            Movers::Stuck => (self.find_transparent(first), true),
            Movers::CanMove(_) => (self.find_transparent(first), self.looks_ahead()),
        };
        let rest = rest.then_some(When::Now);
        let record = self.visited.memory().record(entry.state);
        for edge in &mut self.outgoing.list[first..] {
            let wanted = match alone {
                Some(alone) => edge.process == alone,
                None => when(self.visited.memory(), (entry, record), current, rest, edge.process)
                    .is_some(),
            };
            if wanted && let Some(arrival) = edge.arrival() {
                let arrival = self.expander.arrivals[arrival];
                edge.set_pending(self.pending.len());
                self.pending.push(Pending::new(0, arrival.start, arrival.end));
            }
        }
    }

    /// Whether no other process notices the present steps of one.
    pub(super) fn is_transparent(&self, process: ProcessId) -> bool {
        self.system.locality(&self.state, process) == Locality::Local
            && !(self.observed && self.system.is_visible(&self.state, process))
    }

    /// Marks the edges from `first` on that touch nothing shared; gives the first process that has
    /// such.
    fn find_transparent(&mut self, first: usize) -> Option<ProcessId> {
        let mut found = None;
        let (system, state, observed) = (self.system, &self.state, self.observed);
        for edges in self.outgoing.list[first..].chunk_by_mut(|a, b| a.process == b.process) {
            let process = edges[0].process;
            if system.locality(state, process) == Locality::Local
                && !(observed && system.is_visible(state, process))
            {
                edges.iter_mut().for_each(|edge| edge.transparent = true);
                found = found.or(Some(process));
            }
        }
        found
    }

    /// With reduction: the number of the state where a way arrives, which is stored if it is not yet.
    pub(super) fn stored(&mut self, edge: Edge, arrival: usize) -> Result<Key<V>, Halt> {
        if let Some(pending) = edge.pending() {
            return Ok(V::Memory::key(&self.pending[pending]));
        }
        let Pending { start, end, .. } = self.expander.arrivals[arrival];
        let mut batch = [Pending::new(0, start, end)];
        insert(self.visited.memory_mut(), &self.expander.successors.data, &mut batch, false)?;
        Ok(V::Memory::key(&batch[0]))
    }
}
