//! Which moves are possible in a state.

use super::polling::ANY_ORDER;
use super::values::{Channel, ONCE_DONE, ONCE_POISONED, ONCE_RUNNING, WAITING, WRITER};
use super::{ExecutionState, Status, Thread};
use crate::{Action, Deadline, Move, ObjectId, Operation, ThreadId};

impl ExecutionState {
    /// All moves that are possible now, in order of thread, then choice.
    pub fn moves(&self, out: &mut Vec<Move>) {
        out.clear();
        if self.panicked.is_some() || self.is_over() {
            return;
        }
        if let Some(thread) = self.urgent {
            self.moves_of(thread, out);
            if !out.is_empty() {
                return;
            }
        }
        if let Some(solo) = &self.solo {
            self.moves_of(solo.thread, out);
            if !out.is_empty() {
                return;
            }
        }
        for index in 0..self.threads.len() {
            self.moves_of(ThreadId(index as u32), out);
        }
        let stuck = out.is_empty();
        if self.has_timed_waits {
            let passes = out.iter().all(|m| self.looks_in_vain(m.thread));
            let late = passes || self.fired < self.rules.timeouts;
            if late || self.due > 0 || self.woken < self.rules.spurious {
                self.timeouts(late, passes, out);
            }
        }
        if stuck {
            self.take_turns(out);
        }
        if out.is_empty() {
            self.forced_moves(out);
        }
    }

    /// Whether what is possible follows from each thread by itself and from locks and the like, not from values of
    /// numbers or from time. Then an access to a number changes nothing about what other threads can do.
    pub(crate) fn has_plain_moves(&self) -> bool {
        let looks = |operation: &Operation| operation.awaits || operation.action == Action::Yield;
        let looks = |thread: &Thread| thread.status == Status::Ready && looks(&thread.operation);
        !self.has_timed_waits
            && self.urgent.is_none()
            && self.solo.is_none()
            && self.panicked.is_none()
            && !self.is_over()
            && !self.threads.iter().any(looks)
    }

    /// Whether a thread stands before an access to a number, which others need not wait for.
    #[inline]
    pub(crate) fn is_before_number(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        thread.status == Status::Ready
            && thread.operation.action.is_number()
            && !thread.operation.awaits
            && self.urgent.is_none()
    }

    /// Whether `thread` can go on by itself, so that taking the processor from it is a preemption.
    pub fn keeps_running(&self, thread: ThreadId, moves: &[Move]) -> bool {
        !self.threads[thread.index()].operation.action.is_voluntary()
            && moves.iter().any(|m| m.thread == thread && m.choice != Move::TIMEOUT)
    }

    /// As [`ExecutionState::keeps_running`], without the list of moves.
    pub fn can_go_on(&self, id: ThreadId) -> bool {
        let thread = &self.threads[id.index()];
        thread.status == Status::Ready
            && !thread.operation.action.is_voluntary()
            && self.panicked.is_none()
            && !self.exited
            && self.urgent.is_none_or(|urgent| urgent == id)
            && !self.is_held_back(id)
            && self.is_enabled(id, thread)
    }

    #[inline]
    fn moves_of(&self, id: ThreadId, out: &mut Vec<Move>) {
        let thread = &self.threads[id.index()];
        if thread.status != Status::Ready {
            return;
        }
        let operation = &thread.operation;
        let choices = match operation.action {
            Action::NotifyOne => self.waiters(operation.object).max(1),
            Action::Choose => operation.first as u32,
            _ => {
                if self.is_enabled(id, thread) {
                    out.push(Move { thread: id, choice: 0 });
                }
                return;
            }
        };
        out.extend((0..choices).map(|choice| Move { thread: id, choice }));
    }

    /// Waits that may end because time is up, if it is `late`, or for no reason. Those with a distant deadline end only where
    /// time `passes`, because threads can do nothing but look again and again, or if one has ended that was due about the
    /// same time.
    fn timeouts(&self, late: bool, passes: bool, out: &mut Vec<Move>) {
        let spurious = self.woken < self.rules.spurious;
        for (index, thread) in self.threads.iter().enumerate() {
            let operation = &thread.operation;
            let id = ThreadId(index as u32);
            let allowed = match operation.second {
                1 => match operation.deadline.filter(|deadline| deadline.distant) {
                    Some(deadline) => passes || self.is_near(deadline),
                    None => late,
                },
                Operation::SPURIOUS => spurious,
                _ => false,
            };
            if thread.status != Status::Ready || !allowed {
                continue;
            }
            let possible = match operation.action {
                Action::Reacquire => thread.waiting != ObjectId::NONE,
                _ => !self.is_enabled(id, thread),
            };
            if operation.action.may_be_timed() && possible {
                out.push(Move { thread: id, choice: Move::TIMEOUT });
            }
        }
    }

    /// Whether one that was due at about the same time has come.
    fn is_near(&self, deadline: Deadline) -> bool {
        self.due > 0 && deadline.at <= self.due.saturating_add(Deadline::NEAR)
    }

    /// A wait of a thread has ended because time was up.
    pub(super) fn note_timeout(&mut self, id: ThreadId, deadline: Option<Deadline>) {
        self.fired += 1;
        self.threads[id.index()].timeouts += 1;
        let Some(deadline) = deadline.filter(|deadline| deadline.distant) else { return };
        let is_near = self.is_near(deadline);
        if let Some(weak) = self.weak.as_mut().filter(|_| !is_near) {
            weak.settle();
        }
        self.due = self.due.max(deadline.at);
    }

    /// Nothing can move but what times out: a thread that has done so more often than another one lets that one go on
    /// first, so that no wait goes on for ever while another ends again and again. How often is part of what a thread has
    /// done, so it is the same in equal states. Where the order of times counts, the first one is next.
    fn take_turns(&self, out: &mut Vec<Move>) {
        let deadline = |m: &Move| self.threads[m.thread.index()].operation.deadline;
        if let Some(first) = out.iter().filter_map(deadline).map(|deadline| deadline.at).min() {
            let due = first.saturating_add(Deadline::NEAR);
            out.retain(|m| deadline(m).is_none_or(|deadline| deadline.at <= due));
            return;
        }
        let is_timed = |m: &Move| self.threads[m.thread.index()].operation.second == 1;
        let count = |m: &Move| self.threads[m.thread.index()].timeouts;
        let least = out.iter().filter(|m| is_timed(m)).map(count).min().unwrap_or(0);
        out.retain(|m| !is_timed(m) || count(m) < least + ANY_ORDER);
    }

    /// Whether some wait could end because time is up, but so many have that others come first, which can move.
    pub(crate) fn withholds_timeouts(&self, moves: &[Move]) -> bool {
        if !self.has_timed_waits
            || self.fired < self.rules.timeouts
            || moves.iter().all(|m| m.choice == Move::TIMEOUT)
        {
            return false;
        }
        let mut timeouts = Vec::new();
        self.timeouts(true, false, &mut timeouts);
        let is_timed = |m: &Move| self.thread(m.thread).operation.second == 1;
        timeouts.iter().any(|m| is_timed(m) && !moves.contains(m))
    }

    /// Whether some thread waits for a distant deadline, which does not come while others can move.
    pub(crate) fn withholds_deadlines(&self, moves: &[Move]) -> bool {
        let distant = |t: &Thread| t.operation.deadline.is_some_and(|deadline| deadline.distant);
        let waits = |t: &Thread| t.status == Status::Ready && distant(t);
        let moves_of = |id: usize| moves.iter().any(|m| m.thread.index() == id);
        self.has_timed_waits
            && self.threads.iter().enumerate().any(|(id, t)| waits(t) && !moves_of(id))
            && moves.iter().any(|m| m.choice != Move::TIMEOUT)
    }

    #[inline]
    pub(crate) fn is_enabled(&self, id: ThreadId, thread: &Thread) -> bool {
        let operation = &thread.operation;
        let value = || self.objects[operation.object.index()].value;
        match operation.action {
            Action::Lock => value() == 0,
            Action::CompareExchange if operation.awaits => value() == operation.first,
            Action::Reacquire => thread.waiting == ObjectId::NONE && value() == 0,
            Action::ReadLock => {
                let waits = self.rules.recursive
                    && value() & WAITING != 0
                    && self.is_reading(id, operation.object);
                value() & WRITER == 0 && !waits
            }
            Action::WriteLock => value() & !WAITING == 0,
            Action::Join => self.threads[operation.target().index()].status == Status::Done,
            Action::Yield => self.may_leave_yield(id, thread),
            Action::TakeToken => value() == 1,
            Action::Send => {
                let channel = Channel::from_value(value());
                operation.first == 0
                    || !channel.receiver
                    || u64::from(channel.length) < (operation.first - 1).max(1)
            }
            Action::AwaitTaken => {
                let object = self.object(operation.object);
                object.readers >= operation.first || !Channel::from_value(object.value).receiver
            }
            Action::Receive => {
                let channel = Channel::from_value(value());
                channel.length > 0 || channel.senders == 0
            }
            Action::Leave => value() >> 32 > operation.first,
            Action::OnceEnter => value() != ONCE_RUNNING,
            Action::OnceCompleted => match operation.first {
                Operation::WAITS => value() == ONCE_DONE || value() == ONCE_POISONED,
                Operation::WAITS_FOR_SUCCESS => value() == ONCE_DONE,
                _ => true,
            },
            _ => true,
        }
    }

    /// Whether a thread holds a lock for reading.
    pub fn is_reading(&self, thread: ThreadId, lock: ObjectId) -> bool {
        self.reading.contains(&(thread, lock))
    }

    pub(crate) fn waiters(&self, condition: ObjectId) -> u32 {
        self.threads.iter().filter(|t| t.waiting == condition && t.is_waiting()).count() as u32
    }

    /// The `choice`-th waiter in the order of the threads' keys, which no interning can change.
    pub(crate) fn waiter(&self, condition: ObjectId, choice: u32) -> Option<ThreadId> {
        let waits = |t: &&Thread| t.waiting == condition && t.is_waiting();
        self.threads
            .iter()
            .enumerate()
            .filter(|(_, t)| waits(t))
            .find(|(_, t)| {
                let before = self.threads.iter().filter(waits).filter(|u| u.key < t.key).count();
                before as u32 == choice
            })
            .map(|(index, _)| ThreadId(index as u32))
    }

    /// The thread that holds what a disabled thread waits for, if there is exactly one.
    pub fn holder(&self, id: ThreadId) -> Option<ThreadId> {
        let thread = self.thread(id);
        let operation = &thread.operation;
        let held = || self.object(operation.object).value;
        match operation.action {
            Action::Join => Some(operation.target()),
            Action::Reacquire if thread.waiting != ObjectId::NONE => None,
            Action::Lock | Action::Reacquire => (held() as u32).checked_sub(1).map(ThreadId),
            Action::WriteLock if self.is_reading(id, operation.object) => Some(id),
            Action::ReadLock | Action::WriteLock if held() & WRITER != 0 => {
                (held() as u32).checked_sub(1).map(ThreadId)
            }
            _ => None,
        }
    }
}
