//! Owners in one thread, one after the other: what a search in one process uses that is saved from time to time, and
//! what drivers over networks are compared with.

use super::retrace::{Goal, along};
use super::{Batches, Partition, Share, Time};
use crate::{Budget, Progress};
use preempt_core::{Step, Stop};

/// Looks after a search between two times, when nothing is under way.
pub trait Saver {
    /// May save the owners; gives a reason to end the search.
    fn between(&mut self, owners: &[&mut dyn Partition]) -> Option<Stop>;
}

/// Nothing is saved.
impl Saver for () {
    fn between(&mut self, _owners: &[&mut dyn Partition]) -> Option<Stop> {
        None
    }
}

/// Expands everything, time by time, until nothing is left or enough was found.
pub fn explore(
    owners: &mut [&mut dyn Partition],
    max_errors: u64,
    budget: &mut Budget<'_>,
    saver: &mut dyn Saver,
) {
    let mut batches: Vec<Batches> = owners.iter().map(|_| Batches::new(owners.len())).collect();
    let mut time = None;
    loop {
        let next = owners.iter().filter_map(|owner| owner.waits()).min();
        let Some(now) = next else { return };
        if time.is_some_and(|time| time != now)
            && let Some(stop) = saver.between(owners)
        {
            return owners.iter_mut().for_each(|owner| owner.stop(Some(stop)));
        }
        time = Some(now);
        for (at, batches) in batches.iter_mut().enumerate() {
            expand_at(owners, at, now, batches);
            let errors: u64 = owners.iter().map(|owner| owner.errors()).sum();
            let enough = max_errors != 0 && errors >= max_errors;
            if enough || owners.iter().any(|owner| owner.has_enough()) {
                return owners.iter_mut().for_each(|owner| owner.stop(None));
            }
            if let Some(stop) = budget.check(progress_of(owners)) {
                return owners.iter_mut().for_each(|owner| owner.stop(Some(stop)));
            }
        }
    }
}

/// Expands one portion of what an owner has at this time, and delivers what it sends.
fn expand_at(owners: &mut [&mut dyn Partition], at: usize, now: Time, batches: &mut Batches) {
    if owners[at].waits() != Some(now) {
        return;
    }
    let mut letters = Vec::new();
    let mut send = |owner: usize, bytes: Vec<u8>| letters.push((owner, bytes));
    let mut outbox = batches.outbox(&mut send);
    owners[at].expand(&mut outbox);
    outbox.flush();
    for (owner, bytes) in letters {
        if owners[owner].receive(now.next(), &bytes).is_err() {
            owners[owner].stop(Some(Stop::Fault));
        }
    }
}

/// How far all of them are.
fn progress_of(owners: &[&mut dyn Partition]) -> Progress {
    owners.iter().map(|owner| owner.progress()).fold(Progress::default(), |all, one| Progress {
        states: all.states + one.states,
        transitions: all.transitions + one.transitions,
        depth: all.depth.max(one.depth),
        queue: all.queue + one.queue,
        memory: all.memory + one.memory,
        ..all
    })
}

/// What all of them found, and the steps to the first violation.
pub fn trace_back(owners: &mut [&mut dyn Partition]) -> (Share, Option<Vec<Step>>) {
    let mut all = Share::default();
    owners.iter().for_each(|owner| all.add(&owner.share()));
    let steps = all.site.clone().and_then(|site| {
        along(&site, |goal: &Goal| owners.iter_mut().find_map(|owner| owner.seek(goal)))
    });
    (all, steps)
}
