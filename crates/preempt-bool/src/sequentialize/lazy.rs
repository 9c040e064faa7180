//! Lazy_k: contexts are explored in order, each by running its thread again from its start.
//!
//! Paper: [LMP09] Fig. 4.
//! Differs from the paper, all of it measured to pay: the loop over contexts is unrolled; a
//! context's end is stored by `main` after the thread has returned, not inside the thread; the
//! thread of a context is chosen when the context starts, differs from the one before, and
//! identical threads come in order; copies that are not used yet, or no longer, are zero.

use super::Translated;
use super::control::{
    Translation, assume, bits_for, call, cases, equal, is, note, set, stmt, zero,
};
use crate::flow::Program;
use crate::syntax::ast::*;

#[doc(alias = "LMP09 Fig. 4")]
pub(super) fn translate(program: &Program, switches: usize, forgets: bool) -> Translated {
    let mut t = Translation::new(program, switches);
    let ic = t.fresh("ic");
    let mut globals = Vec::new();
    let counter = Type::Int(bits_for(switches));
    let threads = Type::Int(bits_for(program.threads.len()));
    let mut control = Declaration::made(Type::Bool, [t.terminate.clone()]);
    control.comment = "the running thread is cut: all its calls return".into();
    globals.push(control);
    let mut numbers = Declaration::made(counter, [t.cx.clone()]);
    numbers.comment = "the context that is explored, and the one that is run for it".into();
    globals.push(numbers);
    globals.push(Declaration::made(counter, [ic.clone()]));
    let mut comment = "the thread that runs in each context; 0 is none";
    for name in &t.schedule {
        let mut declaration = Declaration::made(threads, [name.clone()]);
        declaration.comment = std::mem::take(&mut comment).to_string();
        globals.push(declaration);
    }
    globals.extend(t.shared_declarations());
    let mut functions = t.functions();
    functions.push(context_switch(&t, &ic));
    functions.push(main(&t, &ic, forgets));
    Translated {
        module: Module { globals, functions },
        schedule: t.schedule,
        copies: t.copies,
        plain: t.plain,
        last: ic,
        explored: Some(t.cx),
    }
}

/// At a switch: the explored context ends, or an earlier one does as it is recorded.
fn context_switch(t: &Translation<'_>, ic: &str) -> FunctionDef {
    let ends = equal(ic, Expr::variable(&t.cx));
    let mut list =
        vec![(ends, vec![set(std::slice::from_ref(&t.terminate), vec![Expr::truth(true)])])];
    for i in 0..t.switches.saturating_sub(1) {
        let mut next = Vec::new();
        for j in i + 2..=t.switches {
            let again = equal(&t.schedule[j], Expr::variable(&t.schedule[i]));
            next.push((again, vec![t.load(j, &[(ic, Expr::number(j as u64))])]));
        }
        let condition = Expr::all([is(ic, i), t.matches(i + 1)]);
        list.push((condition, cases(next, Vec::new())));
    }
    let mut function = FunctionDef::made(&t.context_switch, cases(list, Vec::new()));
    function.comment = "may end the present context".into();
    function
}

fn main(t: &Translation<'_>, ic: &str, forgets: bool) -> FunctionDef {
    let k = t.switches;
    let mut body = vec![note("nothing is chosen or stored yet")];
    let numbers = [t.cx.clone(), ic.to_string()];
    body.push(set(&numbers, vec![Expr::number(0), Expr::number(0)]));
    body.push(set(&t.schedule, t.schedule.iter().map(|_| Expr::number(0)).collect()));
    for copies in &t.copies {
        let values = t.shared.iter().map(|(_, ty)| zero(*ty)).collect();
        if !copies.is_empty() {
            body.push(set(copies, values));
        }
    }
    body.extend(t.clear(&t.shared));
    body.extend(t.clear(&t.private));
    for c in 0..=k {
        body.push(note(format!("context {c}")));
        body.extend(choose(t, c));
        body.push(set(std::slice::from_ref(&t.cx), vec![Expr::number(c as u64)]));
        if c == k && forgets {
            body.extend(forget(t));
        }
        body.extend(start(t, ic, c));
        body.extend(t.forget_private());
        body.push(set(std::slice::from_ref(&t.terminate), vec![Expr::truth(false)]));
        let threads = t.program.threads.len();
        let runs = |thread| (is(&t.schedule[c], thread + 1), t.run_thread(thread));
        let mut list: Vec<_> = (0..threads).map(runs).collect();
        let last = list.pop().map(|(_, body)| body).unwrap_or_default();
        body.extend(cases(list, last));
        if c < k {
            if !t.copies[c].is_empty() {
                let values = t.shared.iter().map(|(n, _)| Expr::variable(n)).collect();
                body.push(set(&t.copies[c], values));
            }
            body.extend(t.clear(&t.shared));
            body.extend(t.clear(&t.private));
            let control = [t.terminate.clone(), ic.to_string()];
            body.push(set(&control, vec![Expr::truth(false), Expr::number(0)]));
        }
    }
    let mut function = FunctionDef::made("main", body);
    function.comment = "runs, for each context, its thread up to that context".into();
    function
}

fn choose(t: &Translation<'_>, c: usize) -> Vec<Statement> {
    let name = &t.schedule[c];
    let at_least = Expr::binary(Operator::GreaterEqual, Expr::variable(name), Expr::number(1));
    let threads = t.program.threads.len() as u64;
    let at_most = Expr::binary(Operator::LessEqual, Expr::variable(name), Expr::number(threads));
    let mut conditions = vec![at_least, at_most];
    if c > 0 {
        conditions.push(equal(name, Expr::variable(&t.schedule[c - 1])).not());
    }
    conditions.extend(t.in_order(c));
    vec![set(std::slice::from_ref(name), vec![Expr::any()]), assume(Expr::all(conditions))]
}

/// The first context of the thread, and the shared values it starts with.
fn start(t: &Translation<'_>, ic: &str, c: usize) -> Vec<Statement> {
    let mut initial = vec![set(&[ic.to_string()], vec![Expr::number(0)])];
    if !t.shared.is_empty() {
        let any = t.shared.iter().map(|_| Expr::any()).collect();
        initial.push(set(&t.shared_names(), any));
    }
    initial.extend(t.init.iter().map(|init| call(init)));
    if c == 0 {
        return initial;
    }
    let mut list = vec![(equal(&t.schedule[0], Expr::variable(&t.schedule[c])), initial)];
    for i in 1..c {
        let same = equal(&t.schedule[i], Expr::variable(&t.schedule[c]));
        list.push((same, vec![t.load(i, &[(ic, Expr::number(i as u64))])]));
    }
    cases(list, vec![t.load(c, &[(ic, Expr::number(c as u64))])])
}

/// Before the last context: what its thread will not read is forgotten.
fn forget(t: &Translation<'_>) -> Vec<Statement> {
    let k = t.switches;
    let other = |i: usize| equal(&t.schedule[i], Expr::variable(&t.schedule[k])).not();
    let mut body = vec![note("the boundaries of other threads are not read any more")];
    for i in 1..k {
        let unused = Expr::all([other(i - 1), other(i)]);
        let values: Vec<Expr> = t.shared.iter().map(|(_, ty)| zero(*ty)).collect();
        if values.is_empty() {
            continue;
        }
        let then = vec![set(&t.copies[i - 1], values)];
        body.push(stmt(StatementKind::If { condition: unused, then, otherwise: Vec::new() }));
    }
    for i in 0..k {
        let then = vec![set(std::slice::from_ref(&t.schedule[i]), vec![Expr::number(0)])];
        body.push(stmt(StatementKind::If { condition: other(i), then, otherwise: Vec::new() }));
    }
    body
}
