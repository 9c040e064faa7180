//! The stack of a depth-first search that counts preemptions.
//!
//! What [HF] Figs. 3 and 5 have in common: a frame per state on the path with the steps it still
//! has to take, each with the count its successor gets, and the ends of an indivisible sequence it
//! still has to visit. All frames share a few buffers, so that going down and up allocates nothing.

use super::visited::Key;
use crate::search::shared::atomic_sequence::last_mover;
use preempt_core::{ProcessId, Step};

/// The path from the initial state, with what is left to do on it.
#[derive(Default)]
pub(crate) struct Stack {
    frames: Vec<Frame>,
    /// The states of all frames, end to end.
    bytes: Vec<u8>,
    /// The steps of the path.
    path: Vec<Step>,
    /// What all frames have to do, end to end.
    agenda: Vec<Task>,
    /// Where indivisible sequences ended, in reverse.
    ends: Vec<SequenceEnd>,
    end_bytes: Vec<u8>,
    end_paths: Vec<Step>,
}

/// Where an indivisible sequence ended: its state and steps, by where they begin.
#[derive(Clone, Copy)]
struct SequenceEnd {
    state: usize,
    path: usize,
    task: Task,
}

/// A step to take, and what it leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// The step.
    pub(crate) step: Step,
    /// The preemptions of the execution after it.
    pub(crate) count: u32,
    /// Which process counts as the last mover then.
    pub(crate) label: Label,
}

/// Which process counts as the last mover after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// The process that moved.
    Moves,
    /// The one that was it before, if any: the step is taken ahead of its time.
    Stays(Option<ProcessId>),
}

impl Label {
    /// The last mover after these steps, where `before` was it before.
    pub(crate) fn mover(self, steps: &[Step], before: Option<ProcessId>) -> Option<ProcessId> {
        match self {
            Label::Moves => last_mover(steps, before),
            // After a rendezvous the receiver is the last mover: no turn outlives it.
            Label::Stays(mover) => mover.filter(|mover| {
                let moves = |step: &Step| step.process == *mover || step.partner == Some(*mover);
                !(steps.iter().any(|s| s.partner.is_some()) && steps.iter().any(moves))
            }),
        }
    }
}

/// One state on the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// What the state is known by.
    pub(crate) key: Key,
    /// The last mover.
    pub(crate) mover: Option<ProcessId>,
    /// The preemptions of the path.
    pub(crate) count: u32,
    /// Whether this is the first visit with so few preemptions.
    pub(crate) first: bool,
    /// Whether this frame marked its state as being on the path (it may be there several times).
    pub(crate) marked: bool,
    /// Whether a successor was not on the path.
    pub(crate) left_the_path: bool,
    /// What the agenda was made for.
    pub(crate) phase: Phase,
    /// How many sets of processes were tried that might run ahead.
    pub(crate) sets: u16,
    state: usize,
    path: usize,
    agenda: usize,
    next: usize,
    ends: usize,
}

/// What a frame is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Taking the steps of some processes alone, ahead of their time.
    Ahead,
    /// Taking all that is left.
    Rest,
}

impl Stack {
    /// Goes down by `steps` to a state that `task` (none for the initial state) led to, with its last mover.
    pub(crate) fn push(
        &mut self,
        key: Key,
        task: Option<Task>,
        mover: Option<ProcessId>,
        steps: &[Step],
        first: bool,
        state: &[u8],
    ) {
        self.frames.push(Frame {
            key,
            mover,
            count: task.map_or(0, |task| task.count),
            sets: 0,
            first,
            marked: false,
            left_the_path: false,
            phase: Phase::Rest,
            state: self.bytes.len(),
            path: self.path.len(),
            agenda: self.agenda.len(),
            next: self.agenda.len(),
            ends: self.ends.len(),
        });
        self.bytes.extend_from_slice(state);
        self.path.extend_from_slice(steps);
    }

    /// Goes back up.
    pub(crate) fn pop(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.bytes.truncate(frame.state);
            self.path.truncate(frame.path);
            self.agenda.truncate(frame.agenda);
        }
    }

    /// The deepest frame.
    pub(crate) fn top(&mut self) -> Option<&mut Frame> {
        self.frames.last_mut()
    }

    /// The state of the deepest frame.
    pub(crate) fn state(&self) -> &[u8] {
        self.frames.last().map_or(&[], |frame| &self.bytes[frame.state..])
    }

    /// A copy of the deepest frame.
    pub(crate) fn frame(&self) -> Option<Frame> {
        self.frames.last().copied()
    }

    /// Adds tasks to the deepest frame.
    pub(crate) fn plan(&mut self, steps: &[Step], count: u32, label: Label) {
        self.agenda.extend(steps.iter().map(|&step| Task { step, count, label }));
    }

    /// The next task of the deepest frame.
    pub(crate) fn next(&mut self) -> Option<Task> {
        let frame = self.frames.last_mut()?;
        let task = self.agenda.get(frame.next).copied();
        frame.next += usize::from(task.is_some());
        task
    }

    /// Adds an end of the sequence that `task` of the deepest frame began with.
    pub(crate) fn add_end(&mut self, task: Task, path: &[Step], state: &[u8]) {
        let (at, from) = (self.end_bytes.len(), self.end_paths.len());
        self.ends.push(SequenceEnd { state: at, path: from, task });
        self.end_bytes.extend_from_slice(state);
        self.end_paths.extend_from_slice(path);
    }

    /// Takes an end that the deepest frame has still to visit, the last added first.
    pub(crate) fn take_end(&mut self, path: &mut Vec<Step>, state: &mut Vec<u8>) -> Option<Task> {
        let frame = self.frames.last()?;
        if self.ends.len() <= frame.ends {
            return None;
        }
        let end = self.ends.pop()?;
        path.clear();
        path.extend(self.end_paths.drain(end.path..));
        state.clear();
        state.extend(self.end_bytes.drain(end.state..));
        Some(end.task)
    }

    /// Notes that a successor of the deepest state was not on the path.
    pub(crate) fn leave(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.left_the_path = true;
        }
    }

    /// How many steps the path has.
    pub(crate) fn depth(&self) -> usize {
        self.path.len()
    }

    /// The steps of the path.
    pub(crate) fn path(&self) -> &[Step] {
        &self.path
    }

    /// Memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.frames.capacity() * size_of::<Frame>()
            + self.bytes.capacity()
            + self.end_bytes.capacity()
            + self.path.capacity() * size_of::<Step>()
            + self.agenda.capacity() * size_of::<Task>()
    }
}
