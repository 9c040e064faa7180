//! The visits of one thread, or of one of several with a log each.
//!
//! The log is the queue as well: what is behind the last visit that was expanded waits. Where the store does not keep the
//! states, what waits carries its bytes with it (`frontier.rs`), and a state whose other processes have to wait is expanded again
//! when their turn comes.
//!
//! Visits are judged by a [`VisitMemory`]. A lossy one may take a state for another: a violation found is one, but none found
//! proves nothing. A violation counts, even if its execution cannot be found again because the store has confused states on the
//! way; then the report says so.

use super::buckets::{Bucketed, conclude, take_first};
use super::conclusion::nothing_searched;
use super::frontier::{Frontier, KeptStates};
use super::phases::Phases;
use super::trace_log::TraceLog;
use super::visit_log::{Entry, MERGED, NO_PARENT};
use super::visit_memory::VisitMemory;
use super::visited_set::VisitedSet;
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::search::shared::halt::Halt;
use crate::search::shared::trace::LOST;
use crate::store::memory::pages;
use crate::{Budget, Finding, Options};
use preempt_core::{Stop, System};

/// One of several threads.
#[derive(Clone, Copy)]
pub(super) struct WorkerId {
    pub(super) me: u32,
    pub(super) threads: u32,
}

/// The visited set of one thread, or of one of several with a log each.
pub(super) struct OwnVisits<'e, L: VisitMemory> {
    visited: L,
    /// Every visit that was found here.
    log: Vec<Entry<L::Key>>,
    /// The states of those that are yet to be expanded.
    frontier: Frontier,
    /// The states at which processes waited for the present bucket.
    waiting: KeptStates,
    /// The states at which processes wait for the next one.
    kept: KeptStates,
    worker: WorkerId,
    /// How many visits can be numbered.
    most: usize,
    /// Visits from this number on were neither expanded nor taken over as such.
    movable: u32,
    /// The errors of all threads.
    errors: &'e AtomicU64,
}

impl<'e, L: VisitMemory> OwnVisits<'e, L> {
    pub(super) fn new(visited: L, worker: WorkerId, errors: &'e AtomicU64) -> Self {
        OwnVisits {
            visited,
            log: Vec::new(),
            frontier: Frontier::default(),
            waiting: KeptStates::default(),
            kept: KeptStates::default(),
            worker,
            most: (NO_PARENT / worker.threads) as usize - 1,
            movable: 0,
            errors,
        }
    }

    /// The bytes of a state that are here, since it is yet to be expanded or has processes that wait.
    fn state(&self, visit: u32) -> &[u8] {
        let (waiting, kept) = (|| self.waiting.get(visit), || self.kept.get(visit));
        // A visit that was taken over after it was expanded has no bytes in the frontier.
        let open = self.frontier.get(visit).filter(|state| !state.is_empty());
        open.or_else(waiting).or_else(kept).unwrap_or_default()
    }

    /// A visit and its state.
    pub(super) fn get(&self, visit: u32) -> (Entry<L::Key>, &[u8]) {
        (self.log[visit as usize], self.state(visit))
    }

    /// Gives away the last visits, of those that were not expanded, at most so many.
    pub(super) fn give_last(&mut self, most: u32, mut give: impl FnMut(Entry<L::Key>, &[u8])) {
        let logged = self.log.len() as u32;
        let left = logged.saturating_sub(most).max(self.movable);
        for visit in left..logged {
            give(self.log[visit as usize], self.state(visit));
        }
        self.log.truncate(left as usize);
        self.frontier.truncate(left);
    }

    /// Adds a visit that another thread has found; with `waits` one that was expanded, at which processes have to wait. Gives its
    /// number.
    pub(super) fn take_over(
        &mut self,
        entry: Entry<L::Key>,
        state: &[u8],
        waits: bool,
    ) -> Result<u32, Halt> {
        let visit = self.log.len() as u32;
        if waits {
            self.waiting.push(visit, state);
            let entry = Entry { flags: entry.flags | MERGED, ..entry };
            self.enter(entry, || &[])?;
            self.movable = visit + 1;
        } else {
            self.enter(entry, || state)?;
        }
        Ok(visit)
    }

    /// How many visits were logged.
    #[inline(always)]
    pub(super) fn logged(&self) -> u32 {
        self.log.len() as u32
    }

    /// All visits below this number were expanded.
    pub(super) fn pass(&mut self, visit: u32) {
        self.movable = self.movable.max(visit);
        self.frontier.pass(visit);
    }

    /// The next bucket begins: of what was kept before nothing is needed any more.
    pub(super) fn begin_next(&mut self) {
        self.waiting = std::mem::take(&mut self.kept);
    }

    /// The longest execution in the log, counted in visits; 0 where it is not known, as the log is only a part or a lossy store's.
    /// Afterwards entries have depths instead of parents, for which parents come first.
    fn take_depth(&mut self) -> u64 {
        if !L::IS_EXACT {
            return 0;
        }
        let mut longest = 0;
        for at in 0..self.log.len() {
            let depth = match self.log[at].parent {
                NO_PARENT => 0,
                parent => self.log[parent as usize].parent + 1,
            };
            self.log[at].parent = depth;
            longest = longest.max(depth);
        }
        longest.into()
    }

    /// Memory in use beside what threads may share, in bytes.
    pub(super) fn own_bytes(&self) -> usize {
        self.frontier.bytes()
            + self.waiting.bytes()
            + self.kept.bytes()
            + self.log.len() * size_of::<Entry<L::Key>>()
    }
}

impl<L: VisitMemory> VisitedSet for OwnVisits<'_, L> {
    type Memory = L;
    const BATCH: usize = 160;

    #[inline(always)]
    fn memory(&self) -> &L {
        &self.visited
    }

    #[inline(always)]
    fn memory_mut(&mut self) -> &mut L {
        &mut self.visited
    }

    #[inline(always)]
    fn load(&mut self, visit: u32, state: L::Key, out: &mut Vec<u8>) {
        if L::IS_EXACT {
            return self.visited.load(state, out);
        }
        out.clear();
        out.extend_from_slice(self.state(visit));
    }

    #[inline(always)]
    fn load_parent(&mut self, visit: u32, state: L::Key, out: &mut Vec<u8>) {
        match L::IS_EXACT {
            true => self.visited.load_parent(state, out),
            false => self.load(visit, state, out),
        }
    }

    fn keep(&mut self, visit: u32) {
        if let Some(state) = self.frontier.get(visit) {
            self.kept.push(visit, state);
        }
    }

    #[inline(always)]
    fn entry(&self, visit: u32) -> Entry<L::Key> {
        self.log[visit as usize]
    }

    #[inline(always)]
    fn number(&self, visit: u32) -> u32 {
        visit * self.worker.threads + self.worker.me
    }

    #[inline(always)]
    fn enter<'s>(
        &mut self,
        entry: Entry<L::Key>,
        bytes: impl FnOnce() -> &'s [u8],
    ) -> Result<(), Halt> {
        if self.log.len() >= self.most {
            return Err(Halt::Stop(Stop::Memory));
        }
        if !L::IS_EXACT {
            self.frontier.push(if entry.is(MERGED) { &[] } else { bytes() });
        }
        pages::push(&mut self.log, entry);
        Ok(())
    }

    fn count_error(&mut self) -> u64 {
        1 + self.errors.fetch_add(1, Ordering::SeqCst)
    }

    fn bytes(&self) -> usize {
        self.visited.bytes() + self.own_bytes()
    }
}

/// The logs of all threads.
struct Logs<'l, L: VisitMemory> {
    visited: &'l mut L,
    logs: Vec<&'l [Entry<L::Key>]>,
}

impl<L: VisitMemory> TraceLog for Logs<'_, L> {
    type Memory = L;

    fn memory(&mut self) -> &mut L {
        self.visited
    }

    fn visit(&self, number: u32) -> Entry<L::Key> {
        let threads = self.logs.len() as u32;
        self.logs[(number % threads) as usize][(number / threads) as usize]
    }

    fn find(&self, state: L::Key, mover: u16) -> Option<u32> {
        let is_it = |entry: &Entry<L::Key>| entry.state == state && entry.mover == mover;
        (0..).zip(&self.logs).find_map(|(thread, log)| {
            let at = log.iter().rposition(is_it)? as u32;
            Some(at * self.logs.len() as u32 + thread)
        })
    }
}

/// What a search by these workers has found.
pub(super) fn finish<S: System + ?Sized, L: VisitMemory>(
    system: &S,
    mut workers: Vec<Bucketed<'_, S, OwnVisits<'_, L>>>,
    phases: Phases,
    memory: usize,
    options: &Options,
    budget: &Budget,
) -> Finding {
    let first = take_first(&mut workers);
    let is_met = first.is_some();
    let found = first.and_then(|first| {
        let mut visits = workers.iter_mut().map(|worker| &mut worker.visited);
        let OwnVisits { visited, log, .. } = visits.next()?;
        let logs = std::iter::once(&log[..]).chain(visits.map(|visits| &visits.log[..])).collect();
        first.retrace(system, &mut Logs { visited, logs })
    });
    let is_lost = is_met && found.is_none() && !L::IS_EXACT;
    let depth = workers.iter_mut().map(|worker| worker.visited.take_depth()).max();
    let Some(mut conclusion) = conclude(workers, found, phases, memory, options) else {
        return nothing_searched();
    };
    if is_lost {
        conclusion.counters.stop = Some(Stop::LossyStore);
    }
    conclusion.depth = depth.unwrap_or(0);
    let mut finding = conclusion.finding(system, budget);
    if !L::IS_EXACT {
        // What it kept out may be reached.
        finding.unreached.clear();
    }
    finding.notes.extend(is_lost.then(|| LOST.into()));
    finding
}
