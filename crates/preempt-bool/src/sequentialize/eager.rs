//! Eager_k: all boundaries are guessed first, then each thread runs once through its contexts.
//!
//! Paper: [LMP09] Fig. 2.
//! Differs from the paper: the number of contexts is guessed as well, and the target must be
//! reached in the last one, which ends there. The paper fixes k + 1 contexts and lets the thread
//! run on after the target, which loses executions that reach it and then have too few statements
//! left to switch. Neighbouring contexts belong to different threads.

use super::Translated;
use super::control::{Translation, assume, bits_for, call, cases, equal, is, note, set, stmt};
use crate::flow::Program;
use crate::syntax::ast::*;

#[doc(alias = "LMP09 Fig. 2")]
pub(super) fn translate(program: &Program, switches: usize, target: Option<&str>) -> Translated {
    let mut t = Translation::new(program, switches);
    let (goal, last) = (t.fresh("goal"), t.fresh("last"));
    let labels = program.labels();
    for label in ["Target", "SLIC_ERROR"].into_iter().chain(target) {
        let counts = target.map_or(label == "Target" || label == "SLIC_ERROR", |t| t == label);
        let mut new = format!("was_{label}");
        while labels.contains(&new) {
            new.push('_');
        }
        if counts {
            t.renamed_labels.insert(label.to_string(), new);
        }
    }
    let reached = vec![
        set(&[goal.clone(), t.terminate.clone()], vec![Expr::truth(true), Expr::truth(true)]),
        stmt(StatementKind::Return(Vec::new())),
    ];
    let in_last = equal(&t.cx, Expr::variable(&last));
    t.at_target =
        vec![stmt(StatementKind::If { condition: in_last, then: reached, otherwise: Vec::new() })];
    let mut globals = Vec::new();
    let counter = Type::Int(bits_for(switches));
    let threads = Type::Int(bits_for(program.threads.len()));
    let flags = [goal.clone(), t.terminate.clone()];
    for (name, comment) in flags
        .iter()
        .zip(["the target is reached", "the running thread is through: all its calls return"])
    {
        let mut declaration = Declaration::made(Type::Bool, [name.clone()]);
        declaration.comment = comment.into();
        globals.push(declaration);
    }
    let mut numbers = Declaration::made(counter, [t.cx.clone()]);
    numbers.comment = "the context that runs, and the one that reaches the target".into();
    globals.push(numbers);
    globals.push(Declaration::made(counter, [last.clone()]));
    for name in &t.schedule {
        globals.push(Declaration::made(threads, [name.clone()]));
    }
    globals.extend(t.shared_declarations());
    let mut functions = t.functions();
    functions.push(context_switch(&t, &last));
    functions.push(main(&t, &goal, &last, target));
    Translated {
        module: Module { globals, functions },
        schedule: t.schedule,
        copies: t.copies,
        plain: t.plain,
        last,
        explored: None,
    }
}

/// At a switch: the context must end as guessed, and the thread goes on in its next one.
fn context_switch(t: &Translation<'_>, last: &str) -> FunctionDef {
    let mut body = vec![assume(equal(&t.cx, Expr::variable(last)).not())];
    let mut list = Vec::new();
    for i in 0..t.switches {
        let mut next = Vec::new();
        for j in i + 2..=t.switches {
            let again = equal(&t.schedule[j], Expr::variable(&t.schedule[i]));
            next.push((again, vec![t.load(j, &[(&t.cx, Expr::number(j as u64))])]));
        }
        let through = vec![set(std::slice::from_ref(&t.terminate), vec![Expr::truth(true)])];
        let mut then = vec![assume(t.matches(i + 1))];
        then.extend(cases(next, through));
        list.push((is(&t.cx, i), then));
    }
    body.extend(cases(list, Vec::new()));
    let mut function = FunctionDef::made(&t.context_switch, body);
    function.comment = "ends the present context".into();
    function
}

fn main(t: &Translation<'_>, goal: &str, last: &str, target: Option<&str>) -> FunctionDef {
    let mut body = vec![note("guess which thread runs when; the boundaries are arbitrary already")];
    body.push(set(&[goal.to_string()], vec![Expr::truth(false)]));
    body.push(set(&t.schedule, t.schedule.iter().map(|_| Expr::any()).collect()));
    let threads = t.program.threads.len() as u64;
    let mut conditions = Vec::new();
    for (i, name) in t.schedule.iter().enumerate() {
        let here = Expr::variable(name);
        conditions.push(Expr::binary(Operator::LessEqual, here, Expr::number(threads)));
        if i == 0 {
            conditions.push(is(name, 0).not());
            continue;
        }
        let before = &t.schedule[i - 1];
        let differs = equal(name, Expr::variable(before)).not();
        let follows = Expr::all([is(before, 0).not(), differs]);
        conditions.push(Expr::binary(Operator::Or, is(name, 0), follows));
    }
    for c in 0..=t.switches {
        conditions.extend(t.in_order(c));
    }
    body.push(assume(Expr::all(conditions)));
    let ends = (1..=t.switches).rev().map(|i| {
        (is(&t.schedule[i], 0).not(), vec![set(&[last.to_string()], vec![Expr::number(i as u64)])])
    });
    body.extend(cases(ends.collect(), vec![set(&[last.to_string()], vec![Expr::number(0)])]));
    for thread in 0..t.program.threads.len() {
        body.push(note(format!("thread {}", t.program.threads[thread].name)));
        let mut list = Vec::new();
        for c in 0..=t.switches {
            let mut then = Vec::new();
            let number = Expr::number(c as u64);
            if c == 0 {
                then.push(set(std::slice::from_ref(&t.cx), vec![number]));
                if !t.shared.is_empty() {
                    let any = t.shared.iter().map(|_| Expr::any()).collect();
                    then.push(set(&t.shared_names(), any));
                }
                then.extend(t.init.iter().map(|init| call(init)));
            } else {
                then.push(t.load(c, &[(&t.cx, number)]));
            }
            then.extend(t.forget_private());
            then.push(set(std::slice::from_ref(&t.terminate), vec![Expr::truth(false)]));
            then.extend(t.run_thread(thread));
            list.push((is(&t.schedule[c], thread + 1), then));
        }
        body.extend(cases(list, Vec::new()));
        body.push(set(
            &[t.cx.clone(), t.terminate.clone()],
            vec![Expr::number(0), Expr::truth(false)],
        ));
        body.extend(t.clear(&t.shared));
        body.extend(t.clear(&t.private));
    }
    body.push(assume(Expr::variable(goal)));
    let mut reached = stmt(StatementKind::Skip);
    reached.labels = vec![Name::made(target.unwrap_or("Target"))];
    body.push(reached);
    let mut function = FunctionDef::made("main", body);
    function.comment = "runs each thread once through all its contexts".into();
    function
}
