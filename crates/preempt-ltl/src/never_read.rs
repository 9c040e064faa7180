//! Never claims as automata, with the conditions as opaque text.
//!
//! Read are claims made of `if`, `do`, `goto`, `break`, `skip`, `assert`, `else`,
//! labels, conditions, and `atomic`/`d_step` around plain sequences: all that Spin
//! and the translators for it write, and most that people do. Every condition is
//! one step. Reaching the closing brace, or failing an assertion, is a violation,
//! so both lead to a state that accepts everything.

use crate::automaton::{Automaton, Edge};
use crate::error::Error;
use crate::guard::Guard;
use crate::hoa::Named;
use crate::label::Cube;
use rustc_hash::FxHashMap;

/// Reads a never claim.
///
/// ```
/// let text = "never { T0: do :: !p :: !p -> break od; accept_1: do :: p od }";
/// let claim = preempt_ltl::read_never(text).unwrap();
/// assert_eq!((claim.automaton.len(), claim.names.len()), (2, 1));
/// ```
pub fn read_never(text: &str) -> Result<Named, Error> {
    let mut reader = Reader {
        text,
        tokens: tokenize(text)?,
        position: 0,
        depth: 0,
        names: Vec::new(),
        nodes: Vec::new(),
        labels: FxHashMap::default(),
        breaks: Vec::new(),
    };
    reader.claim()
}

#[derive(Clone, Copy, Debug)]
struct Token {
    start: usize,
    end: usize,
}

fn tokenize(text: &str) -> Result<Vec<Token>, Error> {
    const LONG: [&str; 9] = ["->", "::", "&&", "||", "==", "!=", "<=", ">=", "<<"];
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        if rest.starts_with("/*") {
            at = match rest.find("*/") {
                Some(length) => at + length + 2,
                None => return Err(Error::syntax(text, start, "this comment is not closed")),
            };
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        at += if c.is_alphanumeric() || c == '_' {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
        } else if LONG.iter().any(|l| rest.starts_with(l)) {
            2
        } else {
            c.len_utf8()
        };
        tokens.push(Token { start, end: at });
    }
    Ok(tokens)
}

/// Where control goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Target {
    Node(usize),
    Label(String, usize),
    /// The claim is over: a violation.
    End,
}

#[derive(Clone, Debug)]
enum Arc {
    Step(Guard, Target),
    /// Taken when no other first step of the same choice can be.
    Else(Target),
    /// Control is also there: the options of `if` and `do`.
    Same(Target),
}

#[derive(Clone, Debug, Default)]
struct Location {
    arcs: Vec<Arc>,
    accepting: bool,
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
    names: Vec<String>,
    nodes: Vec<Location>,
    labels: FxHashMap<String, Target>,
    breaks: Vec<Target>,
}

/// A statement that is not yet connected to what follows.
enum Statement {
    Condition(Guard),
    Else,
    Assert(Guard),
    Goto(String, usize),
    Break(usize),
    Choice { options: Vec<Block>, repeat: bool },
    Indivisible(Block, usize),
}

/// Statements with the labels before them.
type Block = Vec<(Vec<String>, Statement)>;

impl Reader<'_> {
    fn claim(&mut self) -> Result<Named, Error> {
        self.expect("never")?;
        if self.peek() != "{" {
            self.position += 1;
        }
        self.expect("{")?;
        let block = self.block(&["}"])?;
        self.expect("}")?;
        if self.position < self.tokens.len() {
            return self.error("text after the end of the claim");
        }
        let start = self.connect(block, Target::End)?;
        self.automaton(start)
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.position).map_or("", |t| &self.text[t.start..t.end])
    }

    fn offset(&self) -> usize {
        self.tokens.get(self.position).map_or(self.text.len(), |t| t.start)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::syntax(self.text, self.offset(), message))
    }

    fn accept(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), Error> {
        if self.accept(token) {
            return Ok(());
        }
        let found = self.peek().to_owned();
        self.error(if found.is_empty() {
            format!("expected `{token}`, but the text ends")
        } else {
            format!("expected `{token}`, found `{found}`")
        })
    }

    fn block(&mut self, ends: &[&str]) -> Result<Block, Error> {
        self.depth += 1;
        if self.depth > 100 {
            return self.error("statements are nested too deeply");
        }
        let mut block = Vec::new();
        loop {
            while self.accept(";") || self.accept("->") {}
            if ends.contains(&self.peek()) || self.position >= self.tokens.len() {
                break;
            }
            let mut labels = Vec::new();
            while self.is_label() {
                labels.push(self.peek().to_owned());
                self.position += 2;
            }
            let statement = self.statement()?;
            block.push((labels, statement));
        }
        self.depth -= 1;
        Ok(block)
    }

    fn is_label(&self) -> bool {
        let starts_name = self.peek().starts_with(|c: char| c.is_alphabetic() || c == '_');
        let colon = self.tokens.get(self.position + 1);
        starts_name && colon.is_some_and(|t| &self.text[t.start..t.end] == ":")
    }

    fn statement(&mut self) -> Result<Statement, Error> {
        let start = self.offset();
        match self.peek() {
            "if" => self.choice("fi", false),
            "do" => self.choice("od", true),
            "goto" => {
                self.position += 1;
                let label = self.peek().to_owned();
                self.position += 1;
                Ok(Statement::Goto(label, start))
            }
            "break" => {
                self.position += 1;
                Ok(Statement::Break(start))
            }
            "skip" => {
                self.position += 1;
                Ok(Statement::Condition(Guard::constant(true)))
            }
            "else" => {
                self.position += 1;
                Ok(Statement::Else)
            }
            "assert" => {
                self.position += 1;
                Ok(Statement::Assert(self.condition()?))
            }
            "atomic" | "d_step" => {
                self.position += 1;
                self.expect("{")?;
                let block = self.block(&["}"])?;
                self.expect("}")?;
                Ok(Statement::Indivisible(block, start))
            }
            _ => Ok(Statement::Condition(self.condition()?)),
        }
    }

    fn choice(&mut self, end: &str, repeat: bool) -> Result<Statement, Error> {
        self.position += 1;
        let mut options = Vec::new();
        while self.accept("::") {
            options.push(self.block(&["::", end])?);
        }
        self.expect(end)?;
        Ok(Statement::Choice { options, repeat })
    }

    fn condition(&mut self) -> Result<Guard, Error> {
        let from = self.position;
        let mut nesting = 0usize;
        while self.position < self.tokens.len() {
            match self.peek() {
                "(" | "[" => nesting += 1,
                ")" | "]" if nesting > 0 => nesting -= 1,
                "->" | ";" | "::" | "}" | "od" | "fi" | ")" | "]" if nesting == 0 => break,
                "{" | ";" => return self.error("unexpected token in a condition"),
                _ => {}
            }
            self.position += 1;
        }
        if from == self.position {
            return self.error("expected a statement");
        }
        if nesting > 0 {
            self.position = from;
            return self.error("this condition is not closed");
        }
        self.formula(from, self.position, 0)
    }

    /// Tokens `from..to` as a Boolean combination of opaque conditions.
    fn formula(&mut self, from: usize, to: usize, depth: usize) -> Result<Guard, Error> {
        if depth > 200 {
            return self.error("the condition is nested too deeply");
        }
        for (operator, conjunction) in [("||", false), ("&&", true)] {
            let places = self.top_level(from, to, operator);
            if places.is_empty() {
                continue;
            }
            let mut result = Guard::constant(conjunction);
            let mut start = from;
            for end in places.into_iter().chain([to]) {
                let part = self.formula(start, end, depth + 1)?;
                result = if conjunction { result.and(&part)? } else { result.or(&part)? };
                start = end + 1;
            }
            return Ok(result);
        }
        if from >= to {
            self.position = from.min(self.tokens.len());
            return self.error("expected a condition");
        }
        let word = |at: usize| &self.text[self.tokens[at].start..self.tokens[at].end];
        if word(from) == "(" && self.closing(from, to) == Some(to - 1) {
            return self.formula(from + 1, to - 1, depth + 1);
        }
        let negates_all = word(from) == "!"
            && (to - from == 2
                || word(from + 1) == "!"
                || (word(from + 1) == "(" && self.closing(from + 1, to) == Some(to - 1)));
        if negates_all {
            return self.formula(from + 1, to, depth + 1)?.not();
        }
        let source = &self.text[self.tokens[from].start..self.tokens[to - 1].end];
        match source {
            "1" | "true" => return Ok(Guard::constant(true)),
            "0" | "false" => return Ok(Guard::constant(false)),
            _ => {}
        }
        let name = source.split_whitespace().collect::<Vec<_>>().join(" ");
        let number = match self.names.iter().position(|n| *n == name) {
            Some(number) => number,
            None => {
                self.names.push(name);
                self.names.len() - 1
            }
        };
        if number >= 64 {
            return Err(Error::TooManyPropositions(number + 1));
        }
        Ok(Guard::proposition(number as u32))
    }

    fn top_level(&self, from: usize, to: usize, operator: &str) -> Vec<usize> {
        let mut nesting = 0usize;
        let mut places = Vec::new();
        for at in from..to {
            let token = self.tokens[at];
            match &self.text[token.start..token.end] {
                "(" | "[" => nesting += 1,
                ")" | "]" => nesting = nesting.saturating_sub(1),
                word if word == operator && nesting == 0 => places.push(at),
                _ => {}
            }
        }
        places
    }

    fn closing(&self, open: usize, to: usize) -> Option<usize> {
        let mut nesting = 0usize;
        for at in open..to {
            let token = self.tokens[at];
            match &self.text[token.start..token.end] {
                "(" => nesting += 1,
                ")" => {
                    nesting = nesting.saturating_sub(1);
                    if nesting == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn add(&mut self, arcs: Vec<Arc>) -> Target {
        self.nodes.push(Location { arcs, accepting: false });
        Target::Node(self.nodes.len() - 1)
    }

    /// Builds locations back to front; returns where the block begins.
    fn connect(&mut self, block: Block, after: Target) -> Result<Target, Error> {
        let mut next = after;
        for (labels, statement) in block.into_iter().rev() {
            next = match statement {
                Statement::Condition(guard) => self.add(vec![Arc::Step(guard, next)]),
                Statement::Else => self.add(vec![Arc::Else(next)]),
                Statement::Assert(guard) => {
                    let failed = guard.not()?;
                    let arcs = vec![Arc::Step(guard, next), Arc::Step(failed, Target::End)];
                    self.add(arcs)
                }
                Statement::Goto(label, offset) => Target::Label(label, offset),
                Statement::Break(offset) => match self.breaks.last() {
                    Some(target) => target.clone(),
                    None => {
                        return Err(Error::syntax(self.text, offset, "`break` outside of `do`"));
                    }
                },
                Statement::Choice { options, repeat } => {
                    let here = self.add(Vec::new());
                    let follow = if repeat { here.clone() } else { next.clone() };
                    if repeat {
                        self.breaks.push(next);
                    }
                    let mut arcs = Vec::new();
                    for option in options {
                        arcs.push(Arc::Same(self.connect(option, follow.clone())?));
                    }
                    if repeat {
                        self.breaks.pop();
                    }
                    if let Target::Node(node) = here {
                        self.nodes[node].arcs = arcs;
                    }
                    here
                }
                Statement::Indivisible(block, offset) => self.indivisible(block, next, offset)?,
            };
            for label in labels {
                // A label on `goto` or `break` marks no location of its own.
                if label.starts_with("accept")
                    && let Target::Node(node) = next
                {
                    self.nodes[node].accepting = true;
                }
                self.labels.insert(label, next.clone());
            }
        }
        Ok(next)
    }

    /// Conditions and assertions that all read the same valuation.
    fn indivisible(&mut self, block: Block, after: Target, offset: usize) -> Result<Target, Error> {
        let mut guard = Guard::constant(true);
        let mut next = after;
        let mut arcs = Vec::new();
        for (_, statement) in block {
            match statement {
                Statement::Condition(condition) => guard = guard.and(&condition)?,
                Statement::Assert(condition) => {
                    let failed = guard.and(&condition.not()?)?;
                    arcs.push(Arc::Step(failed, Target::End));
                    guard = guard.and(&condition)?;
                }
                Statement::Goto(label, offset) => {
                    next = Target::Label(label, offset);
                    break;
                }
                _ => {
                    let message = "only conditions, assertions and goto are read inside atomic";
                    return Err(Error::syntax(self.text, offset, message));
                }
            }
        }
        arcs.push(Arc::Step(guard, next));
        Ok(self.add(arcs))
    }

    fn resolve(&self, mut target: Target) -> Result<Target, Error> {
        // A label may stand on a goto; a ring of them is no location at all.
        for _ in 0..=self.labels.len() {
            match target {
                Target::Label(label, offset) => match self.labels.get(&label) {
                    Some(next) => target = next.clone(),
                    None => {
                        let message = format!("there is no label `{label}`");
                        return Err(Error::syntax(self.text, offset, message));
                    }
                },
                known => return Ok(known),
            }
        }
        self.error("labels and gotos form a ring without a step")
    }

    /// First steps from a location, through options; `else` is made explicit.
    fn steps(&self, node: usize, seen: &mut Vec<usize>) -> Result<Vec<(Guard, Target)>, Error> {
        if seen.contains(&node) {
            return Ok(Vec::new());
        }
        seen.push(node);
        let mut steps = Vec::new();
        let mut otherwise = None;
        for arc in &self.nodes[node].arcs {
            match arc {
                Arc::Step(guard, target) => {
                    steps.push((guard.clone(), self.resolve(target.clone())?));
                }
                Arc::Else(target) => otherwise = Some(self.resolve(target.clone())?),
                Arc::Same(target) => match self.resolve(target.clone())? {
                    Target::Node(inner) => match self.nodes[inner].arcs.as_slice() {
                        [Arc::Else(target)] => otherwise = Some(self.resolve(target.clone())?),
                        _ => steps.extend(self.steps(inner, seen)?),
                    },
                    other => steps.push((Guard::constant(true), other)),
                },
            }
        }
        if let Some(target) = otherwise {
            let mut others = Guard::constant(false);
            for (guard, _) in &steps {
                others = others.or(guard)?;
            }
            steps.push((others.not()?, target));
        }
        Ok(steps)
    }

    fn automaton(&self, start: Target) -> Result<Named, Error> {
        let mut order = vec![self.resolve(start)?];
        let mut index: FxHashMap<Target, u32> = FxHashMap::default();
        index.insert(order[0].clone(), 0);
        let mut edges: Vec<Vec<Edge>> = Vec::new();
        let mut accepting = Vec::new();
        while edges.len() < order.len() {
            let place = order[edges.len()].clone();
            let (steps, accepts) = match place {
                Target::Node(node) => {
                    let steps = self.steps(node, &mut Vec::new())?;
                    (steps, self.nodes[node].accepting)
                }
                _ => (vec![(Guard::constant(true), Target::End)], true),
            };
            let mut out = Vec::new();
            for (guard, target) in steps {
                let number = *index.entry(target).or_insert_with_key(|target| {
                    order.push(target.clone());
                    order.len() as u32 - 1
                });
                out.extend(
                    guard.0.iter().map(|label: &Cube| Edge { target: number, label: *label }),
                );
            }
            edges.push(out);
            accepting.push(accepts);
        }
        Ok(Named {
            automaton: Automaton::new(vec![0], edges, accepting),
            names: self.names.clone(),
        })
    }
}
