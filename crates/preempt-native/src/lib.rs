//! Promela as machine code.
//!
//! [`Native`] is a [`System`] like the reference interpreter and gives the same answers, step for
//! step; it only gives them faster. What has no machine code (creating processes, rendezvous, …) it
//! passes on to the interpreter it was made from. Translation takes milliseconds and needs no C
//! compiler.
//!
//! **Invariant:** every vector handed to machine code was produced by this system or its interpreter,
//! so offsets computed from it stay inside it.

mod channel;
mod code;
mod moves;
mod shape;
mod support;
mod value;

pub use code::CodeError;

use code::{Assembly, Executable, Helper, Parameter};
use moves::{ASK_STEP, Maker, Process};
use preempt_core::{
    Enabled, Fault, Footprint, Label, Locality, ObjectSet, Outcome, ProcessId, Step, Successors,
    System, Unreached, Value,
};
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::Program;
use shape::Shape;
use value::{OnFault, Scope, Tables};

type ListMoves = extern "C" fn(*const u8, *const u8, u32, u32, *mut u32) -> i32;
type TakeMove = extern "C" fn(*mut u8, *mut u8, u32, u32, u32) -> u32;
type Proposition = extern "C" fn(*const u8) -> u32;

/// More processes than a vector can count.
const MOST_PROCESSES: usize = 256;
/// More options in one control state than this are left to the interpreter.
const MOST_MOVES: usize = 512;

/// A program as machine code, with the interpreter for the rest.
pub struct Native<'p> {
    reference: &'p Interpreter,
    program: &'p Program,
    shape: Box<Shape>,
    list: Vec<ListMoves>,
    take: Vec<TakeMove>,
    propositions: Vec<Option<Proposition>>,
    _tables: Box<Tables>,
    _code: Executable,
}

// SAFETY: the raw pointers inside point at tables that this value owns and never changes.
unsafe impl Sync for Native<'_> {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Native<'_> {}

use Parameter::{Address, Number};

const HELPERS: [Helper; 3] = [
    Helper {
        name: "locate",
        address: shape::locate as *const u8,
        parameters: &[Address, Address, Number],
        result: Address,
    },
    Helper {
        name: "frame_of",
        address: shape::frame_of as *const u8,
        parameters: &[Address, Address, Number, Number],
        result: Number,
    },
    Helper {
        name: "remove",
        address: shape::remove as *const u8,
        parameters: &[Address, Number, Number],
        result: Number,
    },
];

impl<'p> Native<'p> {
    /// Translates the program of an interpreter.
    pub fn new(reference: &'p Interpreter) -> Result<Self, CodeError> {
        let program = reference.program();
        refuse(program)?;
        let shape = Box::new(Shape::new(program));
        let layout = &program.layout;
        let tables = Box::new(Tables {
            channels: layout
                .channels
                .iter()
                .map(|c| u64::from(c.channel_type) << 32 | u64::from(c.offset))
                .collect(),
            capacities: layout.channel_types.iter().map(|t| t.capacity).collect(),
            shape: std::ptr::from_ref(&*shape).cast(),
        });
        let mut assembly = Assembly::new(&HELPERS)?;
        let (mut lists, mut takes) = (Vec::new(), Vec::new());
        for proctype in &program.proctypes {
            let maker = Maker { program, proctype, tables: &tables };
            lists.push(assembly.function(
                &[Address, Address, Number, Number, Address],
                Number,
                |code, p| {
                    let process = Process { state: p[0], frame: p[1], pid: p[2] };
                    maker.list(code, process, p[3], p[4]);
                },
            )?);
            takes.push(assembly.function(
                &[Address, Address, Number, Number, Number],
                Number,
                |code, p| {
                    let process = Process { state: p[0], frame: p[1], pid: p[2] };
                    maker.take(code, process, p[3], p[4]);
                },
            )?);
        }
        let mut propositions = Vec::new();
        for &id in &program.propositions {
            let support = support::Support { program, own_channels: &[] };
            if !support.expr(id) || value::can_fault(program, id) {
                propositions.push(None);
                continue;
            }
            let function = assembly.function(&[Address], Number, |code, p| {
                let nobody = code.number(0);
                let scope = Scope {
                    program,
                    tables: &tables,
                    own_channels: &[],
                    state: p[0],
                    frame: p[0],
                    pid: nobody,
                    timeout: nobody,
                    on_fault: OnFault::Return,
                };
                let value = scope.value(code, id);
                code.give(value);
            })?;
            propositions.push(Some(function));
        }
        let code = assembly.finish()?;
        // SAFETY: the functions were made with these very signatures, and live as long as `code`.
        let (list, take, propositions) = unsafe {
            (
                lists.iter().map(|f| std::mem::transmute(code.address(*f))).collect(),
                takes.iter().map(|f| std::mem::transmute(code.address(*f))).collect(),
                propositions
                    .iter()
                    .map(|f| f.map(|f| std::mem::transmute(code.address(f))))
                    .collect(),
            )
        };
        Ok(Native {
            reference,
            program,
            shape,
            list,
            take,
            propositions,
            _tables: tables,
            _code: code,
        })
    }

    /// Lists the enabled moves of a process; `None` when the interpreter must be asked.
    #[inline]
    fn moves<'o>(
        &self,
        state: &[u8],
        (proctype, frame): (u8, u32),
        pid: usize,
        timeout: bool,
        out: &'o mut [u32; MOST_MOVES],
    ) -> Option<&'o [u32]> {
        let list = self.list[usize::from(proctype)];
        // SAFETY: `frame` is the offset of a frame of this vector.
        let at = unsafe { state.as_ptr().add(frame as usize) };
        let count = list(state.as_ptr(), at, pid as u32, timeout.into(), out.as_mut_ptr());
        usize::try_from(count).ok().map(|count| &out[..count])
    }

    /// Calls `each` for every enabled move, in order; `false` when the interpreter must be asked.
    #[inline]
    fn for_each_move(
        &self,
        state: &mut [u8],
        frames: &[(u8, u32)],
        mut each: impl FnMut(&mut [u8], usize, (u8, u32), u32),
    ) -> bool {
        let mut out = [0; MOST_MOVES];
        if state[0] != 0 {
            let pid = usize::from(state[0]) - 1;
            let Some(moves) = self.moves(state, frames[pid], pid, false, &mut out) else {
                return false;
            };
            for &id in moves {
                each(state, pid, frames[pid], id);
            }
            if !moves.is_empty() {
                return true;
            }
            state[0] = 0;
        }
        for timeout in [false, true] {
            let mut found = false;
            for (pid, &frame) in frames.iter().enumerate().rev() {
                let Some(moves) = self.moves(state, frame, pid, timeout, &mut out) else {
                    return false;
                };
                found |= !moves.is_empty();
                for &id in moves {
                    each(state, pid, frame, id);
                }
            }
            if found || !self.program.uses_timeout {
                break;
            }
        }
        true
    }

    /// Takes a move in place; `None` when the interpreter must take it.
    #[inline]
    fn take(
        &self,
        state: &mut [u8],
        (proctype, frame): (u8, u32),
        pid: usize,
        id: u32,
    ) -> Option<Outcome> {
        let take = self.take[usize::from(proctype)];
        let base = state.as_mut_ptr();
        // SAFETY: `frame` is the offset of a frame of this vector.
        let at = unsafe { base.add(frame as usize) };
        match take(base, at, pid as u32, id, 0) {
            0 => Some(Outcome::Done),
            result if result == ASK_STEP as u32 => None,
            result if result & 3 == 1 => Some(Outcome::Violated(result >> 2)),
            result => Some(Outcome::Broken(result >> 2)),
        }
    }
}

/// The frames of a vector, in a fixed room.
struct Frames {
    list: [(u8, u32); MOST_PROCESSES],
    count: usize,
}

impl Frames {
    #[inline]
    fn of(shape: &Shape, state: &[u8]) -> Self {
        let mut frames = Frames { list: [(0, 0); MOST_PROCESSES], count: 0 };
        for frame in shape.frames(state) {
            frames.list[frames.count] = frame;
            frames.count += 1;
        }
        frames
    }

    #[inline]
    fn as_slice(&self) -> &[(u8, u32)] {
        &self.list[..self.count]
    }
}

/// Programs whose every step needs the interpreter.
fn refuse(program: &Program) -> Result<(), CodeError> {
    let why = if program.layout.has_priorities {
        "it uses priorities"
    } else if program.proctypes.iter().any(|p| p.provided.is_some()) {
        "it uses provided clauses"
    } else if program.trace.is_some() {
        "it has a trace automaton"
    } else if program.proctypes.iter().flat_map(|p| &p.states).any(|s| s.moves.len() > MOST_MOVES) {
        "a selection has too many options"
    } else {
        return Ok(());
    };
    Err(CodeError(why.into()))
}

impl System for Native<'_> {
    fn initial(&self, state: &mut Vec<u8>) -> Outcome {
        self.reference.initial(state)
    }

    fn process_count(&self, state: &[u8]) -> usize {
        usize::from(state[1])
    }

    fn enabled(&self, state: &mut Vec<u8>, enabled: &mut Enabled) {
        let frames = Frames::of(&self.shape, state);
        let done = self.for_each_move(state, frames.as_slice(), |_, pid, _, id| {
            enabled.push(Step::new(ProcessId(pid as u16), id));
        });
        if !done {
            enabled.clear();
            self.reference.enabled(state, enabled);
        }
    }

    fn apply(&self, state: &mut Vec<u8>, step: Step) -> Outcome {
        if step.partner.is_none() {
            let pid = step.process.index();
            let frame = self.shape.frames(state).nth(pid);
            let taken = frame.and_then(|frame| self.take(state, frame, pid, step.transition));
            if let Some(outcome) = taken {
                return outcome;
            }
        }
        self.reference.apply(state, step)
    }

    fn expand(
        &self,
        state: &mut Vec<u8>,
        enabled: &mut Enabled,
        scratch: &mut Vec<u8>,
        out: &mut Successors,
    ) {
        enabled.clear();
        let frames = Frames::of(&self.shape, state);
        let before = (out.list.len(), out.bytes.len());
        let done = self.for_each_move(state, frames.as_slice(), |state, pid, frame, id| {
            let step = Step::new(ProcessId(pid as u16), id);
            enabled.push(step);
            let start = out.bytes.len();
            out.bytes.extend_from_slice(state);
            let outcome = self.take(&mut out.bytes[start..], frame, pid, id).unwrap_or_else(|| {
                out.bytes.truncate(start);
                scratch.clear();
                scratch.extend_from_slice(state);
                let outcome = self.reference.apply(scratch, step);
                out.bytes.extend_from_slice(scratch);
                outcome
            });
            out.list.push((step, outcome, start..out.bytes.len()));
        });
        if done {
            return;
        }
        out.list.truncate(before.0);
        out.bytes.truncate(before.1);
        enabled.clear();
        self.reference.enabled(state, enabled);
        for &step in enabled.steps() {
            scratch.clear();
            scratch.extend_from_slice(state);
            let outcome = self.apply(scratch, step);
            let start = out.bytes.len();
            out.bytes.extend_from_slice(scratch);
            out.list.push((step, outcome, start..out.bytes.len()));
        }
    }

    fn is_transient(&self, state: &[u8]) -> bool {
        state[0] != 0
    }

    fn proposition(&self, state: &[u8], index: usize) -> bool {
        match self.propositions[index] {
            Some(evaluate) => evaluate(state.as_ptr()) != 0,
            None => self.reference.proposition(state, index),
        }
    }

    fn depth_of(&self, step: Step) -> u32 {
        self.reference.depth_of(step)
    }

    fn transition_count(&self) -> usize {
        self.reference.transition_count()
    }

    fn transition_key(&self, step: Step) -> usize {
        self.reference.transition_key(step)
    }

    fn partner_key(&self, step: Step) -> Option<usize> {
        self.reference.partner_key(step)
    }

    fn unreached(&self, taken: &[bool]) -> Vec<Unreached> {
        self.reference.unreached(taken)
    }

    fn is_valid_end(&self, state: &[u8]) -> bool {
        self.reference.is_valid_end(state)
    }

    fn has_label(&self, state: &[u8], label: Label) -> bool {
        self.reference.has_label(state, label)
    }

    fn proposition_count(&self) -> usize {
        self.reference.proposition_count()
    }

    fn locality(&self, state: &[u8], process: ProcessId) -> Locality {
        self.reference.locality(state, process)
    }

    fn is_visible(&self, state: &[u8], process: ProcessId) -> bool {
        self.reference.is_visible(state, process)
    }

    fn footprint(&self, state: &[u8], step: Step) -> Option<&Footprint> {
        self.reference.footprint(state, step)
    }

    fn future(&self, state: &[u8], process: ProcessId) -> Option<&Footprint> {
        self.reference.future(state, process)
    }

    fn observed(&self) -> Option<&ObjectSet> {
        self.reference.observed()
    }

    fn fault(&self, number: u32) -> Fault {
        self.reference.fault(number)
    }

    fn process_name(&self, state: &[u8], process: ProcessId) -> String {
        self.reference.process_name(state, process)
    }

    fn describe(&self, state: &[u8], step: Step) -> (String, u32, String) {
        self.reference.describe(state, step)
    }

    fn position(&self, state: &[u8], process: ProcessId) -> Option<(String, u32, String)> {
        self.reference.position(state, process)
    }

    fn variables(&self, state: &[u8]) -> Vec<(String, Value)> {
        self.reference.variables(state)
    }
}
