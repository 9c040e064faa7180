//! Making a failing execution simpler: fewer stale choices, then fewer preemptions.
//!
//! A failure that was found by sampling is full of accidents. What matters of it is often a few of its context switches. So
//! each block of steps of one thread is tentatively joined with the next or the last block of the same
//! thread, and the result is executed as far as it can be followed; it is kept if it fails and costs less (delta debugging of
//! Zeller and Hildebrandt, 2002, with context switches in place of characters of an input). The result need not be the simplest
//! failure, which only a search by bounds finds.

use crate::{Driver, Ending, Finding, Limits, Move, Program, Run, Schedule, Session, ThreadId};
use std::time::Instant;

/// Steps of one thread without a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    thread: ThreadId,
    steps: usize,
}

/// An execution to be imitated: which threads move, and the choices of each thread's steps other than the first one.
#[derive(Clone, Debug)]
struct Plan {
    blocks: Vec<Block>,
    /// Thread, which of its steps, choice.
    choices: Vec<(ThreadId, usize, u32)>,
}

impl Plan {
    fn of(path: &[Move]) -> Self {
        let mut plan = Plan { blocks: Vec::new(), choices: Vec::new() };
        for (at, step) in path.iter().enumerate() {
            let nth = path[..at].iter().filter(|earlier| earlier.thread == step.thread).count();
            if step.choice != 0 {
                plan.choices.push((step.thread, nth, step.choice));
            }
            plan.push(Block { thread: step.thread, steps: 1 });
        }
        plan
    }

    fn push(&mut self, block: Block) {
        match self.blocks.last_mut() {
            Some(last) if last.thread == block.thread => last.steps += block.steps,
            _ => self.blocks.push(block),
        }
    }

    /// The same with the blocks of each thread joined among those from `from` on, so many of them.
    fn grouped(&self, from: usize, count: usize) -> Plan {
        let window = from..(from + count).min(self.blocks.len());
        let mut threads: Vec<Block> = Vec::new();
        for block in &self.blocks[window.clone()] {
            match threads.iter_mut().find(|known| known.thread == block.thread) {
                Some(known) => known.steps += block.steps,
                None => threads.push(*block),
            }
        }
        let mut plan = Plan { blocks: Vec::new(), choices: self.choices.clone() };
        let (before, after) = (&self.blocks[..window.start], &self.blocks[window.end..]);
        before.iter().chain(&threads).chain(after).for_each(|&block| plan.push(block));
        plan
    }

    /// The same with the block at `at` joined with the next one of its thread, or with the last one before it.
    fn joined(&self, at: usize, later: bool) -> Option<Plan> {
        let block = self.blocks[at];
        let same = |&other: &usize| self.blocks[other].thread == block.thread;
        let partner = match later {
            true => (at + 1..self.blocks.len()).find(same),
            false => (0..at).rev().find(same),
        }?;
        let mut plan = Plan { blocks: Vec::new(), choices: self.choices.clone() };
        for (index, &other) in self.blocks.iter().enumerate() {
            if index == partner {
                plan.push(Block { steps: other.steps + block.steps, ..other });
            } else if index != at {
                plan.push(other);
            }
        }
        Some(plan)
    }
}

/// Follows a plan as far as it goes; where the thread that is to move cannot, the next one does.
struct Imitation<'a> {
    plan: &'a Plan,
    at: usize,
    left: usize,
    /// Steps taken by each thread.
    taken: Vec<usize>,
    moves: Vec<Move>,
}

impl<'a> Imitation<'a> {
    fn new(plan: &'a Plan) -> Self {
        let left = plan.blocks.first().map_or(0, |block| block.steps);
        Imitation { plan, at: 0, left, taken: Vec::new(), moves: Vec::new() }
    }

    /// The move of a thread that the plan wants, if it is possible.
    fn choice(&mut self, run: &Run, moves: &[Move], thread: ThreadId) -> Option<Move> {
        let plain = moves.iter().find(|step| step.thread == thread).copied()?;
        let nth = self.taken.get(thread.index()).copied().unwrap_or(0);
        let wanted = self.plan.choices.iter().find(|(t, n, _)| (*t, *n) == (thread, nth));
        let Some(&(_, _, choice)) = wanted else { return Some(plain) };
        let wanted = Move { thread, choice };
        if moves.contains(&wanted) {
            return Some(wanted);
        }
        self.moves.clear();
        if run.rules.weak {
            run.state.stale_moves(thread, &mut self.moves);
        }
        Some(if self.moves.contains(&wanted) { wanted } else { plain })
    }
}

impl Driver for Imitation<'_> {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        while let Some(block) = self.plan.blocks.get(self.at) {
            let step = match self.left {
                0 => None,
                _ => self.choice(run, moves, block.thread),
            };
            if let Some(step) = step {
                self.left -= 1;
                let index = step.thread.index();
                if self.taken.len() <= index {
                    self.taken.resize(index + 1, 0);
                }
                self.taken[index] += 1;
                return Some(step);
            }
            self.at += 1;
            self.left = self.plan.blocks.get(self.at).map_or(0, |block| block.steps);
        }
        let last = moves.iter().find(|step| step.thread == run.last);
        last.or(moves.first()).copied()
    }
}

/// Executes a plan: the finding and the path, if it fails in a way that `counts`.
fn execute<P: Program>(
    session: &mut Session<'_, P>,
    plan: &Plan,
    counts: &dyn Fn(&P, &Ending) -> bool,
) -> Option<(Finding, Vec<Move>)> {
    // The program may show something that has to be known from the beginning.
    const ATTEMPTS: usize = 20;
    for _ in 0..ATTEMPTS {
        let ending = session.execute(&mut Imitation::new(plan));
        match ending {
            Ending::Restart => continue,
            Ending::Complete | Ending::Abandoned => return None,
            _ if !counts(session.program, &ending) => return None,
            _ => {}
        }
        let Run { stale, preemptions, .. } = session.run;
        let schedule = Schedule::of(&session.run);
        let finding = Finding { ending, schedule, preemptions, stale };
        return Some((finding, session.run.path.clone()));
    }
    None
}

/// A failing execution that costs at most as much as the one with this path, until `deadline`. `counts` tells
/// failures of the program from limits of ours. `None` if the path does not fail again.
pub fn simplify<P: Program>(
    session: &mut Session<'_, P>,
    path: &[Move],
    deadline: Instant,
    counts: &dyn Fn(&P, &Ending) -> bool,
) -> Option<Finding> {
    // Time may be up for the search that has found it.
    let (limits, given) = (session.limits.clone(), Some(deadline));
    session.limits = Limits { deadline: given, first_deadline: None, stop: None, ..limits.clone() };
    let simplest = simplest(session, path, deadline, counts);
    session.limits = limits;
    simplest
}

fn simplest<P: Program>(
    session: &mut Session<'_, P>,
    path: &[Move],
    deadline: Instant,
    counts: &dyn Fn(&P, &Ending) -> bool,
) -> Option<Finding> {
    let mut plan = Plan::of(path);
    let (mut best, _) = execute(session, &plan, counts)?;
    let plain = Plan { choices: Vec::new(), ..plan.clone() };
    if let Some((finding, path)) = execute(session, &plain, counts) {
        (best, plan) = (finding, Plan::of(&path));
    }
    // Whole stretches first: most switches are accidents.
    let mut length = plan.blocks.len();
    while length > 2 {
        let mut from = 0;
        while from < plan.blocks.len() {
            if Instant::now() >= deadline {
                return Some(best);
            }
            let candidate = plan.grouped(from, length);
            if !try_out(session, candidate, counts, &mut best, &mut plan) {
                from += length.div_ceil(2);
            }
        }
        length = length.div_ceil(2).min(length - 1);
    }
    let mut improved = true;
    while improved {
        improved = false;
        let mut at = 0;
        while at < plan.blocks.len() {
            let mut shorter = false;
            for later in [true, false] {
                if Instant::now() >= deadline {
                    return Some(best);
                }
                let Some(candidate) = plan.joined(at, later) else { continue };
                shorter = shorter || try_out(session, candidate, counts, &mut best, &mut plan);
                if shorter {
                    break;
                }
            }
            improved |= shorter;
            at += usize::from(!shorter);
        }
    }
    // Choices one by one: the first ones of a thread are often accidents, too.
    let mut at = plan.choices.len();
    while at > 0 && Instant::now() < deadline {
        at = plan.choices.len().min(at) - 1;
        let mut candidate = plan.clone();
        candidate.choices.remove(at);
        try_out(session, candidate, counts, &mut best, &mut plan);
        at = plan.choices.len().min(at);
    }
    Some(best)
}

/// Executes a candidate, and keeps it if it fails and costs less.
fn try_out<P: Program>(
    session: &mut Session<'_, P>,
    candidate: Plan,
    counts: &dyn Fn(&P, &Ending) -> bool,
    best: &mut Finding,
    plan: &mut Plan,
) -> bool {
    let fewer_blocks = candidate.blocks.len() < plan.blocks.len();
    if !fewer_blocks && candidate.choices.len() >= plan.choices.len() {
        return false;
    }
    let Some((finding, path)) = execute(session, &candidate, counts) else { return false };
    let next = Plan::of(&path);
    let cost = |finding: &Finding, plan: &Plan| (finding.cost(), plan.blocks.len());
    if cost(&finding, &next) >= cost(best, plan) {
        return false;
    }
    (*best, *plan) = (finding, next);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(thread: u32, steps: usize) -> Block {
        Block { thread: ThreadId(thread), steps }
    }

    #[test]
    fn blocks_are_joined_with_their_neighbours() {
        let step = |thread: u32, choice: u32| Move { thread: ThreadId(thread), choice };
        let path = [step(0, 0), step(1, 0), step(1, 3), step(0, 0), step(2, 0), step(0, 0)];
        let plan = Plan::of(&path);
        assert_eq!(plan.blocks, [block(0, 1), block(1, 2), block(0, 1), block(2, 1), block(0, 1)]);
        assert_eq!(plan.choices, [(ThreadId(1), 1, 3)]);
        let later = plan.joined(0, true).expect("there is a later block");
        assert_eq!(later.blocks, [block(1, 2), block(0, 2), block(2, 1), block(0, 1)]);
        let earlier = plan.joined(4, false).expect("there is an earlier block");
        assert_eq!(earlier.blocks, [block(0, 1), block(1, 2), block(0, 2), block(2, 1)]);
        let grouped = plan.grouped(0, 4);
        assert_eq!(grouped.blocks, [block(0, 2), block(1, 2), block(2, 1), block(0, 1)]);
        assert_eq!(plan.grouped(2, 9).blocks, [block(0, 1), block(1, 2), block(0, 2), block(2, 1)]);
        assert!(plan.joined(1, true).is_none());
        assert!(plan.joined(3, false).is_none());
    }
}
