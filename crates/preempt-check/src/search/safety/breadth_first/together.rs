//! Breadth-first search whose states are expanded by several threads.
//!
//! A search that numbers states in the order in which it finds them must insert them in this order, but may have them
//! expanded in any. So waiting states are copied into packages, whoever is free expands these, and the thread of the search
//! inserts what comes back, in the order of the states and in the same batches as without help. When a state may end
//! the search, it goes back to that state and on alone for a while.
//!
//! Invariant: numbers of states, counts, depth, the first error and the moment at which the search ends are the same at any
//! number of threads. (One exception: where the memory limit ends the search, transitions and errors of the last batch, fewer
//! than a hundred, may or may not be counted.) So helpers are there by default. Searches that insert in parallel (`parallel/`) are quicker on
//! many cores, but what they find first differs from run to run.

use super::helpers::AHEAD;
use super::package::{Counted, Expansion, Package, STATES};
use super::pool::{EndForAll, Next, Pool};
use super::{BATCH, BreadthFirst};
use crate::store::{StateId, Store, StoreFull};
use crate::{Budget, Options, Progress};
use preempt_core::{Stop, System};

/// Why helpers left.
enum Left {
    /// There is too little to be done, or the next states have to be expanded in their turn.
    ForNow,
    /// The search is over.
    ForEver,
}

impl<S: System + ?Sized, T: Store> BreadthFirst<'_, S, T> {
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
        let system = self.system;
        let result = crate::platform::thread::scope(|scope| {
            let end = EndForAll(&pool);
            let mut helpers = Vec::new();
            for _ in 0..self.helpers.count {
                let pool = &pool;
                let help = move || {
                    let _end = EndForAll(pool);
                    let mut expansion = Expansion::new(system, options);
                    pool.help(|package| expansion.run(package, || pool.is_over()));
                    expansion.finish()
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
            let mut own = Expansion::new(system, options);
            let result = self.lead(&pool, helpers.len() + 1, &mut own, budget);
            drop(end);
            self.helpers.counters.push(own.finish());
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
        own: &mut Expansion<'_, S>,
        budget: &mut Budget,
    ) -> Result<Left, StoreFull> {
        let mut next = self.head;
        loop {
            while pool.len() < threads * AHEAD
                && let Some(package) = self.pack(next)
            {
                next += package.len();
                pool.hand_out(package);
            }
            if pool.len() == 0 || pool.is_over() {
                return Ok(Left::ForNow);
            }
            match pool.next() {
                Next::Wait => {
                    if let Some(stop) = budget.check(self.progress()) {
                        return Ok(self.stop(stop));
                    }
                }
                Next::Expand(place, mut package) => {
                    let mut stop = None;
                    own.run(&mut package, || {
                        stop = budget.poll(|| self.progress());
                        stop.is_some()
                    });
                    if let Some(stop) = stop {
                        return Ok(self.stop(stop));
                    }
                    pool.give_back(place, package);
                }
                Next::Insert(mut package) => {
                    if self.head == self.level_end && !self.next_level() {
                        return Ok(Left::ForEver);
                    }
                    if package.needs_order {
                        self.helpers.alone_until = self.head + package.len();
                        let at = self.head - self.level_start();
                        self.frontier.rewind(at);
                        self.sleepers.rewind(at);
                        return Ok(Left::ForNow);
                    }
                    self.helpers.largest = self.helpers.largest.max(package.bytes());
                    let inserted = self.insert_package(&mut package, budget);
                    self.keep_erroneous();
                    self.store.release(StateId(self.head as u32));
                    if let Some(stop) = inserted? {
                        return Ok(self.stop(stop));
                    }
                    self.helpers.spare.push(package);
                }
            }
        }
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
        let mut package = self.helpers.spare.pop().unwrap_or_default();
        package.begin(first);
        for number in first..end {
            if !self.frontier.pop(&mut self.state) {
                self.store.load(StateId(number as u32), &mut self.state);
            }
            let sleeper = self.sleepers.are_used().then(|| self.sleepers.pop());
            package.push(&self.state, sleeper);
            if package.is_full() {
                break;
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
        let at_once = self.hashes_at_once();
        let (mut done, mut before, mut stop) = (Counted::default(), 0, None);
        for at in 0..package.counted.len() {
            let counted = package.counted[at];
            let end = counted.arrivals;
            self.events.at = package.first + at;
            self.head += 1;
            if at_once && let Err(full) = self.collect(before..end) {
                self.count(package, done, counted);
                return Err(full);
            }
            before = end;
            let is_last = at + 1 == package.counted.len();
            let batch = done.arrivals..end;
            let batch_ends = self.carried + batch.len() >= BATCH || self.head == self.level_end;
            if !batch_ends && !is_last {
                continue;
            }
            self.count(package, done, counted);
            if !at_once {
                self.collect(batch.clone())?;
            }
            self.carried = if batch_ends { 0 } else { self.carried + batch.len() };
            self.insert(batch)?;
            done = counted;
            stop = stop.or(budget.check_every(16, || self.progress()));
        }
        std::mem::swap(&mut self.expander.successors.data, &mut package.successors);
        std::mem::swap(&mut self.expander.arrivals, &mut package.arrivals);
        std::mem::swap(&mut self.expander.sleep_sets, &mut package.sleep_sets);
        Ok(stop)
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
