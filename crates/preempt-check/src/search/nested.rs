//! Cycles through accepting states, by nested depth-first search.
//!
//! Paper: [S19] sections 4 and 5: ample sets chosen at the source product state (scheme V1).
//!
//! A first search (blue) explores everything; when it leaves an accepting state, a second one (red)
//! looks for a way back to the path of the first. Colours as in Schwoon and Esparza: *cyan* is on the
//! path of the first search, *blue* finished, *red* cannot reach a cycle that was not reported. A cycle
//! is seen early: an edge between a cyan state and the top, one of them accepting, closes one.
//!
//! **Reduction.** The choice between an ample set and all steps is made once, when the first search
//! enters a state, and stored in one bit that the second search obeys. It is refused as soon as *any*
//! ample successor is on the path (the state itself included): every cycle of the reduced graph has an
//! edge back to the path, so one of its states is expanded in full. That is C3' of the paper.
//!
//! Differs from the paper: the product is any [`System`]; [`Scheme::IntermediateState`] is V0, which
//! loses violations and exists to show that Spin does.

use crate::store::{StateId, Store};
use crate::{Budget, Counterexample, Finding, Progress};
use preempt_core::{
    Enabled, Label, Locality, Outcome, ProcessId, Step, Stop, System, ViolationKind,
};

/// Where ample sets are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// Every step is explored.
    Full,
    /// V1: at the source product state; with the least locality that an ample step must have.
    SourceState(Locality),
    /// V0: after the automaton has moved, as Spin does. **Unsound**, for study.
    IntermediateState,
}

/// What to look for, and how.
#[derive(Clone, Copy, Debug)]
pub struct NestedOptions {
    /// Reduction.
    pub scheme: Scheme,
    /// What a cycle found is called.
    pub kind: ViolationKind,
    /// Report violated assertions on the way.
    pub assertions: bool,
    /// Report states without steps that are no valid ends.
    pub deadlocks: bool,
    /// Stop after this many violations; 0 counts all.
    pub max_errors: u64,
    /// Cut executions at this depth.
    pub depth: Option<u64>,
}

const WHITE: u8 = 0;
const CYAN: u8 = 1;
const BLUE: u8 = 2;
const RED: u8 = 3;
const COLOUR: u8 = 3;
/// From this bit on: which automaton moves keep their ample set. V1 decides for all alike.
const AMPLE_SHIFT: u32 = 2;
const AMPLE_BITS: u32 = 6;

/// Searches for an accepting cycle. `target` tells automaton moves apart (for V0 only).
#[doc(alias = "S19 scheme V1")]
pub fn nested<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    budget: &mut Budget,
    options: NestedOptions,
    target: fn(Step) -> u32,
) -> Finding {
    let mut search = Nested {
        system,
        store,
        budget,
        options,
        target,
        colours: Vec::new(),
        path: Path::default(),
        finding: Finding::default(),
        enabled: Enabled::new(),
        state: Vec::new(),
        probe: Vec::new(),
        probe_enabled: Enabled::new(),
        taken: vec![false; system.transition_count()],
    };
    if let Err(stop) = search.blue() {
        search.finding.stop = Some(stop);
    }
    search.finish()
}

/// One state on a path. Transient states have no id.
struct Frame {
    id: Option<StateId>,
    accepting: bool,
    all_red: bool,
    bytes: usize,
    first_step: usize,
    next: usize,
    depth: u64,
}

/// A path with the bytes and remaining steps of all its states.
#[derive(Default)]
struct Path {
    frames: Vec<Frame>,
    bytes: Vec<u8>,
    steps: Vec<Step>,
}

impl Path {
    fn push(&mut self, id: Option<StateId>, accepting: bool, state: &[u8], depth: u64) {
        let frame = Frame {
            id,
            accepting,
            all_red: true,
            bytes: self.bytes.len(),
            first_step: self.steps.len(),
            next: self.steps.len(),
            depth,
        };
        self.bytes.extend_from_slice(state);
        self.frames.push(frame);
    }

    fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.bytes.truncate(frame.bytes);
        self.steps.truncate(frame.first_step);
        Some(frame)
    }

    /// The next step from the last state.
    fn advance(&mut self) -> Option<Step> {
        let frame = self.frames.last_mut()?;
        let step = *self.steps.get(frame.next)?;
        frame.next += 1;
        Some(step)
    }

    fn last_state(&self) -> &[u8] {
        self.frames.last().map_or(&[], |frame| &self.bytes[frame.bytes..])
    }

    /// The last state that is stored.
    fn last_stored(&mut self) -> Option<&mut Frame> {
        self.frames.iter_mut().rev().find(|frame| frame.id.is_some())
    }

    /// Whether the transient state repeats one of the present indivisible sequence.
    fn repeats(&self, state: &[u8]) -> bool {
        let mut end = self.bytes.len();
        for frame in self.frames.iter().rev().take_while(|frame| frame.id.is_none()) {
            if &self.bytes[frame.bytes..end] == state {
                return true;
            }
            end = frame.bytes;
        }
        false
    }

    /// The step last taken from each state of the path.
    fn taken(&self) -> impl Iterator<Item = Step> + '_ {
        self.frames.iter().filter(|f| f.next > f.first_step).map(|f| self.steps[f.next - 1])
    }

    /// The last state's steps are all behind it: forgets which was the last.
    fn rewind_last(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next = frame.first_step;
            self.steps.truncate(frame.first_step);
        }
    }
}

struct Nested<'a, 'b, S: System + ?Sized, T: Store> {
    system: &'a S,
    store: &'a mut T,
    budget: &'a mut Budget<'b>,
    options: NestedOptions,
    target: fn(Step) -> u32,
    colours: Vec<u8>,
    path: Path,
    finding: Finding,
    enabled: Enabled,
    state: Vec<u8>,
    probe: Vec<u8>,
    probe_enabled: Enabled,
    taken: Vec<bool>,
}

impl<S: System + ?Sized, T: Store> Nested<'_, '_, S, T> {
    fn blue(&mut self) -> Result<(), Stop> {
        self.state.clear();
        let outcome = self.system.initial(&mut self.state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.report(|system, steps| Counterexample::from_fault(system, steps, fault), &[])?;
            if let Outcome::Broken(_) = outcome {
                return Ok(());
            }
        }
        self.settle();
        self.visit(0)?;
        while let Some(frame) = self.path.frames.last() {
            let depth = frame.depth;
            match self.path.advance() {
                Some(step) => self.follow(step, depth)?,
                None => self.leave()?,
            }
        }
        Ok(())
    }

    /// Finds the enabled steps of `self.state`, which also ends an interrupted sequence.
    fn settle(&mut self) {
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
    }

    /// Takes a step of the first search.
    fn follow(&mut self, step: Step, depth: u64) -> Result<(), Stop> {
        self.state.clear();
        self.state.extend_from_slice(self.path.last_state());
        self.mark_taken(step);
        match self.system.apply(&mut self.state, step) {
            Outcome::Done => {}
            Outcome::Violated(fault) => self.report_fault(fault)?,
            Outcome::Broken(fault) => return self.report_fault(fault),
        }
        self.settle();
        let depth = depth + u64::from(self.system.depth_of(step));
        if self.system.is_transient(&self.state) {
            self.finding.statistics.atomic_steps += 1;
            if self.path.repeats(&self.state) {
                return Ok(());
            }
            return self.visit(depth);
        }
        let Some(known) = self.store.lookup(&self.state) else { return self.visit(depth) };
        self.finding.statistics.matched += 1;
        let colour = self.colours[known.index()] & COLOUR;
        let accepting = self.system.has_label(&self.state, Label::Accept);
        let Some(source) = self.path.last_stored() else { return Ok(()) };
        if colour == CYAN && (accepting || source.accepting) {
            return self.report_cycle(known, &[]);
        }
        source.all_red &= colour == RED;
        Ok(())
    }

    /// Puts `self.state`, whose steps are in `self.enabled`, on the path.
    fn visit(&mut self, depth: u64) -> Result<(), Stop> {
        if self.options.depth.is_some_and(|limit| depth > limit) {
            self.finding.stop = Some(Stop::Depth);
            return Ok(());
        }
        let numbers = &mut self.finding.statistics;
        numbers.depth = numbers.depth.max(depth);
        if self.system.is_transient(&self.state) {
            self.path.push(None, false, &self.state, depth);
            self.path.steps.extend_from_slice(self.enabled.steps());
            return Ok(());
        }
        let inserted = self.store.insert(&self.state).map_err(|_| Stop::Memory)?;
        numbers.state_bytes = numbers.state_bytes.max(self.state.len() as u64);
        if self.colours.len() <= inserted.id.index() {
            self.colours.resize(inserted.id.index() + 1, WHITE);
        }
        self.colours[inserted.id.index()] = CYAN;
        let accepting = self.system.has_label(&self.state, Label::Accept);
        self.path.push(Some(inserted.id), accepting, &self.state, depth);
        if self.enabled.is_empty()
            && self.options.deadlocks
            && !self.system.is_valid_end(&self.state)
        {
            self.report(|_, steps| Counterexample::invalid_end(steps), &[])?;
        }
        let ample = self.choose();
        self.colours[inserted.id.index()] |= ample << AMPLE_SHIFT;
        push_steps(
            &self.enabled,
            self.candidate(),
            ample,
            self.options,
            self.target,
            &mut self.path,
        );
        let memory = self.store.bytes() + self.path.bytes.capacity() + self.colours.capacity();
        let (states, queue) = (self.store.len() as u64, self.path.frames.len() as u64);
        let transitions = states + self.finding.statistics.matched;
        let stop = self.budget.poll(|| Progress {
            states,
            transitions,
            depth,
            queue,
            memory,
            ..Progress::default()
        });
        stop.map_or(Ok(()), Err)
    }

    /// The first process whose present steps may be explored alone.
    fn candidate(&self) -> Option<ProcessId> {
        let least = match self.options.scheme {
            Scheme::Full => return None,
            Scheme::SourceState(least) => least,
            Scheme::IntermediateState => Locality::Safe,
        };
        let mut processes = self.enabled.by_process();
        let alone = self.enabled.by_process().nth(1).is_none();
        processes
            .find(|(process, _)| {
                !alone
                    && self.system.locality(&self.state, *process) >= least
                    && !self.system.is_visible(&self.state, *process)
            })
            .map(|(process, _)| process)
    }

    /// Which automaton moves keep the ample set of the candidate: a bit each, in order.
    fn choose(&mut self) -> u8 {
        let Some(process) = self.candidate() else { return 0 };
        let all = (1 << AMPLE_BITS) - 1;
        let mut refused: u8 = 0;
        for at in 0..self.enabled.of(process).len() {
            let step = self.enabled.of(process)[at];
            if !self.leads_to_path(step) {
                continue;
            }
            match self.options.scheme {
                Scheme::IntermediateState => {
                    refused |= target_bit(&self.enabled, process, self.target, step);
                }
                _ => return 0,
            }
        }
        all & !refused
    }

    /// Whether a step ends on the path of the first search (or inside an indivisible sequence, whose
    /// end is not known yet).
    fn leads_to_path(&mut self, step: Step) -> bool {
        self.probe.clear();
        self.probe.extend_from_slice(&self.state);
        if let Outcome::Broken(_) = self.system.apply(&mut self.probe, step) {
            return true;
        }
        self.probe_enabled.clear();
        self.system.enabled(&mut self.probe, &mut self.probe_enabled);
        self.system.is_transient(&self.probe)
            || self
                .store
                .lookup(&self.probe)
                .is_some_and(|id| self.colours[id.index()] & COLOUR == CYAN)
    }

    /// Leaves the last state of the path of the first search.
    fn leave(&mut self) -> Result<(), Stop> {
        let Some(frame) = self.path.frames.last() else { return Ok(()) };
        let (id, accepting, all_red) = (frame.id, frame.accepting, frame.all_red);
        if let Some(id) = id {
            let colour = if all_red {
                RED
            } else if accepting {
                self.red(id)?;
                RED
            } else {
                BLUE
            };
            self.paint(id, colour);
            self.path.pop();
            if let Some(parent) = self.path.last_stored() {
                parent.all_red &= colour == RED;
            }
        } else {
            self.path.pop();
        }
        Ok(())
    }

    fn paint(&mut self, id: StateId, colour: u8) {
        let known = &mut self.colours[id.index()];
        *known = *known & !COLOUR | colour;
    }

    /// The second search, from an accepting state that the first one is about to leave.
    fn red(&mut self, seed: StateId) -> Result<(), Stop> {
        self.path.rewind_last();
        let mut path = Path::default();
        self.state.clear();
        self.state.extend_from_slice(self.path.last_state());
        self.settle();
        self.push_red(&mut path, Some(seed));
        while !path.frames.is_empty() {
            let Some(step) = path.advance() else {
                path.pop();
                continue;
            };
            self.state.clear();
            self.state.extend_from_slice(path.last_state());
            if let Outcome::Broken(_) = self.system.apply(&mut self.state, step) {
                continue;
            }
            self.settle();
            if self.system.is_transient(&self.state) {
                if !path.repeats(&self.state) {
                    self.push_red(&mut path, None);
                }
                continue;
            }
            // Cut off by the depth limit, the first search may not have stored it.
            let Some(id) = self.store.lookup(&self.state) else { continue };
            self.finding.statistics.matched += 1;
            match self.colours[id.index()] & COLOUR {
                CYAN => {
                    let steps: Vec<Step> = path.taken().collect();
                    return self.report_cycle(id, &steps);
                }
                BLUE => {
                    self.paint(id, RED);
                    self.push_red(&mut path, Some(id));
                    let memory = self.store.bytes() + path.bytes.capacity();
                    let stop = self.budget.poll(|| Progress { memory, ..Progress::default() });
                    if let Some(stop) = stop {
                        return Err(stop);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn push_red(&mut self, path: &mut Path, id: Option<StateId>) {
        path.push(id, false, &self.state, 0);
        match id {
            Some(id) => {
                let ample = self.colours[id.index()] >> AMPLE_SHIFT;
                let candidate = if ample == 0 { None } else { self.candidate() };
                push_steps(&self.enabled, candidate, ample, self.options, self.target, path);
            }
            None => path.steps.extend_from_slice(self.enabled.steps()),
        }
    }

    fn mark_taken(&mut self, step: Step) {
        let keys = [Some(self.system.transition_key(step)), self.system.partner_key(step)];
        for key in keys.into_iter().flatten() {
            if let Some(taken) = self.taken.get_mut(key) {
                *taken = true;
            }
        }
    }

    fn report_fault(&mut self, fault: u32) -> Result<(), Stop> {
        let found = Counterexample::from_fault(self.system, Vec::new(), fault);
        if found.kind == ViolationKind::Assertion && !self.options.assertions {
            return Ok(());
        }
        self.report(|_, steps| Counterexample { steps, ..found }, &[])
    }

    /// The path of the first search, then `rest`, closes a cycle at the cyan state `at`.
    fn report_cycle(&mut self, at: StateId, rest: &[Step]) -> Result<(), Stop> {
        let start = self.path.frames.iter().position(|frame| frame.id == Some(at));
        let kind = self.options.kind;
        self.report(
            |_, steps| Counterexample {
                steps,
                kind,
                fault: None,
                message: String::new(),
                cycle_start: start,
            },
            rest,
        )
    }

    fn report(
        &mut self,
        make: impl FnOnce(&S, Vec<Step>) -> Counterexample,
        rest: &[Step],
    ) -> Result<(), Stop> {
        self.finding.statistics.errors += 1;
        if self.finding.counterexample.is_none() {
            let mut steps: Vec<Step> = self.path.taken().collect();
            steps.extend_from_slice(rest);
            self.finding.counterexample = Some(make(self.system, steps));
        }
        let enough = self.options.max_errors;
        if enough != 0 && self.finding.statistics.errors >= enough {
            return Err(Stop::Fault);
        }
        Ok(())
    }

    fn finish(mut self) -> Finding {
        let numbers = &mut self.finding.statistics;
        numbers.states = self.store.len() as u64;
        numbers.transitions = numbers.states + numbers.matched;
        let arrays = self.colours.capacity() + self.path.bytes.capacity();
        let memory = self.store.bytes() + arrays;
        numbers.memory_bytes = memory.max(self.budget.peak_memory()) as u64;
        numbers.bytes_per_state = self.store.bytes() as f64 / (numbers.states.max(1) as f64);
        numbers.seconds = self.budget.elapsed().as_secs_f64();
        if self.finding.counterexample.is_some() {
            self.finding.stop = None;
        } else if self.finding.stop.is_none() && !self.store.is_exact() {
            self.finding.stop = Some(Stop::LossyStore);
        }
        self.finding.unreached = self.system.unreached(&self.taken);
        self.finding
    }
}

/// The bit of the automaton move that `step` belongs to; moves beyond the last bit share it.
fn target_bit(enabled: &Enabled, process: ProcessId, target: fn(Step) -> u32, step: Step) -> u8 {
    let mut seen = 0;
    let mut last = None;
    for other in enabled.of(process) {
        if last.is_some_and(|last| last != target(*other)) {
            seen += 1;
        }
        last = Some(target(*other));
        if *other == step {
            break;
        }
    }
    1 << u32::min(seen, AMPLE_BITS - 1)
}

/// Adds the steps to explore: per automaton move those of the candidate alone, or everybody's.
fn push_steps(
    enabled: &Enabled,
    candidate: Option<ProcessId>,
    ample: u8,
    options: NestedOptions,
    target: fn(Step) -> u32,
    path: &mut Path,
) {
    match candidate {
        Some(process) if ample == (1 << AMPLE_BITS) - 1 => {
            let kept =
                |step: &&Step| step.process == process || step.process == ProcessId::PROPERTY;
            path.steps.extend(enabled.steps().iter().filter(kept));
        }
        Some(process) if ample != 0 && options.scheme == Scheme::IntermediateState => {
            let reduced: Vec<u32> = enabled
                .of(process)
                .iter()
                .filter(|step| ample & target_bit(enabled, process, target, **step) != 0)
                .map(|step| target(*step))
                .collect();
            let kept = |step: &&Step| {
                step.process == process
                    || step.process == ProcessId::PROPERTY
                    || !reduced.contains(&target(**step))
            };
            path.steps.extend(enabled.steps().iter().filter(kept));
        }
        _ => path.steps.extend_from_slice(enabled.steps()),
    }
}
