//! The tree of a Boolean program, close to its text.

use std::ops::Range;

pub(crate) type Span = Range<usize>;

/// The type of a variable or value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Type {
    Bool,
    /// Unsigned, with this many bits, modulo a power of two.
    Int(u8),
}

impl Type {
    pub(crate) fn width(self) -> u8 {
        match self {
            Type::Bool => 1,
            Type::Int(width) => width,
        }
    }

    pub(crate) fn in_words(self) -> String {
        match self {
            Type::Bool => "a truth value".into(),
            Type::Int(width) => format!("a number of {width} bits"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Name {
    pub(crate) fn made(text: impl Into<String>) -> Self {
        Name { text: text.into(), span: 0..0 }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) globals: Vec<Declaration>,
    pub(crate) functions: Vec<FunctionDef>,
}

/// One `decl`. Variables declared together are kept together by the symbolic engines.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) ty: Type,
    pub(crate) names: Vec<(Name, Option<Expr>)>,
    /// Every thread has its own.
    pub(crate) private: bool,
    /// What the printer writes above it.
    pub(crate) comment: String,
}

impl Declaration {
    pub(crate) fn made(ty: Type, names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().map(|n| (Name::made(n), None)).collect();
        Declaration { ty, names, private: false, comment: String::new() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FunctionDef {
    pub(crate) name: Name,
    pub(crate) params: Vec<(Name, Type)>,
    pub(crate) returns: Vec<Type>,
    pub(crate) locals: Vec<Declaration>,
    pub(crate) enforce: Option<Expr>,
    pub(crate) body: Vec<Statement>,
    /// `thread name[count]()`.
    pub(crate) thread: Option<u32>,
    pub(crate) comment: String,
    pub(crate) end: Span,
}

impl FunctionDef {
    pub(crate) fn made(name: impl Into<String>, body: Vec<Statement>) -> Self {
        FunctionDef {
            name: Name::made(name),
            params: Vec::new(),
            returns: Vec::new(),
            locals: Vec::new(),
            enforce: None,
            body,
            thread: None,
            comment: String::new(),
            end: 0..0,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) labels: Vec<Name>,
    pub(crate) kind: StatementKind,
    pub(crate) span: Span,
}

impl Statement {
    pub(crate) fn made(kind: StatementKind) -> Self {
        Statement { labels: Vec::new(), kind, span: 0..0 }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum StatementKind {
    Skip,
    /// A remark of a translation; means `skip` but takes no step.
    Comment(String),
    Assign {
        lhs: Vec<Name>,
        rhs: Vec<Expr>,
        constrain: Option<Expr>,
    },
    Call {
        lhs: Vec<Name>,
        function: Name,
        args: Vec<Expr>,
    },
    Return(Vec<Expr>),
    If {
        condition: Expr,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    While {
        condition: Expr,
        body: Vec<Statement>,
    },
    Goto(Vec<Name>),
    Assume(Expr),
    Assert(Expr),
    Dead(Vec<Name>),
    AbortIf(Expr),
    /// A new thread runs the statement, with the values that the locals have here, and ends; after
    /// a jump it goes on behind the label.
    StartThread(Box<Statement>),
    EndThread,
    AtomicBegin,
    AtomicEnd,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Bool(bool),
    Int(u64),
    Nondet,
    Variable(String),
    /// The value after the assignment, in `constrain`.
    Next(String),
    Not(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `schoose[p, n]`: true if p, else false if n, else either.
    Choose(Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Operator {
    And,
    Or,
    Xor,
    Implies,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
}

impl Expr {
    pub(crate) fn made(kind: ExprKind) -> Self {
        Expr { kind, span: 0..0 }
    }

    pub(crate) fn variable(name: &str) -> Self {
        Expr::made(ExprKind::Variable(name.into()))
    }

    pub(crate) fn truth(value: bool) -> Self {
        Expr::made(ExprKind::Bool(value))
    }

    pub(crate) fn number(value: u64) -> Self {
        Expr::made(ExprKind::Int(value))
    }

    pub(crate) fn any() -> Self {
        Expr::made(ExprKind::Nondet)
    }

    pub(crate) fn not(self) -> Self {
        let span = self.span.clone();
        Expr { kind: ExprKind::Not(Box::new(self)), span }
    }

    pub(crate) fn binary(operator: Operator, left: Expr, right: Expr) -> Self {
        let span = left.span.start..right.span.end.max(left.span.end);
        Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
    }

    /// The conjunction of all; true when there are none.
    pub(crate) fn all(parts: impl IntoIterator<Item = Expr>) -> Self {
        Expr::chain(Operator::And, parts.into_iter().collect()).unwrap_or_else(|| Expr::truth(true))
    }

    /// The operands, in order, under an associative operator, in a tree that is as flat as can be:
    /// passes over trees recurse, and chains of thousands of operands are common.
    pub(crate) fn chain(operator: Operator, mut operands: Vec<Expr>) -> Option<Self> {
        while operands.len() > 1 {
            let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
            let mut rest = operands.into_iter();
            while let Some(left) = rest.next() {
                pairs.push(match rest.next() {
                    Some(right) => Expr::binary(operator, left, right),
                    None => left,
                });
            }
            operands = pairs;
        }
        operands.pop()
    }
}

impl FunctionDef {
    /// Calls `visit` on every statement, outer ones first.
    pub(crate) fn each_statement<'a>(&'a self, visit: &mut impl FnMut(&'a Statement)) {
        each_in(&self.body, visit);
    }
}

fn each_in<'a>(body: &'a [Statement], visit: &mut impl FnMut(&'a Statement)) {
    for statement in body {
        visit(statement);
        match &statement.kind {
            StatementKind::If { then, otherwise, .. } => {
                each_in(then, visit);
                each_in(otherwise, visit);
            }
            StatementKind::While { body, .. } => each_in(body, visit),
            _ => {}
        }
    }
}
