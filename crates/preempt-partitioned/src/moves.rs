//! What the processes of a state can do, found at once; which of it counts is decided afterwards.
//!
//! Where preemptions are counted, a visit takes the steps of one process or of several, and which ones depends on which processes have
//! steps at all. To find the steps of all processes together is hardly more work than to list them, and much less than to
//! list them and then take some one by one. Only where it is known before which processes' steps are needed, compiled
//! systems are asked for these alone. What is not taken leaves no trace: nothing is counted before it is.

use preempt_check::engine::last_mover;
use preempt_check::engine::{Expander, Watch};
use preempt_check::store::StoreFull;
use preempt_core::engine::ProcessSelection;
use preempt_core::{ProcessId, Step, System};

/// The steps of a state, with the indivisible sequences behind them.
pub(super) struct Moves {
    expander: Expander,
    found: Found,
}

/// In the order in which it happens, with the process whose step comes first.
struct Found {
    events: Vec<(ProcessId, Event)>,
    process: ProcessId,
    /// The steps to the first fault of each process.
    paths: Vec<(ProcessId, Vec<Step>)>,
}

#[derive(Clone, Copy)]
enum Event {
    Step(Step),
    Fault(u32),
    /// The last mover, if any process moved but the property.
    Arrival(Option<ProcessId>),
}

/// What becomes of a step that is taken.
pub(super) enum Taken<'m> {
    /// A step, maybe inside a sequence.
    Step(Step),
    /// It was a mistake, at the end of these steps.
    Fault(u32, &'m [Step]),
    /// It leads to this state; the last mover, if any process moved but the property.
    Arrival(&'m [u8], Option<ProcessId>),
}

impl Watch for Found {
    #[inline(always)]
    fn begin_step(&mut self, step: Step) {
        self.process = step.process;
    }

    #[inline(always)]
    fn step(&mut self, step: Step, _transient: bool) {
        self.events.push((self.process, Event::Step(step)));
    }

    fn fault(&mut self, path: &[Step], fault: u32) {
        // A long sequence may fail again and again: one way there is enough to show.
        if self.paths.iter().all(|(process, _)| *process != self.process) {
            self.paths.push((self.process, path.to_vec()));
        }
        self.events.push((self.process, Event::Fault(fault)));
    }

    #[inline(always)]
    fn arrive(&mut self, path: &[Step], _state: &[u8]) {
        self.events.push((self.process, Event::Arrival(last_mover(path, None))));
    }
}

impl Moves {
    pub(super) fn new() -> Self {
        let found = Found { events: Vec::new(), process: ProcessId::PROPERTY, paths: Vec::new() };
        Moves { expander: Expander::default(), found }
    }

    /// Finds the steps of a state, in place of those before.
    pub(super) fn find(
        &mut self,
        system: &dyn System,
        state: &mut Vec<u8>,
    ) -> Result<(), StoreFull> {
        self.clear();
        self.expander.expand(system, state, &mut self.found).map(|_| ())
    }

    /// As [`Self::find`], those of one process; says whether it has any that can be found without a look at the others.
    pub(super) fn find_of(
        &mut self,
        system: &dyn System,
        state: &mut Vec<u8>,
        process: ProcessId,
    ) -> Result<bool, StoreFull> {
        self.clear();
        let steps = match system.is_compiled() {
            true => self.expander.expand_process(system, state, process, &mut self.found)?,
            false => None,
        };
        Ok(steps.is_some_and(|steps| steps > 0))
    }

    /// As [`Self::find`], those of some processes, see [`Request::Selection`](preempt_core::engine::Request::Selection); says whether
    /// there are any.
    pub(super) fn find_selection(
        &mut self,
        system: &dyn System,
        state: &mut Vec<u8>,
        selection: ProcessSelection,
    ) -> Result<bool, StoreFull> {
        self.clear();
        if !system.is_compiled() {
            return Ok(false);
        }
        let steps = self.expander.expand_selection(system, state, selection, &mut self.found)?;
        Ok(steps > 0)
    }

    fn clear(&mut self) {
        self.expander.clear();
        self.found.events.clear();
        self.found.paths.clear();
    }

    /// Whether no process has steps.
    pub(super) fn is_empty(&self) -> bool {
        self.found.events.is_empty()
    }

    /// Whether a process has steps.
    pub(super) fn has(&self, process: ProcessId) -> bool {
        self.found.events.iter().any(|(one, _)| *one == process)
    }

    /// Whether a process and all these, as bits, have steps.
    pub(super) fn has_all(&self, process: ProcessId, others: u64) -> bool {
        let mut others = (0..64).filter(|other| others >> other & 1 != 0).map(ProcessId);
        self.has(process) && others.all(|other| self.has(other))
    }

    /// Whether a process has steps that is neither this one nor the property.
    pub(super) fn has_others(&self, process: ProcessId) -> bool {
        let is_other = |one: ProcessId| one != process && one != ProcessId::PROPERTY;
        self.found.events.iter().any(|(one, _)| is_other(*one))
    }

    /// Takes the steps of some processes.
    #[inline]
    pub(super) fn take(
        &self,
        is_taken: impl Fn(ProcessId) -> bool,
        mut each: impl FnMut(Taken<'_>),
    ) {
        let mut arrivals = self.expander.arrivals.iter();
        for (process, event) in &self.found.events {
            let arrival = match event {
                Event::Arrival(_) => arrivals.next(),
                _ => None,
            };
            if !is_taken(*process) {
                continue;
            }
            match (event, arrival) {
                (Event::Step(step), _) => each(Taken::Step(*step)),
                (Event::Fault(fault), _) => {
                    let path = self.found.paths.iter().find(|(one, _)| one == process);
                    each(Taken::Fault(*fault, path.map_or(&[], |(_, path)| path)));
                }
                (Event::Arrival(mover), Some(at)) => {
                    each(Taken::Arrival(&self.expander.successors.data[at.start..at.end], *mover));
                }
                (Event::Arrival(_), None) => {}
            }
        }
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> usize {
        self.expander.bytes() + self.found.events.capacity() * size_of::<(ProcessId, Event)>()
    }
}
