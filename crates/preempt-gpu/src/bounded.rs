//! Iterative context bounding on a card: bucket by bucket of preemptions.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! What a state knows of its visits, and what a thread runs from it, is said in `preempt-native/src/card/bounded.rs`. Here are the
//! loops: rounds until no state is marked, then the processes that had to wait, in the next bucket. A round looks at the records of
//! all states of its bucket, one behind the other, which takes a card less time than a list of the marked ones would.
//!
//! No execution is found back on the card: where a violation with so many preemptions was met, the processor looks for it within that
//! bound.

use crate::device::{Device, Trouble};
use crate::search::{Buckets, End, Found, Search, Wanted};
use preempt_check::{Budget, Finding, Options, Preemptions, search_here};
use preempt_core::{BoundRow, System};
use preempt_native::card::{COMMIT, CardCode, Counter, Field, MARKS, PEEK, REST};

impl<D: Device> Search<'_, D> {
    /// Searches all buckets up to this one.
    pub(crate) fn buckets_until(
        &mut self,
        code: &CardCode,
        wanted: &Wanted,
        last: u32,
        budget: &mut Budget<'_>,
    ) -> Result<(End, Buckets), Trouble> {
        let mut buckets = Buckets { rows: Vec::new(), bound: None };
        let mut round = Round { code, wanted, mark: 0, rest: 0 };
        let mut bucket = 0;
        let end = loop {
            if let Some(end) = self.bucket(&mut round, budget)? {
                if matches!(end, End::Over) {
                    buckets.rows.push(self.row(bucket));
                }
                break end;
            }
            buckets.rows.push(self.row(bucket));
            round.rest = if bucket >= last { REST | PEEK } else { REST };
            let begun = self.block[Field::Bucket as usize];
            let states = self.counter(Counter::Next);
            if round.rest & PEEK == 0 {
                self.block[Field::Bucket as usize] = states;
            }
            self.counters[Counter::Left as usize] = 0;
            if let Some(end) = self.round(&round, begun..states, budget)? {
                break end;
            }
            let is_left = self.counter(Counter::Left) != 0;
            if round.rest & PEEK != 0 {
                buckets.bound = is_left.then_some(bucket);
            }
            if !is_left || round.rest & PEEK != 0 {
                break End::Over;
            }
            round.mark ^= 1;
            round.rest = 0;
            bucket += 1;
        };
        Ok((end, buckets))
    }

    /// Runs rounds until no state is marked; gives why the search ends, if it does.
    fn bucket(
        &mut self,
        round: &mut Round<'_>,
        budget: &mut Budget<'_>,
    ) -> Result<Option<End>, Trouble> {
        loop {
            let states = self.block[Field::Bucket as usize]..self.counter(Counter::Next);
            self.counters[Counter::Marked as usize] = 0;
            if let Some(end) = self.round(round, states, budget)? {
                return Ok(Some(end));
            }
            round.mark ^= 1;
            if self.counter(Counter::Marked) == 0 {
                return Ok(None);
            }
        }
    }

    /// Looks at a range of states once.
    fn round(
        &mut self,
        round: &Round<'_>,
        states: std::ops::Range<u64>,
        budget: &mut Budget<'_>,
    ) -> Result<Option<End>, Trouble> {
        self.block[Field::Dirty as usize] = MARKS[round.mark];
        self.block[Field::Mark as usize] = MARKS[round.mark ^ 1];
        let flags = &mut self.block[Field::Flags as usize];
        *flags = *flags & !(REST | PEEK) | round.rest;
        self.write_counters()?;
        let mut first = states.start;
        while first < states.end {
            if let Some(stop) = self.stop(first, budget) {
                return Ok(Some(End::Limit(stop)));
            }
            if let Some(stop) = self.make_room(budget)? {
                return Ok(Some(End::Limit(stop)));
            }
            let end = states.end.min(first + self.at_once);
            if let Some(end) = self.expand(round.code, (first, end), budget)? {
                return Ok(Some(end));
            }
            self.run(COMMIT, first, end)?;
            first = end;
            let most = round.wanted.most_errors;
            if most != 0 && self.sum(2) >= most {
                return Ok(Some(End::Over));
            }
        }
        Ok(None)
    }

    /// What was counted until the end of a bucket.
    fn row(&self, bound: u32) -> BoundRow {
        BoundRow {
            stale: None,
            bound,
            states: self.states(),
            transitions: 1 + self.sum(0),
            errors: self.sum(2),
        }
    }
}

/// What a round does.
struct Round<'c> {
    code: &'c CardCode,
    wanted: &'c Wanted,
    /// Which of the marks it looks at.
    mark: usize,
    /// [`REST`] and [`PEEK`], where the processes are run that had to wait.
    rest: u64,
}

impl Found {
    /// The preemptions of the first violation, where they are counted.
    pub(crate) fn first_bucket_with_errors(&self) -> Option<u32> {
        let rows = &self.buckets.as_ref()?.rows;
        let finished = rows.iter().find(|row| row.errors > 0).map(|row| row.bound);
        // It may have been met in a bucket that was not finished.
        finished.or((self.errors > 0).then_some(rows.len() as u32))
    }
}

/// Has the processor find an execution with so many preemptions that is violated.
pub(crate) fn find_execution(
    system: &dyn System,
    options: &Options,
    preemptions: u32,
    finding: &mut Finding,
    budget: &mut Budget<'_>,
) -> Result<(), String> {
    let preemptions = Preemptions::AtMost(preemptions);
    let options = Options { preemptions, max_errors: 1, ..options.clone() };
    let found = search_here(system, &options, budget);
    match (found.counterexample, found.stop) {
        (Some(counterexample), _) => finding.counterexample = Some(counterexample),
        (None, Some(stop)) => finding.stop = finding.stop.or(Some(stop)),
        (None, None) => return Err("it met a violation that the processor does not find".into()),
    }
    Ok(())
}
