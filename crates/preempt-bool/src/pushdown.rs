//! Concurrent pushdown systems, as CUBA and its relatives write them, as Boolean programs.
//!
//! ```text
//! 2                # shared states 0 and 1
//! PDA 2 5          # a thread with the stack symbols 2 to 5, and its rules
//! 0 2 -> 1 3       # replace the top of the stack
//! 1 3 -> 0 2 4     # push: 2 on top of 4
//! 0 4 -> 0 -       # pop
//! ```
//!
//! A configuration is `state|stack,stack,…`, a stack a list of symbols with dots between them, the
//! top last, or `-` when it is empty. A target names the shared state and the top of each stack.
//!
//! A symbol that is pushed becomes a function: what replaces it is a jump, a push a call, a pop a
//! return. A rule is one step. If there is a target, threads with the same rules, the same start
//! and the same wanted top share a counter of those whose top is wanted, which changes in the step
//! of the rule; only a return needs a step more, and in between the thread does not count. Where a
//! thread has its wanted top, it may test the state and the counters.

mod read;

use crate::diagnostic::{Diagnostic, Lines};
use crate::flow::Program;
use crate::syntax::ast::*;
use read::{Action, Configuration, Rule, System, Top};
use std::collections::{BTreeMap, BTreeSet};

/// Reads a concurrent pushdown system. The threads start as `initial` says, `0|0,0,…` if it is not
/// given; `target` is what should not be reached.
pub fn parse_pushdown(
    source: &str,
    file: &str,
    initial: Option<&str>,
    target: Option<&str>,
) -> Result<Program, Vec<Diagnostic>> {
    let lines = Lines::new(file, source);
    let system = read::system(source, &lines).map_err(|error| vec![error])?;
    let threads = system.threads.len();
    let configuration = |text: &str| read::configuration(text, threads, &lines);
    let one = |error: Diagnostic| vec![error];
    let initial = match initial {
        Some(text) => configuration(text).map_err(one)?,
        None => Configuration { state: 0, stacks: vec![vec![0]; threads] },
    };
    let target = target.map(configuration).transpose().map_err(one)?;
    let module = Builder::new(&system, &initial, target.as_ref()).module();
    Program::from_tree(module, file, &lines)
}

/// Threads that are the same in all that matters.
struct Class<'a> {
    rules: &'a [Rule],
    /// Bottom first.
    stack: &'a [u32],
    wanted: Option<Top>,
    members: u32,
    /// How many of them have the wanted top.
    counter: String,
}

struct Builder<'a> {
    initial: u32,
    target: Option<u32>,
    state: Type,
    states: u32,
    classes: Vec<Class<'a>>,
}

const STATE: &str = "state";

impl<'a> Builder<'a> {
    fn new(
        system: &'a System,
        initial: &'a Configuration,
        target: Option<&'a Configuration>,
    ) -> Self {
        let mut classes: Vec<Class<'a>> = Vec::new();
        for (i, rules) in system.threads.iter().enumerate() {
            let stack = initial.stacks[i].as_slice();
            let wanted = target.map(|t| t.stacks[i].last().copied());
            let same = |c: &&mut Class<'_>| {
                (c.stack, c.wanted) == (stack, wanted) && read::same_rules(c.rules, rules)
            };
            match classes.iter_mut().find(same) {
                Some(class) => class.members += 1,
                None => {
                    let counter = format!("wanted{}", classes.len() + 1);
                    classes.push(Class { rules, stack, wanted, members: 1, counter });
                }
            }
        }
        let all = |c: &Configuration| c.state;
        let largest = system.states.max(initial.state + 1).max(target.map_or(0, all) + 1);
        Builder {
            initial: initial.state,
            target: target.map(all),
            state: bits(largest - 1),
            states: largest,
            classes,
        }
    }

    fn module(&self) -> Module {
        let mut module = Module::default();
        module.globals.push(Declaration::made(self.state, [STATE.to_string()]));
        let mut start = vec![assign(STATE, Expr::number(self.initial.into()))];
        for class in self.classes.iter().filter(|c| c.wanted.is_some()) {
            let ty = bits(class.members);
            module.globals.push(Declaration::made(ty, [class.counter.clone()]));
            let count = if class.wants(class.stack.last().copied()) { class.members } else { 0 };
            start.push(assign(&class.counter, Expr::number(count.into())));
        }
        module.functions.push(FunctionDef::made("init", start));
        for (i, class) in self.classes.iter().enumerate() {
            let prefix = format!("pda{}", i + 1);
            let mut root = self.root(class, &prefix);
            root.thread = Some(class.members);
            module.functions.push(root);
            let pushed = class.rules.iter().filter_map(|rule| match (rule.from, rule.action) {
                (_, Action::Push(top, below)) => Some([top, below]),
                (None, Action::Replace(top)) => Some([top, top]),
                _ => None,
            });
            let mut entries: BTreeSet<u32> = class.stack.iter().copied().collect();
            entries.extend(pushed.flatten());
            for entry in entries {
                module.functions.push(self.function(class, &prefix, entry));
            }
        }
        module
    }

    /// The bottom of a thread: its first stack, then the rules for an empty stack.
    fn root(&self, class: &Class<'_>, prefix: &str) -> FunctionDef {
        let mut body = Vec::new();
        for (i, symbol) in class.stack.iter().enumerate().rev() {
            body.push(call(prefix, *symbol));
            body.extend(class.arrives(i.checked_sub(1).map(|below| class.stack[below])));
        }
        let empty = Name::made("empty");
        let mut branches = Vec::new();
        for (at, rule) in class.rules.iter().enumerate().filter(|(_, rule)| rule.from.is_none()) {
            let pushed: &[u32] = match &rule.action {
                Action::Replace(top) => &[*top],
                Action::Push(top, below) => &[*top, *below],
                Action::Pop => continue,
            };
            let mut branch = vec![self.step(class, None, Some(pushed[0]), rule.to, &[rule])];
            for (i, symbol) in pushed.iter().enumerate() {
                branch.push(call(prefix, *symbol));
                branch.extend(class.arrives(pushed.get(i + 1).copied()));
            }
            branch.push(jump(std::slice::from_ref(&empty)));
            branches.push((format!("rule{at}"), branch));
        }
        branches.extend(self.test(class, None));
        body.extend(alternatives(empty, branches));
        FunctionDef::made(prefix, body)
    }

    /// What a thread does from the time a symbol is on top until it is popped.
    fn function(&self, class: &Class<'_>, prefix: &str, entry: u32) -> FunctionDef {
        let mut body = Vec::new();
        let mut seen = BTreeSet::from([entry]);
        let mut work = vec![entry];
        while let Some(symbol) = work.pop() {
            let mut branches = Vec::new();
            let mut groups: BTreeMap<(Action, u32), Vec<&Rule>> = BTreeMap::new();
            for rule in class.rules.iter().filter(|rule| rule.from == Some(symbol)) {
                // Rules that keep the state are one step, whatever the state is.
                let to = if rule.to == rule.state { u32::MAX } else { rule.to };
                groups.entry((rule.action, to)).or_default().push(rule);
            }
            for (at, ((action, to), rules)) in groups.into_iter().enumerate() {
                let top = action.top();
                let mut branch = vec![self.step(class, Some(symbol), top, to, &rules)];
                let next = match action {
                    Action::Replace(next) => Some(next),
                    Action::Push(top, below) => {
                        branch.push(call(prefix, top));
                        branch.extend(class.arrives(Some(below)));
                        Some(below)
                    }
                    Action::Pop => None,
                };
                match next {
                    Some(next) => {
                        branch.push(jump(&[label(next)]));
                        if seen.insert(next) {
                            work.push(next);
                        }
                    }
                    None => branch.push(Statement::made(StatementKind::Return(Vec::new()))),
                }
                branches.push((format!("symbol{symbol}_{at}"), branch));
            }
            branches.extend(self.test(class, Some(symbol)));
            body.extend(alternatives(label(symbol), branches));
        }
        FunctionDef::made(function_name(prefix, entry), body)
    }

    /// The step of rules that differ in the state they start from only; `to` is the largest number
    /// where they keep it.
    fn step(
        &self,
        class: &Class<'_>,
        before: Top,
        after: Top,
        to: u32,
        rules: &[&Rule],
    ) -> Statement {
        let starts: BTreeSet<u32> = rules.iter().map(|rule| rule.state).collect();
        let guard = (starts.len() < self.states as usize).then(|| {
            let is = |s: &u32| equal(STATE, Expr::number(u64::from(*s)));
            Expr::chain(Operator::Or, starts.iter().map(is).collect())
                .unwrap_or_else(|| Expr::truth(false))
        });
        let (mut lhs, mut rhs) = (Vec::new(), Vec::new());
        if to != u32::MAX {
            lhs.push(Name::made(STATE));
            rhs.push(Expr::number(to.into()));
        }
        if let Some(value) = class.change(class.wants(before), class.wants(after)) {
            lhs.push(Name::made(&class.counter));
            rhs.push(value);
        }
        let kind = match (lhs.is_empty(), guard) {
            (true, guard) => StatementKind::Assume(guard.unwrap_or_else(|| Expr::truth(true))),
            (false, constrain) => StatementKind::Assign { lhs, rhs, constrain },
        };
        let span = rules.first().map_or(0..0, |rule| rule.span.clone());
        Statement { labels: Vec::new(), kind, span }
    }

    /// Where a thread has its wanted top: whether everything else is as it should be.
    fn test(&self, class: &Class<'_>, top: Top) -> Option<(String, Vec<Statement>)> {
        let target = self.target.filter(|_| class.wants(top))?;
        let counters =
            self.classes.iter().map(|c| equal(&c.counter, Expr::number(c.members.into())));
        let state = equal(STATE, Expr::number(target.into()));
        let all = Expr::all(std::iter::once(state).chain(counters));
        let mut reached = Statement::made(StatementKind::Skip);
        reached.labels.push(Name::made("Target"));
        let body = vec![Statement::made(StatementKind::Assume(all)), reached, blocked()];
        let name = top.map_or("test".into(), |symbol| format!("symbol{symbol}_test"));
        Some((name, body))
    }
}

impl Class<'_> {
    fn wants(&self, top: Top) -> bool {
        self.wanted == Some(top)
    }

    /// The counter after a change of the top, if it changes.
    fn change(&self, before: bool, after: bool) -> Option<Expr> {
        if before == after {
            return None;
        }
        if self.members == 1 {
            return Some(Expr::number(after.into()));
        }
        let operator = if after { Operator::Plus } else { Operator::Minus };
        Some(Expr::binary(operator, Expr::variable(&self.counter), Expr::number(1)))
    }

    /// A return has uncovered this symbol; while it returned, the thread did not count.
    fn arrives(&self, top: Top) -> Option<Statement> {
        let value = self.change(false, self.wants(top))?;
        Some(assign(&self.counter, value))
    }
}

fn bits(largest: u32) -> Type {
    Type::Int((u32::BITS - largest.leading_zeros()).max(1) as u8)
}

fn label(symbol: u32) -> Name {
    Name::made(format!("symbol{symbol}"))
}

fn function_name(prefix: &str, entry: u32) -> String {
    format!("{prefix}_{entry}")
}

fn call(prefix: &str, symbol: u32) -> Statement {
    let function = Name::made(function_name(prefix, symbol));
    Statement::made(StatementKind::Call { lhs: Vec::new(), function, args: Vec::new() })
}

fn assign(name: &str, value: Expr) -> Statement {
    let lhs = vec![Name::made(name)];
    Statement::made(StatementKind::Assign { lhs, rhs: vec![value], constrain: None })
}

fn equal(name: &str, value: Expr) -> Expr {
    Expr::binary(Operator::Equal, Expr::variable(name), value)
}

fn jump(labels: &[Name]) -> Statement {
    Statement::made(StatementKind::Goto(labels.to_vec()))
}

fn blocked() -> Statement {
    Statement::made(StatementKind::Assume(Expr::truth(false)))
}

/// Any of the branches, none of which goes on behind its end.
fn alternatives(here: Name, branches: Vec<(String, Vec<Statement>)>) -> Vec<Statement> {
    let labels: Vec<Name> = branches.iter().map(|(name, _)| Name::made(name)).collect();
    let mut first = if labels.is_empty() { blocked() } else { jump(&labels) };
    first.labels.push(here);
    let mut body = vec![first];
    for ((_, mut branch), label) in branches.into_iter().zip(labels) {
        branch[0].labels.push(label);
        body.append(&mut branch);
    }
    body
}
