//! From a schedule with its boundaries to an execution, statement by statement.
//!
//! Each thread is run alone: its contexts start and end with known shared values, so there is
//! nothing left to guess but its own choices. The run keeps its rings, an execution is read off
//! backwards, and cut where the thread resumes. The pieces in the order of the schedule are the
//! counterexample, which [`crate::replay`] then runs on the program itself.

use crate::direct::Schedule;
use crate::direct::registers::Registers;
use crate::direct::restart::Control;
use crate::flow::{Expr, Owner, Program, Targets, VariableId};
use crate::limits::Watch;
use crate::replay::{Action, Move, Replayed, replay};
use crate::symbolic::code::Builder;
use crate::symbolic::diagram::Diagrams;
use crate::symbolic::engine::Engine;
use crate::symbolic::levels::Levels;
use crate::symbolic::walk::Walked;
use preempt_core::Stop;

/// Why there is no execution to show.
#[derive(Debug)]
pub(crate) enum Failure {
    Stop(Stop),
    /// A mistake in an engine.
    Wrong(String),
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Failure::Stop(stop)
    }
}

/// The execution behind a schedule, replayed.
pub(crate) fn execution(
    program: &Program,
    targets: &Targets,
    schedule: &Schedule,
    watch: &Watch<'_>,
) -> Result<Replayed, Failure> {
    let mut start = Vec::new();
    let mut pieces: Vec<std::vec::IntoIter<Vec<Move>>> = Vec::new();
    if schedule.in_init {
        let walked = thread_run(program, targets, schedule, None, watch)?;
        start = cut(program, walked, 0).0;
    }
    for thread in 0..program.threads.len() {
        let mut moves = Vec::new();
        if schedule.threads.contains(&thread) {
            let walked = thread_run(program, targets, schedule, Some(thread), watch)?;
            let (before, contexts) = cut(program, walked, thread + 1);
            start.extend(before);
            moves = contexts;
        }
        pieces.push(moves.into_iter());
    }
    let mut moves = start;
    for thread in &schedule.threads {
        moves.extend(pieces[*thread].next().unwrap_or_default());
    }
    replay(program, targets, &moves).map_err(Failure::Wrong)
}

/// One execution of one thread (or of `init` alone) through its contexts.
fn thread_run(
    program: &Program,
    targets: &Targets,
    schedule: &Schedule,
    thread: Option<usize>,
    watch: &Watch<'_>,
) -> Result<Vec<Walked>, Failure> {
    let contexts: Vec<usize> =
        (0..schedule.threads.len()).filter(|c| Some(schedule.threads[*c]) == thread).collect();
    let begins = contexts.first().copied().unwrap_or(0) == 0;
    let mut functions: Vec<usize> = program.init.filter(|_| begins).into_iter().collect();
    functions.extend(thread.map(|t| program.threads[t].function));
    let mut builder = Builder::new(program, targets, true);
    let root = builder.root(&functions);
    let mut code = builder.build();
    let m = contexts.len().max(1);
    let registers = Registers::new(&mut code, program, 2 * (m - 1));
    let control = Control::new(&mut code, &registers);
    let levels = Levels::new(&code, &control.variables(), &|v| registers.copies(v));
    let diagrams = Diagrams::new(watch);
    let mut engine = Engine::new(&code, &diagrams, &levels, true)?;
    // The shared values at switch c, which are those with which context c starts.
    let boundary = |c: usize| &schedule.boundaries[c - 1];
    let mut seed = diagrams.constant(true);
    let mut fix = |variables: &[VariableId], values: &[u64]| -> Result<(), Stop> {
        for (v, value) in variables.iter().zip(values) {
            seed = diagrams.and(&seed, &engine.condition(&is(&code.variables, *v, *value))?)?;
        }
        Ok(())
    };
    for (j, c) in contexts.iter().enumerate() {
        if *c > 0 {
            fix(&registers.starts[j], boundary(*c))?;
        }
        if j + 1 < m {
            fix(&registers.ends[j], boundary(c + 1))?;
        }
    }
    if !begins {
        fix(&program.shared, boundary(contexts[0]))?;
    }
    fix(&[control.current, control.last], &[1, m as u64])?;
    engine.seed(root, &seed)?;
    engine.run()?;
    let mut goal = engine.condition(&is(&code.variables, control.current, m as u64))?;
    let ends = contexts.last().is_some_and(|c| c + 1 < schedule.threads.len());
    if let (true, Some(c)) = (ends, contexts.last()) {
        for (v, value) in program.shared.iter().zip(boundary(c + 1)) {
            goal = diagrams.and(&goal, &engine.condition(&is(&code.variables, *v, *value))?)?;
        }
        if let Some(flag) = program.atomic {
            goal = diagrams.and(&goal, &engine.condition(&Expr::Variable(flag).not())?)?;
        }
    }
    let mut best: Option<Vec<Walked>> = None;
    for (p, procedure) in code.procedures.iter().enumerate() {
        for node in 0..procedure.out.len() {
            let wanted =
                if ends { procedure.switches[node] } else { procedure.marks[node].is_some() };
            if !wanted || diagrams.and(engine.reached(p, node), &goal)?.is_false() {
                continue;
            }
            if let Some(walked) = engine.walk(p, node, &goal)?
                && best.as_ref().is_none_or(|b| walked.len() < b.len())
            {
                best = Some(walked);
            }
        }
    }
    best.ok_or_else(|| Failure::Wrong("no execution was found for a thread".into()))
}

fn is(variables: &[crate::flow::Variable], v: VariableId, value: u64) -> Expr {
    let width = variables[v].width;
    Expr::Equal(Box::new(Expr::Variable(v)), Box::new(Expr::Constant { value, width }))
}

/// Cuts a run into what `init` does and the contexts of the thread.
fn cut(program: &Program, walked: Vec<Walked>, process: usize) -> (Vec<Move>, Vec<Vec<Move>>) {
    let mut init = Vec::new();
    let mut contexts: Vec<Vec<Move>> = Vec::new();
    for item in walked {
        match item {
            Walked::Start(function, values) => {
                let is_init = program.init == Some(function);
                let owned = |wanted: &[Owner]| -> Vec<(VariableId, u64)> {
                    let own = |v: &VariableId| wanted.contains(&program.variables[*v].owner);
                    values
                        .iter()
                        .copied()
                        .filter(|(v, _)| *v < program.variables.len() && own(v))
                        .collect()
                };
                let frame = Owner::Function(function);
                if is_init || program.init.is_none() && init.is_empty() {
                    let wanted =
                        if is_init { vec![Owner::Shared, frame] } else { vec![Owner::Shared] };
                    init.push(Move { process: 0, action: Action::Start(owned(&wanted)) });
                }
                if !is_init {
                    let action = Action::Start(owned(&[Owner::Thread, frame]));
                    contexts.push(vec![Move { process, action }]);
                }
            }
            Walked::Resume => contexts.push(Vec::new()),
            Walked::Action(action) => match contexts.last_mut() {
                Some(context) => context.push(Move { process, action }),
                None => init.push(Move { process: 0, action }),
            },
        }
    }
    (init, contexts)
}
