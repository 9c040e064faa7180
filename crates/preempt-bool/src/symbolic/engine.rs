//! Reachability of a sequential recursive program with procedure summaries.
//!
//! Per node a set of *path edges*: pairs of the values on entry of the procedure and the values
//! now. Entry values are kept only for what the procedure can change (transitively): everything
//! else still has the value it had. A call seeds the callee with the values it passes, projected
//! to what the callee touches; a return adds to the callee's summary, which is applied to every
//! caller that waits. Both sides move by differences. Recursion needs nothing special.
//!
//! Procedures without callers (roots) keep no entry values at all.

use super::code::{Code, CodeOperation};
use super::compile::Compiler;
use super::diagram::{Diagram, Diagrams, Level, Renaming};
use super::effects::{Effect, callees_first, effects, is_global};
use super::levels::{Levels, Moment};
use crate::flow::{NodeId, VariableId};
use preempt_core::Stop;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

enum Action {
    /// `exists cube. set & guard`, then `& post`, then a renaming of next values.
    Step {
        guard: Diagram,
        cube: Diagram,
        post: Option<Diagram>,
        next: Option<Renaming>,
    },
    Call(Box<CallPlan>),
    Return(Box<ReturnPlan>),
}

pub(super) struct CallPlan {
    pub(super) procedure: usize,
    /// Next value of each parameter is what is passed.
    pass: Diagram,
    forget: Diagram,
    /// Values the callee can change become what the caller passed.
    save: Renaming,
    /// From what a caller passed to what the callee starts with.
    caller_only: Diagram,
    begin: Renaming,
    /// Applying a summary: passed values (and unused results) disappear, results arrive.
    passed: Diagram,
    receivers: Diagram,
    receive: Renaming,
}

struct ReturnPlan {
    give: Diagram,
    forget: Diagram,
    /// Entry values become what the caller passed.
    shape: Renaming,
}

/// A call whose result is awaited.
struct Waiting {
    caller: usize,
    edge: usize,
    passed: Diagram,
}

pub(super) struct ProcedureState {
    pub(super) full: Vec<Diagram>,
    pending: Vec<Diagram>,
    pub(super) summary: Diagram,
    seeds: Diagram,
    /// Entry equals now, for all that has an entry copy.
    identity: Diagram,
    waiting: Vec<Waiting>,
    /// Position in the worklist order, per node.
    order: Vec<usize>,
    /// When what was added, per node, and to the summary.
    pub(super) rings: Vec<Vec<(u32, Diagram)>>,
    pub(super) summary_rings: Vec<(u32, Diagram)>,
}

pub(crate) struct Engine<'a, 'w> {
    pub(super) code: &'a Code,
    pub(super) compiler: Compiler<'a, 'w>,
    pub(super) effects: Vec<Effect>,
    pub(super) states: Vec<ProcedureState>,
    actions: Vec<Vec<Option<Rc<Action>>>>,
    work: BTreeSet<(usize, usize, usize, NodeId)>,
    priority: Vec<usize>,
    /// Keep rings, from which executions are read off.
    keep_rings: bool,
    clock: u32,
    /// The context that began with what was added at this time.
    pub(super) started: FxHashMap<u32, u32>,
    /// What was reached at target nodes first: procedure and node.
    pub(crate) hit: Option<(usize, NodeId)>,
    pub(crate) stop_at_hit: bool,
    /// Called with everything new at switch nodes and targets.
    pub(crate) fresh: Vec<(usize, NodeId, Diagram)>,
    pub(crate) report_fresh: bool,
}

impl<'a, 'w> Engine<'a, 'w> {
    pub(crate) fn new(
        code: &'a Code,
        diagrams: &'a Diagrams<'w>,
        levels: &'a Levels,
        keep_rings: bool,
    ) -> Result<Self, Stop> {
        let effects = effects(code);
        let compiler = Compiler::new(diagrams, levels);
        let mut states = Vec::new();
        let mut actions = Vec::new();
        for (procedure, effect) in code.procedures.iter().zip(&effects) {
            let mut identity = diagrams.constant(true);
            if procedure.function.is_some() {
                for v in effect.changed.iter().chain(&effect.changed_params) {
                    for bit in levels.bits(*v).iter().rev() {
                        let now = diagrams.variable(bit[Moment::Now as usize])?;
                        let entry = diagrams.variable(bit[Moment::Entry as usize])?;
                        identity = diagrams.and(&diagrams.equal(&now, &entry)?, &identity)?;
                    }
                }
            }
            let none = || vec![diagrams.constant(false); procedure.out.len()];
            states.push(ProcedureState {
                full: none(),
                pending: none(),
                summary: diagrams.constant(false),
                seeds: diagrams.constant(false),
                identity,
                waiting: Vec::new(),
                order: reverse_post_order(procedure.entry, procedure),
                rings: vec![Vec::new(); procedure.out.len()],
                summary_rings: Vec::new(),
            });
            actions.push((0..procedure.edges.len()).map(|_| None).collect());
        }
        let priority = callees_first(code);
        Ok(Engine {
            code,
            compiler,
            effects,
            states,
            actions,
            work: BTreeSet::new(),
            priority,
            keep_rings,
            clock: 0,
            started: FxHashMap::default(),
            hit: None,
            stop_at_hit: false,
            fresh: Vec::new(),
            report_fresh: false,
        })
    }

    pub(crate) fn code(&self) -> &'a Code {
        self.code
    }

    pub(crate) fn diagrams(&self) -> &'a Diagrams<'w> {
        self.compiler.diagrams
    }

    /// Where a condition can be true.
    pub(crate) fn condition(&self, expr: &crate::flow::Expr) -> Result<Diagram, Stop> {
        self.compiler.condition(expr)
    }

    /// Everything a root can start with; new parts only are explored.
    pub(crate) fn seed(&mut self, root: usize, set: &Diagram) -> Result<(), Stop> {
        self.add(root, self.code.procedures[root].entry, set.clone())
    }

    /// More states at some node of a root.
    pub(crate) fn inject(&mut self, root: usize, node: NodeId, set: Diagram) -> Result<(), Stop> {
        self.add(root, node, set)
    }

    /// States in which a context begins at some node of a root.
    pub(crate) fn start_at(
        &mut self,
        root: usize,
        node: NodeId,
        set: Diagram,
        context: u32,
    ) -> Result<(), Stop> {
        let before = self.clock;
        self.add(root, node, set)?;
        if self.clock > before {
            self.started.insert(self.clock, context);
        }
        Ok(())
    }

    /// Gives up the possibility to read off executions.
    pub(crate) fn forget_rings(&mut self) {
        self.keep_rings = false;
        for state in &mut self.states {
            state.rings.iter_mut().for_each(Vec::clear);
            state.summary_rings.clear();
        }
    }

    /// Runs until nothing changes, or a target is hit if that is asked for.
    pub(crate) fn run(&mut self) -> Result<(), Stop> {
        while let Some((_, _, procedure, node)) = self.work.pop_first() {
            let nothing = self.diagrams().constant(false);
            let delta = std::mem::replace(&mut self.states[procedure].pending[node], nothing);
            let edges = self.code.procedures[procedure].out[node].clone();
            for edge in edges {
                self.follow(procedure, edge, &delta)?;
                if self.stop_at_hit && self.hit.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// All that is reached at a node.
    pub(crate) fn reached(&self, procedure: usize, node: NodeId) -> &Diagram {
        &self.states[procedure].full[node]
    }

    fn add(&mut self, procedure: usize, node: NodeId, set: Diagram) -> Result<(), Stop> {
        let d = self.diagrams();
        let state = &mut self.states[procedure];
        let new = d.minus(&set, &state.full[node])?;
        if new.is_false() {
            return Ok(());
        }
        state.full[node] = d.or(&state.full[node], &new)?;
        state.pending[node] = d.or(&state.pending[node], &new)?;
        self.clock += 1;
        if self.keep_rings {
            state.rings[node].push((self.clock, new.clone()));
        }
        let graph = &self.code.procedures[procedure];
        if graph.marks[node].is_some() && self.hit.is_none() {
            self.hit = Some((procedure, node));
        }
        if self.report_fresh && (graph.switches[node] || graph.marks[node].is_some()) {
            self.fresh.push((procedure, node, new));
        }
        self.work.insert((self.priority[procedure], state.order[node], procedure, node));
        Ok(())
    }

    fn follow(&mut self, procedure: usize, edge: usize, set: &Diagram) -> Result<(), Stop> {
        if self.actions[procedure][edge].is_none() {
            let action = self.compile(procedure, edge)?;
            self.actions[procedure][edge] = Some(Rc::new(action));
        }
        let d = self.diagrams();
        let to = self.code.procedures[procedure].edges[edge].to;
        let Some(action) = self.actions[procedure][edge].clone() else { return Ok(()) };
        match &*action {
            Action::Step { guard, cube, post, next } => {
                let mut result = d.and_exists(set, guard, cube)?;
                if let Some(post) = post {
                    result = d.and(&result, post)?;
                }
                if let Some(next) = next {
                    result = d.rename(&result, next)?;
                }
                self.add(procedure, to, result)
            }
            Action::Call(plan) => {
                let passed = self.passed(plan, set)?;
                let start = d.exists(&passed, &plan.caller_only)?;
                let start = d.rename(&start, &plan.begin)?;
                let callee = plan.procedure;
                let new = d.minus(&start, &self.states[callee].seeds)?;
                let result = self.received(plan, &passed, &self.states[callee].summary)?;
                let state = &mut self.states[callee];
                match state.waiting.iter_mut().find(|w| w.caller == procedure && w.edge == edge) {
                    Some(waiting) => waiting.passed = d.or(&waiting.passed, &passed)?,
                    None => state.waiting.push(Waiting { caller: procedure, edge, passed }),
                }
                if !new.is_false() {
                    state.seeds = d.or(&state.seeds, &new)?;
                    let seeds = d.and(&new, &state.identity)?;
                    self.add(callee, self.code.procedures[callee].entry, seeds)?;
                }
                self.add(procedure, to, result)
            }
            Action::Return(plan) => {
                if self.code.procedures[procedure].function.is_none() {
                    return Ok(());
                }
                let given = d.and(set, &plan.give)?;
                let given = d.exists(&given, &plan.forget)?;
                let given = d.rename(&given, &plan.shape)?;
                self.summarise(procedure, given)
            }
        }
    }

    fn summarise(&mut self, procedure: usize, given: Diagram) -> Result<(), Stop> {
        let d = self.diagrams();
        let state = &mut self.states[procedure];
        let new = d.minus(&given, &state.summary)?;
        if new.is_false() {
            return Ok(());
        }
        state.summary = d.or(&state.summary, &new)?;
        self.clock += 1;
        if self.keep_rings {
            state.summary_rings.push((self.clock, new.clone()));
        }
        for i in 0..self.states[procedure].waiting.len() {
            let waiting = &self.states[procedure].waiting[i];
            let (caller, edge) = (waiting.caller, waiting.edge);
            let Some(plan) = self.call_plan(caller, edge) else { continue };
            let result = self.received(plan, &waiting.passed, &new)?;
            self.add(caller, self.code.procedures[caller].edges[edge].to, result)?;
        }
        Ok(())
    }

    /// The caller's states with what it passes as next values.
    pub(super) fn passed(&self, plan: &CallPlan, set: &Diagram) -> Result<Diagram, Stop> {
        let d = self.diagrams();
        let passed = d.and(set, &plan.pass)?;
        let passed = d.exists(&passed, &plan.forget)?;
        d.rename(&passed, &plan.save)
    }

    fn received(
        &self,
        plan: &CallPlan,
        passed: &Diagram,
        summary: &Diagram,
    ) -> Result<Diagram, Stop> {
        let d = self.diagrams();
        let result = d.and_exists(passed, summary, &plan.passed)?;
        let result = d.exists(&result, &plan.receivers)?;
        d.rename(&result, &plan.receive)
    }

    pub(super) fn call_plan(&self, procedure: usize, edge: usize) -> Option<&CallPlan> {
        match self.actions[procedure][edge].as_deref() {
            Some(Action::Call(plan)) => Some(plan),
            _ => None,
        }
    }

    fn compile(&self, procedure: usize, edge: usize) -> Result<Action, Stop> {
        match &self.code.procedures[procedure].edges[edge].operation {
            CodeOperation::Step { guard, lhs, rhs, constrain, forget } => {
                self.compile_step(guard.as_ref(), lhs, rhs, constrain.as_ref(), forget)
            }
            CodeOperation::Call { procedure: callee, args, lhs } => {
                self.compile_call(procedure, *callee, args, lhs)
            }
            CodeOperation::Return(values) => self.compile_return(procedure, values),
        }
    }

    fn compile_step(
        &self,
        guard: Option<&crate::flow::Expr>,
        lhs: &[VariableId],
        rhs: &[crate::flow::Expr],
        constrain: Option<&crate::flow::Expr>,
        forget: &[VariableId],
    ) -> Result<Action, Stop> {
        let (c, d) = (&self.compiler, self.diagrams());
        let mut before = match guard {
            Some(guard) => c.condition(guard)?,
            None => d.constant(true),
        };
        let mut reads_lhs = false;
        for e in rhs {
            e.each_variable(&mut |v| reads_lhs |= lhs.contains(&v) || forget.contains(&v));
        }
        let gone: Vec<VariableId> = lhs.iter().chain(forget).copied().collect();
        let cube = c.cube(&gone, Moment::Now)?;
        if constrain.is_none() && !reads_lhs {
            let mut post = d.constant(true);
            for (v, e) in lhs.iter().zip(rhs).rev() {
                post = d.and(&c.takes(*v, Moment::Now, e)?, &post)?;
            }
            let post = (!post.is_true()).then_some(post);
            return Ok(Action::Step { guard: before, cube, post, next: None });
        }
        for (v, e) in lhs.iter().zip(rhs).rev() {
            before = d.and(&c.takes(*v, Moment::Next, e)?, &before)?;
        }
        if let Some(condition) = constrain {
            let condition = condition.about_assigned(lhs);
            before = d.and(&c.condition(&condition)?, &before)?;
        }
        let next = Some(c.renaming(lhs, Moment::Next, Moment::Now));
        Ok(Action::Step { guard: before, cube, post: None, next })
    }

    fn compile_call(
        &self,
        caller: usize,
        callee: usize,
        args: &[crate::flow::Expr],
        lhs: &[VariableId],
    ) -> Result<Action, Stop> {
        let (c, d) = (&self.compiler, self.diagrams());
        let target = &self.code.procedures[callee];
        let effect = &self.effects[callee];
        let mut pass = d.constant(true);
        for (param, arg) in target.params.iter().zip(args).rev() {
            pass = d.and(&c.takes(*param, Moment::Next, arg)?, &pass)?;
        }
        // The callee's start: all that only the caller knows disappears.
        let source = &self.code.procedures[caller];
        let mut gone: Vec<Level> =
            source.frame.iter().flat_map(|v| c.levels.of(*v, Moment::Now)).collect();
        if source.function.is_some() {
            let own = &self.effects[caller];
            for v in own.changed.iter().chain(&own.changed_params) {
                gone.extend(c.levels.of(*v, Moment::Entry));
            }
        }
        for v in (0..self.code.variables.len()).filter(|v| is_global(self.code, *v)) {
            if !effect.touched.contains(&v) {
                gone.extend(c.levels.of(v, Moment::Now));
            }
        }
        let caller_only = d.cube(gone)?;
        let begun: Vec<VariableId> = effect.changed.iter().chain(&target.params).copied().collect();
        let begin = c.renaming(&begun, Moment::Next, Moment::Now);
        let mut passed: Vec<Level> =
            begun.iter().flat_map(|v| c.levels.of(*v, Moment::Next)).collect();
        if lhs.is_empty() {
            passed.extend(target.results.iter().flat_map(|v| c.levels.of(*v, Moment::Now)));
        }
        let pairs: Vec<(VariableId, VariableId)> = if lhs.is_empty() {
            Vec::new()
        } else {
            target.results.iter().copied().zip(lhs.iter().copied()).collect()
        };
        // What the results overwrite need not be remembered, unless the callee starts with it.
        let overwritten: Vec<VariableId> =
            lhs.iter().copied().filter(|v| !is_global(self.code, *v)).collect();
        Ok(Action::Call(Box::new(CallPlan {
            procedure: callee,
            pass,
            forget: c.cube(&overwritten, Moment::Now)?,
            save: c.renaming(&effect.changed, Moment::Now, Moment::Next),
            caller_only,
            begin,
            passed: d.cube(passed)?,
            receivers: c.cube(lhs, Moment::Now)?,
            receive: c.moving(&pairs),
        })))
    }

    fn compile_return(
        &self,
        procedure: usize,
        values: &[crate::flow::Expr],
    ) -> Result<Action, Stop> {
        let (c, d) = (&self.compiler, self.diagrams());
        let source = &self.code.procedures[procedure];
        let effect = &self.effects[procedure];
        let mut give = d.constant(true);
        for (v, e) in source.results.iter().zip(values).rev() {
            give = d.and(&c.takes(*v, Moment::Now, e)?, &give)?;
        }
        let gone: Vec<VariableId> =
            source.frame.iter().copied().filter(|v| !effect.kept_params.contains(v)).collect();
        let mut pairs: Vec<(Level, Level)> = Vec::new();
        for v in effect.changed.iter().chain(&effect.changed_params) {
            let bits = c.levels.bits(*v).iter();
            pairs.extend(bits.map(|b| (b[Moment::Entry as usize], b[Moment::Next as usize])));
        }
        for v in &effect.kept_params {
            let bits = c.levels.bits(*v).iter();
            pairs.extend(bits.map(|b| (b[Moment::Now as usize], b[Moment::Next as usize])));
        }
        let forget = c.cube(&gone, Moment::Now)?;
        Ok(Action::Return(Box::new(ReturnPlan { give, forget, shape: d.renaming(pairs) })))
    }
}

fn reverse_post_order(entry: NodeId, procedure: &super::code::Procedure) -> Vec<usize> {
    let mut order = vec![usize::MAX; procedure.out.len()];
    let mut seen = vec![false; procedure.out.len()];
    let mut next = procedure.out.len();
    let mut stack = vec![(entry, 0)];
    seen[entry] = true;
    while let Some((node, at)) = stack.pop() {
        match procedure.out[node].get(at) {
            Some(&edge) => {
                stack.push((node, at + 1));
                let to = procedure.edges[edge].to;
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
            None => {
                next -= 1;
                order[node] = next;
            }
        }
    }
    order
}
