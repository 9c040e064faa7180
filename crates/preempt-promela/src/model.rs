//! A Promela model after parsing, name resolution and type checking.
//!
//! Includes, macros and inlines are expanded, names are resolved to ids, constants are folded where
//! the language demands a constant. Nothing is lowered yet: selections, loops, `for` and
//! `select` stand as the author wrote them, because Spin's control states follow the text.

use crate::embedded::{Embedded, FragmentId};
use crate::syntax::Macros;
use crate::syntax::span::{SourceMap, Span};
use std::path::Path;
use std::sync::Arc;

/// A whole model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Files and expansions that the spans point into.
    pub sources: SourceMap,
    /// Symbolic constants, in order of declaration.
    pub mtypes: Vec<Mtype>,
    /// Structures.
    pub typedefs: Vec<Typedef>,
    /// Global variables, in order of declaration.
    pub globals: Vec<Variable>,
    /// Process types in order of declaration; `init` among them, named `:init:`.
    pub proctypes: Vec<Proctype>,
    /// Never claims, in order of declaration.
    pub claims: Vec<Claim>,
    /// `ltl` blocks, in order of declaration.
    pub formulas: Vec<Ltl>,
    /// A `trace` or `notrace` declaration.
    pub trace: Option<TraceAutomaton>,
    /// The C of the model.
    pub embedded: Embedded,
    /// The macros as they stand at the end, for formulas given apart from the model.
    pub macros: Macros,
}

/// Index into [`Model::typedefs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypedefId(pub u32);

/// Index into [`Model::proctypes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProctypeId(pub u32);

/// Compiles the C of a model that was read from this file, and makes the model ready to run; or says why it cannot. Programs
/// that do not do that unasked are given one by a user that trusts the model.
pub type Attach = Arc<dyn Fn(&mut Model, &Path) -> Result<(), String> + Send + Sync>;

/// One symbolic constant. Values count from 1 per set, in Spin's order: within one declaration
/// the last symbol has the lowest new number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mtype {
    /// The name.
    pub name: String,
    /// The set it belongs to: `None` for plain `mtype`.
    pub kind: Option<String>,
    /// Its number.
    pub value: u8,
}

/// A structure.
#[derive(Clone, Debug)]
pub struct Typedef {
    /// Its name.
    pub name: String,
    /// Its fields; their initialisers are honoured, too.
    pub fields: Vec<Variable>,
    /// Where.
    pub span: Span,
}

/// The type of a variable, field, parameter or message field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// One bit.
    Bit,
    /// One bit, written true or false.
    Bool,
    /// 0 to 255.
    Byte,
    /// A process id, 0 to 255.
    Pid,
    /// 16 bits, signed.
    Short,
    /// 32 bits, signed.
    Int,
    /// `unsigned x : N`, 1 to 31 bits.
    Unsigned(u8),
    /// A symbolic constant, with its set if named.
    Mtype(Option<String>),
    /// A channel.
    Chan,
    /// A structure.
    Struct(TypedefId),
}

/// A variable, parameter or field.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name in the source. Locals of different blocks may share one.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Length, if it is an array.
    pub array: Option<u32>,
    /// Initial value.
    pub init: Option<Initializer>,
    /// `hidden`, `local`, `show`.
    pub visibility: Visibility,
    /// Declared in a nested block, or in the outermost one of its process.
    pub nested: bool,
    /// Where.
    pub span: Span,
}

/// A prefix of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Visibility {
    /// None.
    #[default]
    Plain,
    /// `hidden`: not part of the state.
    Hidden,
    /// `local`: promised to be used by one process only.
    Local,
    /// `show`: tracked in message sequence charts.
    Show,
}

/// How a variable starts.
#[derive(Clone, Debug)]
pub enum Initializer {
    /// One value, for every element of an array.
    Expr(Expr),
    /// `= { a, b, c }`.
    List(Vec<Expr>),
    /// A new channel (for an array: one per element).
    Channel(ChannelInit),
}

/// `[capacity] of { fields }`.
#[derive(Clone, Debug)]
pub struct ChannelInit {
    /// Number of slots; 0 is a rendezvous channel.
    pub capacity: u32,
    /// The fields of a message (structures not yet flattened).
    pub fields: Vec<Type>,
    /// Where.
    pub span: Span,
}

/// A process type.
#[derive(Clone, Debug)]
pub struct Proctype {
    /// Its name; `:init:` for `init`.
    pub name: String,
    /// How many are active from the start (`init`: 1).
    pub active: u32,
    /// `D_proctype`.
    pub deterministic: bool,
    /// How many of the first `locals` are parameters.
    pub parameter_count: usize,
    /// Parameters, then all local variables of the body in order of declaration.
    pub locals: Vec<Variable>,
    /// `provided (…)`.
    pub provided: Option<Expr>,
    /// `priority N`.
    pub priority: Option<u32>,
    /// The body.
    pub body: Vec<Stmt>,
    /// Where.
    pub span: Span,
    /// Where the closing brace stands: the end state's place.
    pub end_span: Span,
}

/// A never claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Local variables.
    pub locals: Vec<Variable>,
    /// The body.
    pub body: Vec<Stmt>,
    /// Where.
    pub span: Span,
    /// Where the closing brace stands.
    pub end_span: Span,
}

/// An `ltl` block.
#[derive(Clone, Debug)]
pub struct Ltl {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The property that must hold.
    pub formula: Formula,
    /// The text between the braces.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A temporal formula over expressions.
#[derive(Clone, Debug)]
pub enum Formula {
    /// A state expression.
    Prop(Expr),
    /// `true` or `false`.
    Const(bool),
    /// `!f`
    Not(Box<Formula>),
    /// `f && g`
    And(Box<Formula>, Box<Formula>),
    /// `f || g`
    Or(Box<Formula>, Box<Formula>),
    /// `f -> g`
    Implies(Box<Formula>, Box<Formula>),
    /// `f <-> g`
    Equivalent(Box<Formula>, Box<Formula>),
    /// `X f`
    Next(Box<Formula>),
    /// `[] f`
    Always(Box<Formula>),
    /// `<> f`
    Eventually(Box<Formula>),
    /// `f U g`
    Until(Box<Formula>, Box<Formula>),
    /// `f W g`
    WeakUntil(Box<Formula>, Box<Formula>),
    /// `f V g`, also written R
    Release(Box<Formula>, Box<Formula>),
}

/// A `trace` or `notrace` automaton over channel operations.
#[derive(Clone, Debug)]
pub struct TraceAutomaton {
    /// `notrace`: completing it is the violation.
    pub negated: bool,
    /// Its body: sends and receives as statements, selections, loops, labels.
    pub body: Vec<Stmt>,
    /// Where.
    pub span: Span,
    /// Where the closing brace stands.
    pub end_span: Span,
}

/// A statement with its labels.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Labels in front of it.
    pub labels: Vec<LabelName>,
    /// What it does.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
    /// As traces show it: on one line, the arguments of inlines put in; of a `for` only its head.
    /// Empty for what is no step by itself.
    pub text: String,
}

/// A label. One that an inline defines more than once in a process is told apart by a suffix
/// `#2`, `#3`, …, so names are unique within a body; the prefix keeps its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelName {
    /// Its name.
    pub name: String,
    /// Where.
    pub span: Span,
}

/// The statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// An expression used as a condition; `skip` is the constant 1, `run` may occur inside.
    Condition(Expr),
    /// `place = value`
    Assign(Place, Expr),
    /// `place++`
    Increment(Place),
    /// `place--`
    Decrement(Place),
    /// `c!e1,e2` or sorted `c!!e1,e2`
    Send {
        /// The channel.
        channel: Place,
        /// `!!`
        sorted: bool,
        /// One value per flattened message field; missing ones are filled with 0 where the
        /// channel's declaration says their number, otherwise as many as were written.
        values: Vec<Expr>,
    },
    /// `c?x,2`, `c??x`, `c?<x>`, `c??<x>`
    Receive {
        /// The channel.
        channel: Place,
        /// `??`: the first message that matches.
        random: bool,
        /// `<…>`: the message stays.
        copy: bool,
        /// One per flattened message field; missing ones are ignored, as far as known.
        arguments: Vec<ReceiveArgument>,
    },
    /// `if :: … fi`
    If(Vec<Branch>),
    /// `do :: … od`
    Do(Vec<Branch>),
    /// `break`
    Break,
    /// `goto label`
    Goto(LabelName),
    /// `atomic { … }`
    Atomic(Vec<Stmt>),
    /// `d_step { … }`
    DStep(Vec<Stmt>),
    /// `{ … }`
    Block(Vec<Stmt>),
    /// `main unless escape`
    Unless {
        /// Runs while the escape is not enabled.
        main: Box<Stmt>,
        /// Takes over when enabled.
        escape: Box<Stmt>,
    },
    /// `for (x : from .. to) { … }`
    ForRange {
        /// The counter.
        variable: Place,
        /// First value.
        from: Expr,
        /// Last value.
        to: Expr,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `for (i in array) { … }`: the index runs over the array.
    ForArray {
        /// The counter.
        variable: Place,
        /// Length of the array.
        length: u32,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `for (x in channel) { … }`: the messages pass by once.
    ForChannel {
        /// Takes the message: one place per flattened message field.
        variables: Vec<Place>,
        /// The channel.
        channel: Place,
        /// The body.
        body: Vec<Stmt>,
    },
    /// `select (x : from .. to)`
    Select {
        /// Gets the value.
        variable: Place,
        /// First value.
        from: Expr,
        /// Last value.
        to: Expr,
    },
    /// `assert(e)`
    Assert(Expr),
    /// `printf("…", …)`
    Printf {
        /// The format, escapes not yet replaced.
        format: String,
        /// The arguments.
        arguments: Vec<Expr>,
    },
    /// `printm(e)`
    Printm(Expr),
    /// `c_code { … }`
    Code(FragmentId),
    /// `else`; outside of options it is always executable, as in Spin.
    Else,
    /// `xr c, d`: this process is the only reader.
    ExclusiveReceive(Vec<Place>),
    /// `xs c, d`: this process is the only writer.
    ExclusiveSend(Vec<Place>),
    /// `set_priority(pid, value)`
    SetPriority(Expr, Expr),
    /// `_priority = value`
    OwnPriority(Expr),
    /// A declaration inside a body. Initialisation happens when the process starts, unless the
    /// variable is an unsigned or scalar with a non-constant initialiser: then here, as in Spin.
    Declare(Vec<LocalId>),
}

/// Index into the locals of the enclosing process type or claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalId(pub u32);

/// Index into [`Model::globals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalId(pub u32);

/// One option of a selection or loop. Its first statement is the guard.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The statements, at least one.
    pub body: Vec<Stmt>,
    /// Where.
    pub span: Span,
}

/// What a receive does with one field.
#[derive(Clone, Debug)]
pub enum ReceiveArgument {
    /// Store it.
    Store(Place),
    /// It must equal this constant or `eval(…)`.
    Match(Expr),
    /// `_`: ignore it.
    Ignore,
}

/// Something that can be assigned to.
#[derive(Clone, Debug)]
pub struct Place {
    /// The variable.
    pub base: Base,
    /// Indices and fields, from the outside in.
    pub path: Vec<Selector>,
    /// The type of the whole place.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// The variable a place starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A global.
    Global(GlobalId),
    /// A parameter or local of the process or claim.
    Local(LocalId),
    /// `_`, write-only.
    Scratch,
}

/// One step into an array or structure.
#[derive(Clone, Debug)]
pub enum Selector {
    /// `[e]`; the length is for the bounds check.
    Index(Box<Expr>, u32),
    /// `.f`: index into the fields of that structure.
    Field(TypedefId, u32),
}

/// An expression with its place in the source.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// The expressions. All values are 32-bit signed integers while being computed, as in Spin.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant (numbers, true, false, skip, characters).
    Const(i32),
    /// A symbolic constant: index into [`Model::mtypes`].
    Mtype(u32),
    /// The value of a place.
    Read(Place),
    /// `op e`
    Unary(UnaryOp, Box<Expr>),
    /// `a op b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `(c -> a : b)`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `len(c)`
    Len(Place),
    /// `empty(c)`, `nempty(c)`, `full(c)`, `nfull(c)`
    ChannelTest(ChannelTest, Place),
    /// `c?[…]`, `c??[…]`
    Poll {
        /// The channel.
        channel: Place,
        /// `??`
        random: bool,
        /// One per flattened message field (a place only stands for "anything").
        arguments: Vec<ReceiveArgument>,
    },
    /// `run P(…)`; the value is the new process id.
    Run {
        /// The process type.
        proctype: ProctypeId,
        /// Its arguments: one per scalar of the parameters, structures flattened.
        arguments: Vec<Expr>,
        /// `priority N` at the run.
        priority: Option<u32>,
    },
    /// `enabled(pid)`
    Enabled(Box<Expr>),
    /// `pc_value(pid)`
    PcValue(Box<Expr>),
    /// `get_priority(pid)`
    GetPriority(Box<Expr>),
    /// `timeout`
    Timeout,
    /// `np_`
    NonProgress,
    /// `_pid`
    Pid,
    /// `_nr_pr`
    ProcessCount,
    /// `_last`
    Last,
    /// `c_expr { … }`
    Code(FragmentId),
    /// `_priority`
    Priority,
    /// `P[pid]@label`; without the index, the only instance.
    RemoteLabel {
        /// The process type.
        proctype: ProctypeId,
        /// Which process.
        pid: Option<Box<Expr>>,
        /// The label.
        label: String,
    },
    /// `P[pid]:variable`
    RemoteVariable {
        /// The process type.
        proctype: ProctypeId,
        /// Which process.
        pid: Option<Box<Expr>>,
        /// The local of that type, with its path.
        place: Place,
    },
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-e`, wrapping
    Negate,
    /// `!e`: 0 or 1
    Not,
    /// `~e`
    Complement,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// The four tests of a channel's fill level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelTest {
    /// `empty`
    Empty,
    /// `nempty`
    NotEmpty,
    /// `full`
    Full,
    /// `nfull`
    NotFull,
}
