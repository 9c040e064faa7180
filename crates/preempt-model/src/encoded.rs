//! A typed model as a system over byte vectors.
//!
//! A state of the system is the encoding of a state of the model. A model with several initial states
//! gets one state more, in front of all others: there a process of its own, which does nothing
//! afterwards, picks where to start. So no start is a preemption.
//!
//! For temporal properties ([`Encoded::temporal`]) actions that lead outside the model's limits lead to one
//! more state, where [a proposition](Encoded::cut_proposition) of its own is true: an execution that is
//! cut there is neither one that ends nor one that goes on for ever.
//!
//! **Invariant:** actions are numbered by their place in what [`Model::actions`] adds, so a step means
//! the same wherever the same state is met. The first states are asked twice; a model that answers
//! differently, loses parts of its state in serialisation or names a process that does not exist ends
//! the search with a fault that says so.

use crate::codec::{check, decode, encode};
use crate::footprints::Table;
use crate::moves::{self, Move};
use crate::promises::Tried;
use crate::{Expectation, Model, Property};
use preempt_core::engine::{Answer, Request, Sink, by_steps};
use preempt_core::{
    Describe, Enabled, Fault, FaultKind, Footprint, Independence, Locality, ObjectSet, Outcome,
    ProcessId, Step, System, Value,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many states are examined for mistakes that would make a search meaningless.
const EXAMINED: usize = 1_000;
/// The number of the fault behind such a mistake; properties have the numbers below.
const MISUSE: u32 = 1 << 30;

const ROOT: u8 = 0;
const STATE: u8 = 1;
const CUT: u8 = 2;

/// What a state of the system represents.
enum Place<'b> {
    /// Nothing was picked yet.
    Start,
    /// Outside the model's limits.
    Cut,
    /// The encoding of a state of the model.
    At(&'b [u8]),
}

/// A model that searches can explore.
pub struct Encoded<'a, M: Model> {
    model: &'a M,
    properties: Vec<Property<M>>,
    processes: Vec<String>,
    footprints: Option<Table<M, M::State>>,
    /// Its footprints make no sense, so the model cannot be explored at all.
    is_refused: bool,
    several: bool,
    /// Whether executions are judged by temporal properties, rather than states by conditions.
    temporal: bool,
    examined: AtomicUsize,
    misuse: Mutex<Option<String>>,
    /// By property: whether a state satisfied it. Only kept for [`Expectation::Sometimes`].
    seen: Vec<AtomicBool>,
}

impl<'a, M: Model> Encoded<'a, M> {
    /// Prepares a model for a search.
    pub fn new(model: &'a M) -> Self {
        let properties = model.properties();
        let footprints = model.footprints().map(Table::new).transpose();
        let misuse = footprints.as_ref().err().cloned();
        Encoded {
            seen: properties.iter().map(|_| AtomicBool::new(false)).collect(),
            properties,
            processes: model.processes(),
            footprints: footprints.unwrap_or_default(),
            is_refused: misuse.is_some(),
            several: model.initial_states().len() > 1,
            temporal: false,
            examined: AtomicUsize::new(0),
            misuse: Mutex::new(misuse),
            model,
        }
    }

    /// Prepares a model for the search of temporal properties: what is expected of states is ignored.
    pub fn temporal(model: &'a M) -> Self {
        Encoded { temporal: true, ..Self::new(model) }
    }

    /// Whether an execution begins with a step that picks one of several initial states.
    pub fn picks_its_start(&self) -> bool {
        self.several
    }

    /// The proposition that is true where an execution was cut, of a [temporal](Encoded::temporal) system.
    pub fn cut_proposition(&self) -> usize {
        self.properties.iter().map(|property| property.propositions.len()).sum()
    }

    /// What is expected of the model.
    pub fn properties(&self) -> &[Property<M>] {
        &self.properties
    }

    /// Whether a search reached a state that satisfies the condition of this property, which must be of
    /// the kind [`Expectation::Sometimes`].
    pub fn was_seen(&self, property: usize) -> bool {
        self.seen[property].load(Ordering::Relaxed)
    }

    /// The number of a property's first proposition; the others follow.
    pub fn first_proposition(&self, property: usize) -> usize {
        self.properties[..property].iter().map(|p| p.propositions.len()).sum()
    }

    fn place<'b>(&self, bytes: &'b [u8]) -> Place<'b> {
        match (self.is_tagged(), bytes) {
            (false, bytes) => Place::At(bytes),
            (true, [STATE, state @ ..]) => Place::At(state),
            (true, [CUT, ..]) => Place::Cut,
            (true, _) => Place::Start,
        }
    }

    /// Whether a byte in front says what the others mean.
    fn is_tagged(&self) -> bool {
        self.several || self.temporal
    }

    /// The state of the model behind a state of the system; `None` before one was picked, and outside the
    /// model's limits.
    pub fn decode(&self, bytes: &[u8]) -> Option<Result<M::State, String>> {
        match self.place(bytes) {
            Place::At(state) => Some(decode(state)),
            Place::Start | Place::Cut => None,
        }
    }

    /// For questions that come after the search asked for the steps of the state, where a state that
    /// cannot be decoded has been reported.
    fn known(&self, bytes: &[u8]) -> Option<M::State> {
        self.decode(bytes)?.ok()
    }

    fn encode(&self, state: &M::State, bytes: &mut Vec<u8>) -> Result<(), String> {
        if self.is_tagged() {
            bytes.push(STATE);
        }
        encode(state, bytes)
    }

    fn start_process(&self) -> ProcessId {
        ProcessId(self.processes.len() as u16)
    }

    /// The possible moves of a state, process by process.
    fn moves(&self, bytes: &[u8]) -> Result<Vec<Move<M::State>>, String> {
        match self.place(bytes) {
            Place::Cut => Ok(Vec::new()),
            Place::Start => {
                let process = self.start_process();
                let states = self.model.initial_states().into_iter().map(Some).zip(0..);
                Ok(states.map(|(next, number)| Move { process, number, next }).collect())
            }
            Place::At(state) => {
                let mut moves =
                    moves::of(self.model, self.processes.len(), &decode(state)?, self.temporal)?;
                moves.sort_by_key(|found| found.process);
                Ok(moves)
            }
        }
    }

    /// Looks for mistakes in the first states that a search comes by.
    fn examine(&self, bytes: &[u8], moves: &[Move<M::State>]) -> Result<(), String> {
        if self.examined.load(Ordering::Relaxed) >= EXAMINED {
            return Ok(());
        }
        self.examined.fetch_add(1, Ordering::Relaxed);
        let mut encoding = Vec::new();
        for next in moves.iter().filter_map(|found| found.next.as_ref()) {
            encoding.clear();
            encode(next, &mut encoding)?;
            check(next, &encoding)?;
        }
        let again = self.moves(bytes)?;
        let same = moves.len() == again.len()
            && moves
                .iter()
                .zip(&again)
                .all(|(a, b)| (a.process, a.number) == (b.process, b.number) && a.next == b.next);
        if !same {
            return Err("the same state has different actions when it is asked again".into());
        }
        match (&self.footprints, self.place(bytes)) {
            (Some(table), Place::At(state)) => {
                let tried = Tried {
                    model: self.model,
                    processes: &self.processes,
                    table,
                    properties: &self.properties,
                };
                tried.examine(&decode(state)?, moves)
            }
            _ => Ok(()),
        }
    }

    /// The control point of a process; `None` if the model does not say what processes touch, and outside its states.
    fn point(&self, state: &[u8], process: ProcessId) -> Option<(&Table<M, M::State>, usize)> {
        let table = self.footprints.as_ref()?;
        let state = self.known(state)?;
        let process = Some(process.index()).filter(|process| *process < self.processes.len())?;
        Some((table, table.point(self.model, &state, process).ok()?))
    }

    /// What the process that picks where to start touches after that: nothing.
    fn idle(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        let has_started = !matches!(self.place(state), Place::Start);
        let table = self.footprints.as_ref()?;
        (process.index() >= self.processes.len() && has_started).then(|| table.nothing())
    }

    /// The moves of a state, after a look for mistakes; those end as a step that breaks.
    fn checked_moves(&self, bytes: &[u8]) -> Option<Vec<Move<M::State>>> {
        let moves = self.moves(bytes).and_then(|moves| {
            self.examine(bytes, &moves)?;
            Ok(moves)
        });
        moves.map_err(|message| self.note_misuse(message)).ok()
    }

    /// What was found wrong with the model, if anything was: an answer about it means nothing then.
    pub fn misuse(&self) -> Option<String> {
        let known = self.misuse.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.as_ref().map(|reason| format!("the model cannot be explored: {reason}"))
    }

    fn note_misuse(&self, message: String) -> u32 {
        let mut known = self.misuse.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.get_or_insert(message);
        MISUSE
    }

    /// Writes a state, and says which property it violates.
    fn arrive(&self, state: Option<&M::State>, bytes: &mut Vec<u8>) -> Outcome {
        let Some(state) = state else {
            bytes.push(CUT);
            return Outcome::Done;
        };
        if let Err(message) = self.encode(state, bytes) {
            return Outcome::Broken(self.note_misuse(message));
        }
        let mut outcome = Outcome::Done;
        if self.temporal {
            return outcome;
        }
        for (property, number) in self.properties.iter().zip(0..) {
            let holds = || (property.propositions[0].holds)(self.model, state);
            match property.expectation {
                Expectation::Always if outcome == Outcome::Done && !holds() => {
                    outcome = Outcome::Violated(number);
                }
                Expectation::Sometimes => {
                    let seen = &self.seen[number as usize];
                    if !seen.load(Ordering::Relaxed) && holds() {
                        seen.store(true, Ordering::Relaxed);
                    }
                }
                _ => {}
            }
        }
        outcome
    }

    /// Whether something could happen in a state, but only outside the model's limits.
    fn is_cut(&self, state: &M::State) -> bool {
        let mut actions = Vec::new();
        self.model.actions(state, &mut actions);
        actions.iter().any(|action| self.model.next(state, action).is_some())
    }

    fn proposition_at(&self, index: usize) -> Option<&crate::Proposition<M>> {
        self.properties.iter().flat_map(|property| &property.propositions).nth(index)
    }
}

/// The step that reports a misuse.
fn misuse_step() -> Step {
    Step::new(ProcessId(0), MISUSE)
}

impl<M: Model> System for Encoded<'_, M> {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        if self.is_refused {
            return Outcome::Broken(MISUSE);
        }
        if self.several {
            state.push(ROOT);
            return Outcome::Done;
        }
        match self.model.initial_states().first() {
            Some(first) => self.arrive(Some(first), state),
            None => Outcome::Broken(self.note_misuse("the model has no initial state".into())),
        }
    }

    fn process_count(&self, _state: &[u8]) -> usize {
        self.processes.len() + usize::from(self.several)
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        match self.checked_moves(state) {
            Some(moves) => {
                for found in moves {
                    enabled.push(Step::new(found.process, found.number));
                }
            }
            None => enabled.push(misuse_step()),
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        if step.transition == MISUSE {
            return Outcome::Broken(MISUSE);
        }
        let moves = match self.moves(state) {
            Ok(moves) => moves,
            Err(message) => return Outcome::Broken(self.note_misuse(message)),
        };
        let wanted = |found: &&Move<M::State>| {
            (found.process, found.number) == (step.process, step.transition)
        };
        let Some(found) = moves.iter().find(wanted) else {
            let message = "a step is taken where it is not enabled".into();
            return Outcome::Broken(self.note_misuse(message));
        };
        state.clear();
        self.arrive(found.next.as_ref(), state)
    }

    /// The actions of a state are asked for once, not once more for every step.
    fn successors(&self, request: Request, sink: Sink<'_>) -> Answer {
        let (answer, state, out) = match (request.answer_by_all(), sink) {
            (Some(answer), Sink::Copies(state, out)) => (answer, state, out),
            (_, sink) => return by_steps(self, request, sink),
        };
        match self.checked_moves(state) {
            Some(moves) => {
                for found in moves {
                    let start = out.data.len();
                    let outcome = self.arrive(found.next.as_ref(), &mut out.data);
                    let step = Step::new(found.process, found.number);
                    out.push_last(step, outcome, false, out.data.len() - start);
                }
            }
            None => out.push(misuse_step(), Outcome::Broken(MISUSE), false, state),
        }
        answer
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.known(state).is_none_or(|state| self.model.may_end(&state) || self.is_cut(&state))
    }

    fn proposition_count(&self) -> usize {
        self.cut_proposition() + usize::from(self.temporal)
    }

    fn proposition(&self, state: &[u8], index: usize) -> Result<bool, u32> {
        if index == self.cut_proposition() {
            return Ok(matches!(self.place(state), Place::Cut));
        }
        Ok(match (self.known(state), self.proposition_at(index)) {
            (Some(state), Some(proposition)) => (proposition.holds)(self.model, &state),
            _ => false,
        })
    }
}

impl<M: Model> Independence for Encoded<'_, M> {
    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        let local = process.index() < self.processes.len()
            && (self.known(state).is_some_and(|s| self.model.is_local(&s, process.index()))
                || self.present(state, process).is_some_and(Footprint::is_local));
        if local { Locality::Local } else { Locality::Shared }
    }

    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        match self.point(state, process) {
            Some((table, point)) if !table.is_visible(point) => false,
            _ => self.locality(state, process) != Locality::Local,
        }
    }

    fn present(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        match self.point(state, process) {
            Some((table, point)) => Some(table.present(point)),
            None => self.idle(state, process),
        }
    }

    fn footprint(&self, state: &[u8], step: Step) -> Option<&Footprint> {
        self.present(state, step.process)
    }

    fn future(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        match self.point(state, process) {
            Some((table, point)) => Some(table.future(point)),
            None => self.idle(state, process),
        }
    }

    fn signals(&self, state: &[u8], process: ProcessId) -> Option<&ObjectSet> {
        let (table, point) = self.point(state, process)?;
        Some(table.signals(point))
    }

    fn control_points(&self, state: &[u8], points: &mut Vec<u32>) {
        let (Some(table), Some(state)) = (&self.footprints, self.known(state)) else { return };
        for process in 0..self.processes.len() {
            match table.point(self.model, &state, process) {
                Ok(point) => points.push(point as u32),
                Err(_) => return points.clear(),
            }
        }
        if self.several {
            points.push(table.len() as u32);
        }
    }

    fn observed(&self) -> Option<&ObjectSet> {
        self.footprints.as_ref().map(Table::observed)
    }
}

impl<M: Model> Describe for Encoded<'_, M> {
    fn fault(&self, number: u32) -> Fault {
        let (kind, message) = match self.properties.get(number as usize) {
            Some(property) => (FaultKind::Assertion, format!("always: {}", property.name)),
            None => (FaultKind::Runtime, self.misuse().unwrap_or_default()),
        };
        Fault { kind, message, file: String::new(), line: 0 }
    }

    fn process_name(&self, _state: &[u8], process: ProcessId) -> String {
        self.processes.get(process.index()).cloned().unwrap_or_else(|| "start".into())
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        let text = match self.known(state) {
            _ if step.transition == MISUSE => "the model cannot be explored".into(),
            None => format!("initial state {}", step.transition),
            Some(state) => {
                let mut actions = Vec::new();
                self.model.actions(&state, &mut actions);
                let action = actions.get(step.transition as usize);
                action.map_or_else(String::new, |action| self.model.describe(action))
            }
        };
        (String::new(), 0, text)
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        self.known(state).map_or_else(Vec::new, |state| self.model.variables(&state))
    }
}
