//! Finds the way to a state that was reached breadth-first, over a store that can say neither which states are how far
//! away nor where they came from.
//!
//! The states are searched again from the first one, level by level, without storing anything: a bit per place says which of
//! them were met. What waits carries along which state of the middle level it comes from. That gives the state in the middle
//! of a shortest way, and both halves are found in the same manner. (Hirschberg's idea; Korf and Zhang's for searches that keep
//! no visited states.) The first pass costs the search once more, the others less: only states up to half as far away are
//! met.
//!
//! Invariant: the ends of a piece are so far apart as is said, along stored states.

use super::expansion::{Expander, Watch};
use super::trace;
use crate::store::FrozenStore;
use preempt_core::{Step, System};

/// The steps to `state`, at most so many expansions away from the initial state, followed by `tail`. `None` if there is no way.
pub(crate) fn by_halves<S: System + ?Sized>(
    system: &S,
    store: &dyn FrozenStore,
    state: &[u8],
    distance: usize,
    tail: &[Step],
) -> Option<Vec<Step>> {
    if distance == 0 {
        return Some(tail.to_vec());
    }
    let mut initial = Vec::new();
    system.initial(&mut initial);
    let place = |state: &[u8]| u32::try_from(store.find(state)?).ok();
    let (first, last) = (place(&initial)?, place(state)?);
    let mut halving = Halving {
        system,
        store,
        met: vec![0; store.places().div_ceil(64)],
        expander: Expander::new(),
        state: Vec::new(),
    };
    let mut open = vec![(first, last, distance)];
    let mut places = vec![first];
    while let Some((from, to, distance)) = open.pop() {
        if distance <= 1 {
            if from != to {
                places.push(to);
            }
            continue;
        }
        match halving.middle(from, to, distance)? {
            Middle::Nearer(distance) => open.push((from, to, distance)),
            Middle::At { place, before, behind } => {
                open.push((place, to, behind));
                open.push((from, place, before));
            }
        }
    }
    let mut steps = Vec::new();
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for pair in places.windows(2) {
        store.load_at(pair[0] as usize, &mut here);
        store.load_at(pair[1] as usize, &mut there);
        steps.extend(trace::between(system, &mut here, &there));
    }
    steps.extend_from_slice(tail);
    Some(steps)
}

/// What a pass finds.
enum Middle {
    /// The state at this place is on the way, so far from its ends.
    At { place: u32, before: usize, behind: usize },
    /// The way is so much shorter that it ends before the middle.
    Nearer(usize),
}

/// A search of the stored states.
struct Halving<'a, S: ?Sized> {
    system: &'a S,
    store: &'a dyn FrozenStore,
    /// A bit for each place.
    met: Vec<u64>,
    expander: Expander,
    state: Vec<u8>,
}

struct Nothing;

impl Watch for Nothing {
    fn step(&mut self, _step: Step, _transient: bool) {}
    fn fault(&mut self, _path: &[Step], _fault: u32) {}
}

impl<S: System + ?Sized> Halving<'_, S> {
    /// Searches for `to` from `from` on.
    fn middle(&mut self, from: u32, to: u32, distance: usize) -> Option<Middle> {
        self.met.fill(0);
        self.meet(from);
        let half = distance / 2;
        // Each state with the one of the middle level that it comes from.
        let (mut present, mut next) = (vec![(from, from)], Vec::new());
        for level in 1..=distance {
            for &(place, middle) in &present {
                self.store.load_at(place as usize, &mut self.state);
                self.expander.clear();
                self.expander.expand(self.system, &mut self.state, &mut Nothing).ok()?;
                for at in 0..self.expander.arrivals.len() {
                    let arrival = self.expander.arrivals[at];
                    let bytes = &self.expander.successors.data[arrival.start..arrival.end];
                    // What was stored last may not have been expanded, so that some successors are not stored.
                    let Some(arrived) = self.store.find(bytes) else { continue };
                    let arrived = u32::try_from(arrived).ok()?;
                    if !self.meet(arrived) {
                        continue;
                    }
                    let middle = if level == half { arrived } else { middle };
                    if arrived == to {
                        return Some(match level <= half {
                            true => Middle::Nearer(level),
                            false => {
                                Middle::At { place: middle, before: half, behind: level - half }
                            }
                        });
                    }
                    next.push((arrived, middle));
                }
            }
            std::mem::swap(&mut present, &mut next);
            next.clear();
        }
        None
    }

    /// Notes that a state was met; says whether for the first time.
    fn meet(&mut self, place: u32) -> bool {
        let place = place as usize;
        let (word, bit) = (&mut self.met[place / 64], 1 << (place % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}
