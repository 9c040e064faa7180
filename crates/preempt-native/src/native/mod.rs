//! A program as machine code, with the interpreter for the rest.
//!
//! Here: the system and what it is made of, each part translated when it is first worth it. Then read
//! `expansion.rs` (all successors of a state), `selected_processes.rs` and `sleep_sets.rs` (some of them),
//! `differences.rs` (all of them, on a state that stays), `single_steps.rs`, and `system.rs`, which sends requests to
//! these.

mod differences;
mod expansion;
mod selected_processes;
mod single_steps;
mod sleep_sets;
mod system;

use crate::execute::workspace::{MOST_FIELDS, MOST_MOVES, Meeting, most_successors};
use crate::generate::code::CodeError;
use crate::generate::compiled::{
    Expanding, Parts, Proposition, Stepping, UndoLogging, halves, meeting, propositions,
};
use crate::generate::cranelift::{Assembly, Effort, Executable, FunctionId};
use crate::generate::helpers::HELPERS;
use crate::generate::sequence::Sequences;
use crate::generate::successors::resizes;
use crate::generate::support;
use crate::generate::touch::Sleeping;
use preempt_promela::interpret::Interpreter;
use preempt_promela::ir::{Move, Op, Program};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// So many questions are left to the interpreter, which answers them in about the time that a
/// translation takes.
const PATIENCE: u32 = 1000;

/// To translate a move takes about as long as the interpreter takes for so many questions.
const PATIENCE_PER_MOVE: u32 = 50;

/// A program as machine code, with the interpreter for the rest.
pub struct Native<'p> {
    reference: &'p Interpreter,
    parts: Parts<'p>,
    meeting: Box<Meeting>,
    /// The code of each proposition, and whether it may have no value.
    propositions: Vec<Option<(Proposition, bool)>>,
    /// Per move: how many bytes it can add, if it can change the length of the vector.
    growth: Vec<Option<u32>>,
    most_growth: usize,
    /// The most entries that one process can have.
    most_successors: usize,
    /// The most moves that one process can have.
    most_moves: usize,
    /// How often all successors of a state were asked for before that was translated.
    asked: AtomicU32,
    /// The same for single steps, which the search for the simplest counterexample and replays take.
    asked_for_steps: AtomicU32,
    /// Time that translations took since it was made, in nanoseconds.
    translation: AtomicU64,
    stepping: OnceLock<Option<Stepping>>,
    expanding: OnceLock<Option<Expanding>>,
    sleeping: OnceLock<Option<Sleeping>>,
    undo_logging: OnceLock<Option<UndoLogging>>,
    sequences: OnceLock<Option<Sequences>>,
    _code: Executable,
}

// SAFETY: the raw pointers inside point at tables that this value owns and never changes.
unsafe impl Sync for Native<'_> {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Native<'_> {}

impl<'p> Native<'p> {
    /// Translates the program of an interpreter.
    pub fn new(reference: &'p Interpreter) -> Result<Self, CodeError> {
        let program = reference.program();
        refuse(program)?;
        let parts = Parts::new(reference);
        let tables = &parts.tables;
        let mut assembly = Assembly::new(&HELPERS, Effort::Usual)?;
        let propositions = propositions(&mut assembly, program, tables)?;
        let halves = halves(&mut assembly, program, tables, false)?;
        let code = assembly.finish()?;
        // SAFETY: propositions are made with this very signature, and live as long as `code`.
        let propositions = unsafe {
            let address = |f: &FunctionId| {
                std::mem::transmute::<*const u8, Proposition>(code.address(*f).cast())
            };
            let can_fault = program.propositions.iter().map(|id| program.can_fault(*id));
            let functions = propositions.iter().zip(can_fault);
            functions.map(|(f, can_fault)| f.as_ref().map(|f| (address(f), can_fault))).collect()
        };
        let growth: Vec<_> = program.moves.iter().map(|m| growth(program, m)).collect();
        let most_growth = growth.iter().flatten().copied().max().unwrap_or(0);
        let meeting = Box::new(meeting(program, tables, &code, &halves, most_growth));
        let most_moves =
            program.proctypes.iter().flat_map(|p| &p.states).map(|s| s.moves.len()).max();
        Ok(Native {
            reference,
            parts,
            meeting,
            propositions,
            growth,
            // A joint step may create processes in both halves.
            most_growth: 2 * most_growth as usize,
            most_successors: most_successors(
                most_moves.unwrap_or(0),
                support::has_rendezvous(program),
            ),
            most_moves: most_moves.unwrap_or(0),
            asked: AtomicU32::new(0),
            asked_for_steps: AtomicU32::new(0),
            translation: AtomicU64::new(0),
            stepping: OnceLock::new(),
            expanding: OnceLock::new(),
            sleeping: OnceLock::new(),
            undo_logging: OnceLock::new(),
            sequences: OnceLock::new(),
            _code: code,
        })
    }

    /// Translates everything now; otherwise what a search needs is translated once it has asked
    /// often.
    pub fn prepare(&self) {
        self.translate_stepping();
        if let Some(expanding) = self.translate_expanding() {
            expanding.prepare(&self.parts);
        }
        self.sleeping();
        if let Some(undo_logging) = self.translate_undo_logging() {
            undo_logging.prepare(&self.parts);
        }
        if let Some(sequences) = self.sequences() {
            sequences.prepare();
        }
    }

    #[inline]
    fn stepping(&self) -> Option<&Stepping> {
        match self.stepping.get() {
            Some(stepping) => stepping.as_ref(),
            None if is_early(&self.asked_for_steps, self.patience_with_steps()) => None,
            None => self.translate_stepping(),
        }
    }

    /// Single steps are translated all at once, which takes the longer the more there are.
    fn patience_with_steps(&self) -> u32 {
        PATIENCE.saturating_add(
            (self.parts.program.moves.len() as u32).saturating_mul(PATIENCE_PER_MOVE),
        )
    }

    #[inline]
    fn expanding(&self) -> Option<&Expanding> {
        match self.expanding.get() {
            Some(expanding) => expanding.as_ref(),
            None if is_early(&self.asked, PATIENCE) => None,
            None => self.translate_expanding(),
        }
    }

    /// How long translations took that were made because a search asked often.
    pub fn translation_seconds(&self) -> f64 {
        self.translation.load(Ordering::Relaxed) as f64 * 1e-9
            + known(&self.expanding).map_or(0.0, Expanding::seconds)
            + known(&self.undo_logging).map_or(0.0, UndoLogging::seconds)
            + known(&self.sequences).map_or(0.0, Sequences::seconds)
    }

    fn timed<T>(&self, translate: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = translate();
        let taken = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.translation.fetch_add(taken, Ordering::Relaxed);
        made
    }

    #[cold]
    fn translate_stepping(&self) -> Option<&Stepping> {
        let made = || self.timed(|| Stepping::new(self.parts.program, &self.parts.tables).ok());
        self.stepping.get_or_init(made).as_ref()
    }

    #[cold]
    fn translate_expanding(&self) -> Option<&Expanding> {
        let made = || self.timed(|| Expanding::new(self.parts.program, false).ok());
        self.expanding.get_or_init(made).as_ref()
    }

    /// The code of indivisible sequences. Asked for only where states are expanded by machine code.
    #[inline]
    pub(crate) fn sequences(&self) -> Option<&Sequences> {
        let made = || self.timed(|| Sequences::new(self.parts.program, &self.parts.tables).ok());
        self.sequences.get_or_init(made).as_ref()
    }

    /// Asked only where states are expanded by machine code, so there is no need to wait with it.
    #[inline]
    fn sleeping(&self) -> Option<&Sleeping> {
        let made = || self.timed(|| Sleeping::new(self.parts.program, &self.parts.tables).ok());
        self.sleeping.get_or_init(made).as_ref()
    }

    #[inline]
    pub(crate) fn undo_logging(&self) -> Option<&UndoLogging> {
        match self.undo_logging.get() {
            Some(undo_logging) => undo_logging.as_ref(),
            None if is_early(&self.asked, PATIENCE) => None,
            None => self.translate_undo_logging(),
        }
    }

    #[cold]
    fn translate_undo_logging(&self) -> Option<&UndoLogging> {
        let made = || {
            self.timed(|| {
                UndoLogging::new(self.parts.program, &self.parts.tables, self.meeting.growth).ok()
            })
        };
        self.undo_logging.get_or_init(made).as_ref()
    }
}

/// What was made already, if it could be.
fn known<T>(made: &OnceLock<Option<T>>) -> Option<&T> {
    made.get().and_then(Option::as_ref)
}

/// Whether so little was asked yet that the interpreter answers sooner than code is made.
fn is_early(asked: &AtomicU32, patience: u32) -> bool {
    asked.fetch_add(1, Ordering::Relaxed) < patience
}

/// Programs whose every step needs the interpreter.
pub(crate) fn refuse(program: &Program) -> Result<(), CodeError> {
    let most_fields = program.layout.channel_types.iter().map(|t| t.fields.len()).max();
    let states = || program.proctypes.iter().flat_map(|p| &p.states);
    let why = if program.layout.has_priorities {
        "it uses priorities"
    } else if program.trace.is_some() {
        "it has a trace automaton"
    } else if states().any(|s| s.moves.len() > MOST_MOVES) {
        "a selection has too many options"
    } else if most_fields.is_some_and(|most| most > MOST_FIELDS) {
        "a message has too many fields"
    } else {
        return Ok(());
    };
    Err(CodeError(why.into()))
}

/// How many bytes a move can add, if it can change the length of the vector.
pub(crate) fn growth(program: &Program, taken: &Move) -> Option<u32> {
    let created = taken.ops.iter().map(|op| match op {
        Op::Run { proctype, .. } => program.proctypes[usize::from(proctype.0)].frame.length,
        _ => 0,
    });
    resizes(taken).then(|| created.sum())
}
