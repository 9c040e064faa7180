//! The stored successors of a state, with indivisible sequences run to their ends.
//!
//! Breadth-first searches store every state they keep, so a transient successor is not kept but
//! explored on the spot, depth-first, until the sequence ends or is interrupted. Arrivals refer to
//! one buffer of bytes that many expansions share.

use crate::store::{Exact, Pending, Store, StoreFull};
use preempt_core::{
    Asleep, Enabled, Few, Lead, Leads, Outcome, ProcessId, Step, Successors, System,
};
use std::ops::Range;

/// Sequences with more steps than this, over all their branches, are checked for loops.
const LONG_SEQUENCE: u32 = 1 << 14;

/// What happens during an expansion.
pub(crate) trait Watch {
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
    /// The next of its successors,
    next: usize,
    /// and the first.
    start: usize,
    /// Steps from the expanded state to this one.
    depth: usize,
}

/// Expands states into a shared buffer.
#[derive(Debug)]
pub(crate) struct Expander {
    /// The bytes of all arrivals, and of successors on the way.
    pub(crate) successors: Successors,
    /// Where the expansions arrived since the last [`Expander::clear`], not hashed yet.
    pub(crate) arrivals: Vec<Pending>,
    /// Who sleeps where each of them arrived, see [`Expander::expand_awake`].
    pub(crate) asleep: Vec<Asleep>,
    pub(crate) enabled: Enabled,
    /// The successors of one state, where the system tells them in brief.
    leads: Leads,
    told_briefly: bool,
    scratch: Vec<u8>,
    /// Steps since the expanded state, while inside a sequence.
    path: Vec<Step>,
    /// Successors inside sequences, by frame.
    inner: Successors,
    /// How many steps of the sequence follow each of them.
    inner_steps: Vec<u32>,
    inner_leads: Leads,
    frames: Vec<Inside>,
    state: Vec<u8>,
    /// Steps inside the present sequence.
    sequence_steps: u32,
    /// States inside very long sequences, which might never end.
    long_sequences: Option<Exact>,
}

impl Expander {
    pub(crate) fn new() -> Self {
        Expander {
            successors: Successors::default(),
            arrivals: Vec::new(),
            asleep: Vec::new(),
            enabled: Enabled::new(),
            leads: Leads::default(),
            told_briefly: false,
            scratch: Vec::new(),
            path: Vec::new(),
            inner: Successors::default(),
            inner_steps: Vec::new(),
            inner_leads: Leads::default(),
            frames: Vec::new(),
            state: Vec::new(),
            sequence_steps: 0,
            long_sequences: None,
        }
    }

    /// Has the system pass over deterministic parts of indivisible sequences.
    pub(crate) fn follow_sequences(mut self) -> Self {
        self.leads.follow_sequences = true;
        self.inner_leads.follow_sequences = true;
        self
    }

    /// Forgets all arrivals.
    pub(crate) fn clear(&mut self) {
        self.successors.clear();
        self.arrivals.clear();
        self.asleep.clear();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.successors.bytes.capacity()
            + self.successors.list.capacity() * 56
            + self.leads.list.capacity() * size_of::<Lead>()
            + self.arrivals.capacity() * size_of::<Pending>()
            + self.inner.bytes.capacity()
            + self.long_sequences.as_ref().map_or(0, |store| store.bytes())
    }

    /// Adds the arrivals of all steps. Says how many steps there were.
    #[inline]
    pub(crate) fn expand<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        let first = self.successors.list.len();
        system.expand(state, &mut self.enabled, &mut self.scratch, &mut self.successors);
        self.follow(system, first, watch)
    }

    /// As [`Expander::expand`], but quicker: `successors.list` need not tell the steps afterwards.
    #[inline]
    pub(crate) fn expand_briefly<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        self.leads.list.clear();
        self.told_briefly =
            system.expand_briefly(state, &mut self.leads, &mut self.successors.bytes);
        if !self.told_briefly {
            return self.expand(system, state, watch);
        }
        self.follow_leads::<false, _>(system, watch)
    }

    /// Whether the system told the last state that was expanded briefly in brief.
    pub(crate) fn is_told_briefly(&self) -> bool {
        self.told_briefly
    }

    /// As [`Expander::expand_briefly`], the steps of some processes, see [`System::expand_few_briefly`];
    /// `None` if the system must look at all steps for that.
    #[inline]
    pub(crate) fn expand_few<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        few: Few,
        watch: &mut impl Watch,
    ) -> Result<Option<usize>, StoreFull> {
        self.leads.list.clear();
        let (leads, bytes) = (&mut self.leads, &mut self.successors.bytes);
        match system.expand_few_briefly(state, few, leads, bytes) {
            true => self.follow_leads::<false, _>(system, watch).map(Some),
            false => Ok(None),
        }
    }

    /// As [`Expander::expand_briefly`], without the steps of processes that are asleep. Says how many
    /// steps there were, and how many of them were slept through.
    #[inline]
    pub(crate) fn expand_awake<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        asleep: Asleep,
        watch: &mut impl Watch,
    ) -> Result<(usize, usize), StoreFull> {
        self.leads.list.clear();
        if !system.expand_awake(state, asleep, &mut self.leads, &mut self.successors.bytes) {
            let taken = self.expand(system, state, watch)?;
            self.asleep.resize(self.arrivals.len(), Asleep::NOBODY);
            return Ok((taken, 0));
        }
        let taken = self.follow_leads::<true, _>(system, watch)?;
        Ok((taken + asleep.steps(), asleep.steps()))
    }

    /// As [`Expander::expand_briefly`], the steps of one process only; `None` if the system must look
    /// at all steps for that.
    #[inline]
    pub(crate) fn expand_process<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &mut Vec<u8>,
        process: ProcessId,
        watch: &mut impl Watch,
    ) -> Result<Option<usize>, StoreFull> {
        self.leads.list.clear();
        let (leads, bytes) = (&mut self.leads, &mut self.successors.bytes);
        match system.expand_process_briefly(state, process, leads, bytes) {
            Some(_) => self.follow_leads::<false, _>(system, watch).map(Some),
            None => Ok(None),
        }
    }

    /// Adds the arrivals of all leads; where `SLEEP` also who sleeps there.
    #[inline(always)]
    fn follow_leads<const SLEEP: bool, S: System + ?Sized>(
        &mut self,
        system: &S,
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        // Taken out while it is read: the loop then knows that nothing changes it.
        let list = std::mem::take(&mut self.leads.list);
        self.arrivals.reserve(list.len());
        let mut result = Ok(list.len());
        for lead in &list {
            let (step, range) = (lead.step(), lead.range());
            watch.begin_step(step);
            if lead.result == 0 {
                watch.step(step, false);
                let bytes = self.successors.bytes.get(range.clone()).unwrap_or_default();
                watch.arrive(&[step], bytes);
                self.arrivals.push(Pending::new(0, range.start, range.end));
            } else if let Err(full) = self.follow_lead(system, lead, watch) {
                result = Err(full);
                break;
            }
            if SLEEP {
                self.asleep.resize(self.arrivals.len(), lead.asleep);
            }
        }
        self.leads.list = list;
        result
    }

    /// Apart from the loop above, which so keeps its few numbers in registers.
    #[inline(never)]
    fn follow_lead<S: System + ?Sized>(
        &mut self,
        system: &S,
        lead: &Lead,
        watch: &mut impl Watch,
    ) -> Result<(), StoreFull> {
        if lead.inner_steps() == 0 {
            return self.follow_step(system, lead.step(), lead.outcome(), lead.range(), watch);
        }
        watch.step(lead.step(), true);
        self.path.clear();
        self.path.push(lead.step());
        let transient = lead.result & Lead::TRANSIENT != 0;
        let inner = lead.inner(&self.successors.bytes);
        pass_inner(inner, lead.inner_steps(), transient, &mut self.path, watch);
        let range = lead.range();
        if transient {
            self.state.clear();
            self.state.extend_from_slice(&self.successors.bytes[range]);
            self.follow_sequence(system, watch)
        } else {
            watch.arrive(&self.path, &self.successors.bytes[range.clone()]);
            self.arrivals.push(Pending::new(0, range.start, range.end));
            Ok(())
        }
    }

    /// Adds the arrivals of some steps only.
    pub(crate) fn expand_selected<S: System + ?Sized>(
        &mut self,
        system: &S,
        state: &[u8],
        steps: &[Step],
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        let first = self.successors.list.len();
        for &step in steps {
            self.successors.take(system, state, step, &mut self.scratch);
        }
        self.follow(system, first, watch)
    }

    #[inline]
    fn follow<S: System + ?Sized>(
        &mut self,
        system: &S,
        first: usize,
        watch: &mut impl Watch,
    ) -> Result<usize, StoreFull> {
        let count = self.successors.list.len() - first;
        self.arrivals.reserve(count);
        for at in first..first + count {
            let (step, outcome, range) = self.successors.list[at].clone();
            watch.begin_step(step);
            self.follow_step(system, step, outcome, range, watch)?;
        }
        Ok(count)
    }

    #[inline]
    fn follow_step<S: System + ?Sized>(
        &mut self,
        system: &S,
        step: Step,
        outcome: Outcome,
        range: Range<usize>,
        watch: &mut impl Watch,
    ) -> Result<(), StoreFull> {
        if outcome != Outcome::Done {
            if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
                watch.fault(&[step], fault);
            }
            if matches!(outcome, Outcome::Broken(_)) {
                watch.step(step, false);
                return Ok(());
            }
        }
        let transient = system.is_transient(&self.successors.bytes[range.clone()]);
        watch.step(step, transient);
        if transient {
            self.path.clear();
            self.path.push(step);
            self.state.clear();
            self.state.extend_from_slice(&self.successors.bytes[range]);
            self.follow_sequence(system, watch)
        } else {
            watch.arrive(&[step], &self.successors.bytes[range.clone()]);
            self.arrivals.push(Pending::new(0, range.start, range.end));
            Ok(())
        }
    }

    /// Explores the indivisible sequence from `self.state` to all its ends.
    fn follow_sequence<S: System + ?Sized>(
        &mut self,
        system: &S,
        watch: &mut impl Watch,
    ) -> Result<(), StoreFull> {
        self.inner.clear();
        self.inner_steps.clear();
        self.frames.clear();
        self.sequence_steps = self.path.len() as u32 - 1;
        self.enter_sequence(system, watch)?;
        while let Some(top) = self.frames.last_mut() {
            let Inside { next, start, depth } = *top;
            if next == self.inner.list.len() {
                if let Some((_, _, range)) = self.inner.list.get(start) {
                    let bytes = range.start;
                    self.inner.bytes.truncate(bytes);
                }
                self.inner.list.truncate(start);
                self.inner_steps.truncate(start);
                self.frames.pop();
                continue;
            }
            let (step, outcome, range) = self.inner.list[next].clone();
            let inner = self.inner_steps[next] as usize;
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
            self.state.extend_from_slice(&self.inner.bytes[range.clone()]);
            let transient = system.is_transient(&self.state);
            watch.step(step, transient || inner > 0);
            if inner > 0 {
                let (length, start) = (range.len() as u32, range.start as u32);
                let result = (inner as u32) << Lead::FAULT_SHIFT;
                let who = u32::from(step.process.0);
                let lead = Lead { start, length, result, who, ..Lead::default() };
                let steps = lead.inner(&self.inner.bytes);
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
        let start = self.inner.list.len();
        let bytes = self.inner.bytes.len();
        self.expand_inside(system);
        if !system.is_transient(&self.state) {
            self.inner.list.truncate(start);
            self.inner_steps.truncate(start);
            self.inner.bytes.truncate(bytes);
            self.arrive(watch);
            return Ok(());
        }
        self.sequence_steps += 1;
        if self.sequence_steps > LONG_SEQUENCE {
            let known = self.long_sequences.get_or_insert_with(|| Exact::new(usize::MAX));
            if !known.insert(&self.state)?.new {
                self.inner.list.truncate(start);
                self.inner_steps.truncate(start);
                self.inner.bytes.truncate(bytes);
                return Ok(());
            }
        }
        self.frames.push(Inside { next: start, start, depth: self.path.len() });
        Ok(())
    }

    /// Adds the successors of `self.state` to those inside the sequence.
    fn expand_inside<S: System + ?Sized>(&mut self, system: &S) {
        self.inner_leads.list.clear();
        let Successors { list, bytes } = &mut self.inner;
        if system.expand_briefly(&mut self.state, &mut self.inner_leads, bytes) {
            let leads = self.inner_leads.list.iter();
            list.extend(leads.map(|lead| (lead.step(), lead.outcome(), lead.range())));
            let leads = self.inner_leads.list.iter();
            self.inner_steps.extend(leads.map(|lead| lead.inner_steps() as u32));
        } else {
            system.expand(&mut self.state, &mut self.enabled, &mut self.scratch, &mut self.inner);
            self.inner_steps.resize(self.inner.list.len(), 0);
        }
    }

    fn arrive(&mut self, watch: &mut impl Watch) {
        watch.arrive(&self.path, &self.state);
        let start = self.successors.bytes.len();
        self.successors.bytes.extend_from_slice(&self.state);
        self.arrivals.push(Pending::new(0, start, self.successors.bytes.len()));
    }
}

/// Tells of the steps of a sequence that the system passed over, `count` of them, and adds them to the path.
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
