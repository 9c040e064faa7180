//! The intermediate form: a model as guarded moves per control state, all of it plain data.
//!
//! Everything an interpreter or a code generator needs is in [`Program`]: there are no closures,
//! no names to resolve and no types to infer. Expressions live in one arena ([`Program::exprs`]),
//! moves in one table ([`Program::moves`]); the index of a move is the `transition` of a
//! [`preempt_core::Step`].
//!
//! # The state vector
//!
//! ```text
//! byte 0   exclusive: 1 + the process inside an uninterrupted atomic sequence, 0 if there is none
//! byte 1   number of live processes
//! byte 2…  globals and global channels, at fixed offsets, up to Layout::globals_end
//! then     one frame per live process in order of creation, each Frame::length bytes long:
//!            +0  process type (index into Program::proctypes)
//!            +1  control state, Layout::pc_width bytes
//!            …   priority (one byte, if Layout::has_priorities), locals, the process's own channels
//! ```
//!
//! Numbers are little-endian and unaligned. A channel is its number of messages (Layout::length_width
//! bytes) followed by its slots; a rendezvous channel takes no room at all. Slots that hold no message are zero. So equal bytes
//! are equal states, and the length of the vector says nothing that the frames do not say.
//!
//! # Channel ids
//!
//! The value of a `chan` variable is an id: 1, 2, … for the global channels in order, then the
//! channels of process 0, of process 1, and so on. 0 is "no channel". Processes and their
//! channels come and go as on a stack, so an id is found by counting.
//!
//! # Which steps a state has
//!
//! Processes are asked from the youngest to the oldest. Of a process at control state `s`, the moves
//! `states[s].moves` are tried in order:
//! 1. a move whose [`Move::escape`] is not 0 belongs to an `unless`; once a move with escape group
//!    `g` was found enabled, moves of any other group (also group 0) are not tried any more;
//!    (a rendezvous send that no process answers lifts this restriction again, as in Spin);
//! 2. [`MoveKind::Else`] is enabled iff no earlier move of the list was;
//! 3. [`MoveKind::Plain`] is enabled iff its guard is not 0;
//! 4. sends and receives follow the channel: see [`MoveKind`];
//! 5. [`MoveKind::Compound`] (`d_step`) is enabled iff an option of its first block is;
//! 6. [`MoveKind::End`] is enabled iff the process is the youngest.
//!
//! If no process has a step and [`Program::uses_timeout`], a second round is made with
//! [`Expr::Timeout`] worth 1. A guard that cannot be evaluated (index out of bounds, …) counts as
//! enabled: taking the step then reports the fault.

mod automata;
mod expr;
mod layout;
mod lower;
mod mirror;
mod moves;
mod sequences;
mod slice;
mod value_kind;

pub use automata::{
    Automaton, AutomatonMove, AutomatonState, ClaimAction, TraceMove, TraceProgram, TraceState,
};
pub use expr::{
    ArgumentRange, BinaryOp, ChannelRef, ChannelTest, Expr, ExprId, Index, Pattern, PatternRange,
    Place, Space, UnaryOp,
};
pub use layout::{ChannelSlot, ChannelType, Frame, Layout, Named, NamedValue};
pub use lower::{LowerError, LowerOptions, can_be_lowered, lower};
pub use mirror::{Cell, Executor, FragmentRef, Mirror};
pub use moves::{Block, BlockGuard, BlockOption, Condition, Move, MoveKind, Op, Safety, Statement};
pub use sequences::EndlessSequences;
pub use slice::{Redundant, redundant};
pub use value_kind::{ValueKind, Width};

use crate::model::Mtype;
use crate::syntax::span::{SourceMap, Span};
use preempt_core::FaultKind;
use std::collections::HashMap;

/// A control state of a process type: index into [`Proctype::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pc(pub u16);

/// A move: index into [`Program::moves`], and the `transition` of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoveId(pub u32);

/// A possible fault: index into [`Program::faults`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultId(pub u32);

/// A whole model, ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where everything lies in the state vector.
    pub layout: Layout,
    /// All expressions; subexpressions come before the expressions that use them.
    pub exprs: Vec<Expr>,
    /// Message fields to be matched, referred to by ranges.
    pub patterns: Vec<Pattern>,
    /// Values to be sent, printed or passed, referred to by ranges.
    pub arguments: Vec<ExprId>,
    /// The process types.
    pub proctypes: Vec<Proctype>,
    /// All moves of all process types.
    pub moves: Vec<Move>,
    /// Everything that can go wrong.
    pub faults: Vec<FaultEntry>,
    /// Formats of `printf`, escapes replaced.
    pub formats: Vec<String>,
    /// The processes alive at the start, oldest first.
    pub start: Vec<ProctypeIndex>,
    /// The bytes of the initial global part, channels included (byte 0 and 1 are 0).
    pub initial_globals: Vec<u8>,
    /// State expressions that properties speak of.
    pub propositions: Vec<ExprId>,
    /// Never claims, in order of declaration.
    pub claims: Vec<Automaton>,
    /// The model's `ltl` blocks: which propositions they speak of.
    pub formulas: Vec<FormulaUse>,
    /// The `trace` or `notrace` automaton.
    pub trace: Option<TraceProgram>,
    /// Some expression contains [`Expr::Timeout`].
    pub uses_timeout: bool,
    /// Statements that cannot be told apart are one move.
    pub merges_statements: bool,
    /// What is reported when a process asks `enabled` about itself, if any process asks.
    pub circular_question: Option<FaultId>,
    /// Some process type has an `unless`.
    pub uses_unless: bool,
    /// Some channel may be a rendezvous channel.
    pub uses_rendezvous: bool,
    /// The pieces of C, and where they find the state.
    pub embedded: Option<Mirror>,
    /// Things worth reporting to the user about the translation.
    pub notes: Vec<String>,
    /// Where values are stored, sent or passed: for reports of where one was cut to its type.
    pub value_spans: HashMap<ExprId, Span>,
    /// Where messages are received: by the start of the pattern.
    pub pattern_spans: HashMap<u32, Span>,
    /// Files and expansions, for places in the source.
    pub sources: SourceMap,
    /// Symbolic constants, for showing values.
    pub mtypes: Vec<Mtype>,
}

/// Index into [`Program::proctypes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProctypeIndex(pub u8);

/// A process type.
#[derive(Clone, Debug)]
pub struct Proctype {
    /// Its name; `:init:` for `init`.
    pub name: String,
    /// Its frame.
    pub frame: Frame,
    /// Where the parameters go, in order.
    pub parameters: Vec<Place>,
    /// The bytes of a new frame before parameters and [`Proctype::on_start`].
    pub initial_frame: Vec<u8>,
    /// Initialisers that are not constants, run in order when the process starts, after
    /// the parameters and the ids of its own channels ([`Frame::channel_cells`]) are stored.
    pub on_start: Vec<Op>,
    /// Where it starts.
    pub entry: Pc,
    /// Its control states.
    pub states: Vec<ControlState>,
    /// `provided (…)`: the process moves only while this is not 0.
    pub provided: Option<ExprId>,
    /// Priority of the processes alive at the start, 1 by default.
    pub priority: u8,
    /// [`Move::number`] of its first statement, whose number within the process type is 1.
    pub first_number: u32,
    /// Labels of the source and the control states they stand at.
    pub labels: Vec<(String, Pc)>,
    /// What its processes promise about channels (`xr`, `xs`).
    pub promises: Vec<Promise>,
    /// `D_proctype`: what a step is reported for when an earlier move was enabled as well.
    pub deterministic: Option<FaultId>,
}

/// `xr c` or `xs c`: while a process of this type lives, it is the channel's only user on that side.
/// Reductions rely on it, so a search that reduces checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The channel, as that process sees it.
    pub channel: ChannelRef,
    /// The receiving side (`xr`), or the sending one (`xs`).
    pub receive: bool,
    /// What is reported when another process uses the channel.
    pub fault: FaultId,
}

/// A control state.
#[derive(Clone, Debug)]
pub struct ControlState {
    /// Its moves, in the order in which they are tried.
    pub moves: Vec<MoveId>,
    /// A process may rest here: the end of its body, or an `end` label.
    pub is_end: bool,
    /// An `accept` label stands here.
    pub is_accept: bool,
    /// A `progress` label stands here.
    pub is_progress: bool,
    /// Some expression of the model asks whether a process is here.
    pub is_observed: bool,
    /// Spin's number of this state within its process type, for `pc_value`.
    pub number: u16,
    /// What partial-order reduction may assume of all moves from here.
    pub safety: Safety,
    /// Where it stands.
    pub span: Span,
}

/// Something that can go wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultEntry {
    /// Its kind.
    pub kind: FaultKind,
    /// One sentence for people.
    pub message: String,
    /// Where.
    pub span: Span,
}

/// The propositions of an `ltl` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaUse {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// For each state expression of the formula, from left to right, its index in
    /// [`Program::propositions`].
    pub propositions: Vec<u32>,
}

impl Program {
    /// The expression behind an id.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// Whether some expression looks at what any step of any process may change: which process moved last,
    /// what another process can do, where it is.
    pub fn notices_every_step(&self) -> bool {
        let looks = |e: &Expr| matches!(e, Expr::LastMover | Expr::Enabled(_) | Expr::PcValue(_));
        self.exprs.iter().any(looks)
    }

    /// Whether a single step may take long: a `d_step` with a loop.
    pub fn has_loops_in_steps(&self) -> bool {
        let loops = |m: &Move| matches!(m.kind, MoveKind::Compound { endless: Some(_), .. });
        self.moves.iter().any(loops)
    }

    /// Has every step explored beside those of all other processes.
    pub fn take_nothing_for_safe(&mut self) {
        for state in self.proctypes.iter_mut().flat_map(|proctype| &mut proctype.states) {
            state.safety = Safety::Unsafe;
        }
    }

    /// Whether evaluating the expression can end in a fault.
    pub fn can_fault(&self, id: ExprId) -> bool {
        let can = |id: &ExprId| self.can_fault(*id);
        match self.expr(id) {
            Expr::Const(_)
            | Expr::Timeout
            | Expr::NonProgress
            | Expr::Pid
            | Expr::ProcessCount
            | Expr::LastMover => false,
            Expr::Load(place) => self.place_can_fault(place),
            Expr::Unary(_, operand)
            | Expr::Enabled(operand)
            | Expr::PcValue(operand)
            | Expr::PriorityOf(operand) => can(operand),
            Expr::Binary(_, left, right) => can(left) || can(right),
            Expr::Divide { divisor, dividend, .. } => {
                can(dividend) || !matches!(self.expr(*divisor), Expr::Const(value) if *value != 0)
            }
            Expr::Bounded(index) => self.index_can_fault(index),
            Expr::Conditional(condition, then, otherwise) => {
                can(condition) || can(then) || can(otherwise)
            }
            Expr::Length(channel) | Expr::ChannelTest(_, channel) => {
                matches!(channel, ChannelRef::Dynamic { .. })
            }
            Expr::Poll { .. } | Expr::Fragment(_) => true,
            Expr::At { pid, .. } => pid.as_ref().is_some_and(can),
            Expr::RemoteLoad { pid, place, .. } => {
                pid.as_ref().is_some_and(can) || self.place_can_fault(place)
            }
        }
    }

    fn place_can_fault(&self, place: &Place) -> bool {
        place.indices.iter().any(|index| self.index_can_fault(index))
    }

    /// A variable too narrow to leave the array is a safe index.
    fn index_can_fault(&self, index: &Index) -> bool {
        match self.expr(index.value) {
            Expr::Load(Place { kind: ValueKind::Unsigned(bits), indices, .. }) => {
                !indices.is_empty() || u64::from(index.length) < 1 << bits
            }
            _ => true,
        }
    }

    /// The move behind an id.
    pub fn move_of(&self, id: MoveId) -> &Move {
        &self.moves[id.0 as usize]
    }

    /// Adds an expression.
    pub fn add_expr(&mut self, expr: Expr) -> ExprId {
        self.exprs.push(expr);
        ExprId(self.exprs.len() as u32 - 1)
    }

    /// Adds a proposition; returns its index.
    pub fn add_proposition(&mut self, expr: ExprId) -> usize {
        self.propositions.push(expr);
        self.propositions.len() - 1
    }
}
