//! Taking the edges that were found: new visits, merged visits, faults.

use super::{Bucketed, FoundViolation};
use crate::search::bounded::least_preemptions::{Visit, fits_record};
use crate::search::iterative::outgoing::{Edge, When};
use crate::search::iterative::visit_log::{
    Entry, MERGED, MOVER_WAS_DEFERRED, NOBODY, REVISIT, TRANSPARENT, packed,
};
use crate::search::iterative::visit_memory::VisitMemory;
use crate::search::iterative::visited_set::{Key, VisitedSet};
use crate::search::shared::halt::Halt;
use crate::store::Pending;
use crate::store::memory::pages;
use preempt_core::{ProcessId, Step, System};

impl<S: System + ?Sized, V: VisitedSet> Bucketed<'_, S, V> {
    /// Runs what the visits of the batch are for.
    pub(super) fn act(&mut self) -> Result<(), Halt> {
        if self.reduce {
            let tasks = std::mem::take(&mut self.tasks);
            let result = tasks.iter().try_for_each(|task| self.act_reduced(task));
            self.tasks = tasks;
            return result;
        }
        let outgoing = std::mem::take(&mut self.outgoing.list);
        let result = outgoing.iter().try_for_each(|edge| self.follow(*edge, None).map(|_| ()));
        self.outgoing.list = outgoing;
        result
    }

    /// Takes one edge. Where it arrives, `label` was the last mover, if it is transparent, or else the process that really
    /// was. Says whether some visit to that state is yet to be expanded.
    #[inline(always)]
    pub(super) fn follow(
        &mut self,
        edge: Edge,
        label: Option<Option<ProcessId>>,
    ) -> Result<bool, Halt> {
        let Some(arrival) = edge.arrival() else { return self.follow_fault(edge) };
        match edge.when {
            When::Now => self.transitions += 1,
            When::Later => self.next.transitions += 1,
            When::PulledForward => {
                self.transitions += 1;
                self.next.transitions -= 1;
            }
        }
        let before = || self.visited.entry(edge.visit).mover();
        let mover = label.unwrap_or_else(|| edge.mover().or_else(before));
        let state = match self.reduce {
            false => V::Memory::key(&self.expander.arrivals[arrival]),
            true => self.stored(edge, arrival)?,
        };
        let by = match edge.process {
            _ if self.reduce => None,
            ProcessId::PROPERTY => mover,
            process => Some(process),
        };
        let entry = Entry {
            state,
            parent: self.visited.number(edge.visit),
            mover: mover.map_or(NOBODY, |mover| mover.0),
            by: packed(by),
            flags: if label.is_some() { TRANSPARENT } else { 0 },
        };
        self.arrive(entry, edge.when, arrival)
    }

    #[cold]
    pub(super) fn follow_fault(&mut self, edge: Edge) -> Result<bool, Halt> {
        if let Some((fault, path)) = self.outgoing.fault(edge) {
            match edge.when {
                When::Later => self.next.faults.push((edge.visit, edge.process, fault)),
                _ => self.fault(fault, Some(edge.visit), &path)?,
            }
        }
        Ok(false)
    }

    /// Notes an arrival; says whether some visit to the state is yet to be expanded.
    #[inline(always)]
    fn arrive(
        &mut self,
        mut entry: Entry<Key<V>>,
        when: When,
        arrival: usize,
    ) -> Result<bool, Halt> {
        let count = self.bucket + u32::from(when == When::Later);
        let (visit, record) = self.visited.memory_mut().visit(entry.state, count, entry.mover());
        match visit {
            Visit::Covered => return Ok(!record.is_expanded()),
            Visit::First => {}
            Visit::Again => {
                let is_small = entry.mover().is_some_and(fits_record);
                let is_merged = !self.reduce && is_small && !record.is_expanded();
                let was_deferred = record.is_deferred() && self.looks_ahead();
                entry.flags |= REVISIT
                    | if is_merged { MERGED } else { 0 }
                    | if was_deferred { MOVER_WAS_DEFERRED } else { 0 };
            }
        }
        match when {
            When::Later => pages::push(&mut self.next.visits, entry),
            _ => {
                self.count(&entry);
                let Pending { start, end, .. } = self.expander.arrivals[arrival];
                let bytes = &self.expander.successors.data;
                self.visited.enter(entry, || &bytes[start..end])?;
            }
        }
        Ok(true)
    }

    /// Adds a visit to the present bucket; `bytes` gives those of its state, where the set needs them.
    #[inline(always)]
    pub(super) fn enter<'s>(
        &mut self,
        entry: Entry<Key<V>>,
        bytes: impl FnOnce() -> &'s [u8],
    ) -> Result<(), Halt> {
        self.count(&entry);
        self.visited.enter(entry, bytes)
    }

    #[inline(always)]
    fn count(&mut self, entry: &Entry<Key<V>>) {
        match entry.is(REVISIT) {
            true => self.revisits += 1,
            false => self.states += 1,
        }
    }

    /// Counts an invalid end behind a visit.
    #[cold]
    pub(super) fn invalid_end(&mut self, visit: u32) -> Result<(), Halt> {
        self.met(Some(visit), &[], None)
    }

    /// Takes note of a fault at the end of `path` behind a visit.
    pub(super) fn fault(
        &mut self,
        fault: u32,
        visit: Option<u32>,
        path: &[Step],
    ) -> Result<(), Halt> {
        match self.outgoing.counters.reports(self.system, fault) {
            true => self.met(visit, path, Some(fault)),
            false => Ok(()),
        }
    }

    /// Counts a violation.
    fn met(&mut self, visit: Option<u32>, path: &[Step], fault: Option<u32>) -> Result<(), Halt> {
        if self.first.is_none() {
            let visit = visit.map(|visit| self.visited.number(visit));
            let (bucket, path) = (self.bucket, path.to_vec());
            self.first = Some(FoundViolation { bucket, visit, path, fault });
        }
        self.outgoing.counters.errors += 1;
        let errors = self.visited.count_error();
        let is_enough = self.max_errors != 0 && errors >= self.max_errors;
        if is_enough { Err(Halt::Enough) } else { Ok(()) }
    }
}
