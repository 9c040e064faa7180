//! Breadth-first search in which several threads do all but the insertion of states.
//!
//! A search that numbers states in the order in which it finds them must insert them in this order, but may load, expand and
//! hash them in any. So waiting states go into packages, and groups of these through two phases in turns:
//!
//! 1. All threads read the store: load the states of one group, and hash the successors of the group before it.
//! 2. The thread of the search inserts the latter, in the order of the states and in the same batches as without help, while the
//!    others expand the former; then it expands states as well.
//!
//! When a state may end the search, the search goes back to that state and on alone for a while.
//!
//! With a tree, hashes are the roots of states, if all their parts are known; others are found in their turn, because parts
//! are numbered in the order of their insertion, too.
//!
//! Invariant: numbers of states, counts, depth, the first error and the moment at which the search ends are the same at any
//! number of threads. (One exception: where the memory limit ends the search, transitions and errors of the last batch, fewer
//! than a hundred, may or may not be counted.) So helpers are there by default. Searches that insert in parallel (`parallel/`) are quicker on
//! many cores, but what they find first differs from run to run.

use super::BreadthFirst;
use super::helpers::GROUP;
use super::package::{self, BATCH, Counted, Expansion, Package, STATES};
use super::phased_store::{self, Lock};
use super::pool::{EndForAll, Next, Pool, Task};
use crate::store::{Reader, Store, StoreFull};
use crate::{Budget, Options, Progress};
use preempt_core::{Stop, System};

/// How many states ahead the slots of successors that others have hashed are fetched.
const AHEAD: usize = 32;

/// Why helpers left.
enum Left {
    /// There is too little to be done, or the next states have to be expanded in their turn.
    ForNow,
    /// The search is over.
    ForEver,
}

/// What a thread works with.
struct Worker<'a, 'b, 'c, S: ?Sized, T> {
    store: &'a Lock<'b, T>,
    reader: Reader,
    state: Vec<u8>,
    expansion: Expansion<'c, S>,
}

impl<S: System + ?Sized, T: Store> Worker<'_, '_, '_, S, T> {
    /// Works on a package, unless `is_over` says during its expansion that it is not needed any more.
    fn work(&mut self, task: Task, package: &mut Package, is_over: impl FnMut() -> bool) {
        match task {
            Task::Load => {
                package.load(&**phased_store::read(self.store), &mut self.reader, &mut self.state);
            }
            Task::Hash => package.hash(&**phased_store::read(self.store), &mut self.reader),
            Task::Expand => self.expansion.run(package, is_over),
        }
    }
}

impl<S: System + ?Sized, T: Store> BreadthFirst<'_, '_, S, T> {
    /// Whether there is enough to be done for several threads.
    #[inline]
    pub(super) fn calls_helpers(&self) -> bool {
        let waiting = self.store.len() - self.head;
        self.helpers.count > 0
            && waiting >= self.helpers.call_at
            && self.store.len() >= self.helpers.many
            && self.head >= self.helpers.alone_until
            && !self.selector.reduces()
    }

    /// Explores with helpers as long as there is enough for them to do; says whether the search is over.
    pub(super) fn explore_together(
        &mut self,
        options: &Options,
        budget: &mut Budget,
    ) -> Result<bool, StoreFull> {
        let pool = Pool::default();
        let (system, store) = (self.system, self.store.lock());
        let worker = || Worker {
            store,
            reader: Reader::default(),
            state: Vec::new(),
            expansion: Expansion::new(system, options),
        };
        let result = crate::platform::thread::scope(|scope| {
            let end = EndForAll(&pool);
            let mut helpers = Vec::new();
            for _ in 0..self.helpers.count {
                let (pool, worker) = (&pool, &worker);
                let help = move || {
                    let _end = EndForAll(pool);
                    let mut worker = worker();
                    pool.help(|task, package| worker.work(task, package, || pool.is_over()));
                    worker.expansion.finish()
                };
                match crate::platform::thread::Builder::new().spawn_scoped(scope, help) {
                    Ok(helper) => helpers.push(helper),
                    // The system gives no more threads: the others do.
                    Err(_) => break,
                }
            }
            if helpers.is_empty() {
                self.helpers.count = 0;
                return Ok(Left::ForNow);
            }
            let mut own = worker();
            let result = self.lead(&pool, helpers.len() + 1, &mut own, budget);
            drop(end);
            self.store.take_back();
            self.helpers.counters.push(own.expansion.finish());
            for helper in helpers {
                match helper.join() {
                    Ok(counters) => self.helpers.counters.push(counters),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            result
        });
        self.helpers.call_at = self.helpers.call_at.saturating_mul(2);
        Ok(matches!(result?, Left::ForEver))
    }

    /// Hands out packages and inserts what comes back.
    fn lead(
        &mut self,
        pool: &Pool,
        threads: usize,
        own: &mut Worker<'_, '_, '_, S, T>,
        budget: &mut Budget,
    ) -> Result<Left, StoreFull> {
        let mut next = self.head;
        let (mut loaded, mut expanded) = (Vec::new(), Vec::new());
        loop {
            // Behind the states of this group there must be others for the next one.
            let known = (self.store.len() - self.head) / (2 * STATES);
            let most = known.clamp(1, threads * GROUP);
            let before = expanded.len();
            while loaded.len() < most
                && let Some(package) = self.pack(next)
            {
                next += package.len();
                loaded.push(package);
            }
            if before == 0 && loaded.is_empty() {
                return Ok(Left::ForNow);
            }
            self.store.share();
            let hash = expanded.drain(..).map(|package| (Task::Hash, package));
            let load = loaded.drain(..).map(|package| (Task::Load, package));
            pool.hand_out(hash.chain(load));
            let read = work_until_done(pool, |work| {
                if let Some((task, package)) = work {
                    own.work(task, package, || false);
                }
                None
            });
            if read != Ok(true) {
                return Ok(Left::ForNow);
            }
            self.store.take_back();
            self.helpers.reader = self.helpers.reader.max(own.reader.bytes());
            pool.take_back(&mut expanded);
            loaded.extend(expanded.drain(before..));
            pool.hand_out(loaded.drain(..).map(|package| (Task::Expand, package)));
            for package in expanded.drain(..) {
                if let Some(left) = self.insert_next(package, budget)? {
                    return Ok(left);
                }
            }
            let expands = work_until_done(pool, |work| {
                let Some((task, package)) = work else { return budget.check(self.progress()) };
                let mut stop = None;
                own.work(task, package, || {
                    stop = budget.poll(|| self.progress());
                    stop.is_some()
                });
                stop
            });
            match expands {
                Ok(true) => {}
                Ok(false) => return Ok(Left::ForNow),
                Err(stop) => return Ok(self.stop(stop)),
            }
            pool.take_back(&mut expanded);
        }
    }

    /// Inserts the successors of the package that is next; says so if helpers are to leave.
    fn insert_next(
        &mut self,
        mut package: Package,
        budget: &mut Budget,
    ) -> Result<Option<Left>, StoreFull> {
        if self.head == self.level_end && !self.next_level() {
            return Ok(Some(Left::ForEver));
        }
        if package.needs_order {
            self.helpers.alone_until = self.head + package.len();
            let at = self.head - self.level_start();
            self.frontier.rewind(at);
            self.sleepers.rewind(at);
            return Ok(Some(Left::ForNow));
        }
        self.helpers.largest = self.helpers.largest.max(package.bytes());
        let inserted = self.insert_package(&mut package, budget);
        if let Some(stop) = inserted? {
            return Ok(Some(self.stop(stop)));
        }
        self.helpers.spare.push(package);
        Ok(None)
    }

    fn stop(&mut self, stop: Stop) -> Left {
        self.events.counters.stop = Some(stop);
        Left::ForEver
    }

    /// A package of states from this one on, if enough of them wait.
    fn pack(&mut self, first: usize) -> Option<Package> {
        // States of two levels do not go together. Behind the present level all known states are of the next one.
        let (end, is_whole) = match first < self.level_end {
            true => (self.level_end, true),
            false => (self.store.len(), false),
        };
        let known = self.store.len() - first;
        let is_enough =
            if is_whole { first < end } else { end - first >= STATES.min(self.helpers.leave_at) };
        if !is_enough || self.head == first && known < self.helpers.leave_at {
            return None;
        }
        let end = end.min(first + package::size(self.events.counters.state_bytes));
        let mut package = self.helpers.spare.pop().unwrap_or_default();
        package.begin(first..end);
        for _ in first..end {
            if self.frontier.pop(&mut self.state) {
                package.push(&self.state);
            }
            if self.sleepers.are_used() {
                package.push_sleeper(self.sleepers.pop());
            }
        }
        Some(package)
    }

    /// Inserts the successors of a package, in the batches of a search without helpers.
    fn insert_package(
        &mut self,
        package: &mut Package,
        budget: &mut Budget,
    ) -> Result<Option<Stop>, StoreFull> {
        std::mem::swap(&mut self.expander.successors.data, &mut package.successors);
        std::mem::swap(&mut self.expander.arrivals, &mut package.arrivals);
        std::mem::swap(&mut self.expander.sleep_sets, &mut package.sleep_sets);
        let (mut done, mut stop) = (Counted::default(), None);
        // Where the arrivals of the present batch and those of the present state begin.
        let mut start = self.unfinished.put_before(BATCH, &mut self.expander);
        let mut before = BATCH;
        let (mut at_once, mut is_valid) = (self.hashes_at_once(), true);
        for at in 0..package.counted.len() {
            if is_valid && self.store.generation() != package.generation {
                is_valid = false;
                self.expander.arrivals[before..].iter_mut().for_each(|arrival| arrival.hash = 0);
            }
            let counted = package.counted[at];
            let end = counted.arrivals;
            self.events.at = package.states.start + at;
            self.head += 1;
            let is_hashed = is_valid && package.hashed[at];
            if is_valid {
                self.fetch_ahead(package, at);
            }
            if at_once {
                self.note_owner(&(before..end));
                if !is_hashed && let Err(full) = self.hash(before..end) {
                    self.count(package, done, counted);
                    return Err(full);
                }
            }
            before = end;
            let is_last = at + 1 == package.counted.len();
            let batch = start..end;
            let batch_ends = batch.len() >= BATCH || self.head == self.level_end;
            if !batch_ends && !is_last {
                continue;
            }
            self.count(package, done, counted);
            if !at_once && !is_hashed {
                self.hash(batch.clone())?;
            }
            done = counted;
            if !batch_ends {
                self.unfinished.keep(&self.expander, batch);
                break;
            }
            self.insert(batch)?;
            start = end;
            at_once = self.hashes_at_once();
            stop = stop.or(budget.check_every(16, || self.progress()));
        }
        std::mem::swap(&mut self.expander.successors.data, &mut package.successors);
        std::mem::swap(&mut self.expander.arrivals, &mut package.arrivals);
        std::mem::swap(&mut self.expander.sleep_sets, &mut package.sleep_sets);
        Ok(stop)
    }

    /// Fetches what the insertion of successors a little later will read.
    #[inline]
    fn fetch_ahead(&self, package: &Package, at: usize) {
        let all = self.expander.arrivals.len();
        let end = |at: usize| package.counted.get(at).map_or(all, |to| to.arrivals);
        let range = match at {
            0 => BATCH..end(AHEAD),
            _ => end(at + AHEAD - 1)..end(at + AHEAD),
        };
        self.store.prefetch_ahead(&self.expander.arrivals[range]);
    }

    /// Adds what was counted in the states of a package between two moments, up to the present state.
    fn count(&mut self, package: &mut Package, from: Counted, to: Counted) {
        let counters = &mut self.events.counters;
        counters.matched += to.matched - from.matched;
        counters.atomic_steps += to.atomic_steps - from.atomic_steps;
        counters.errors += to.errors - from.errors;
        if let Some((_, stop)) = package.cut.take_if(|(at, _)| *at < self.head) {
            counters.stop = counters.stop.or(Some(stop));
        }
        if let Some((at, path, first)) = package.error.take_if(|(at, ..)| *at < self.head)
            && self.events.first.is_none()
        {
            self.events.first = Some((at, path));
            counters.first = Some(first);
        }
    }

    fn progress(&self) -> Progress {
        self.progress_with(self.helpers.bytes())
    }
}

/// Works on packages until all are back, and says so, unless helpers have left. `work` is told of no package while others are
/// busy, and may end all.
fn work_until_done(
    pool: &Pool,
    mut work: impl FnMut(Option<(Task, &mut Package)>) -> Option<Stop>,
) -> Result<bool, Stop> {
    while !pool.is_over() {
        let stop = match pool.next() {
            Next::Work(at, task, mut package) => {
                let stop = work(Some((task, &mut package)));
                pool.give_back(at, package);
                stop
            }
            Next::Wait => work(None),
            Next::Done => return Ok(true),
        };
        if let Some(stop) = stop {
            return Err(stop);
        }
    }
    Ok(false)
}
