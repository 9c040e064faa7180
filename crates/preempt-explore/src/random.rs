//! Sampling executions: a random walk, and what all sampling strategies share.

use crate::run::Ending;
use crate::{Driver, Halt, Move, Program, Run, Session};
use rustc_hash::{FxHashMap, FxHashSet};

/// Small, fast, seeded random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers that begin with this seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.number()) * limit as u128) >> 64) as usize
    }

    /// One of the moves of the same thread as `moves[index]`, which is its first, at random. The moves of a thread are next
    /// to each other.
    #[inline]
    pub(crate) fn alternative(&mut self, moves: &[Move], index: usize) -> Move {
        let first = moves[index];
        let same = |step: &&Move| step.thread == first.thread;
        let count = moves[index..].iter().take_while(same).count();
        let wanted = self.below(count);
        moves[index + wanted]
    }
}

/// Executes again and again until a limit is reached. A random thread at every step.
pub fn explore<P: Program>(session: &mut Session<'_, P>, seed: u64) -> Halt {
    sample(session, &mut Walk(Random::new(seed)))
}

/// A driver that can begin another execution.
pub(crate) trait Sampler: Driver {
    /// Another execution begins.
    fn begin(&mut self);

    /// The execution had this many steps and threads.
    fn end(&mut self, steps: usize) {
        let _ = steps;
    }
}

/// Samples until a limit is reached. Graphs are told apart by hash; how many were seen exactly
/// once estimates how much is still unseen (Good and Turing).
pub(crate) fn sample<P: Program>(session: &mut Session<'_, P>, sampler: &mut impl Sampler) -> Halt {
    // A sample is one of the executions that the program has, however it waits; finding out takes longer.
    let tries_loops = std::mem::replace(&mut session.run.rules.tries_loops, false);
    let halt = sample_as_they_come(session, sampler);
    session.run.rules.tries_loops = tries_loops;
    halt
}

fn sample_as_they_come<P: Program>(
    session: &mut Session<'_, P>,
    sampler: &mut impl Sampler,
) -> Halt {
    let before: FxHashSet<u128> = session.statistics.graphs.keys().copied().collect();
    let mut seen: FxHashMap<u128, u32> = FxHashMap::default();
    let most = session.limits.stale.unwrap_or(u32::MAX);
    let mut random = Random::new(session.limits.worker.0 as u64);
    loop {
        sampler.begin();
        let mut sampler =
            Stale { sampler: &mut *sampler, random: &mut random, moves: Vec::new(), most };
        let ending = session.execute(&mut sampler);
        if ending == Ending::Abandoned && session.is_late() {
            return Halt::Time;
        }
        sampler.sampler.end(session.run.path.len());
        session.statistics.samples += 1;
        let graph = session.run.state.graph();
        if !before.contains(&graph) {
            let count = seen.entry(graph).or_default();
            *count += 1;
            match *count {
                1 => session.statistics.singletons += 1,
                2 => {
                    session.statistics.singletons = session.statistics.singletons.saturating_sub(1)
                }
                _ => {}
            }
        }
        if let Some(halt) = session.judge(ending).or_else(|| session.limit()) {
            return halt;
        }
        if session.statistics.graphs.len() > session.limits.states {
            return Halt::States;
        }
    }
}

/// Lets a sampler decide which thread moves, and then now and then makes a stale choice.
struct Stale<'a, S> {
    sampler: &'a mut S,
    random: &'a mut Random,
    moves: Vec<Move>,
    /// Most stale choices.
    most: u32,
}

impl<S: Sampler> Driver for Stale<'_, S> {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        /// How many stale choices are tried. To ask whether one is consistent takes time that grows with the
        /// square of the execution, so not all of them are asked for.
        const TRIES: usize = 2;
        let step = self.sampler.choose(run, moves)?;
        // As likely as all stale choices together is none.
        let wanted = run.rules.weak && step.choice == 0 && run.stale < self.most;
        if !wanted || self.random.below(2) == 0 {
            return Some(step);
        }
        self.moves.clear();
        run.state.possible_stale_moves(step.thread, &mut self.moves);
        for _ in 0..TRIES {
            if self.moves.is_empty() {
                break;
            }
            let stale = self.moves.swap_remove(self.random.below(self.moves.len()));
            if run.state.is_consistent_after(stale) {
                return Some(stale);
            }
        }
        Some(step)
    }
}

struct Walk(Random);

impl Driver for Walk {
    fn choose(&mut self, _: &Run, moves: &[Move]) -> Option<Move> {
        let threads = moves.chunk_by(|a, b| a.thread == b.thread).count();
        let wanted = self.0.below(threads);
        let group = moves.chunk_by(|a, b| a.thread == b.thread).nth(wanted)?;
        Some(group[self.0.below(group.len())])
    }
}

impl Sampler for Walk {
    fn begin(&mut self) {}
}
