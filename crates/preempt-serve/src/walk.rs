//! One execution in the making: a path, with enough of its states kept to go anywhere along it quickly.
//!
//! Every [`STRIDE`]th state is kept, and what was counted up to it. What a requested path shares with the one
//! walked before is not executed again, so that one more step costs one step, however long the path is.
//! A walk has a [name](Walk::trail) for as long as it stays as it is, so that a request need not repeat it.
//!
//! **Invariant:** `state` is the state behind `steps`, or the one in front of the last step if that step
//! has no successor (`broken`); `enabled` holds its steps, none where the execution is broken.

use preempt_core::{
    Change, Enabled, Outcome, ProcessId, Step, Switch, SwitchCount, System, TraceStep,
    changes_between, describe_step,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The next name of a walk; none is given twice.
static NEXT_TRAIL: AtomicU64 = AtomicU64::new(1);

/// How many steps lie between two states that are kept.
const STRIDE: usize = 32;

/// How often a long walk looks at the clock.
const LOOK_EVERY: usize = 256;

/// See the module's text.
pub(crate) struct Walk {
    choices: Vec<u32>,
    steps: Vec<Step>,
    switches: Vec<Switch>,
    /// Which steps violated something, and what.
    faults: Vec<(usize, u32)>,
    /// The states in front of steps 0, [`STRIDE`], 2·[`STRIDE`], …
    kept: Vec<Vec<u8>>,
    /// What the steps in front of those states cost.
    costs: Vec<SwitchCount>,
    /// How many steps each process took part in.
    moves: Vec<u32>,
    /// The names of processes that have ended: no state at its end knows them.
    ended: HashMap<usize, String>,
    /// The name of the walk, once it was asked for.
    trail: Option<u64>,
    state: Vec<u8>,
    enabled: Enabled,
    /// What is wrong with the start, or with the last step, which has no successor.
    broken: Option<u32>,
    /// What the start violates.
    start_fault: Option<u32>,
}

/// A step of the path, as the lanes show it.
pub(crate) struct Row {
    pub(crate) step: TraceStep,
    /// The step itself, and the state in front of it.
    pub(crate) taken: Step,
    pub(crate) before: Vec<u8>,
    /// The fault behind it, if it violated something.
    pub(crate) fault: Option<u32>,
    /// The state it led to; the one before it if it has no successor.
    pub(crate) state: Vec<u8>,
}

/// One point of a walk: a state with what can happen there.
pub(crate) struct Moment {
    pub(crate) state: Vec<u8>,
    pub(crate) enabled: Enabled,
    /// The process that moved last.
    last: Option<ProcessId>,
    /// What the last step violated.
    pub(crate) fault: Option<u32>,
    /// The last step has no successor, and this is the state in front of it.
    pub(crate) broken: bool,
}

/// A step that could be taken now.
pub(crate) struct Preview {
    pub(crate) step: TraceStep,
    pub(crate) taken: Step,
    pub(crate) fault: Option<u32>,
    /// The step violates something and leads nowhere.
    pub(crate) broken: bool,
}

impl Walk {
    /// At the initial state.
    pub(crate) fn new(system: &dyn System) -> Self {
        let mut walk = Walk {
            choices: Vec::new(),
            steps: Vec::new(),
            switches: Vec::new(),
            faults: Vec::new(),
            kept: Vec::new(),
            costs: Vec::new(),
            moves: Vec::new(),
            ended: HashMap::new(),
            trail: None,
            state: Vec::new(),
            enabled: Enabled::new(),
            broken: None,
            start_fault: None,
        };
        let outcome = system.initial(&mut walk.state);
        if let Outcome::Violated(fault) = outcome {
            walk.start_fault = Some(fault);
        }
        match outcome {
            Outcome::Done | Outcome::Violated(_) => {
                system.enabled(&mut walk.state, &mut walk.enabled)
            }
            Outcome::Broken(fault) => walk.broken = Some(fault),
        }
        walk
    }

    pub(crate) fn choices(&self) -> &[u32] {
        &self.choices
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What the first `length` steps cost.
    pub(crate) fn cost(&self, length: usize) -> SwitchCount {
        let stride = (length / STRIDE).min(self.costs.len().saturating_sub(1));
        let mut count = self.costs.get(stride).copied().unwrap_or_default();
        let rest = self.switches.iter().take(length).skip(stride * STRIDE);
        rest.for_each(|switch| count.add(*switch));
        count
    }

    /// The processes that exist at its end or took part in a step, by id.
    pub(crate) fn cast(&self, system: &dyn System) -> impl Iterator<Item = usize> {
        let present = system.process_count(&self.state);
        (0..present.max(self.moves.len())).filter(move |pid| *pid < present || self.has_moved(*pid))
    }

    /// The name of a process of [`Walk::cast`].
    pub(crate) fn name(&self, system: &dyn System, pid: usize) -> String {
        let is_present = pid < system.process_count(&self.state);
        match (is_present, self.ended.get(&pid), u16::try_from(pid)) {
            (true, _, Ok(id)) => system.process_name(&self.state, ProcessId(id)),
            (false, Some(name), _) => name.clone(),
            _ => format!("process {pid}"),
        }
    }

    /// Whether a process takes part in a step.
    pub(crate) fn has_moved(&self, pid: usize) -> bool {
        self.moves.get(pid).is_some_and(|moves| *moves > 0)
    }

    /// Its name: a number that no other walk has or had, and that it loses when it changes.
    pub(crate) fn trail(&mut self) -> u64 {
        *self.trail.get_or_insert_with(|| NEXT_TRAIL.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether this is its name.
    pub(crate) fn is_trail(&self, name: u64) -> bool {
        self.trail == Some(name)
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn state(&self) -> &[u8] {
        &self.state
    }

    pub(crate) fn enabled(&self) -> &Enabled {
        &self.enabled
    }

    pub(crate) fn broken(&self) -> Option<u32> {
        self.broken
    }

    /// What the last step violated.
    pub(crate) fn last_fault(&self) -> Option<u32> {
        self.broken.or_else(|| self.fault_behind(self.steps.len()))
    }

    /// What the start violates, or the last of so many steps.
    fn fault_behind(&self, steps: usize) -> Option<u32> {
        match steps.checked_sub(1) {
            None => self.start_fault,
            Some(last) => self.faults.iter().find(|(at, _)| *at == last).map(|(_, fault)| *fault),
        }
    }

    fn last_mover(&self) -> Option<ProcessId> {
        self.steps.last().map(Step::mover)
    }

    /// How many steps this walk has in common with a path of `keep` steps of it and more.
    pub(crate) fn common(&self, keep: usize, more: &[u32]) -> usize {
        let same = self.choices.iter().skip(keep).zip(more).take_while(|(a, b)| a == b);
        keep + same.count()
    }

    /// Keeps the first `keep` steps and takes more, as far as they can be taken; says how far that is.
    pub(crate) fn go(
        &mut self,
        system: &dyn System,
        keep: usize,
        more: &[u32],
        deadline: Instant,
    ) -> Result<usize, OutOfTime> {
        let common = self.common(keep, more);
        self.back_to(system, common);
        for (at, choice) in more.iter().enumerate().skip(common - keep) {
            if at.is_multiple_of(LOOK_EVERY) && Instant::now() >= deadline {
                return Err(OutOfTime);
            }
            if !self.take(system, *choice) {
                break;
            }
        }
        Ok(self.len())
    }

    /// Takes one of the enabled steps by its number; false if there is none.
    pub(crate) fn take(&mut self, system: &dyn System, choice: u32) -> bool {
        let Some(step) = self.enabled.steps().get(choice as usize).copied() else { return false };
        if self.len().is_multiple_of(STRIDE) {
            self.costs.push(self.cost(self.len()));
            self.kept.push(self.state.clone());
        }
        self.trail = None;
        self.choices.push(choice);
        self.switches.push(system.switch(self.last_mover(), &self.enabled, &step));
        for process in movers(&step) {
            if process >= self.moves.len() {
                self.moves.resize(process + 1, 0);
            }
            self.moves[process] += 1;
        }
        let before = self.state.clone();
        let outcome = system.apply(&mut self.state, step);
        self.steps.push(step);
        let gone = system.process_count(&self.state)..system.process_count(&before);
        for (pid, id) in gone.filter_map(|pid| Some((pid, ProcessId(u16::try_from(pid).ok()?)))) {
            self.ended.insert(pid, system.process_name(&before, id));
        }
        self.enabled.clear();
        match outcome {
            Outcome::Done => system.enabled(&mut self.state, &mut self.enabled),
            Outcome::Violated(fault) => {
                self.faults.push((self.len() - 1, fault));
                system.enabled(&mut self.state, &mut self.enabled);
            }
            Outcome::Broken(fault) => {
                self.state = before;
                self.faults.push((self.len() - 1, fault));
                self.broken = Some(fault);
            }
        }
        true
    }

    /// Another walk along the first `length` steps.
    pub(crate) fn copy(&self, system: &dyn System, length: usize) -> Walk {
        let mut copy = Walk {
            choices: self.choices.clone(),
            steps: self.steps.clone(),
            switches: self.switches.clone(),
            faults: self.faults.clone(),
            kept: self.kept[..self.kept.len().min(length / STRIDE + 1)].to_vec(),
            costs: self.costs[..self.costs.len().min(length / STRIDE + 1)].to_vec(),
            moves: self.moves.clone(),
            ended: self.ended.clone(),
            trail: None,
            state: self.state.clone(),
            enabled: self.enabled.clone(),
            broken: self.broken,
            start_fault: self.start_fault,
        };
        copy.back_to(system, length);
        copy
    }

    /// The point behind the first `length` steps.
    pub(crate) fn moment(&self, system: &dyn System, length: usize) -> Moment {
        let length = length.min(self.len());
        if length == self.len() {
            return Moment {
                state: self.state.clone(),
                enabled: self.enabled.clone(),
                last: self.last_mover(),
                fault: self.last_fault(),
                broken: self.broken.is_some(),
            };
        }
        let (mut state, mut enabled) = (Vec::new(), Enabled::new());
        self.states(system, length..length + 1, &mut |_, found| state = found.to_vec());
        system.enabled(&mut state, &mut enabled);
        let last = length.checked_sub(1).map(|at| self.steps[at].mover());
        Moment { state, enabled, last, fault: self.fault_behind(length), broken: false }
    }

    /// Forgets all steps behind the first `length`.
    fn back_to(&mut self, system: &dyn System, length: usize) {
        if length >= self.len() {
            return;
        }
        let first = length / STRIDE * STRIDE;
        let mut state = self.kept[length / STRIDE].clone();
        let mut enabled = Enabled::new();
        for step in &self.steps[first..length] {
            enabled.clear();
            system.enabled(&mut state, &mut enabled);
            // It was taken before and had a successor: only the last step of a walk can be broken.
            system.apply(&mut state, *step);
        }
        self.trail = None;
        for process in self.steps[length..].iter().flat_map(movers) {
            self.moves[process] -= 1;
        }
        self.choices.truncate(length);
        self.steps.truncate(length);
        self.switches.truncate(length);
        self.faults.retain(|(at, _)| *at < length);
        self.kept.truncate(length.div_ceil(STRIDE));
        self.costs.truncate(length.div_ceil(STRIDE));
        self.state = state;
        self.broken = None;
        self.enabled.clear();
        system.enabled(&mut self.state, &mut self.enabled);
    }

    /// Calls `visit` with each state of a part of the path in front of its step, and the step's number.
    pub(crate) fn states(
        &self,
        system: &dyn System,
        range: Range<usize>,
        visit: &mut dyn FnMut(usize, &[u8]),
    ) {
        let range = range.start.min(self.len())..range.end.min(self.len());
        if range.is_empty() {
            return;
        }
        let first = range.start / STRIDE * STRIDE;
        let mut state = self.kept[range.start / STRIDE].clone();
        let mut enabled = Enabled::new();
        for at in first..range.end {
            enabled.clear();
            system.enabled(&mut state, &mut enabled);
            if at >= range.start {
                visit(at, &state);
            }
            if at + 1 < range.end {
                system.apply(&mut state, self.steps[at]);
            }
        }
    }

    /// A part of the path in words.
    pub(crate) fn rows(&self, system: &dyn System, range: Range<usize>) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut before: Vec<Vec<u8>> = Vec::new();
        let end = range.end.min(self.len());
        self.states(system, range.clone(), &mut |_, state| before.push(state.to_vec()));
        for (offset, at) in (range.start.min(end)..end).enumerate() {
            let (step, switch) = (self.steps[at], self.switches[at]);
            let mut described = describe_step(system, &before[offset], step, switch);
            let fault = self.faults.iter().find(|(index, _)| *index == at).map(|(_, fault)| *fault);
            let mut state = before[offset].clone();
            if self.broken.is_none() || at + 1 < self.len() {
                system.apply(&mut state, step);
                described.changes = changes(system, &before[offset], &state);
            }
            let before = before[offset].clone();
            rows.push(Row { step: described, taken: step, before, fault, state });
        }
        rows
    }
}

/// The processes that take part in a step.
fn movers(step: &Step) -> impl Iterator<Item = usize> + use<> {
    [Some(step.process), step.partner].into_iter().flatten().map(|process| process.index())
}

impl Moment {
    /// The enabled steps of some processes with their numbers, and what each would do.
    pub(crate) fn previews(
        &self,
        system: &dyn System,
        is_shown: impl Fn(usize) -> bool,
    ) -> Vec<(usize, Preview)> {
        let mut after = Vec::new();
        let mut preview = |step: &Step| {
            let switch = system.switch(self.last, &self.enabled, step);
            let mut described = describe_step(system, &self.state, *step, switch);
            after.clear();
            after.extend_from_slice(&self.state);
            let (fault, broken) = match system.apply(&mut after, *step) {
                Outcome::Done => (None, false),
                Outcome::Violated(fault) => (Some(fault), false),
                Outcome::Broken(fault) => (Some(fault), true),
            };
            if !broken {
                described.changes = changes(system, &self.state, &after);
            }
            Preview { step: described, taken: *step, fault, broken }
        };
        let steps = self.enabled.steps().iter().enumerate();
        let shown = steps.filter(|(_, step)| is_shown(step.process.index()));
        shown.map(|(number, step)| (number, preview(step))).collect()
    }
}

/// A path takes longer to follow than a request may.
#[derive(Debug)]
pub(crate) struct OutOfTime;

/// The variables that a step changed.
pub(crate) fn changes(system: &dyn System, before: &[u8], after: &[u8]) -> Vec<Change> {
    system
        .changed_variables(before, after)
        .unwrap_or_else(|| changes_between(&system.variables(before), &system.variables(after)))
}
