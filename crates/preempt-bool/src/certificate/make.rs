//! What the engines know, written down as a certificate.

use super::{Beginning, Call, Certificate, Frame, Invariant, Says, Stack, State, Thread};
use crate::explicit::Machine;
use crate::flow::{Liveness, Program, VariableId};
use crate::limits::Watch;
use crate::options::Options;
use crate::proof::{self, Below, Cuts, Proven};
use crate::replay::{Action, Interpreter, Move, moves_of};
use preempt_core::{Step, Stop, Verdict};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Most states of a certificate.
const MOST_STATES: usize = 1 << 20;

/// The certificate of an answer that is no counterexample, or why there is none.
pub(crate) fn of_verdict(
    program: &Program,
    verdict: Verdict,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Result<Certificate, String> {
    match verdict {
        Verdict::Holds => prove(program, options, watch),
        Verdict::HoldsWithinBound(_) => {
            Err("only an answer for every number of context switches has one".into())
        }
        _ => Err("there is no answer".into()),
    }
}

/// A certificate that no execution reaches a target; or why there is none.
fn prove(
    program: &Program,
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Result<Certificate, String> {
    let targets = program.targets(options.target).map_err(|error| error.message)?;
    let mut why = "";
    for cuts in [Cuts::EveryCall, Cuts::Recursion] {
        let stopped = |stop: Stop| format!("the states were not listed: {stop}");
        match proof::list(program, &targets, MOST_STATES, cuts, watch).map_err(stopped)? {
            Ok(proven) => return checked(program, options, holds(proven), watch),
            Err(proof::Attempt::Impossible) => {
                why = "a list of states in which the stacks of recursive calls are cut is not exact enough";
            }
            Err(_) => why = "more than a million states would have to be listed",
        }
    }
    Err(why.into())
}

/// The certificate of an execution that ends at a target; or why there is none.
pub(crate) fn execution(
    program: &Program,
    moves: &[Move],
    options: &Options<'_>,
    watch: &Watch<'_>,
) -> Result<Certificate, String> {
    let (init, threads) = states_along(program, moves)?;
    let says = Says::Violated { init, threads };
    checked(program, options, Certificate::new(says, program.instances), watch)
}

/// The certificate of what a search over states has found, or why there is none.
pub fn of_search(
    machine: &Machine<'_>,
    verdict: Verdict,
    steps: &[Step],
    options: &Options<'_>,
) -> Result<Certificate, String> {
    let (program, watch) = (&*machine.program, Watch::new(options.limits));
    match verdict {
        Verdict::Violated => execution(program, &moves_of(machine, steps), options, &watch),
        verdict => of_verdict(program, verdict, options, &watch),
    }
}

/// A certificate that the checker refuses is not given out.
fn checked(
    program: &Program,
    options: &Options<'_>,
    certificate: Certificate,
    watch: &Watch<'_>,
) -> Result<Certificate, String> {
    let certificate = certificate.about(None, options.target);
    certificate.check(program, &|| watch.check(0).is_err())?;
    Ok(certificate)
}

fn holds(Proven { init, threads }: Proven) -> Certificate {
    let says = Says::Holds { init: invariant(&init), threads: invariant(&threads) };
    Certificate::new(says, None)
}

/// Numbers the calls and lists the states, both in an order that does not depend on hashing.
fn invariant(listed: &proof::Listed) -> Invariant {
    let began = |call: &Rc<proof::Call>| {
        let proof::Call { thread, function, passed, shared, private } = &**call;
        let (passed, shared) = (passed.clone(), shared.clone());
        Beginning(*thread as usize, *function as usize, passed, shared, private.clone())
    };
    let mut calls: Vec<&Rc<proof::Call>> = listed.waiting.keys().collect();
    calls.sort_by_cached_key(|call| began(call));
    let numbers: FxHashMap<&Rc<proof::Call>, usize> =
        calls.iter().enumerate().map(|(at, call)| (*call, at)).collect();
    let below = |frames: &mut Vec<Frame>, mut below: &Below| loop {
        match below {
            Below::Nothing => return None,
            Below::Call(call) => return numbers.get(call).copied(),
            Below::Frame(waiting) => {
                let at = waiting.edge as usize;
                frames.push(Frame(waiting.function as usize, at, waiting.locals.clone()));
                below = &waiting.below;
            }
        }
    };
    let thread = |local: &Rc<proof::Local>| {
        let mut frames = Vec::new();
        let mut cut = None;
        if let Some(top) = &local.top {
            frames.push(Frame(top.function as usize, top.node as usize, top.locals.clone()));
            cut = below(&mut frames, &top.below);
        }
        Thread(local.private.clone(), Stack(frames, cut))
    };
    let state = |state: &Rc<proof::State>| {
        State(state.shared.clone(), state.threads.iter().map(thread).collect())
    };
    let stack = |waiting: &proof::Waiting| {
        let first = Frame(waiting.function as usize, waiting.edge as usize, waiting.locals.clone());
        let mut frames = vec![first];
        let cut = below(&mut frames, &waiting.below);
        Stack(frames, cut)
    };
    let mut states: Vec<State> = listed.known.iter().map(state).collect();
    states.sort();
    let call = |call: &Rc<proof::Call>| {
        let mut waiting: Vec<Stack> = listed.waiting[call].iter().map(stack).collect();
        waiting.sort();
        Call { began: began(call), waiting }
    };
    Invariant { states, calls: calls.into_iter().map(call).collect() }
}

/// The states before, between and behind the moves: those of `init`, then those of the threads. All values that
/// the execution begins with are chosen at its beginning.
fn states_along(program: &Program, moves: &[Move]) -> Result<(Vec<State>, Vec<State>), String> {
    let mut run = Interpreter::new(program);
    for step in moves {
        if let Action::Start(values) = &step.action {
            run.start(step.process, values)?;
        }
    }
    let liveness = Liveness::new(program);
    let (mut init, mut threads) = (Vec::new(), Vec::new());
    let mut note = |run: &Interpreter<'_>, last: usize| {
        let in_init = program.init.is_some() && last == 0;
        if in_init {
            init.push(state_of(program, run, 0..1, &liveness));
        }
        if !in_init || run.stacks[0].is_empty() {
            threads.push(state_of(program, run, 1..run.stacks.len(), &liveness));
        }
    };
    note(&run, 0);
    for step in moves {
        if let Action::Edge(function, edge, values) = &step.action {
            run.take(step.process, *function, *edge, values)?;
            note(&run, step.process);
        }
    }
    Ok((init, threads))
}

fn state_of(
    program: &Program,
    run: &Interpreter<'_>,
    processes: std::ops::Range<usize>,
    liveness: &Liveness,
) -> State {
    let shared = program.shared.iter().map(|v| run.shared[*v] as u32).collect();
    let own = |process: usize| {
        let ended = run.stacks[process].is_empty();
        let kept = |v: &VariableId| !ended || program.atomic == Some(*v);
        let value = |v: &VariableId| if kept(v) { run.private[process][*v] as u32 } else { 0 };
        program.private.iter().map(value).collect()
    };
    let thread = |process: usize| {
        let frames = run.stacks[process].iter().rev().map(|frame| {
            let node = frame.node;
            let live = liveness.at(frame.function, node);
            let locals =
                frame.locals.iter().zip(live).map(|(v, live)| *v as u32 * u32::from(*live));
            Frame(frame.function, frame.waits.unwrap_or(node), locals.collect())
        });
        Thread(own(process), Stack(frames.collect(), None))
    };
    State(shared, processes.map(thread).collect())
}
