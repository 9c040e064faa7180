//! Proofs for every number of context switches, also of programs whose stacks grow without bound.
//!
//! A stack is cut below the frame that a call has made. What was cut is remembered by the call (the
//! thread, the callee, the values it was entered with, shared variables included): when such an
//! activation returns, *any* stack that ever waited for one like it is resumed. This visits at
//! least the visible states (shared values, and per thread the top frame) of all executions, and
//! there are finitely many, so the search ends. If no target is among them the program is safe for
//! every number of switches; if one is, nothing is known, for the resumed frame may be the wrong
//! one.
//!
//! After CUBA (Liu and Wahl, PLDI 2018), which stops when the visible states of k and k + 1
//! switches agree and no state that a return could add lies outside. Differs: the remembered frames
//! take the place of the generators, so that no sequence of bounds is needed.

use crate::flow::{Choices, Liveness, Operation, Program, Targets, VariableId};
use crate::limits::Watch;
use preempt_core::Stop;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Most outcomes of one step.
const MAX_CHOICES: usize = 1 << 16;

/// Which calls cut the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cuts {
    /// All: the fewest states.
    EveryCall,
    /// Calls of functions that may call themselves: exact for a program without recursion.
    Recursion,
}

/// What is remembered of a thread.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Local {
    pub(crate) private: Vec<u32>,
    /// `None` when the thread has ended.
    pub(crate) top: Option<Top>,
}

/// The thread that moves in a state, and its activation.
#[derive(Clone, Copy)]
struct Mover<'a> {
    state: &'a Rc<State>,
    thread: usize,
    top: &'a Top,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Top {
    pub(crate) function: u32,
    pub(crate) node: u32,
    pub(crate) locals: Vec<u32>,
    pub(crate) below: Below,
}

/// What lies below a frame.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Below {
    /// It is the first of its thread.
    Nothing,
    /// Any stack that waits for such a call: here the stack was cut.
    Call(Rc<Call>),
    /// A frame that waits.
    Frame(Rc<Waiting>),
}

/// How an activation began.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) thread: u32,
    pub(crate) function: u32,
    pub(crate) passed: Vec<u32>,
    pub(crate) shared: Vec<u32>,
    pub(crate) private: Vec<u32>,
}

/// A frame that waits: its call edge, its locals, and what lies below.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Waiting {
    pub(crate) function: u32,
    pub(crate) edge: u32,
    pub(crate) locals: Vec<u32>,
    pub(crate) below: Below,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) shared: Vec<u32>,
    pub(crate) threads: Vec<Rc<Local>>,
}

/// What a search has visited.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) known: FxHashSet<Rc<State>>,
    pub(crate) waiting: FxHashMap<Rc<Call>, Vec<Waiting>>,
}

/// Everything that was visited, without a target: `init` alone, then the threads.
pub(crate) struct Proven {
    pub(crate) init: Listed,
    pub(crate) threads: Listed,
}

/// A thread at the end of an activation, with what it returns.
struct Returning {
    state: Rc<State>,
    thread: usize,
    results: Vec<u32>,
}

struct Proof<'a> {
    program: &'a Program,
    targets: &'a Targets,
    liveness: Liveness,
    /// Place of each variable among those of its owner.
    places: Vec<usize>,
    cuts: Cuts,
    listed: Listed,
    work: Vec<Rc<State>>,
    returned: FxHashMap<Rc<Call>, Vec<Returning>>,
    max_states: usize,
    /// Steps since the clock was looked at.
    added: usize,
    unsafe_: bool,
    gave_up: bool,
}

/// What became of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attempt {
    /// No execution reaches a target.
    Proven,
    /// A target is among what was visited: there is no such proof, whatever the size.
    Impossible,
    /// There are more states than it may visit.
    TooLarge,
}

/// Whether no execution reaches a target, with at most `max_states` states.
pub(crate) fn holds_for_every_number(
    program: &Program,
    targets: &Targets,
    max_states: usize,
    watch: &Watch<'_>,
) -> Result<Attempt, Stop> {
    let attempt = |cuts| {
        let listed = list(program, targets, max_states, cuts, watch)?;
        Ok(listed.map_or_else(|attempt| attempt, |_| Attempt::Proven))
    };
    match attempt(Cuts::EveryCall)? {
        Attempt::Impossible => attempt(Cuts::Recursion),
        answer => Ok(answer),
    }
}

/// The states that prove it, or why there are none.
pub(crate) fn list(
    program: &Program,
    targets: &Targets,
    max_states: usize,
    cuts: Cuts,
    watch: &Watch<'_>,
) -> Result<Result<Proven, Attempt>, Stop> {
    let mut places = vec![0; program.variables.len()];
    let frames = program.functions.iter().map(|f| f.frame().collect::<Vec<_>>());
    for list in [program.shared.clone(), program.private.clone()].into_iter().chain(frames) {
        list.iter().enumerate().for_each(|(i, v)| places[*v] = i);
    }
    let mut proof = Proof {
        program,
        targets,
        liveness: Liveness::new(program),
        places,
        cuts,
        listed: Listed::default(),
        work: Vec::new(),
        returned: FxHashMap::default(),
        max_states,
        added: 0,
        unsafe_: false,
        gave_up: false,
    };
    let init = proof.start(watch)?;
    proof.run(watch)?;
    Ok(match (proof.unsafe_, proof.gave_up) {
        (true, _) => Err(Attempt::Impossible),
        (false, true) => Err(Attempt::TooLarge),
        (false, false) => Ok(Proven { init, threads: proof.listed }),
    })
}

impl Proof<'_> {
    /// All states with which the threads can begin. `init` runs as a thread of its own first; what it can do is
    /// returned.
    fn start(&mut self, watch: &Watch<'_>) -> Result<Listed, Stop> {
        let program = self.program;
        let widths = |list: &[VariableId]| -> Vec<u8> {
            list.iter().map(|v| program.variables[*v].width).collect()
        };
        // What `init` sets before anything reads it may as well start with zero.
        let unset = crate::explicit::unset_shared(program);
        let free = |v: &VariableId| match unset.contains(v) {
            true => program.variables[*v].width,
            false => 0,
        };
        let free: Vec<u8> = program.shared.iter().map(free).collect();
        let Some(shared) = all_values(&free, self.max_states) else {
            self.gave_up = true;
            return Ok(Listed::default());
        };
        let mut beginnings = Vec::new();
        for thread in &program.threads {
            let function = &program.functions[thread.function];
            let locals = self.first_locals(thread.function);
            let private = all_values(&widths(&program.private), 4096);
            let (Some(locals), Some(private)) = (locals, private) else {
                self.gave_up = true;
                return Ok(Listed::default());
            };
            let mut list = Vec::new();
            for private in &private {
                for locals in &locals {
                    let top = Some(Top {
                        function: thread.function as u32,
                        node: function.entry as u32,
                        locals: locals.clone(),
                        below: Below::Nothing,
                    });
                    list.push(Rc::new(Local { private: private.clone(), top }));
                }
            }
            beginnings.push(list);
        }
        let combinations =
            beginnings.iter().fold(shared.len(), |n, list| n.saturating_mul(list.len()));
        if combinations > self.max_states {
            self.gave_up = true;
            return Ok(Listed::default());
        }
        let (starts, during_init) = match program.init {
            None => (shared, Listed::default()),
            Some(init) => self.after_init(init, shared, watch)?,
        };
        for shared in starts {
            let mut all: Vec<Vec<Rc<Local>>> = vec![Vec::new()];
            for list in &beginnings {
                all = all
                    .iter()
                    .flat_map(|done| {
                        list.iter().map(|l| done.iter().cloned().chain([l.clone()]).collect())
                    })
                    .collect();
            }
            for threads in all {
                self.add(State { shared: shared.clone(), threads });
            }
        }
        Ok(during_init)
    }

    /// The local variables with which an activation without a caller can begin.
    fn first_locals(&self, function: usize) -> Option<Vec<Vec<u32>>> {
        let definition = &self.program.functions[function];
        let live = self.liveness.at(function, definition.entry);
        let width = |(v, live): (VariableId, &bool)| match live {
            true => self.program.variables[v].width,
            false => 0,
        };
        all_values(&definition.frame().zip(live).map(width).collect::<Vec<_>>(), 4096)
    }

    /// The shared values with which `init` can end, found by the same search with `init` alone.
    fn after_init(
        &mut self,
        init: usize,
        shared: Vec<Vec<u32>>,
        watch: &Watch<'_>,
    ) -> Result<(Vec<Vec<u32>>, Listed), Stop> {
        let function = &self.program.functions[init];
        let private = vec![0; self.program.private.len()];
        let Some(locals) = self.first_locals(init) else {
            self.gave_up = true;
            return Ok(Default::default());
        };
        for shared in shared {
            for locals in &locals {
                let top = Some(Top {
                    function: init as u32,
                    node: function.entry as u32,
                    locals: locals.clone(),
                    below: Below::Nothing,
                });
                let threads = vec![Rc::new(Local { private: private.clone(), top })];
                self.add(State { shared: shared.clone(), threads });
            }
        }
        self.run(watch)?;
        let listed = std::mem::take(&mut self.listed);
        let mut ended: Vec<Vec<u32>> = listed
            .known
            .iter()
            .filter(|s| s.threads[0].top.is_none())
            .map(|s| s.shared.clone())
            .collect();
        ended.sort();
        ended.dedup();
        self.returned.clear();
        Ok((ended, listed))
    }

    fn run(&mut self, watch: &Watch<'_>) -> Result<(), Stop> {
        while let Some(state) = self.work.pop() {
            self.added += 1;
            if self.added >= 1024 {
                self.added = 0;
                watch.check(self.listed.known.len() as u64)?;
            }
            if self.unsafe_ || self.gave_up {
                self.work.clear();
                return Ok(());
            }
            let atomic = self.program.atomic.map(|flag| self.places[flag]);
            let holder = atomic.and_then(|place| {
                let inside = |t: &Rc<Local>| t.private[place] != 0;
                state.threads.iter().position(inside)
            });
            for thread in 0..state.threads.len() {
                if holder.is_none_or(|h| h == thread) {
                    let is_small = self.expand(&state, thread).is_some();
                    self.gave_up |= !is_small;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, state: State) {
        self.added += 1;
        for local in &state.threads {
            if let Some(top) = &local.top {
                self.unsafe_ |= self.targets.at(top.function as usize, top.node as usize).is_some();
            }
        }
        if self.listed.known.len() >= self.max_states {
            self.gave_up = true;
            return;
        }
        let state = Rc::new(state);
        if self.listed.known.insert(state.clone()) {
            self.work.push(state);
        }
    }

    fn get(&self, state: &State, thread: usize, top: &Top, v: VariableId) -> u64 {
        use crate::flow::Owner;
        let place = self.places[v];
        u64::from(match self.program.variables[v].owner {
            Owner::Shared => state.shared[place],
            Owner::Thread => state.threads[thread].private[place],
            Owner::Function(_) => top.locals[place],
        })
    }

    /// Takes all steps of a thread; `None` if values are too many to be chosen one by one.
    fn expand(&mut self, state: &Rc<State>, thread: usize) -> Option<()> {
        let local = state.threads[thread].clone();
        let Some(top) = &local.top else { return Some(()) };
        let mover = Mover { state, thread, top };
        let program = self.program;
        let function = &program.functions[top.function as usize];
        for &e in &function.out[top.node as usize] {
            let edge = &function.edges[e];
            let get = |v| self.get(state, thread, top, v);
            match &edge.operation {
                Operation::Assume(condition) => {
                    if condition.truths(&get, &get).1 {
                        self.step(mover, &[], &[], edge.to);
                    }
                }
                Operation::Assign { lhs, rhs, constrain } => {
                    let possible: Vec<_> = rhs.iter().map(|e| e.possible(&get, &get)).collect();
                    let choices = match constrain {
                        None => choices(&possible),
                        Some(condition) => {
                            let (possible, current) = (possible.as_slice(), &get);
                            let allowed = Choices { lhs, possible, condition, current };
                            let numbers = allowed.numbers(MAX_CHOICES);
                            let values = |n: u32| tuple(possible, u64::from(n));
                            numbers.map(|list| list.into_iter().map(values).collect())
                        }
                    };
                    for values in choices? {
                        self.step(mover, lhs, &values, edge.to);
                    }
                }
                Operation::Call { function: callee, args, .. } => {
                    let mut possible: Vec<_> =
                        args.iter().map(|e| e.possible(&get, &get)).collect();
                    let target = &program.functions[*callee];
                    let live = self.liveness.at(*callee, target.entry);
                    for (v, live) in target.frame().zip(live).skip(args.len()) {
                        let width = program.variables[v].width;
                        let any = crate::flow::Possible::All(width);
                        possible.push(if *live { any } else { crate::flow::Possible::One(0) });
                    }
                    for values in choices(&possible)? {
                        self.call(mover, e, values);
                    }
                }
                Operation::Return(values) => {
                    let possible: Vec<_> = values.iter().map(|e| e.possible(&get, &get)).collect();
                    for results in choices(&possible)? {
                        self.leave(mover, results);
                    }
                }
            }
        }
        Some(())
    }

    /// Sets what is dead to zero, so that states which differ only there are one.
    fn tidy(&self, top: &mut Top) {
        let live = self.liveness.at(top.function as usize, top.node as usize);
        for (value, live) in top.locals.iter_mut().zip(live) {
            if !live {
                *value = 0;
            }
        }
    }

    fn step(
        &mut self,
        Mover { state, thread, top }: Mover<'_>,
        lhs: &[VariableId],
        values: &[u32],
        to: usize,
    ) {
        use crate::flow::Owner;
        let mut next = (**state).clone();
        let mut local = (*next.threads[thread]).clone();
        let mut top = top.clone();
        for (v, value) in lhs.iter().zip(values) {
            let place = self.places[*v];
            match self.program.variables[*v].owner {
                Owner::Shared => next.shared[place] = *value,
                Owner::Thread => local.private[place] = *value,
                Owner::Function(_) => top.locals[place] = *value,
            }
        }
        top.node = to as u32;
        self.tidy(&mut top);
        local.top = Some(top);
        next.threads[thread] = Rc::new(local);
        self.add(next);
    }

    /// Takes a call with these values of the callee's frame.
    fn call(&mut self, Mover { state, thread, top }: Mover<'_>, edge: usize, values: Vec<u32>) {
        let caller = &self.program.functions[top.function as usize];
        let Operation::Call { function: callee, args, .. } = &caller.edges[edge].operation else {
            return;
        };
        let (callee, args) = (*callee, args.len());
        let waiting = Waiting {
            function: top.function,
            edge: edge as u32,
            locals: top.locals.clone(),
            below: top.below.clone(),
        };
        let cut = self.cuts == Cuts::EveryCall || self.program.recursive[callee];
        let call = cut.then(|| {
            Rc::new(Call {
                thread: thread as u32,
                function: callee as u32,
                passed: values[..args].to_vec(),
                shared: state.shared.clone(),
                private: state.threads[thread].private.clone(),
            })
        });
        let mut next = (**state).clone();
        let mut local = (*next.threads[thread]).clone();
        let node = self.program.functions[callee].entry as u32;
        let below = match &call {
            Some(call) => Below::Call(call.clone()),
            None => Below::Frame(Rc::new(waiting.clone())),
        };
        let mut new = Top { function: callee as u32, node, locals: values, below };
        self.tidy(&mut new);
        local.top = Some(new);
        next.threads[thread] = Rc::new(local);
        self.add(next);
        let Some(call) = call else { return };
        let list = self.listed.waiting.entry(call.clone()).or_default();
        if list.contains(&waiting) {
            return;
        }
        list.push(waiting.clone());
        let count = self.returned.get(&call).map_or(0, Vec::len);
        for i in 0..count {
            let returning = &self.returned[&call][i];
            let (state, thread) = (returning.state.clone(), returning.thread);
            let results = returning.results.clone();
            self.resume(&state, thread, &waiting, &results);
        }
    }

    fn leave(&mut self, Mover { state, thread, top }: Mover<'_>, results: Vec<u32>) {
        let call = match &top.below {
            Below::Call(call) => call,
            Below::Frame(waiting) => return self.resume(state, thread, waiting, &results),
            Below::Nothing => {
                let mut next = (**state).clone();
                // A thread that ends inside an atomic section never leaves it.
                let mut private = vec![0; self.program.private.len()];
                if let Some(place) = self.program.atomic.map(|flag| self.places[flag]) {
                    private[place] = next.threads[thread].private[place];
                }
                next.threads[thread] = Rc::new(Local { private, top: None });
                self.add(next);
                return;
            }
        };
        let returning = Returning { state: state.clone(), thread, results: results.clone() };
        self.returned.entry(call.clone()).or_default().push(returning);
        for waiting in self.listed.waiting.get(call).cloned().unwrap_or_default() {
            self.resume(state, thread, &waiting, &results);
        }
    }

    fn resume(&mut self, state: &Rc<State>, thread: usize, waiting: &Waiting, results: &[u32]) {
        let function = waiting.function as usize;
        let edge = &self.program.functions[function].edges[waiting.edge as usize];
        let Operation::Call { lhs, .. } = &edge.operation else { return };
        let top = Top {
            function: waiting.function,
            node: 0,
            locals: waiting.locals.clone(),
            below: waiting.below.clone(),
        };
        self.step(Mover { state, thread, top: &top }, lhs, results, edge.to);
    }
}

/// All tuples of values with these widths, unless there are more than `most`.
fn all_values(widths: &[u8], most: usize) -> Option<Vec<Vec<u32>>> {
    let possible: Vec<_> = widths.iter().map(|w| crate::flow::Possible::All(*w)).collect();
    let total = possible.iter().fold(1u64, |n, p| n.saturating_mul(p.count()));
    if total > most as u64 { None } else { choices(&possible) }
}

/// All tuples, unless there are too many.
fn choices(possible: &[crate::flow::Possible]) -> Option<Vec<Vec<u32>>> {
    let total = possible.iter().fold(1u64, |n, p| n.saturating_mul(p.count()));
    if total > MAX_CHOICES as u64 {
        return None;
    }
    Some((0..total).map(|number| tuple(possible, number)).collect())
}

/// The values of a choice: the first varies fastest.
fn tuple(possible: &[crate::flow::Possible], number: u64) -> Vec<u32> {
    let mut rest = number;
    let value = |p: &crate::flow::Possible| {
        let count = p.count().max(1);
        let value = p.nth(rest % count) as u32;
        rest /= count;
        value
    };
    possible.iter().map(value).collect()
}
