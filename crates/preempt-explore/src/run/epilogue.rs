//! The rest of an execution that was stopped.
//!
//! An exploration stops an execution when it has seen enough: the rules change, the strategy cuts it,
//! another thread has failed. Code under test relies on atomics that never unwind, so its threads are
//! not unwound. They run on to their ends, in turns, and nobody looks: no driver is asked, nothing is
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
use crate::state::GIVES_UP;
use crate::{Action, Move, Status, ThreadId};

/// Longest round of a loop that is tried out. Loops that look at limits or report now and then have long ones.
const LONGEST_ROUND: u32 = 1 << 12;

/// How many blocked threads are released after a deadlock before the rest is abandoned.
const MOST_RELEASES: usize = 256;

impl Run {
    /// What a thread sees instead of a result when its operation has to panic.
    pub const RELEASED: u64 = u64::MAX;

    /// Whether the threads of an execution that ended like this may run on. After a failure that
    /// ends the exploration nothing is gained by it, and threads that spin would do so for ever.
    pub fn may_run_on(&self) -> bool {
        match self.ending {
            Some(Ending::Livelock) | None => false,
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
                round: self.state.round_of(thread),
                rounds: 0,
                operations: 0,
            }),
        }));
        self.state.panicked = None;
        self.state.urgent = None;
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
        if let Some(epilogue) = self.epilogue.take() {
            if let Some(probe) = &epilogue.probe {
                self.names.set_loop(probe.key, true);
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

    /// Lets nobody move any more.
    pub fn stop_epilogue(&mut self) {
        if let Some(epilogue) = &mut self.epilogue {
            epilogue.steps = self.step_limit;
        }
    }

    /// Whose turn it is: the next thread in order that can move.
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

    /// The next step of a thread whose loop is tried out; `None` if it is known or there is none.
    fn try_out(&mut self) -> Option<Command> {
        let probe = self.epilogue.as_mut()?.probe.as_mut()?;
        let thread = probe.thread;
        let thread_state = self.state.thread(thread);
        let yields =
            thread_state.status == Status::Ready && thread_state.operation.action == Action::Yield;
        let waits = if thread_state.status != Status::Ready {
            Some(false)
        } else if yields {
            probe.rounds += 1;
            probe.operations = 0;
            let same = self.state.round_of(thread) == probe.round;
            (!same || probe.rounds > GIVES_UP).then_some(same)
        } else if !self.state.is_enabled(thread, thread_state) {
            // Blocked: inside the loop, or after it.
            Some(self.state.begins_again(thread))
        } else {
            probe.operations += 1;
            (probe.operations > LONGEST_ROUND).then_some(false)
        };
        if let Some(waits) = waits {
            self.names.set_loop(probe.key, waits);
            self.epilogue.as_mut()?.probe = None;
            return None;
        }
        let result = self.state.apply(Move { thread, choice: 0 });
        self.last = thread;
        self.current = thread;
        Some(Command::Resume(thread, result))
    }

    /// Nobody can move: lets the next blocked thread go on.
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
            Action::Reacquire if self.state.object(thread_state.operation.object).value == 0 => {
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

/// The first move of the next thread after `last`; time runs out only where nothing else moves.
fn in_turn(moves: &[Move], last: ThreadId) -> Option<Move> {
    let real = |m: &&Move| m.choice != Move::TIMEOUT;
    let later = moves.iter().filter(real).find(|m| m.thread > last);
    later.or_else(|| moves.iter().find(real)).or(moves.first()).copied()
}
