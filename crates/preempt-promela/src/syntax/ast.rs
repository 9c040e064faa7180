//! The tree the parser builds: names not yet resolved, inlines already expanded.

use std::sync::Arc;

use super::span::Span;
use super::token::Code;
pub(crate) use crate::model::{BinaryOp, ChannelTest, UnaryOp, Visibility};

/// A name with its place.
#[derive(Clone, Debug)]
pub(crate) struct Ident {
    pub(crate) name: Arc<str>,
    pub(crate) span: Span,
}

/// Everything at the outermost level, in order.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // a few per model, never moved in bulk
pub(crate) enum Unit {
    Mtypes(MtypeSet),
    Typedef(Typedef),
    Variables(Declaration),
    Proctype(Proctype),
    Claim {
        name: Option<Ident>,
        body: Body,
    },
    Ltl {
        name: Option<Ident>,
        formula: Expr,
        text: String,
        span: Span,
    },
    Trace {
        negated: bool,
        body: Body,
    },
    /// `c_decl`, or `c_code` outside of all bodies.
    Code {
        is_declaration: bool,
        code: Arc<Code>,
        span: Span,
    },
    /// `c_state "declaration" "scope" "initial value"`
    CState {
        strings: Vec<Arc<str>>,
        span: Span,
    },
    /// `c_track "pointer" "size" "Matched"`
    CTrack {
        strings: Vec<Arc<str>>,
        span: Span,
    },
}

/// `mtype:kind = { a, b }`
#[derive(Clone, Debug)]
pub(crate) struct MtypeSet {
    pub(crate) kind: Option<Ident>,
    pub(crate) names: Vec<Ident>,
}

#[derive(Clone, Debug)]
pub(crate) struct Typedef {
    pub(crate) name: Ident,
    pub(crate) fields: Vec<Declaration>,
}

/// One declaration, possibly of several variables.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) visibility: Visibility,
    pub(crate) ty: TypeName,
    pub(crate) variables: Vec<Variable>,
}

#[derive(Clone, Debug)]
pub(crate) struct TypeName {
    pub(crate) base: BaseType,
}

#[derive(Clone, Debug)]
pub(crate) enum BaseType {
    Bit,
    Bool,
    Byte,
    Pid,
    Short,
    Int,
    Unsigned,
    Mtype(Option<Ident>),
    Chan,
    Named(Ident),
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: Ident,
    pub(crate) bits: Option<Expr>,
    pub(crate) size: Option<Expr>,
    pub(crate) init: Option<Initializer>,
}

#[derive(Clone, Debug)]
pub(crate) enum Initializer {
    Expr(Expr),
    List(Vec<Expr>, Span),
    Channel { capacity: Expr, fields: Vec<TypeName>, span: Span },
}

#[derive(Clone, Debug)]
pub(crate) struct Proctype {
    /// `:init:` for `init`.
    pub(crate) name: Ident,
    pub(crate) active: Option<Option<Expr>>,
    pub(crate) deterministic: bool,
    pub(crate) parameters: Vec<Declaration>,
    pub(crate) priority: Option<Expr>,
    pub(crate) provided: Option<Expr>,
    pub(crate) body: Body,
}

/// The braces of a process, claim or trace, with everything between.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) statements: Vec<Stmt>,
    pub(crate) span: Span,
    pub(crate) end_span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) labels: Vec<Label>,
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
    /// As traces show it; empty for what is no step by itself.
    pub(crate) text: String,
}

/// A label or the target of a `goto`. Labels of an inline belong to that use of it.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) ident: Ident,
    /// Which use of an inline it stands in; 0 outside of all.
    pub(crate) inline_use: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Condition(Expr),
    Assign(Reference, Expr),
    Increment(Reference),
    Decrement(Reference),
    Send { channel: Reference, sorted: bool, values: Vec<Expr> },
    Receive { channel: Reference, random: bool, copy: bool, arguments: Vec<Argument> },
    If(Vec<Branch>),
    Do(Vec<Branch>),
    Break,
    Goto(Label),
    Atomic(Vec<Stmt>),
    DStep(Vec<Stmt>),
    Block(Vec<Stmt>),
    Unless(Box<Stmt>, Box<Stmt>),
    ForRange { variable: Reference, from: Expr, to: Expr, body: Vec<Stmt> },
    ForIn { variable: Reference, over: Reference, body: Vec<Stmt> },
    Select { variable: Reference, from: Expr, to: Expr },
    Assert(Expr),
    Printf { format: Arc<str>, arguments: Vec<Expr> },
    Printm(Expr),
    Else,
    ExclusiveReceive(Vec<Reference>),
    ExclusiveSend(Vec<Reference>),
    SetPriority(Expr, Expr),
    Code(Arc<Code>),
    Declare(Declaration),
    DeclareMtypes(MtypeSet),
}

#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) body: Vec<Stmt>,
    pub(crate) span: Span,
}

/// One argument of a receive or poll.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A variable, `_`, or a symbolic constant; the checker tells them apart.
    Reference(Reference),
    /// A constant.
    Constant(Expr),
    Eval(Expr),
}

/// `a.b[i].c`
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    pub(crate) parts: Vec<Part>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: Ident,
    pub(crate) index: Option<Box<Expr>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    /// Height of the tree, to keep every recursion over it bounded.
    pub(crate) height: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Const(i32),
    Reference(Reference),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    Len(Reference),
    ChannelTest(ChannelTest, Reference),
    Poll { channel: Reference, random: bool, arguments: Vec<Argument> },
    Run { proctype: Ident, arguments: Vec<Expr>, priority: Option<Box<Expr>> },
    Enabled(Box<Expr>),
    PcValue(Box<Expr>),
    GetPriority(Box<Expr>),
    Timeout,
    NonProgress,
    Code(Arc<Code>),
    RemoteLabel { proctype: Ident, pid: Option<Box<Expr>>, label: Ident },
    RemoteVariable { proctype: Ident, pid: Option<Box<Expr>>, variable: Reference },
    TemporalUnary(TemporalUnary, Box<Expr>),
    TemporalBinary(TemporalBinary, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemporalUnary {
    Always,
    Eventually,
    Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemporalBinary {
    Until,
    WeakUntil,
    Release,
    Implies,
    Equivalent,
}
