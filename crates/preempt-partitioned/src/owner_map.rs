//! Which states belong to which owner.
//!
//! Any function of a state's bytes will do, as long as all owners compute the same. A hash of all bytes deals out evenly, but
//! nearly every step then leads to a state of another owner. A step changes few bytes, most of them again and again and
//! some seldom: where only bytes decide that steps seldom change, most successors stay with the owner of the state they come
//! from. (Lerda and Sisto 1999 have the idea: the state of one process decides.)
//!
//! Which bytes these are is found on walks at random, which are the same for all owners. Bytes are added one by
//! one as long as the estimated time of the busiest owner gets smaller: the fewer values they take, the more uneven the parts,
//! and the more bytes decide, the more is sent. How even the parts are is not counted but expected from the number of values and
//! their frequencies, because states on walks are not such as those of a search. With many owners so few states say nothing
//! about that: there all bytes decide.

use super::Owner;
use super::forward::Uncounted;
use preempt_check::engine::Expander;
use preempt_check::store::hash_for_all;
use preempt_check::{Budget, Progress};
use preempt_core::{Outcome, Stop, System};
use std::collections::{BTreeMap, HashSet};

/// Which owner has which states.
#[derive(Clone, Debug)]
pub(super) struct OwnerMap {
    pub(super) owner: Owner,
    /// The bytes that decide; all of them if there are none.
    deciding: Vec<u32>,
}

/// Systems with fewer states are not worth the walks.
const FEWEST_STATES: usize = 128;
/// Walks, and steps of each.
const WALKS: u32 = 64;
const STEPS: u32 = 64;
/// Where walks begin states are not such as most are.
const SKIPPED: u32 = 8;
/// No more bytes of states are looked at.
const SAMPLE_BYTES: usize = 1 << 22;
/// More owners than this need more states to see whether parts are even.
const MOST_OWNERS: usize = 8;
/// So many bytes are tried, and so many may decide.
const TRIED: usize = 32;
const DECIDING: usize = 12;
/// Values are counted in so many slots.
const SLOTS: usize = 1 << 11;
/// What sending and receiving a state takes, compared with finding, storing and expanding one.
const SENDING: f64 = 1.8;

impl OwnerMap {
    /// All owners get the same for the same system and number of owners, unless there is no time for it: then there must be no
    /// search, as others may have got something else.
    pub(super) fn new(
        system: &dyn System,
        owner: Owner,
        budget: &mut Budget<'_>,
    ) -> (Self, Option<Stop>) {
        match deciding_bytes(system, owner, budget) {
            Ok(deciding) => (OwnerMap { owner, deciding }, None),
            Err(stop) => (Self::whole(owner), Some(stop)),
        }
    }

    /// All bytes decide.
    fn whole(owner: Owner) -> Self {
        OwnerMap { owner, deciding: Vec::new() }
    }

    /// Whether all bytes decide.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        self.deciding.is_empty()
    }

    /// The owner of a state.
    #[inline]
    pub(super) fn of_state(&self, state: &[u8]) -> usize {
        match self.owner.of {
            1 => 0,
            _ if self.is_whole() => self.of_hash(hash_for_all(state)),
            _ => self.of_bytes(state),
        }
    }

    /// The owner of a state with this [hash](hash_for_all), where all bytes decide. The high half of it chooses the slot inside
    /// a store, and the lowest bit is the store's.
    #[inline]
    pub(super) fn of_hash(&self, hash: u64) -> usize {
        (((hash & 0xffff_fffe) * self.owner.of as u64) >> 32) as usize
    }

    /// The owner of a state, where some bytes decide.
    #[inline]
    pub(super) fn of_bytes(&self, state: &[u8]) -> usize {
        let mixed = self.deciding.iter().fold(0, |mixed, at| mix(mixed, byte(state, *at)));
        owner_of(mixed, self.owner.of)
    }
}

#[inline]
fn byte(state: &[u8], at: u32) -> u8 {
    state.get(at as usize).copied().unwrap_or(0)
}

#[inline]
fn mix(mixed: u64, byte: u8) -> u64 {
    (mixed ^ (u64::from(byte) + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[inline]
fn owner_of(mixed: u64, of: usize) -> usize {
    let high = mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32;
    ((high * of as u64) >> 32) as usize
}

/// `Err` if the search has to stop. There are few steps, and each may take long: it is asked for each of them.
fn poll(budget: &mut Budget<'_>) -> Result<(), Stop> {
    budget.check(Progress::default()).map_or(Ok(()), Err)
}

/// The bytes that decide which owner has a state; none if all do.
fn deciding_bytes(
    system: &dyn System,
    owner: Owner,
    budget: &mut Budget<'_>,
) -> Result<Vec<u32>, Stop> {
    if owner.of == 1 || owner.of > MOST_OWNERS || is_small(system, budget)? {
        return Ok(Vec::new());
    }
    let sample = Sample::new(system, budget)?;
    Ok(sample.map_or_else(Vec::new, |sample| sample.choose(owner.of)))
}

/// Whether the first states are all there are.
fn is_small(system: &dyn System, budget: &mut Budget<'_>) -> Result<bool, Stop> {
    let mut initial = Vec::new();
    if matches!(system.initial(&mut initial), Outcome::Broken(_)) {
        return Ok(true);
    }
    let mut expander = Expander::default();
    let mut known = HashSet::from([initial.clone()]);
    let mut stack = vec![initial];
    while let Some(mut state) = stack.pop() {
        expander.clear();
        if expander.expand(system, &mut state, &mut Uncounted).is_err() {
            return Ok(true);
        }
        poll(budget)?;
        for arrival in &expander.arrivals {
            let next = &expander.successors.data[arrival.start..arrival.end];
            if !known.contains(next) {
                known.insert(next.to_vec());
                stack.push(next.to_vec());
            }
        }
        if known.len() >= FEWEST_STATES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// States that walks came by, with their successors.
#[derive(Default)]
struct Sample {
    states: Vec<Vec<u8>>,
    /// How deep the states are whose successors were looked at, in groups, and their numbers.
    expanded: Vec<(u32, u32)>,
    /// Steps: from which state to which.
    steps: Vec<(u32, u32)>,
}

impl Sample {
    /// Walks at random; `None` if that takes too much memory, or leads nowhere.
    fn new(system: &dyn System, budget: &mut Budget<'_>) -> Result<Option<Self>, Stop> {
        let mut sample = Sample::default();
        let mut expander = Expander::default();
        let mut bytes = 0;
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..WALKS {
            let mut state = Vec::new();
            system.initial(&mut state);
            for depth in 0..STEPS {
                expander.clear();
                if expander.expand(system, &mut state, &mut Uncounted).is_err() {
                    return Ok(None);
                }
                poll(budget)?;
                let arrivals = &expander.arrivals;
                if arrivals.is_empty() {
                    break;
                }
                let data = &expander.successors.data;
                if depth >= SKIPPED && bytes < SAMPLE_BYTES {
                    let from = sample.states.len() as u32;
                    sample.expanded.push((depth / SKIPPED, from));
                    sample.states.push(state.clone());
                    for arrival in arrivals {
                        sample.steps.push((from, sample.states.len() as u32));
                        sample.states.push(data[arrival.start..arrival.end].to_vec());
                        bytes += arrival.end - arrival.start;
                    }
                }
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let next = arrivals[(random >> 33) as usize % arrivals.len()];
                state.clear();
                state.extend_from_slice(&data[next.start..next.end]);
            }
        }
        sample.expanded.sort_unstable();
        Ok((!sample.steps.is_empty()).then_some(sample))
    }

    /// The bytes that are to decide; none if all are.
    fn choose(&self, of: usize) -> Vec<u32> {
        let tried = self.seldom_changed();
        let mut mixed = vec![0; self.states.len()];
        let mut with_one = vec![0; self.states.len()];
        let (mut chosen, mut least) = (Vec::new(), f64::INFINITY);
        while chosen.len() < DECIDING {
            let mut best = None;
            for &at in tried.iter().filter(|at| !chosen.contains(*at)) {
                for ((one, state), mixed) in with_one.iter_mut().zip(&self.states).zip(&mixed) {
                    *one = mix(*mixed, byte(state, at));
                }
                let cost = self.cost(&with_one, of);
                if cost < least {
                    (least, best) = (cost, Some(at));
                }
            }
            let Some(at) = best else { break };
            chosen.push(at);
            for (mixed, state) in mixed.iter_mut().zip(&self.states) {
                *mixed = mix(*mixed, byte(state, at));
            }
        }
        // All bytes make even parts, and nearly every step leads to the state of another owner.
        let even = 1.0 / of as f64;
        let to_beat = even * (1.0 + SENDING * (1.0 - even));
        if least < to_beat { chosen } else { Vec::new() }
    }

    /// Bytes that steps change, those that they change least often first.
    fn seldom_changed(&self) -> Vec<u32> {
        let mut changes: BTreeMap<u32, u32> = BTreeMap::new();
        for (from, to) in &self.steps {
            let (before, after) = (&self.states[*from as usize], &self.states[*to as usize]);
            for (at, (before, after)) in before.iter().zip(after).enumerate() {
                if before != after {
                    *changes.entry(at as u32).or_default() += 1;
                }
            }
        }
        let mut bytes: Vec<(u32, u32)> =
            changes.into_iter().map(|(at, times)| (times, at)).collect();
        // What hardly ever changes does not divide the states either.
        let seldom = self.steps.len() as u32 / 200;
        bytes.retain(|(times, _)| *times > seldom);
        bytes.sort_unstable();
        bytes.into_iter().take(TRIED).map(|(_, at)| at).collect()
    }

    /// How long the busiest owner takes, in parts of what one alone would take, if states with these values are dealt out
    /// by them.
    fn cost(&self, values: &[u64], of: usize) -> f64 {
        let value = |state: &u32| values[*state as usize];
        let crossing = self.steps.iter().filter(|(from, to)| value(from) != value(to)).count();
        // Owners wait for each other after every level, so that parts have to be even on each: the squares of the
        // frequencies of values say how far they are expected to be from that.
        let mut counts = [0_u32; SLOTS];
        let (mut busiest, mut all) = (0.0, 0.0);
        let even = 1.0 / of as f64;
        for group in self.expanded.chunk_by(|one, other| one.0 == other.0) {
            counts.fill(0);
            let slot = |state: &u32| (value(state) >> 40) as usize % SLOTS;
            group.iter().for_each(|(_, state)| counts[slot(state)] += 1);
            let squares: f64 = counts.iter().map(|count| f64::from(*count).powi(2)).sum();
            let size = group.len() as f64;
            let deviation = (even * (1.0 - even) * squares).sqrt();
            busiest += (even * size + deviation).min(size);
            all += size;
        }
        let crossing = crossing as f64 / self.steps.len().max(1) as f64 * (1.0 - even);
        busiest / f64::max(all, 1.0) * (1.0 + SENDING * crossing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_core::{Describe, Enabled, Independence, ProcessId, Step};
    use std::time::Duration;

    /// Processes that each count round and round, by themselves.
    struct Counters(u8);

    impl System for Counters {
        fn initial(&self, state: &mut Vec<u8>) -> Outcome {
            state.resize(usize::from(self.0), 0);
            Outcome::Done
        }

        fn process_count(&self, _state: &[u8]) -> usize {
            self.0.into()
        }

        fn enabled(&self, _state: &mut Vec<u8>, enabled: &mut Enabled) {
            (0..self.0).for_each(|one| enabled.push(Step::new(ProcessId(one.into()), 0)));
        }

        fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
            let counter = &mut state[step.process.index()];
            *counter = (*counter + 1) % 7;
            Outcome::Done
        }
    }

    impl Independence for Counters {}
    impl Describe for Counters {}

    fn deal(system: &Counters, owner: Owner) -> OwnerMap {
        let (deal, stop) = OwnerMap::new(system, owner, &mut Budget::unlimited());
        assert_eq!(stop, None, "there is time");
        deal
    }

    /// The walks are part of the search.
    #[test]
    fn walks_end_with_the_time() {
        let mut budget = Budget::unlimited().time(Duration::ZERO);
        let (_, stop) = OwnerMap::new(&Counters(6), Owner { me: 0, of: 2 }, &mut budget);
        assert_eq!(stop, Some(Stop::Time));
    }

    #[test]
    fn most_steps_stay_with_an_owner_and_parts_are_even() {
        let system = Counters(6);
        for of in 2..=4 {
            let deals: Vec<OwnerMap> = (0..of).map(|me| deal(&system, Owner { me, of })).collect();
            assert!(!deals[0].is_whole());
            assert!(deals.iter().all(|deal| deal.deciding == deals[0].deciding));
            let (mut parts, mut crossing, mut steps) = (vec![0_u32; of], 0, 0);
            for number in 0..7_u32.pow(6) {
                let state: Vec<u8> = (0..6).map(|at| (number / 7_u32.pow(at) % 7) as u8).collect();
                let owner = deals[0].of_state(&state);
                parts[owner] += 1;
                for process in 0..6 {
                    let mut next = state.clone();
                    system.apply(&mut next, Step::new(ProcessId(process), 0));
                    crossing += u32::from(deals[0].of_state(&next) != owner);
                    steps += 1;
                }
            }
            assert!(crossing * 3 < steps, "{of}: {crossing} of {steps}");
            let even = 7_u32.pow(6) / of as u32;
            assert!(parts.iter().all(|part| *part < even * 8 / 5), "{of}: {parts:?}");
        }
    }

    #[test]
    fn all_bytes_decide_where_little_is_known() {
        assert!(deal(&Counters(2), Owner { me: 1, of: 2 }).is_whole(), "49 states");
        let many = MOST_OWNERS + 1;
        assert!(deal(&Counters(6), Owner { me: 1, of: many }).is_whole());
        assert!(deal(&Counters(6), Owner::ALONE).is_whole());
    }
}
