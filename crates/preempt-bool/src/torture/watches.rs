//! Expressions about states, and the statements that are not reached, of random programs.
//!
//! A variable that is watched has the value that the machine lists, a label the thread that has just passed it. A statement
//! is reached by the search over states if, and only if, another engine reaches a label in front of it. A thread that waits
//! cannot move before one of those has moved that are said to be able to change that.

use super::{program, random, seeds};
use crate::check::check;
use crate::diagnostic::Lines;
use crate::explicit::{Machine, Watch};
use crate::options::{Options, Switches};
use crate::syntax::ast::{FunctionDef, Name, Statement, StatementKind};
use crate::syntax::{Dialect, parse_module, print};
use crate::{Program, parse};
use preempt_core::{Describe, Enabled, Outcome, ProcessId, System, Value, Verdict};

#[test]
fn watches_have_the_values_of_the_machine() {
    let (mut values, mut labels) = (0, 0);
    for seed in seeds(150) {
        let source = program(seed, false);
        let (program, _) = parse(&source, "random.bp", Dialect::Slam).unwrap();
        let machine = Machine::new(&program, None, 8).unwrap();
        let mut random = random(seed);
        let mut state = Vec::new();
        machine.initial(&mut state);
        for _ in 0..40 {
            let known = machine.variables(&state);
            let (mut all, mut whole) = (String::from("T"), true);
            for (name, value) in &known {
                let watch = Watch::new(&program, name).unwrap_or_else(|e| panic!("{e}\n{source}"));
                let expected = match value {
                    Value::Int(number) => *number,
                    Value::Name(name) => i64::from(name == "T"),
                    Value::Queue(_) => panic!("a channel"),
                };
                // A name may belong to variables of several functions; only those of one type can be watched.
                let Some(found) = watch.value(&state) else {
                    whole = false;
                    continue;
                };
                assert_eq!(found, expected, "{name}\n{source}");
                all.push_str(&format!(" & {name} = {value}"));
                values += 1;
            }
            let together = Watch::new(&program, &all).unwrap_or_else(|e| panic!("{all}: {e}"));
            assert!(!whole || together.value(&state) == Some(1), "{all}\n{source}");
            let mut enabled = Enabled::new();
            machine.enabled(&mut state, &mut enabled);
            let steps = enabled.steps();
            if steps.is_empty() {
                break;
            }
            let step = steps[random.below(steps.len())];
            let (name, text) =
                (machine.process_name(&state, step.process), machine.describe(&state, step).2);
            if matches!(machine.apply(&mut state, step), Outcome::Broken(_)) {
                break;
            }
            if let (Some(label), true) = (text.strip_suffix(':'), step.process.index() > 0) {
                let watch = Watch::new(&program, &format!("{name}@{label}"));
                let watch = watch.unwrap_or_else(|e| panic!("{name}@{label}: {e}\n{source}"));
                assert_eq!(watch.value(&state), Some(1), "{name}@{label}\n{source}");
                labels += 1;
            }
        }
    }
    eprintln!("{values} values, {labels} labels");
    assert!(values > 1000 && labels > 5, "{values} {labels}");
}

#[test]
fn what_cannot_be_watched_is_explained() {
    let source = "decl x; decl int<3> n; void init() begin x := F; n := 0; end
        thread t() begin decl {y = z}; {y = z} := T; L: x := {y = z}; end";
    let (program, _) = parse(source, "program.bp", Dialect::Slam).unwrap();
    for good in ["x", "n + 1 = 2", "t.{y = z} & !x", "t@L", "x = F => n < 3", "3"] {
        assert!(
            Watch::new(&program, good).is_ok(),
            "{good}: {:?}",
            Watch::new(&program, good).err()
        );
    }
    for (bad, why) in [
        ("", "expected an expression, found the end"),
        ("x &", "expected an expression, found the end"),
        ("x x", "expected the end of the expression, found `x`"),
        ("y", "the variable `y` is not declared"),
        ("t.y", "the variable `t.y` is not declared"),
        ("t@M", "the variable `t@M` is not declared"),
        ("x + 1", "a truth value is needed here"),
        ("n & x", "a truth value is needed here"),
        ("*", "`*` has no value of its own"),
        ("n = 9", "9 does not fit into 3 bits"),
        ("'x", "has a meaning in `constrain` only"),
        ("t.", "`.` has no meaning here"),
    ] {
        let found = Watch::new(&program, bad).err().unwrap_or_else(|| panic!("{bad} is accepted"));
        assert!(found.contains(why), "{bad}: {found}");
    }
}

/// Puts a label in front of the statement with this number; its line.
fn label(functions: &mut [FunctionDef], number: &mut usize, lines: &Lines) -> Option<u32> {
    functions.iter_mut().find_map(|function| within(&mut function.body, number, lines))
}

fn within(body: &mut [Statement], number: &mut usize, lines: &Lines) -> Option<u32> {
    for statement in body {
        if *number == 0 {
            statement.labels.insert(0, Name::made("Probe"));
            return Some(lines.line(statement.span.start));
        }
        *number -= 1;
        let inside = match &mut statement.kind {
            StatementKind::If { then, otherwise, .. } => {
                within(then, number, lines).or_else(|| within(otherwise, number, lines))
            }
            StatementKind::While { body, .. } => within(body, number, lines),
            _ => None,
        };
        if inside.is_some() {
            return inside;
        }
    }
    None
}

/// The lines of the only statement there, with whether another engine reaches it; `None` where that is not known.
fn reached_by_label(source: &str, number: usize) -> Option<(u32, Option<bool>)> {
    let lines = Lines::new("random.bp", source);
    let (mut module, _) = parse_module(source, Dialect::Slam, &lines).ok()?;
    let mut left = number;
    let line = label(&mut module.functions, &mut left, &lines)?;
    // Nothing but the label counts.
    let text =
        print::module(&module).replace("assert(", "assume(T | (").replace("SLIC_ERROR", "Other");
    let text = balanced(&text);
    let Ok((program, _)) = parse(&text, "probe.bp", Dialect::Slam) else {
        return Some((line, None));
    };
    let options =
        Options { target: Some("Probe"), switches: Switches::Iterate(12), ..Options::default() };
    let verdict = check(&program, &options).ok()?.claim.verdict;
    Some((
        line,
        match verdict {
            Verdict::Holds => Some(false),
            Verdict::Violated => Some(true),
            _ => None,
        },
    ))
}

/// Closes the parenthesis that was opened for each assertion.
fn balanced(text: &str) -> String {
    let close = |line: &str| match line.contains("assume(T | (") {
        true => line.replacen(");", "));", 1),
        false => line.to_string(),
    };
    text.lines().map(close).collect::<Vec<_>>().join("\n")
}

fn unreached(program: &Program) -> Option<Vec<(u32, String)>> {
    let machine = Machine::new(program, None, 8).ok()?;
    let options = preempt_check::Options { deadlocks: false, ..Default::default() };
    let claim = preempt_check::Check::new(&machine).options(options).run().claim;
    let places = claim.unreached.into_iter().map(|code| (code.line, code.text));
    (claim.verdict == Verdict::Holds).then(|| places.collect())
}

#[test]
fn statements_that_are_not_reached_have_labels_that_are_not() {
    let (mut reached, mut missed) = (0, 0);
    for seed in seeds(100) {
        let source = program(seed, false);
        let (program, _) = parse(&source, "random.bp", Dialect::Slam).unwrap();
        let Some(found) = unreached(&program) else { continue };
        for number in 0.. {
            let Some((line, by_label)) = reached_by_label(&source, number) else { break };
            let here = source.lines().nth(line as usize - 1).unwrap_or_default();
            // More than one statement stands in the line.
            if here.matches(';').count() != 1 || here.contains("if") || here.contains("while") {
                continue;
            }
            let by_states = !found.iter().any(|(other, _)| *other == line);
            if let Some(by_label) = by_label {
                // A condition may keep a thread in front of the statement for ever.
                let waits = ["assume", "constrain", "schoose"].iter().any(|w| here.contains(w));
                let agree = by_label == by_states || by_label && waits;
                assert!(agree, "line {line} of\n{source}\n{found:?}");
                *(if by_states { &mut reached } else { &mut missed }) += 1;
            }
        }
    }
    eprintln!("{reached} statements reached, {missed} not");
    assert!(reached > 50 && missed > 10, "{reached} {missed}");
}

#[test]
fn threads_wait_for_those_that_are_named() {
    let (mut waiting, mut alone) = (0, 0);
    for seed in seeds(150) {
        let source = program(seed, false);
        let (program, _) = parse(&source, "random.bp", Dialect::Slam).unwrap();
        let machine = Machine::new(&program, None, 6).unwrap();
        let mut random = random(seed);
        let mut state = Vec::new();
        machine.initial(&mut state);
        for _ in 0..30 {
            let mut enabled = Enabled::new();
            machine.enabled(&mut state, &mut enabled);
            for process in (1..machine.process_count(&state)).map(|p| ProcessId(p as u16)) {
                let wait = machine.waiting(&state, process);
                if enabled.can_move(process) {
                    continue;
                }
                let Some(wait) = wait else { continue };
                assert!(!wait.reasons.is_empty(), "{source}");
                waiting += 1;
                alone += usize::from(wait.waits_for.is_empty());
                let moves = moves_without(&machine, &state, process, &wait.waits_for);
                assert!(!moves, "{process} {wait:?} {:?}\n{source}", machine.variables(&state));
            }
            let steps = enabled.steps();
            if steps.is_empty() {
                break;
            }
            let step = steps[random.below(steps.len())];
            if matches!(machine.apply(&mut state, step), Outcome::Broken(_)) {
                break;
            }
        }
    }
    eprintln!("{waiting} wait, {alone} of them for ever");
    assert!(waiting > 100 && alone > 10, "{waiting} {alone}");
}

/// Whether a process can move in one of the first states that can be reached without steps of these.
fn moves_without(
    machine: &Machine<'_>,
    state: &[u8],
    process: ProcessId,
    without: &[usize],
) -> bool {
    let mut states = vec![state.to_vec()];
    let mut at = 0;
    while at < states.len() && at < 300 {
        let mut state = states[at].clone();
        at += 1;
        let mut enabled = Enabled::new();
        machine.enabled(&mut state, &mut enabled);
        if enabled.can_move(process) {
            return true;
        }
        for step in enabled.steps().iter().filter(|step| !without.contains(&step.process.index())) {
            let mut next = state.clone();
            let outcome = machine.apply(&mut next, *step);
            if !matches!(outcome, Outcome::Broken(_)) && !states.contains(&next) {
                states.push(next);
            }
        }
    }
    false
}
