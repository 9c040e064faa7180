//! The stored successors of a state, with indivisible sequences run to their ends.
//!
//! Breadth-first searches store every state they keep, so a transient successor is not kept but
//! explored on the spot, depth-first, until the sequence ends or is interrupted. Arrivals refer to
//! one buffer of bytes that many expansions share.
//!
//! Invariant: what an expansion gives depends on the state and the request alone, not on what the same expander has
//! expanded before. So counts are the same whichever thread expands a state, and one that expands it a second time gets the
//! same successors again.

use crate::store::{Exact, Pending, Store, StoreFull};
use preempt_core::engine::{
    Answer, ProcessSelection, Request, Sink, SleepSet, SuccessorHeader, Successors,
};
use preempt_core::{Enabled, Outcome, ProcessId, Step, System};

/// Sequences with more steps than this, over all their branches, are checked for loops.
const LONG_SEQUENCE: u32 = 1 << 14;

/// What happens during an expansion.
pub trait Watch {
    /// The expanded state has this step; what follows is about it.
    #[inline(always)]
    fn begin_step(&mut self, _step: Step) {}
    /// A step was taken, into an indivisible sequence or not.
    fn step(&mut self, step: Step, transient: bool);
    /// The last step of `path`, which begins at the expanded state, was a mistake.
    fn fault(&mut self, path: &[Step], fault: u32);
    /// The path ends in a state to store, at these bytes.
    fn arrive(&mut self, _path: &[Step], _state: &[u8]) {}
}

/// A state inside an indivisible sequence.
#[derive(Clone, Copy, Debug)]
struct Inside {
    /// The next of its successors.
    next: usize,
    /// The first of its successors.
    start: usize,
    /// Steps from the expanded state to this one.
    depth: usize,
}

/// Expands states into a shared buffer.
#[derive(Default, Debug)]
pub struct Expander {
    /// The bytes of all arrivals, and headers of the successors of one state.
    pub successors: Successors,
    /// Where the expansions arrived since the last [`Expander::clear`], not hashed yet.
    pub arrivals: Vec<Pending>,
    /// The processes that sleep where each of them arrived, see [`Expander::expand_awake`].
    pub sleep_sets: Vec<SleepSet>,
    pub(crate) enabled: Enabled,
    scratch: Vec<u8>,
    /// Steps since the expanded state, while inside a sequence.
    path: Vec<Step>,
    /// Successors inside sequences, by frame.
    inner: Successors,
    frames: Vec<Inside>,
    state: Vec<u8>,
    /// Steps inside the present sequence.
    sequence_steps: u32,
    /// States inside the present sequence once it is very long: it might never end.
    long_sequence: Option<Exact>,
}

impl Expander {
    /// Has the system pass over deterministic parts of indivisible sequences.
    pub fn run_sequences(mut self) -> Self {
        self.successors.run_sequences = true;
        self.inner.run_sequences = true;
        self
    }

    /// Forgets all arrivals.
    pub fn clear(&mut self) {
        self.successors.clear();
        self.arrivals.clear();
        self.sleep_sets.clear();
    }

    /// Leaves room for so many arrivals before those that follow.
    pub fn leave_room(&mut self, count: usize) {
        self.arrivals.resize(count, Pending::new(0, 0, 0));
    }

    /// Memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.successors.data.capacity()
            + self.successors.headers.capacity() * size_of::<SuccessorHeader>()
            + self.arrivals.capacity() * size_of::<Pending>()
            + self.inner.data.capacity()
            + self.long_sequence.as_ref().map_or(0, |store| store.bytes())
    }

    /// Adds the arrivals of all steps. Says how many steps there were.
    #[inline]
    pub fn expand<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        self.successors.clear_headers();
        system.successors(Request::All, Sink::Copies(state, &mut self.successors));
        self.pass_on::<false, _>(system, watch)
    }

    /// As [`Expander::expand`], the steps of some processes, see [`Request::Selection`].
    #[inline]
    pub fn expand_selection<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        selection: ProcessSelection,
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        self.successors.clear_headers();
        let sink = Sink::Copies(state, &mut self.successors);
        system.successors(Request::Selection(selection), sink);
        self.pass_on::<false, _>(system, watch)
    }

    /// As [`Expander::expand`], without the steps of a sleep set. Says how many steps there were, and how
    /// many of them were slept through.
    #[inline]
    pub fn expand_awake<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        sleep_set: SleepSet,
        watch: &mut impl Watch,
    ) -> Result<(usize, usize), StoreFull> {
        self.successors.clear_headers();
        let sink = Sink::Copies(state, &mut self.successors);
        let answer = system.successors(Request::Awake(sleep_set), sink);
        let taken = self.pass_on::<true, _>(system, watch)?;
        let slept = if answer == Answer::NobodySlept { 0 } else { sleep_set.steps() };
        Ok((taken + slept, slept))
    }

    /// As [`Expander::expand`], the steps of one process only; `None` if the system must look
    /// at all steps for that.
    #[inline]
    pub fn expand_process<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        process: ProcessId,
        watch: &mut impl Watch,
    ) -> Result<Option<usize>, StoreFull> {
        self.successors.clear_headers();
        let sink = Sink::Copies(state, &mut self.successors);
        match system.successors(Request::Process(process), sink) {
            Answer::AskForAll => Ok(None),
            _ => self.pass_on::<false, _>(system, watch).map(Some),
        }
    }

    /// Adds the arrivals of some steps only.
    pub fn expand_selected<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        steps: &[Step],
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        self.successors.clear_headers();
        for &step in steps {
            self.scratch.clear();
            self.scratch.extend_from_slice(state);
            let outcome = system.apply(&mut self.scratch, step);
            let is_whole = !matches!(outcome, Outcome::Broken(_));
            let transient = is_whole && system.is_transient(&self.scratch);
            self.successors.push(step, outcome, transient, &self.scratch);
        }
        self.pass_on::<false, _>(system, watch)
    }

    /// Adds the arrivals of all headers; where `SLEEP` also the processes that sleep there.
    #[inline(always)]
    fn pass_on<const SLEEP: bool, S: System + ?Sized>(
        &mut self,
        system: &S,
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        // Taken out while they are read: the loop then knows that nothing changes them.
        let headers = std::mem::take(&mut self.successors.headers);
        self.arrivals.reserve(headers.len());
        let mut result = Ok(headers.len());
        for (at, header) in headers.iter().enumerate() {
            let step = self.successors.step_of(at, header).0;
            watch.begin_step(step);
            if header.result == 0 {
                let range = header.range();
                watch.step(step, false);
                let bytes = self.successors.data.get(range.clone()).unwrap_or_default();
                watch.arrive(&[step], bytes);
                self.arrivals.push(Pending::new(0, range.start, range.end));
            } else if let Err(full) = self.pass_on_one(system, (at, header), watch) {
                result = Err(full);
                break;
            }
            if SLEEP {
                self.sleep_sets.resize(self.arrivals.len(), header.sleep_set);
            }
        }
        self.successors.headers = headers;
        result
    }

    /// Apart from the loop above, which so keeps its few numbers in registers.
    #[inline(never)]
    fn pass_on_one<S: System + ?Sized>(
        &mut self,
        system: &S,
        (at, header): (usize, &SuccessorHeader),
        watch: &mut impl Watch,
    ) -> Result<(), StoreFull> {
        let (step, outcome) = self.successors.step_of(at, header);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            watch.fault(&[step], fault);
        }
        if matches!(outcome, Outcome::Broken(_)) {
            watch.step(step, false);
            return Ok(());
        }
        let (transient, inner) = (header.is_transient(), inner_steps(header, outcome));
        watch.step(step, transient || inner > 0);
        self.path.clear();
        self.path.push(step);
        if inner > 0 {
            let steps = header.inner(&self.successors.data);
            pass_inner(steps, inner, transient, &mut self.path, watch);
        }
        let range = header.range();
        if transient {
            self.state.clear();
            self.state.extend_from_slice(&self.successors.data[range]);
            self.pass_sequence(system, watch)
        } else {
            watch.arrive(&self.path, &self.successors.data[range.clone()]);
            self.arrivals.push(Pending::new(0, range.start, range.end));
            Ok(())
        }
    }

    /// Explores the indivisible sequence from `self.state` to all its ends.
    fn pass_sequence<S: System + ?Sized>(
        &mut self,
        system: &S,
        watch: &mut impl Watch,
    ) -> Result<(), StoreFull> {
        self.inner.clear();
        self.frames.clear();
        // What an earlier sequence has met is met again: what follows is this one's as well.
        self.long_sequence = None;
        self.sequence_steps = self.path.len() as u32 - 1;
        self.enter_sequence(system, watch)?;
        while let Some(top) = self.frames.last_mut() {
            let Inside { next, start, depth } = *top;
            if next == self.inner.len() {
                self.inner.truncate(start);
                self.frames.pop();
                continue;
            }
            let header = self.inner.headers[next];
            let (step, outcome) = self.inner.step(next);
            let inner = inner_steps(&header, outcome);
            top.next += 1;
            self.path.truncate(depth);
            self.path.push(step);
            if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
                watch.fault(&self.path, fault);
            }
            if matches!(outcome, Outcome::Broken(_)) {
                watch.step(step, false);
                continue;
            }
            self.state.clear();
            self.state.extend_from_slice(&self.inner.data[header.range()]);
            let transient = header.is_transient();
            watch.step(step, transient || inner > 0);
            if inner > 0 {
                let steps = header.inner(&self.inner.data);
                pass_inner(steps, inner, transient, &mut self.path, watch);
                self.sequence_steps = self.sequence_steps.saturating_add(inner as u32);
            }
            match transient {
                true => self.enter_sequence(system, watch)?,
                false => self.arrive(watch),
            }
        }
        Ok(())
    }

    /// Pushes a frame for the transient `self.state`, unless its sequence is interrupted here.
    fn enter_sequence<S: System + ?Sized>(
        &mut self,
        system: &S,
        watch: &mut impl Watch,
    ) -> Result<(), StoreFull> {
        let start = self.inner.len();
        system.successors(Request::All, Sink::Copies(&mut self.state, &mut self.inner));
        if !system.is_transient(&self.state) {
            self.inner.truncate(start);
            self.arrive(watch);
            return Ok(());
        }
        self.sequence_steps += 1;
        if self.sequence_steps > LONG_SEQUENCE {
            let known = self.long_sequence.get_or_insert_with(|| Exact::new(usize::MAX));
            if !known.insert(&self.state)?.new {
                self.inner.truncate(start);
                return Ok(());
            }
        }
        self.frames.push(Inside { next: start, start, depth: self.path.len() });
        Ok(())
    }

    fn arrive(&mut self, watch: &mut impl Watch) {
        watch.arrive(&self.path, &self.state);
        let start = self.successors.data.len();
        self.successors.data.extend_from_slice(&self.state);
        self.arrivals.push(Pending::new(0, start, self.successors.data.len()));
    }
}

/// How many steps of the sequence the system took behind a step that went well.
#[inline(always)]
fn inner_steps(header: &SuccessorHeader, outcome: Outcome) -> usize {
    match outcome {
        Outcome::Done => header.inner_steps(),
        _ => 0,
    }
}

/// Reports the steps of a sequence that the system passed over, `count` of them, and adds them to the path.
fn pass_inner(
    steps: impl Iterator<Item = Step>,
    count: usize,
    transient: bool,
    path: &mut Vec<Step>,
    watch: &mut impl Watch,
) {
    for (at, step) in (1..).zip(steps) {
        watch.step(step, transient || at < count);
        path.push(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_core::{Describe, Independence};

    /// One process with a sequence of so many steps; then it is where it was.
    struct Long(u32);

    fn counter(state: &[u8]) -> u32 {
        u32::from_le_bytes([state[0], state[1], state[2], state[3]])
    }

    impl System for Long {
        fn initial(&self, state: &mut Vec<u8>) -> Outcome {
            state.extend_from_slice(&[0; 4]);
            Outcome::Done
        }

        fn process_count(&self, _state: &[u8]) -> usize {
            1
        }

        fn enabled(&self, _state: &mut Vec<u8>, enabled: &mut Enabled) {
            enabled.push(Step::new(ProcessId(0), 0));
        }

        fn apply(&self, state: &mut Vec<u8>, _step: Step) -> Outcome {
            let next = (counter(state) + 1) % self.0;
            state.copy_from_slice(&next.to_le_bytes());
            Outcome::Done
        }

        fn is_transient(&self, state: &[u8]) -> bool {
            counter(state) != 0
        }
    }

    impl Independence for Long {}
    impl Describe for Long {}

    struct Nothing;

    impl Watch for Nothing {
        fn step(&mut self, _step: Step, _transient: bool) {}
        fn fault(&mut self, _path: &[Step], _fault: u32) {}
    }

    /// A state may be expanded again, in a second pass, or after another one that leads to the same sequence.
    #[test]
    fn a_long_sequence_is_followed_as_often_as_it_is_asked_for() {
        let system = Long(2 * LONG_SEQUENCE);
        let mut expander = Expander::default();
        for time in 0..3 {
            expander.clear();
            let mut state = vec![0; 4];
            let steps = expander.expand(&system, &mut state, &mut Nothing).ok();
            assert_eq!((steps, expander.arrivals.len()), (Some(1), 1), "time {time}");
        }
    }
}
