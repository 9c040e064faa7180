//! The same program as a Promela model, for programs without recursion.
//!
//! Procedures are inlined, every edge of the flow graph becomes one indivisible step, and a
//! target is `assert(false)`. With a number of switches the model counts them, in two variables
//! that every step tests and sets: then the assertion can fail exactly if the target is reachable
//! with at most so many context switches of any kind. Control is explicit (a label per node and
//! `goto`), because flow graphs are not nested statements.

use crate::flow::{Expr, NodeId, Owner, Program, VariableId};
use crate::symbolic::code::{Builder, Code, CodeOperation};
use std::fmt::Write;

/// The model, or `None` if the program is recursive, too large to inline, or has atomic sections.
///
/// Process 0 (`init`) sets the shared variables in one indivisible step and starts the threads
/// in order; its switches are not part of the count. Without `switches`, any number is allowed.
pub fn to_promela(program: &Program, switches: Option<u8>) -> Option<String> {
    // Atomic sections are flags here and blocks there; the two do not nest alike.
    if program.is_recursive() || program.atomic.is_some() {
        return None;
    }
    let targets = program.targets(None).ok()?;
    let mut builder = Builder::new(program, &targets, false);
    let init = program.init.map(|f| builder.root(&[f]));
    let roots: Vec<usize> = program.threads.iter().map(|t| builder.root(&[t.function])).collect();
    let code = builder.build();
    if code.procedures.iter().any(|p| p.function.is_some()) {
        return None;
    }
    if program.threads.len() >= usize::from(NOBODY) {
        return None;
    }
    let writer = Writer { code: &code, switches };
    let mut out = String::from("/* made from a Boolean program */\n");
    if switches.is_some() {
        let _ = writeln!(out, "byte runs = {NOBODY}, switches = 0;");
    }
    for v in &program.shared {
        let _ = writeln!(out, "{} {};", writer.ty(*v), writer.name(*v));
    }
    for (thread, root) in roots.iter().enumerate() {
        let _ = writeln!(out, "\nproctype thread{thread}() {{");
        writer.body(*root, &mut out, Some(thread));
        out.push_str("}\n");
    }
    out.push_str("\ninit {\n  atomic {\n");
    for v in &program.shared {
        writer.choose(*v, &mut out);
    }
    if let Some(root) = init {
        out.push_str("    run first()\n");
        let mut first = String::from("\nproctype first() {\n  atomic {\n");
        writer.body(root, &mut first, None);
        for thread in 0..roots.len() {
            let _ = writeln!(first, "    run thread{thread}();");
        }
        first.push_str("    skip\n  }\n}\n");
        out.push_str("  }\n}\n");
        out.push_str(&first);
        return Some(out);
    }
    for thread in 0..roots.len() {
        let _ = writeln!(out, "    run thread{thread}();");
    }
    out.push_str("    skip\n  }\n}\n");
    Some(out)
}

/// Not the number of a thread.
const NOBODY: u8 = 255;

struct Writer<'a> {
    code: &'a Code,
    switches: Option<u8>,
}

impl Writer<'_> {
    fn ty(&self, v: VariableId) -> String {
        let variable = &self.code.variables[v];
        match (variable.is_bool, variable.width) {
            (true, _) => "bool".into(),
            (false, 1..=8) => "byte".into(),
            // Promela's `int` is signed, with 32 bits.
            (false, _) => "int".into(),
        }
    }

    fn name(&self, v: VariableId) -> String {
        format!("v{v}")
    }

    /// Any value: one bit after the other.
    fn choose(&self, v: VariableId, out: &mut String) {
        let name = self.name(v);
        let width = self.code.variables[v].width;
        let _ = writeln!(out, "    {name} = 0;");
        for bit in 0..width {
            let _ = writeln!(out, "    if :: {name} = {name} + {} :: skip fi;", 1u64 << bit);
        }
    }

    fn body(&self, root: usize, out: &mut String, thread: Option<usize>) {
        let graph = &self.code.procedures[root];
        let globals = (0..self.code.variables.len())
            .filter(|v| self.code.variables[*v].owner == Owner::Thread);
        let mut own: Vec<VariableId> = globals.chain(graph.frame.iter().copied()).collect();
        own.sort_unstable();
        own.dedup();
        let temporaries: Vec<VariableId> = {
            let mut list: Vec<VariableId> = graph
                .edges
                .iter()
                .flat_map(|e| match &e.operation {
                    CodeOperation::Step { lhs, .. } => lhs.clone(),
                    _ => Vec::new(),
                })
                .collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        for v in &own {
            let _ = writeln!(out, "  {} {};", self.ty(*v), self.name(*v));
        }
        for v in &temporaries {
            let _ = writeln!(out, "  {} n{v};", self.ty(*v));
        }
        let _ = writeln!(out, "  d_step {{");
        for v in &own {
            let _ = writeln!(out, "    {} = 0;", self.name(*v));
        }
        let _ = writeln!(out, "    skip\n  }};\n  goto L{root}_{};", graph.entry);
        for node in 0..graph.out.len() {
            self.node(root, node, &own, out, thread);
        }
        if temporaries.is_empty() {
            let _ = writeln!(out, "D{root}: skip;");
        } else {
            let _ = writeln!(out, "  goto D{root};\nS{root}: false;\nD{root}: skip;");
        }
    }

    fn node(
        &self,
        root: usize,
        node: NodeId,
        own: &[VariableId],
        out: &mut String,
        thread: Option<usize>,
    ) {
        let graph = &self.code.procedures[root];
        let _ = writeln!(out, "L{root}_{node}:");
        if graph.marks[node].is_some() {
            out.push_str("  assert(false);\n");
        }
        if graph.out[node].is_empty() {
            out.push_str("  false;\n");
            return;
        }
        out.push_str("  if\n");
        for &e in &graph.out[node] {
            let edge = &graph.edges[e];
            match &edge.operation {
                CodeOperation::Return(_) => {
                    let _ = writeln!(out, "  :: goto D{root}");
                }
                CodeOperation::Call { .. } => out.push_str("  :: false\n"),
                CodeOperation::Step { guard, lhs, rhs, constrain, forget } => {
                    let open = if thread.is_some() { "atomic { " } else { "" };
                    let close = if thread.is_some() { " }" } else { "" };
                    let condition = match guard {
                        Some(guard) => self.possibly(guard),
                        None => "true".into(),
                    };
                    let counted = thread.zip(self.switches);
                    let may_run = counted.map_or(String::new(), |(t, most)| {
                        format!(" && (runs == {t} || runs == {NOBODY} || switches < {most})")
                    });
                    let _ = write!(out, "  :: {open}{condition}{may_run} ->");
                    if let Some((t, _)) = counted {
                        let _ = write!(
                            out,
                            " if :: runs == {t} || runs == {NOBODY} -> runs = {t} \
                             :: else -> runs = {t}; switches++ fi;"
                        );
                    }
                    for (v, e) in lhs.iter().zip(rhs) {
                        self.assign(*v, e, out);
                    }
                    if let Some(condition) = constrain {
                        let about = condition.about_assigned(lhs);
                        // A wrong choice ends here for good, whatever others do.
                        let holds = self.possibly(&about);
                        let _ = write!(out, " if :: {holds} -> skip :: else -> goto S{root} fi;");
                    }
                    for v in lhs {
                        let _ = write!(out, " {} = n{v}; n{v} = 0;", self.name(*v));
                    }
                    // A frame begins with any values: they are chosen where it is left, and at
                    // the start, where the zeros above are replaced.
                    let starts = matches!(edge.origin, crate::symbolic::code::Origin::Start(..));
                    let chosen: &[VariableId] = if starts { own } else { forget };
                    for v in chosen {
                        let mut text = String::new();
                        self.choose(*v, &mut text);
                        let _ = write!(out, " {}", text.replace('\n', "").trim());
                    }
                    let _ = writeln!(out, " skip{close}; goto L{root}_{}", edge.to);
                }
            }
        }
        out.push_str("  fi;\n");
    }

    /// Assigns a value the expression can take to the temporary of the variable.
    fn assign(&self, v: VariableId, e: &Expr, out: &mut String) {
        let width = self.code.variables[v].width;
        if let Expr::Any { .. } = e {
            let _ = write!(out, " n{v} = 0;");
            for bit in 0..width {
                let _ = write!(out, " if :: n{v} = n{v} + {} :: skip fi;", 1u64 << bit);
            }
        } else if e.is_number() {
            let _ = write!(out, " n{v} = {};", self.number(e));
        } else {
            let (can_be_true, can_be_false) = (self.possibly(e), self.possibly(&e.clone().not()));
            let _ = write!(
                out,
                " if :: ({can_be_true}) -> n{v} = 1 :: ({can_be_false}) -> n{v} = 0 fi;"
            );
        }
    }

    fn number(&self, e: &Expr) -> String {
        match e {
            Expr::Constant { value, .. } => value.to_string(),
            Expr::Variable(v) => self.name(*v),
            Expr::Next(v) => format!("n{v}"),
            Expr::Plus(a, b, width) => {
                format!("(({} + {}) & {})", self.number(a), self.number(b), (1u64 << width) - 1)
            }
            Expr::Minus(a, b, width) => {
                let mask = (1u64 << width) - 1;
                format!("(({} + {} - {}) & {mask})", self.number(a), mask + 1, self.number(b))
            }
            other => self.possibly(other),
        }
    }

    /// A condition that holds where the expression can be true.
    fn possibly(&self, e: &Expr) -> String {
        let both = |a: &Expr, b: &Expr, op: &str| {
            format!("({} {op} {})", self.possibly(a), self.possibly(b))
        };
        match e {
            Expr::Constant { value, .. } => if *value != 0 { "true" } else { "false" }.into(),
            Expr::Any { .. } => "true".into(),
            Expr::Variable(_) | Expr::Next(_) | Expr::Plus(..) | Expr::Minus(..) => {
                format!("({} != 0)", self.number(e))
            }
            Expr::And(a, b) => both(a, b, "&&"),
            Expr::Or(a, b) => both(a, b, "||"),
            Expr::Equal(a, b) if a.is_number() && b.is_number() => {
                format!("({} == {})", self.number(a), self.number(b))
            }
            Expr::Equal(a, b) => {
                let (na, nb) = ((**a).clone().not(), (**b).clone().not());
                format!("({} || {})", both(a, b, "&&"), both(&na, &nb, "&&"))
            }
            Expr::Less(a, b) => format!("({} < {})", self.number(a), self.number(b)),
            Expr::Not(a) => match &**a {
                Expr::Any { .. } => "true".into(),
                Expr::Not(inner) => self.possibly(inner),
                Expr::And(a, b) => both(&(**a).clone().not(), &(**b).clone().not(), "||"),
                Expr::Or(a, b) => both(&(**a).clone().not(), &(**b).clone().not(), "&&"),
                Expr::Equal(a, b) if !(a.is_number() && b.is_number()) => {
                    let (na, nb) = ((**a).clone().not(), (**b).clone().not());
                    format!("({} || {})", both(a, &nb, "&&"), both(&na, b, "&&"))
                }
                other => format!("!{}", self.possibly(other)),
            },
        }
    }
}
