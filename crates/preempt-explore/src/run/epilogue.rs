//! The rest of an execution that was stopped.
//!
//! An exploration stops an execution when it has seen enough: the rules change, the strategy cuts it,
//! another thread has failed. Code under test relies on atomics that never unwind, so its threads are
//! not unwound. They run on to their ends, in turns and unobserved: no driver is asked, nothing is
//! learnt, and afterwards the run is as it was when it ended.
//!
//! After a deadlock they cannot. If the exploration goes on (to count all failures), memory must stay
//! bounded, so blocked threads are released in ways that std allows for: a park or a wait on a
//! condition variable may end for no reason, a channel may be closed, and `lock`, `join` and
//! `call_once` may panic. No other operation ever does.
//!
//! Invariant: between [`Run::begin_epilogue`] and [`Run::end_epilogue`] only the state that goes on
//! changes; the final state, the path and the events are put back by the latter.

use super::stopped::{Epilogue, Probe};
use super::{Command, Ending, Run};
use crate::loops::Conduct;
use crate::state::{ALONE, COUNTED, GIVES_UP, LONGEST_CYCLE, Rounds, shape_of};
use crate::{Action, Cut, Move, ObjectId, Operation, Status, ThreadId};
use rustc_hash::FxHashSet;

/// Longest round of a loop that is tried out. Loops that look at limits or report now and then have long ones.
const LONGEST_ROUND: usize = 1 << 12;

/// How many operations of a loop that is tried out are kept.
const MOST_OPERATIONS: usize = 1 << 14;

/// How many blocked threads are released after a deadlock before the rest is abandoned.
const MOST_RELEASES: usize = 256;

impl Run {
    /// What a thread sees instead of a result when its operation has to panic.
    pub const RELEASED: u64 = u64::MAX;

    /// Whether the threads of an execution that ended like this may run on. After a failure that
    /// ends the exploration nothing is gained by it, and threads that spin would do so for ever.
    pub fn may_run_on(&self) -> bool {
        match self.ending {
            Some(Ending::Livelock | Ending::Cycle(_)) | None => false,
            Some(Ending::Complete | Ending::Abandoned | Ending::Restart) => true,
            Some(_) => self.keep_going,
        }
    }

    /// Lets the threads of an execution that is over run on.
    pub fn begin_epilogue(&mut self) {
        let state = self.state.clone();
        self.epilogue = Some(Box::new(Epilogue {
            state,
            path: self.path.len(),
            events: self.events.as_ref().map_or(0, Vec::len),
            order: self.order.len(),
            preemptions: self.preemptions,
            last: self.last,
            steps: 0,
            releases: 0,
            probe: self.probe.take().map(|(thread, key)| Probe {
                thread,
                key,
                rounds: Vec::new(),
                operations: Vec::new(),
                since: 0,
                memories: FxHashSet::default(),
                recurs: false,
                others: Vec::new(),
            }),
        }));
        self.state.panicked = None;
        self.state.urgent = None;
        self.state.solo = None;
        self.state.clocks = None;
        // The newest values are with the objects.
        self.state.weak = None;
        self.state.rules.daemons = false;
    }

    /// Whether the execution was stopped so that a loop can be tried out: its thread has to run on.
    pub fn is_probe_due(&self) -> bool {
        self.probe.is_some() && self.epilogue.is_none()
    }

    /// Whether threads run on after the end of the execution.
    pub fn is_running_on(&self) -> bool {
        self.epilogue.is_some()
    }

    /// Whether they do to try out a loop that is not known yet.
    pub fn is_probing(&self) -> bool {
        self.epilogue.as_ref().is_some_and(|epilogue| epilogue.probe.is_some())
    }

    /// Puts the final state back. Returns whether every thread has ended.
    pub fn end_epilogue(&mut self) -> bool {
        let finished = self.state.all_ended();
        if let Some(mut epilogue) = self.epilogue.take() {
            if let Some(probe) = epilogue.probe.take() {
                // The program has ended, or fails: it has left the loop.
                let conduct = probe.left();
                self.learn(probe, conduct, false);
            }
            self.state = epilogue.state;
            self.path.truncate(epilogue.path);
            if let Some(events) = &mut self.events {
                events.truncate(epilogue.events);
            }
            self.order.truncate(epilogue.order);
            self.preemptions = epilogue.preemptions;
            self.last = epilogue.last;
        }
        finished
    }

    /// Lets no thread move any more.
    pub fn stop_epilogue(&mut self) {
        if let Some(epilogue) = &mut self.epilogue {
            epilogue.steps = self.step_limit;
        }
    }

    /// Resumes the next thread in order that can move.
    pub(crate) fn schedule_epilogue(&mut self) -> Command {
        self.state.panicked = None;
        if let Some(command) = self.try_out() {
            return command;
        }
        let mut moves = std::mem::take(&mut self.moves);
        self.state.moves(&mut moves);
        let step = in_turn(&moves, self.last);
        self.moves = moves;
        let Some(epilogue) = &mut self.epilogue else { return Command::Stop };
        epilogue.steps += 1;
        if epilogue.steps > self.step_limit {
            return Command::Stop;
        }
        let Some(step) = step else { return self.release() };
        let result = self.state.apply(step);
        self.last = step.thread;
        self.current = step.thread;
        Command::Resume(step.thread, result)
    }

    /// The next step of the thread in a loop that is tried out; `None` if it is known or there is none.
    fn try_out(&mut self) -> Option<Command> {
        let epilogue = self.epilogue.as_mut()?;
        let probe = epilogue.probe.as_mut()?;
        let thread = probe.thread;
        let thread_state = self.state.thread(thread);
        let operation = thread_state.operation;
        let mut blocked = false;
        let known = if thread_state.status != Status::Ready {
            Some(probe.left())
        } else if operation.action == Action::Yield {
            probe.note(&operation);
            probe.end_round(&thread_state.rounds, self.memory.take())
        } else if !self.state.is_enabled(thread, thread_state) {
            // Blocked: inside the loop, or after it.
            Some(if self.state.begins_again(thread) {
                Conduct::Waits
            } else {
                // When others have moved it may turn out to be another loop.
                blocked = true;
                probe.others.extend(epilogue.state.was(operation.object, false));
                probe.left()
            })
        } else {
            probe.note(&operation);
            probe.since += 1;
            let (object, before) = (operation.object, &epilogue.state);
            let known = before.watches_change_of(thread, object)
                || probe.others.iter().any(|was| was.object == object);
            probe.others.extend(before.was(object, operation.is_pointer()).filter(|_| !known));
            (probe.since > LONGEST_ROUND).then_some(Conduct::GoesOn)
        };
        if let Some(conduct) = known {
            let probe = epilogue.probe.take()?;
            self.learn(probe, conduct, blocked);
            return None;
        }
        let result = self.state.apply(Move { thread, choice: 0 });
        self.last = thread;
        self.current = thread;
        Some(Command::Resume(thread, result))
    }

    /// How the loop that was tried out behaves is known.
    fn learn(&mut self, probe: Probe, conduct: Conduct, blocked: bool) {
        if conduct == Conduct::Waits && probe.counts() {
            self.names.note_cut(Cut::GivingUpLate);
        }
        // Where it does not come to another yield, this one is no place to wait, whatever the others are.
        let is_none = conduct == Conduct::GoesOn && probe.rounds.len() <= 1 && !blocked;
        let when = if is_none { Vec::new() } else { probe.others };
        self.names.set_loop(probe.key, when, conduct);
    }

    /// No thread can move: lets the next blocked one go on.
    fn release(&mut self) -> Command {
        let Some(epilogue) = &mut self.epilogue else { return Command::Stop };
        epilogue.releases += 1;
        let blocked = |t: &ThreadId| {
            let thread = self.state.thread(*t);
            thread.status == Status::Ready && !thread.operation.urgent
        };
        let next = self.state.thread_ids().filter(blocked).find(|&t| t > self.last);
        let next = next.or_else(|| self.state.thread_ids().find(blocked));
        let Some(thread) = next.filter(|_| epilogue.releases <= MOST_RELEASES) else {
            return Command::Stop;
        };
        let thread_state = self.state.thread(thread);
        let result = match thread_state.operation.action {
            Action::TakeToken | Action::Receive | Action::Send | Action::AwaitTaken => {
                self.state.apply(Move { thread, choice: Move::TIMEOUT })
            }
            Action::Reacquire if thread_state.waiting != ObjectId::NONE => {
                self.state.apply(Move { thread, choice: Move::TIMEOUT })
            }
            _ if self.keep_going => Run::RELEASED,
            _ => return Command::Stop,
        };
        self.last = thread;
        self.current = thread;
        Command::Resume(thread, result)
    }
}

impl Probe {
    /// The thread is about to do this.
    fn note(&mut self, operation: &Operation) {
        if self.operations.len() < MOST_OPERATIONS {
            self.operations.push(shape_of(operation));
        }
    }

    /// The thread does something else.
    fn left(&self) -> Conduct {
        // The first yield is where it stood when it was stopped.
        let done = self.operations.get(1..).unwrap_or_default();
        for length in 1..=done.len().min(LONGEST_ROUND) {
            let pairs = done.iter().zip(&done[length..]);
            let same = length + pairs.take_while(|(a, b)| a == b).count();
            let yields = done[..same].iter().filter(|&&shape| shape == 0).count();
            if done[length - 1] == 0 && yields > GIVES_UP && same >= 2 * length {
                return Conduct::GivesUp(done[..length].into());
            }
        }
        Conduct::GoesOn
    }

    /// Whether the thread has remembered something else in each of very many rounds, so that it may give up some time.
    fn counts(&self) -> bool {
        self.rounds.len() > ALONE && !self.recurs && !self.memories.is_empty()
    }

    /// Whether it has been tried out for so long that it never leaves, as far as this search is concerned.
    fn stays(&self) -> bool {
        self.rounds.len() > if self.counts() { COUNTED } else { ALONE }
    }

    /// The thread stands before a yield, and remembers this.
    fn end_round(&mut self, rounds: &Rounds, memory: Option<u64>) -> Option<Conduct> {
        self.since = 0;
        self.recurs |= memory.is_some_and(|memory| !self.memories.insert(memory));
        let repeats = self.rounds.iter().rev().take(LONGEST_CYCLE).any(|&r| r == rounds.round);
        self.rounds.push(rounds.round);
        if rounds.dirty && !repeats && self.rounds.len() > GIVES_UP {
            return Some(self.left());
        }
        self.stays().then_some(Conduct::Waits)
    }
}

/// The first move of the next thread after `last`; time runs out only where nothing else moves.
fn in_turn(moves: &[Move], last: ThreadId) -> Option<Move> {
    let real = |m: &&Move| m.choice != Move::TIMEOUT;
    let later = moves.iter().filter(real).find(|m| m.thread > last);
    later.or_else(|| moves.iter().find(real)).or(moves.first()).copied()
}
