//! A short search ahead of the real one: what is signalled ahead, and how fast states grow with the depth.
//!
//! To learn what is signalled it goes deep. To compare rules it goes layer by layer, all counts up to the bound
//! together: of two rules the one with fewer states down to the same depth is likely to have fewer in all.
//!
//! Invariant: a layer is counted only when all visits of the layer before were expanded.

use super::agenda::Item;
use super::explorer::{CurrentVisit, Explorer, Visits};
use super::shard::{ArrivalOutcome, Shard, VisitOrigin};
use crate::reduce::Signalled;
use crate::search::iterative::phases::last_bound;
use crate::search::shared::halt::Halt;
use crate::store::{Exact, Store};
use crate::{Budget, Options, Progress};
use preempt_core::{Outcome, Step, Stop, System};
use std::collections::VecDeque;

/// What a pilot saw.
#[derive(Debug)]
pub(crate) struct Pilot {
    /// What was signalled ahead.
    pub(crate) signalled: Signalled,
    /// Whether a process ran ahead by more than steps that touch nothing shared.
    pub(crate) ran_ahead: bool,
    /// New states by depth, as far as layers are complete.
    layers: Vec<u64>,
    /// Whether everything within the bound was explored.
    is_complete: bool,
}

impl Pilot {
    /// How many states there are for each hundred by another rule.
    pub(crate) fn percent_of(&self, other: &Pilot) -> u64 {
        let (own, others) = self.compare(other);
        100 * own / others.max(1)
    }

    /// How many states there are in all layers, and in all layers of `other`, down to the depth that both have.
    pub(super) fn compare(&self, other: &Pilot) -> (u64, u64) {
        let depth = match (self.is_complete, other.is_complete) {
            (true, false) => other.layers.len(),
            (false, true) => self.layers.len(),
            _ => self.layers.len().min(other.layers.len()),
        };
        let sum = |layers: &[u64]| layers.iter().take(depth).sum();
        (sum(&self.layers), sum(&other.layers))
    }
}

/// In which order a pilot explores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Deep,
    Layers,
}

/// Explores up to `states` states by a rule.
pub(crate) fn pilot<S: System + ?Sized>(
    system: &S,
    (order, states): (Order, u64),
    options: &Options,
    signalled: Signalled,
    budget: &mut Budget,
) -> Result<Pilot, Stop> {
    let mut store = Exact::new(budget.memory_limit());
    let mut explorer = Explorer::new(system, options, signalled);
    let mut visits = Layers {
        shard: Shard::new(&mut store, 1),
        last: last_bound(options),
        order,
        queue: VecDeque::new(),
        depths: Vec::new(),
        layers: Vec::new(),
    };
    let result = visits.run(system, &mut explorer, states, budget);
    let is_complete = match result {
        Ok(is_complete) => is_complete,
        Err(Halt::Stop(stop)) => return Err(stop),
        Err(_) => false,
    };
    let mut layers = visits.layers;
    if let (false, Some(item)) = (is_complete, visits.queue.front()) {
        layers.truncate(visits.depths[item.number() as usize] as usize + 1);
    }
    let ran_ahead = explorer.runs > 0;
    Ok(Pilot { signalled: explorer.ahead.signalled, ran_ahead, layers, is_complete })
}

struct Layers<'s, T> {
    shard: Shard<'s, T>,
    last: u32,
    order: Order,
    queue: VecDeque<Item>,
    /// Of each visit.
    depths: Vec<u32>,
    layers: Vec<u64>,
}

impl<T: Store> Layers<'_, T> {
    /// Says whether everything was explored.
    fn run<S: System + ?Sized>(
        &mut self,
        system: &S,
        explorer: &mut Explorer<'_, S>,
        states: u64,
        budget: &mut Budget,
    ) -> Result<bool, Halt> {
        let mut initial = Vec::new();
        if let Outcome::Broken(_) = system.initial(&mut initial) {
            return Ok(true);
        }
        let hash = self.hash(&initial);
        self.arrive(hash, &initial, VisitOrigin::INITIALLY)?;
        while !self.queue.is_empty() {
            if self.shard.states >= states {
                return Ok(false);
            }
            let memory = self.shard.bytes() + explorer.bytes();
            let progress = Progress { states: self.shard.states, memory, ..Progress::default() };
            budget.spend(|| progress)?;
            let next = match self.order {
                Order::Deep => self.queue.pop_back(),
                Order::Layers => self.queue.pop_front(),
            };
            let Some(item) = next else { break };
            let number = item.number();
            let Some(visit) = self.shard.begin(item, number, &mut explorer.state) else { continue };
            explorer.deal_with(item, CurrentVisit::of(number, visit), self)?;
        }
        Ok(true)
    }
}

impl<T: Store> Visits for Layers<'_, T> {
    fn hash(&self, state: &[u8]) -> u64 {
        self.shard.store.hash(state)
    }

    fn arrive(&mut self, hash: u64, state: &[u8], reached: VisitOrigin) -> Result<bool, Halt> {
        let before = self.shard.states;
        let became = self.shard.arrive(hash, state, reached)?;
        if let ArrivalOutcome::Visit(number) = became {
            let depth = self.depths.get(reached.parent as usize).map_or(0, |depth| depth + 1);
            self.depths.push(depth);
            if self.layers.len() <= depth as usize {
                self.layers.resize(depth as usize + 1, 0);
            }
            self.layers[depth as usize] += self.shard.states - before;
            self.queue.push_back(Item::Visit(number));
        }
        Ok(became != ArrivalOutcome::Closed)
    }

    fn forget_mover(&mut self, visit: u32) {
        let visit = self.shard.log[visit as usize];
        self.shard.visited.set_nobody(visit.state, visit.count.into());
    }

    fn wait(&mut self, at: CurrentVisit) {
        if u32::from(at.count) < self.last {
            self.queue.push_back(Item::Others(at.number));
        }
    }

    fn fault(&mut self, _visit: u32, _path: &[Step], _fault: u32) -> Result<(), Halt> {
        Ok(())
    }

    fn invalid_end(&mut self, _visit: u32) -> Result<(), Halt> {
        Ok(())
    }
}
