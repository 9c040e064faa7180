//! The text of a concurrent pushdown system, and of configurations.

use crate::diagnostic::{Diagnostic, Lines};
use std::ops::Range;

/// The top of a stack; `None` when it is empty.
pub(super) type Top = Option<u32>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Action {
    Pop,
    Replace(u32),
    /// The first on top of the second.
    Push(u32, u32),
}

impl Action {
    /// What is on top afterwards; after a pop, nothing that is known.
    pub(super) fn top(self) -> Top {
        match self {
            Action::Pop => Some(NOWHERE),
            Action::Replace(top) | Action::Push(top, _) => Some(top),
        }
    }
}

/// A symbol that no system has.
const NOWHERE: u32 = u32::MAX;
/// Larger numbers of states and symbols are refused.
const MOST: u32 = 1 << 24;

#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) state: u32,
    /// What must be on top.
    pub(super) from: Top,
    pub(super) to: u32,
    pub(super) action: Action,
    pub(super) span: Range<usize>,
}

pub(super) struct System {
    pub(super) states: u32,
    pub(super) threads: Vec<Vec<Rule>>,
}

pub(super) struct Configuration {
    pub(super) state: u32,
    /// Bottom first.
    pub(super) stacks: Vec<Vec<u32>>,
}

/// Whether two threads have the same rules, wherever they are written.
pub(super) fn same_rules(a: &[Rule], b: &[Rule]) -> bool {
    let key = |rule: &Rule| (rule.state, rule.from, rule.to, rule.action);
    let sorted = |rules: &[Rule]| {
        let mut keys: Vec<_> = rules.iter().map(key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    sorted(a) == sorted(b)
}

/// The system with as many shared states as are declared or used.
pub(super) fn system(source: &str, lines: &Lines) -> Result<System, Diagnostic> {
    let mut system = System { states: 0, threads: Vec::new() };
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let text = line.split('#').next().unwrap_or_default().trim();
        let offset = start + line.find(text).unwrap_or(0);
        let span = offset..offset + text.len();
        start += line.len();
        if text.is_empty() {
            continue;
        }
        let wrong = |message: &str| lines.error("B0021", &span, message);
        let words: Vec<&str> = text.split_whitespace().collect();
        if system.states == 0 {
            system.states = number(words[0])
                .filter(|n| *n > 0 && words.len() == 1)
                .ok_or_else(|| wrong("the number of shared states is needed first"))?;
        } else if words[0] == "PDA" {
            let symbols = words[1..].iter().map(|w| number(w)).collect::<Option<Vec<_>>>();
            if symbols.is_none_or(|s| s.len() != 2) {
                return Err(wrong("a thread begins with `PDA` and its first and last symbol"));
            }
            system.threads.push(Vec::new());
        } else {
            let rule = rule(&words, span.clone())
                .ok_or_else(|| wrong("a rule is `state top -> state symbols`, with at most two"))?;
            system.states = system.states.max(rule.state + 1).max(rule.to + 1);
            let Some(thread) = system.threads.last_mut() else {
                return Err(wrong("a rule before the first `PDA`"));
            };
            thread.push(rule);
        }
    }
    if system.threads.is_empty() {
        return Err(lines.error("B0021", &(0..0), "there is no `PDA`, so nothing runs"));
    }
    Ok(system)
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n| *n <= MOST)
}

/// A symbol, or `-` for none; the outer option is `None` for anything else.
fn symbol(text: &str) -> Option<Top> {
    if text == "-" { Some(None) } else { number(text).map(Some) }
}

fn rule(words: &[&str], span: Range<usize>) -> Option<Rule> {
    let [state, from, "->", to, pushed @ ..] = words else { return None };
    let pushed = pushed.iter().map(|w| symbol(w)).collect::<Option<Vec<Top>>>()?;
    let action = match pushed.as_slice() {
        [] | [None] => Action::Pop,
        [Some(top)] | [Some(top), None] => Action::Replace(*top),
        [Some(top), Some(below)] => Action::Push(*top, *below),
        _ => return None,
    };
    let (state, from, to) = (number(state)?, symbol(from)?, number(to)?);
    Some(Rule { state, from, to, action, span })
}

/// `state|stack,stack,…` for so many threads.
pub(super) fn configuration(
    text: &str,
    threads: usize,
    lines: &Lines,
) -> Result<Configuration, Diagnostic> {
    let read = || {
        let (state, stacks) = text.trim().split_once('|')?;
        let stack = |text: &str| -> Option<Vec<u32>> {
            let symbols = text.trim().split('.').map(symbol).collect::<Option<Vec<Top>>>()?;
            Some(symbols.into_iter().flatten().collect())
        };
        let stacks = stacks.split(',').map(stack).collect::<Option<Vec<_>>>()?;
        Some(Configuration { state: number(state.trim())?, stacks })
    };
    match read() {
        Some(found) if found.stacks.len() == threads => Ok(found),
        _ => {
            let message = format!(
                "`{}` is not a configuration: the format is `state|stack,stack,…`, with {threads} stacks here",
                text.trim()
            );
            Err(lines.error("B0022", &(0..0), message))
        }
    }
}
