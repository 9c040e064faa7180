//! The checker of certificates.
//!
//! **Holds.** A certificate lists states. If every state in which the program can begin is among them, every
//! step from one of them leads to one of them, and none of them is a target, then no execution reaches a
//! target. Stacks grow without bound, so a stack may be cut below a frame: what was below is then among the
//! stacks that wait for this call, and a return goes on with each of these, so a cut hides no execution.
//!
//! **Violated.** The first state is one in which the program can begin, each other one is a step behind the one
//! before it, and the last is a target.
//!
//! It knows the flow graphs and nothing else of this crate; expressions are evaluated here. A local variable that
//! nothing reads before it is written again is zero in every state, which changes nothing that can be reached.

use super::{Beginning, Call, Certificate, Frame, Invariant, Says, Stack, State, Thread};
use crate::flow::{Expr, Mark, Operation, Owner, Program, Targets, VariableId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Most ways in which a step can go on or a program can begin.
const MOST_CHOICES: usize = 1 << 18;

/// What is wrong with a certificate, or that the check was interrupted.
type Verdict<T> = Result<T, String>;

impl Certificate {
    /// What the certificate proves of the program, in one sentence; or why it does not.
    pub fn check(&self, program: &Program, interrupted: &dyn Fn() -> bool) -> Verdict<String> {
        let more = match self.instances {
            Some(threads) => program.with_threads_for(threads).map_err(|e| e.message)?,
            None => None,
        };
        let program = more.as_ref().unwrap_or(program);
        let target = self.target.as_deref().filter(|_| !program.is_pushdown);
        let targets = program.targets(target).map_err(|error| error.message)?;
        if targets.is_empty() {
            return Err("the program has neither an assertion nor the target".into());
        }
        let checker = Checker::new(program, targets, interrupted);
        match &self.says {
            Says::Holds { init, threads } if program.instances.is_none() => {
                checker.holds(init, threads)?;
                let answer = "no execution violates it, with any number of context switches";
                Ok(format!("{answer}: {} states that no step leaves", self.len()))
            }
            Says::Holds { .. } => Err("the number of threads is not fixed".into()),
            Says::Violated { init, threads } => {
                let reached = checker.violated(init, threads)?;
                let steps = init.len().saturating_sub(1) + threads.len().saturating_sub(1);
                Ok(format!("an execution of {steps} steps {reached}"))
            }
        }
    }
}

struct Checker<'a> {
    program: &'a Program,
    targets: Targets,
    /// Per function and node, the variables that may still be read.
    live: Vec<Vec<BTreeSet<VariableId>>>,
    /// The place of each variable among those of its owner.
    places: Vec<usize>,
    interrupted: &'a dyn Fn() -> bool,
}

impl<'a> Checker<'a> {
    fn new(program: &'a Program, targets: Targets, interrupted: &'a dyn Fn() -> bool) -> Self {
        let mut places = vec![0; program.variables.len()];
        program.shared.iter().enumerate().for_each(|(at, v)| places[*v] = at);
        program.private.iter().enumerate().for_each(|(at, v)| places[*v] = at);
        let frames = program.functions.iter().flat_map(|f| f.frame().enumerate());
        frames.for_each(|(at, v)| places[v] = at);
        Checker { program, targets, live: live_variables(program), places, interrupted }
    }
}

/// Whether the certificate is what it says.
impl Checker<'_> {
    fn holds(&self, init: &Invariant, threads: &Invariant) -> Verdict<()> {
        let mut starts = self.any_values(self.unset())?;
        if let Some(function) = self.program.init {
            self.is_closed(init, &self.beginnings(&starts, &[function], false)?)?;
            let ended = init.states.iter().filter(|state| state.1[0].1.0.is_empty());
            starts = ended.map(|state| state.0.clone()).collect();
        } else if !init.states.is_empty() {
            return Err("it speaks of `init`, which the program does not have".into());
        }
        self.is_closed(threads, &self.beginnings(&starts, &self.threads(), true)?)
    }

    /// Every beginning is in the list, every step stays in it, and no state is a target.
    fn is_closed(&self, invariant: &Invariant, beginnings: &[State]) -> Verdict<()> {
        let Invariant { states, calls } = invariant;
        let count = beginnings.first().map_or(0, |first| first.1.len());
        states.iter().try_for_each(|state| self.fits(state, count, calls.len()))?;
        let waits = |stack: &Stack| !stack.0.is_empty() && self.stack_fits(stack, 0, calls.len());
        if !calls.iter().flat_map(|call| &call.waiting).all(waits) {
            return Err("a waiting stack does not fit the program".into());
        }
        let listed: FxHashSet<&State> = states.iter().collect();
        let numbers: FxHashMap<&Beginning, usize> =
            calls.iter().enumerate().map(|(at, call)| (&call.began, at)).collect();
        if let Some(missing) = beginnings.iter().find(|state| !listed.contains(state)) {
            return Err(format!("the program can begin in {missing:?}, which is not listed"));
        }
        // Whether the state behind a call is listed with its stack cut below the new frame.
        let is_cut = |before: &State, Step { thread, next, passed }: &Step| {
            let Stack(frames, below) = &next.1[*thread].1;
            let (shared, own) = (before.0.clone(), before.1[*thread].0.clone());
            let Some(passed) = passed.clone() else { return false };
            let began = Beginning(*thread, frames[0].0, passed, shared, own);
            let Some(call) = numbers.get(&began).copied() else { return false };
            let mut cut = next.clone();
            cut.1[*thread].1 = Stack(vec![frames[0].clone()], Some(call));
            let rest = Stack(frames[1..].to_vec(), *below);
            listed.contains(&cut) && calls[call].waiting.contains(&rest)
        };
        for (at, state) in states.iter().enumerate() {
            if at % 256 == 0 && (self.interrupted)() {
                return Err("the check was interrupted".into());
            }
            if let Some(target) = self.target(state) {
                return Err(format!("state {at} {target}"));
            }
            for step in self.steps(state, calls)? {
                if !listed.contains(&step.next) && !is_cut(state, &step) {
                    let Step { thread, next, .. } = step;
                    return Err(format!("thread {thread} leaves the list, to {next:?}"));
                }
            }
        }
        Ok(())
    }

    /// The target that the execution ends at.
    fn violated(&self, init: &[State], threads: &[State]) -> Verdict<String> {
        let fits = |(value, (_, open)): (&u32, _)| *value == 0 || open;
        let begins = |state: &State| state.0.iter().zip(self.unset()).all(fits);
        let last = match self.program.init {
            None if !init.is_empty() => {
                return Err("it speaks of `init`, which the program does not have".into());
            }
            None => self.follow(threads, &begins, &self.threads(), true)?,
            Some(function) => {
                let last = self.follow(init, &begins, &[function], false)?;
                let goes_on = |state: &State| last.1[0].1.0.is_empty() && state.0 == last.0;
                match threads.is_empty() {
                    true => last,
                    false => self.follow(threads, &goes_on, &self.threads(), true)?,
                }
            }
        };
        self.target(last).ok_or("the execution does not end at a target".into())
    }

    /// The last of states that are an execution of such threads.
    fn follow<'s>(
        &self,
        states: &'s [State],
        begins: &dyn Fn(&State) -> bool,
        threads: &[usize],
        any_own: bool,
    ) -> Verdict<&'s State> {
        let first = states.first().ok_or("there are no states")?;
        states.iter().try_for_each(|state| self.fits(state, threads.len(), 0))?;
        let thread_begins = |(Thread(own, stack), function): (&Thread, &usize)| {
            let locals = stack.0.first().map(|frame| frame.2.clone()).unwrap_or_default();
            let frame = self.cleared(*function, self.program.functions[*function].entry, locals);
            (any_own || own.iter().all(|v| *v == 0)) && *stack == Stack(vec![frame], None)
        };
        if !begins(first) || !first.1.iter().zip(threads).all(thread_begins) {
            return Err("the program cannot begin in the first state".into());
        }
        for (at, pair) in states.windows(2).enumerate() {
            if !self.steps(&pair[0], &[])?.iter().any(|step| step.next == pair[1]) {
                return Err(format!("no step leads from state {at} to the next one"));
            }
        }
        Ok(&states[states.len() - 1])
    }

    /// Whether the numbers in a state mean something in this program.
    fn fits(&self, State(shared, threads): &State, count: usize, calls: usize) -> Verdict<()> {
        let values_fit = |values: &[_], list: &[_]| self.are_values(values, list.iter().copied());
        let thread_fits = |Thread(own, stack): &Thread| {
            values_fit(own, &self.program.private) && self.stack_fits(stack, 1, calls)
        };
        let fits = values_fit(shared, &self.program.shared) && threads.iter().all(thread_fits);
        match fits && threads.len() == count {
            true => Ok(()),
            false => Err("a state does not fit the program".into()),
        }
    }

    /// Whether a stack fits of which the first so many frames run and the others wait.
    fn stack_fits(&self, Stack(frames, cut): &Stack, running: usize, calls: usize) -> bool {
        let frame_fits = |(at, frame): (usize, &Frame)| {
            let Some(code) = self.program.functions.get(frame.0) else { return false };
            let place = match at < running {
                true => frame.1 < code.out.len(),
                false => self.call_edge(frame).is_some(),
            };
            place && self.are_values(&frame.2, code.frame())
        };
        cut.is_none_or(|call| call < calls && !frames.is_empty())
            && frames.iter().enumerate().all(frame_fits)
    }

    fn are_values(&self, values: &[u32], variables: impl Iterator<Item = VariableId>) -> bool {
        let widths: Vec<u8> = variables.map(|v| self.program.variables[v].width).collect();
        values.len() == widths.len()
            && values.iter().zip(widths).all(|(value, width)| u64::from(*value) < 1 << width)
    }

    /// What receives the results of the call at which a frame waits, and where it goes on.
    fn call_edge(&self, Frame(function, edge, _): &Frame) -> Option<(&[VariableId], usize)> {
        let edge = self.program.functions[*function].edges.get(*edge)?;
        match &edge.operation {
            Operation::Call { lhs, .. } => Some((lhs, edge.to)),
            _ => None,
        }
    }

    /// Which target a state is at, if it is at one.
    fn target(&self, state: &State) -> Option<String> {
        state.1.iter().find_map(|Thread(_, Stack(frames, _))| {
            let Frame(function, node, _) = frames.first()?;
            let mark = self.targets.at(*function, *node)?;
            Some(match self.program.mark(*function, mark) {
                (Mark::Label(_), _) if self.program.is_pushdown => "reaches the target".into(),
                (Mark::Label(label), line) => format!("reaches the label {label} (line {line})"),
                (Mark::Assertion(text), line) => format!("fails {text} (line {line})"),
            })
        })
    }
}

/// How a program begins.
impl Checker<'_> {
    /// Of each shared variable, whether its first value is open. The others begin with zero: nothing reads them,
    /// or the first statements of `init` set them before they read them.
    fn unset(&self) -> Vec<(VariableId, bool)> {
        let program = self.program;
        let mut open = vec![false; program.variables.len()];
        for edge in program.functions.iter().flat_map(|f| &f.edges) {
            edge.operation.each_read(&mut |v| open[v] = true);
        }
        if let Some(init) = program.init {
            let function = &program.functions[init];
            let (mut node, mut read) = (function.entry, vec![false; open.len()]);
            for _ in 0..function.edges.len() {
                let [edge] = function.out[node].as_slice() else { break };
                let edge = &function.edges[*edge];
                if matches!(edge.operation, Operation::Call { .. } | Operation::Return(_)) {
                    break;
                }
                edge.operation.each_read(&mut |v| read[v] = true);
                edge.operation.each_write(&mut |v| open[v] &= read[v]);
                node = edge.to;
            }
        }
        program.shared.iter().map(|v| (*v, open[*v])).collect()
    }

    fn threads(&self) -> Vec<usize> {
        self.program.threads.iter().map(|thread| thread.function).collect()
    }

    /// All states in which threads that run these functions can begin, with these shared values.
    fn beginnings(
        &self,
        shared: &[Vec<u32>],
        threads: &[usize],
        any_own: bool,
    ) -> Verdict<Vec<State>> {
        let own = self.any_values(self.program.private.iter().map(|v| (*v, any_own)).collect())?;
        let mut all: Vec<State> = shared.iter().map(|s| State(s.clone(), Vec::new())).collect();
        for &function in threads {
            let entry = self.program.functions[function].entry;
            let frame = self.program.functions[function].frame();
            let live = |v: VariableId| (v, self.live[function][entry].contains(&v));
            let locals = self.any_values(frame.map(live).collect())?;
            let stack = |l: &Vec<u32>| Stack(vec![Frame(function, entry, l.clone())], None);
            let thread = |own: &Vec<u32>, l| Thread(own.clone(), stack(l));
            let ways: Vec<Thread> =
                own.iter().flat_map(|own| locals.iter().map(move |l| thread(own, l))).collect();
            if all.len().saturating_mul(ways.len()) > MOST_CHOICES {
                return Err(format!("the program has more than {MOST_CHOICES} beginnings"));
            }
            let with = |State(shared, before): &State, way: &Thread| {
                State(shared.clone(), before.iter().chain([way]).cloned().collect())
            };
            all = all.iter().flat_map(|s| ways.iter().map(move |way| with(s, way))).collect();
        }
        Ok(all)
    }

    /// All values of the variables that are open, with zeros for the others.
    fn any_values(&self, variables: Vec<(VariableId, bool)>) -> Verdict<Vec<Vec<u32>>> {
        let width = |v: VariableId, open| if open { self.program.variables[v].width } else { 0 };
        let all = variables.into_iter().map(|(v, open)| (0..1 << width(v, open)).collect());
        choices(&all.collect::<Vec<_>>())
    }
}

/// A step that a thread can take.
struct Step {
    thread: usize,
    next: State,
    /// Of a call: the values passed.
    passed: Option<Vec<u32>>,
}

/// What a program can do next.
impl Checker<'_> {
    /// All steps from a state. Inside an atomic section only its thread runs.
    fn steps(&self, state: &State, calls: &[Call]) -> Verdict<Vec<Step>> {
        let flag = self.program.atomic.map(|flag| self.places[flag]);
        let inside = |thread: &Thread| flag.is_some_and(|flag| thread.0[flag] != 0);
        let holder = state.1.iter().position(inside);
        let mut running = holder.map_or(0..state.1.len(), |holder| holder..holder + 1);
        let mut steps = Vec::new();
        running.try_for_each(|thread| self.steps_of(state, thread, calls, &mut steps))?;
        Ok(steps)
    }

    fn steps_of(
        &self,
        state: &State,
        thread: usize,
        calls: &[Call],
        steps: &mut Vec<Step>,
    ) -> Verdict<()> {
        let Stack(frames, cut) = &state.1[thread].1;
        let Some(Frame(function, node, locals)) = frames.first() else { return Ok(()) };
        let code = &self.program.functions[*function];
        for &number in &code.out[*node] {
            let edge = &code.edges[number];
            let now = |v: VariableId| self.get(state, thread, v);
            let all =
                |list: &[Expr]| list.iter().map(|e| values(e, &now, &now)).collect::<Vec<_>>();
            let mut assign = |lhs: &[VariableId], rhs: &[Expr], condition: Option<&Expr>| {
                for chosen in choices(&all(rhs))? {
                    let then = |v: VariableId| match lhs.iter().position(|l| *l == v) {
                        Some(at) => chosen[at],
                        None => now(v),
                    };
                    if condition.is_none_or(|e| values(e, &now, &then).iter().any(|v| *v != 0)) {
                        let next = self.moved(state, thread, lhs, &chosen, edge.to);
                        steps.push(Step { thread, next, passed: None });
                    }
                }
                Verdict::Ok(())
            };
            match &edge.operation {
                Operation::Assume(condition) => assign(&[], &[], Some(condition))?,
                Operation::Assign { lhs, rhs, constrain } => assign(lhs, rhs, constrain.as_ref())?,
                Operation::Call { function: callee, args, .. } => {
                    let entry = self.program.functions[*callee].entry;
                    let fresh = self.program.functions[*callee].frame().skip(args.len());
                    let mut possible = all(args);
                    for v in fresh {
                        let is_live = self.live[*callee][entry].contains(&v);
                        let width = if is_live { self.program.variables[v].width } else { 0 };
                        possible.push((0..1 << width).collect());
                    }
                    for locals_then in choices(&possible)? {
                        let mut next = state.clone();
                        let stack = &mut next.1[thread].1.0;
                        stack[0] = Frame(*function, number, locals.clone());
                        stack.insert(0, self.cleared(*callee, entry, locals_then.clone()));
                        let passed = Some(locals_then[..args.len()].to_vec());
                        steps.push(Step { thread, next, passed });
                    }
                }
                Operation::Return(results) => {
                    let results = choices(&all(results))?;
                    let rest = Stack(frames[1..].to_vec(), *cut);
                    let waiting = match cut.filter(|_| rest.0.is_empty()) {
                        Some(call) => calls.get(call).map_or(&[][..], |call| &call.waiting),
                        None => std::slice::from_ref(&rest),
                    };
                    let with = |stack| results.iter().map(move |results| (stack, results));
                    for (stack, results) in waiting.iter().flat_map(with) {
                        let mut next = state.clone();
                        next.1[thread].1 = stack.clone();
                        match stack.0.first().and_then(|frame| self.call_edge(frame)) {
                            Some((lhs, to)) => next = self.moved(&next, thread, lhs, results, to),
                            None => self.end(&mut next.1[thread].0),
                        }
                        steps.push(Step { thread, next, passed: None });
                    }
                }
            }
        }
        Ok(())
    }

    /// Nothing reads the variables of a thread that has ended, but an atomic section that it never left stays.
    fn end(&self, own: &mut [u32]) {
        let ended = self.program.private.iter().map(|v| u32::from(self.program.atomic == Some(*v)));
        own.iter_mut().zip(ended).for_each(|(value, kept)| *value *= kept);
    }

    fn get(&self, State(shared, threads): &State, thread: usize, v: VariableId) -> u32 {
        let place = self.places[v];
        match self.program.variables[v].owner {
            Owner::Shared => shared[place],
            Owner::Thread => threads[thread].0[place],
            Owner::Function(_) => threads[thread].1.0[0].2[place],
        }
    }

    /// The state in which a thread has assigned values and gone to a node.
    fn moved(&self, s: &State, thread: usize, lhs: &[usize], values: &[u32], to: usize) -> State {
        let mut next = s.clone();
        for (v, value) in lhs.iter().zip(values) {
            let place = self.places[*v];
            match self.program.variables[*v].owner {
                Owner::Shared => next.0[place] = *value,
                Owner::Thread => next.1[thread].0[place] = *value,
                Owner::Function(_) => next.1[thread].1.0[0].2[place] = *value,
            }
        }
        let Frame(function, _, locals) = next.1[thread].1.0[0].clone();
        next.1[thread].1.0[0] = self.cleared(function, to, locals);
        next
    }

    /// A frame at a node, with zeros for what nothing reads any more.
    fn cleared(&self, function: usize, node: usize, mut locals: Vec<u32>) -> Frame {
        let live = |v| u32::from(self.live[function][node].contains(&v));
        let frame = self.program.functions[function].frame();
        locals.iter_mut().zip(frame).for_each(|(value, v)| *value *= live(v));
        Frame(function, node, locals)
    }
}

/// The values that an expression may have; every `*` in it is a choice of its own.
fn values(e: &Expr, now: &dyn Fn(VariableId) -> u32, then: &dyn Fn(VariableId) -> u32) -> Vec<u32> {
    let both = |a: &Expr, b: &Expr, f: &dyn Fn(u32, u32) -> u32| -> Vec<u32> {
        let right = values(b, now, then);
        let mut all: Vec<u32> =
            values(a, now, then).iter().flat_map(|a| right.iter().map(|b| f(*a, *b))).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let low = |value: u32, width: u8| (u64::from(value) & ((1 << width) - 1)) as u32;
    match e {
        Expr::Constant { value, .. } => vec![*value as u32],
        Expr::Any { width } => (0..1 << width).collect(),
        Expr::Variable(v) => vec![now(*v)],
        Expr::Next(v) => vec![then(*v)],
        Expr::Not(a) => values(a, now, then).iter().map(|a| u32::from(*a == 0)).collect(),
        Expr::And(a, b) => both(a, b, &|a, b| u32::from(a != 0 && b != 0)),
        Expr::Or(a, b) => both(a, b, &|a, b| u32::from(a != 0 || b != 0)),
        Expr::Equal(a, b) => both(a, b, &|a, b| u32::from(a == b)),
        Expr::Less(a, b) => both(a, b, &|a, b| u32::from(a < b)),
        Expr::Plus(a, b, width) => both(a, b, &|a, b| low(a.wrapping_add(b), *width)),
        Expr::Minus(a, b, width) => both(a, b, &|a, b| low(a.wrapping_sub(b), *width)),
    }
}

/// One value of each list, in all ways.
fn choices(lists: &[Vec<u32>]) -> Verdict<Vec<Vec<u32>>> {
    let count = lists.iter().fold(1usize, |n, list| n.saturating_mul(list.len()));
    if count > MOST_CHOICES {
        return Err(format!("there are more than {MOST_CHOICES} choices at once"));
    }
    let mut all = vec![Vec::new()];
    for list in lists {
        let with = |one: &Vec<u32>, v: &u32| one.iter().chain([v]).copied().collect();
        all = all.iter().flat_map(|one| list.iter().map(move |v| with(one, v))).collect();
    }
    Ok(all)
}

/// Per function and node, the variables that may be read before they are written.
fn live_variables(program: &Program) -> Vec<Vec<BTreeSet<VariableId>>> {
    let of = |function: &crate::flow::Function| {
        let mut live = vec![BTreeSet::new(); function.out.len()];
        loop {
            let before = live.clone();
            for edge in &function.edges {
                let mut needed = match edge.operation {
                    Operation::Return(_) => BTreeSet::new(),
                    _ => live[edge.to].clone(),
                };
                edge.operation.each_write(&mut |v| _ = needed.remove(&v));
                edge.operation.each_read(&mut |v| _ = needed.insert(v));
                live[edge.from].extend(needed);
            }
            if live == before {
                return live;
            }
        }
    };
    program.functions.iter().map(of).collect()
}
