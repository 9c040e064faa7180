//! Expressions about a state: those of the language, over the variables of all threads.
//!
//! A variable of a thread is written as reports name it, `adder_1.ok`; `adder_1@Target` is true while the thread stands
//! behind the label. Names and types are resolved as in the program itself, so that a mistake is explained in the same words.

use super::Lowering;
use super::graph::Graph;
use crate::diagnostic::Lines;
use crate::flow::{Expr, FunctionId, Mark, NodeId, Owner, Program, Variable, VariableId};
use crate::syntax::ast::Type;
use crate::syntax::{Dialect, parse_expression};
use std::collections::HashMap;

/// What a name in the expression stands for.
pub(crate) enum Place {
    /// A variable of all threads.
    Shared(VariableId),
    /// The variable of this name that a process has; different functions may have one.
    Of(usize, Vec<VariableId>),
    /// Whether a process stands at one of these nodes.
    At(usize, Vec<(FunctionId, NodeId)>),
}

/// An expression, over places instead of variables.
pub(crate) struct Watched {
    pub(crate) expression: Expr,
    pub(crate) places: Vec<Place>,
}

/// Reads an expression; the error says what is wrong with it.
pub(crate) fn watched(program: &Program, text: &str) -> Result<Watched, String> {
    let source = quoted(text);
    let lines = Lines::new("", &source);
    let said = |errors: Vec<crate::Diagnostic>| {
        let first = errors.into_iter().next();
        let message = first.map_or("this is no expression".into(), |error| error.message);
        message.replace(['{', '}'], "").replace("the end of the file", "the end")
    };
    let tree = parse_expression(&source, Dialect::Slam, &lines).map_err(said)?;
    let mut lowering = Lowering {
        lines: &lines,
        module: &program.module,
        errors: Vec::new(),
        variables: Vec::new(),
        types: Vec::new(),
        globals: HashMap::new(),
        functions: HashMap::new(),
        groups: 0,
    };
    let places = places(program, &mut lowering)?;
    let graph = Graph {
        scope: HashMap::new(),
        labels: HashMap::new(),
        met: HashMap::new(),
        returns: Vec::new(),
        edges: Vec::new(),
        node_count: 0,
        marks: Vec::new(),
    };
    let ty = lowering.own_type(&tree, &graph);
    let is_constant = matches!(tree.kind, crate::syntax::ast::ExprKind::Int(_));
    let ty = ty.unwrap_or(if is_constant { Type::Int(32) } else { Type::Bool });
    let expression = lowering.expression(&tree, ty, false, &graph);
    match lowering.errors.is_empty() {
        _ if expression.is_open() => Err("`*` has no value of its own".into()),
        true => Ok(Watched { expression, places }),
        false => Err(said(lowering.errors)),
    }
}

/// Declares all names, each with the number of its place.
fn places(program: &Program, lowering: &mut Lowering<'_>) -> Result<Vec<Place>, String> {
    let mut places = Vec::new();
    let mut declare = |name: String, ty: Type, place: Place| {
        let (width, is_bool) = (ty.width(), ty == Type::Bool);
        let variable =
            Variable { name: name.clone(), width, is_bool, owner: Owner::Shared, group: 0 };
        lowering.variables.push(variable);
        lowering.types.push(ty);
        lowering.globals.insert(name, places.len());
        places.push(place);
    };
    let type_of = |v: VariableId| match &program.variables[v] {
        Variable { is_bool: true, .. } => Type::Bool,
        Variable { width, .. } => Type::Int(*width),
    };
    for &v in &program.shared {
        declare(program.variables[v].name.clone(), type_of(v), Place::Shared(v));
    }
    for (at, thread) in program.threads.iter().enumerate() {
        let process = at + 1;
        let mut functions = program.calls_from(thread.function);
        functions.push(thread.function);
        let mut known: Vec<(&str, Vec<VariableId>)> = Vec::new();
        let frames = functions.iter().flat_map(|f| program.functions[*f].frame());
        for v in program.private.iter().copied().chain(frames) {
            let name = program.variables[v].name.as_str();
            match known.iter_mut().find(|(other, _)| *other == name) {
                // What has another type elsewhere cannot be meant by one expression.
                Some((_, list)) if type_of(list[0]) != type_of(v) => {}
                Some((_, list)) if list.contains(&v) => {}
                Some((_, list)) => list.push(v),
                None => known.push((name, vec![v])),
            }
        }
        for (name, list) in known {
            let ty = type_of(list[0]);
            declare(format!("{{{}.{name}}}", thread.name), ty, Place::Of(process, list));
        }
        let mut labels: Vec<(&str, Vec<(FunctionId, NodeId)>)> = Vec::new();
        functions.dedup();
        for &function in &functions {
            for (node, mark, _) in &program.functions[function].marks {
                let Mark::Label(label) = mark else { continue };
                match labels.iter_mut().find(|(other, _)| other == label) {
                    Some((_, nodes)) => nodes.push((function, *node)),
                    None => labels.push((label, vec![(function, *node)])),
                }
            }
        }
        for (label, nodes) in labels {
            declare(format!("{{{}@{label}}}", thread.name), Type::Bool, Place::At(process, nodes));
        }
    }
    Ok(places)
}

/// The text with names such as `adder_1.ok` in braces, which make them names of the language.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '{' => braces(rest),
            _ if first.is_ascii_alphabetic() || "_$".contains(first) => word(rest),
            _ => 0,
        };
        let behind = &rest[length..];
        let own = match behind.strip_prefix('.').map(|own| (own, braces(own))) {
            Some((own, 0)) => word(own),
            Some((_, inner)) => inner,
            None => behind.strip_prefix('@').map_or(0, word),
        };
        if length > 0 && own > 0 {
            out.push_str(&format!("{{{}}}", &rest[..length + 1 + own]));
            rest = &rest[length + 1 + own..];
        } else {
            let taken = length.max(first.len_utf8());
            out.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
    }
    out
}

fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$').unwrap_or(text.len())
}

/// The length of `{…}` in front, 0 if there is none.
fn braces(text: &str) -> usize {
    if !text.starts_with('{') {
        return 0;
    }
    let mut depth = 0_i32;
    for (at, byte) in text.bytes().enumerate() {
        depth += i32::from(byte == b'{') - i32::from(byte == b'}');
        if depth == 0 {
            return at + 1;
        }
    }
    0
}
