//! Reads one execution off the rings of an engine, from the end to the start.
//!
//! Every set that was added carries the time of its addition, and was computed from sets added
//! before. So from a state one can always step back to an older one, through intraprocedural
//! edges, through a completed call (down into the callee and out at its entry), or from the entry
//! of a procedure to a caller. Times decrease, hence the walk ends.

use super::code::{CodeEdge, CodeOperation, Origin};
use super::diagram::{Diagram, Level};
use super::engine::Engine;
use super::levels::Moment;
use crate::flow::{NodeId, VariableId};
use crate::replay::Action;
use preempt_core::Stop;
use std::collections::HashMap;

/// One item of an execution, in the order of time.
#[derive(Clone, Debug)]
pub(crate) enum Walked {
    Action(Action),
    /// The thread goes on in its next context.
    Resume,
    /// A first activation begins: its function, and the values of its frame and all globals.
    Start(usize, Vec<(VariableId, u64)>),
}

/// A state with which a context begins.
pub(crate) struct Start {
    pub(crate) node: NodeId,
    pub(crate) context: u32,
    pub(crate) values: HashMap<Level, bool>,
}

/// Values of levels; what is absent is false.
#[derive(Clone, Debug, Default)]
struct Point {
    values: HashMap<Level, bool>,
}

impl Engine<'_, '_> {
    /// An execution from a root to a state of `goal` at the node. The goal must intersect what
    /// was reached there.
    pub(crate) fn walk(
        &self,
        procedure: usize,
        node: NodeId,
        goal: &Diagram,
    ) -> Result<Option<Vec<Walked>>, Stop> {
        let Some((mut time, mut point)) = self.earliest(procedure, node, goal, u32::MAX)? else {
            return Ok(None);
        };
        let (mut procedure, mut node) = (procedure, node);
        let mut backwards: Vec<Walked> = Vec::new();
        loop {
            let Some(entry) = self.back_to_entry(procedure, node, point, time, &mut backwards)?
            else {
                return Ok(None);
            };
            if self.code.procedures[procedure].function.is_none() {
                backwards.reverse();
                return Ok(Some(backwards));
            }
            let Some(caller) = self.caller_of(procedure, &entry, &mut backwards)? else {
                return Ok(None);
            };
            (procedure, node, time, point) = caller;
        }
    }

    /// Where the context began in which a state of `goal` was reached at the node of a root.
    pub(crate) fn walk_to_start(
        &self,
        root: usize,
        mut node: NodeId,
        goal: &Diagram,
    ) -> Result<Option<Start>, Stop> {
        let mut at = self.earliest(root, node, goal, u32::MAX)?;
        let mut unused = Vec::new();
        while let Some((time, point)) = at {
            if let Some(context) = self.started.get(&time) {
                return Ok(Some(Start { node, context: *context, values: point.values }));
            }
            at = None;
            if let Some((edge, before, older)) =
                self.before(root, node, &point, time, &mut unused)?
            {
                node = self.code.procedures[root].edges[edge].from;
                at = Some((older, before));
            }
        }
        Ok(None)
    }

    fn value(&self, point: &Point, variable: VariableId, moment: Moment) -> u64 {
        let bits = self.compiler.levels.of(variable, moment);
        bits.enumerate().fold(0, |value, (i, level)| {
            value | u64::from(point.values.get(&level).copied().unwrap_or(false)) << i
        })
    }

    /// The levels that a state of the procedure is about.
    fn scope(&self, procedure: usize) -> Vec<Level> {
        let graph = &self.code.procedures[procedure];
        let levels = self.compiler.levels;
        let mut scope: Vec<Level> =
            graph.frame.iter().flat_map(|v| levels.of(*v, Moment::Now)).collect();
        if graph.function.is_none() {
            let globals =
                (0..self.code.variables.len()).filter(|v| super::effects::is_global(self.code, *v));
            scope.extend(globals.flat_map(|v| levels.of(v, Moment::Now)));
            return scope;
        }
        let effect = &self.effects[procedure];
        scope.extend(effect.touched.iter().flat_map(|v| levels.of(*v, Moment::Now)));
        for v in effect.changed.iter().chain(&effect.changed_params) {
            scope.extend(levels.of(*v, Moment::Entry));
        }
        scope
    }

    /// Picks a state of the procedure out of a set.
    fn pick(&self, procedure: usize, set: &Diagram) -> Option<Point> {
        let picked: HashMap<Level, bool> = self.diagrams().pick(set)?.into_iter().collect();
        let value = |level: Level| (level, picked.get(&level).copied().unwrap_or(false));
        Some(Point { values: self.scope(procedure).into_iter().map(value).collect() })
    }

    /// The set that contains exactly the states with these values.
    fn set_of(&self, values: impl IntoIterator<Item = (Level, bool)>) -> Result<Diagram, Stop> {
        let d = self.diagrams();
        let mut values: Vec<(Level, bool)> = values.into_iter().collect();
        values.sort_unstable();
        let mut set = d.constant(true);
        for (level, value) in values.into_iter().rev() {
            let variable = d.variable(level)?;
            set = d.and(&if value { variable } else { d.not(&variable) }, &set)?;
        }
        Ok(set)
    }

    /// The oldest ring before `time` that meets `set`, and a state of both.
    fn earliest(
        &self,
        procedure: usize,
        node: NodeId,
        set: &Diagram,
        time: u32,
    ) -> Result<Option<(u32, Point)>, Stop> {
        if set.is_false() {
            return Ok(None);
        }
        for (added, ring) in &self.states[procedure].rings[node] {
            if *added >= time {
                break;
            }
            let both = self.diagrams().and(ring, set)?;
            if let Some(point) = self.pick(procedure, &both) {
                return Ok(Some((*added, point)));
            }
        }
        Ok(None)
    }

    /// Steps back inside one activation until its entry; the time and state there.
    fn back_to_entry(
        &self,
        procedure: usize,
        mut node: NodeId,
        mut point: Point,
        mut time: u32,
        backwards: &mut Vec<Walked>,
    ) -> Result<Option<(u32, Point)>, Stop> {
        let graph = &self.code.procedures[procedure];
        loop {
            if node == graph.entry && self.is_start(procedure, &point) {
                return Ok(Some((time, point)));
            }
            let Some((edge, before, older)) =
                self.before(procedure, node, &point, time, backwards)?
            else {
                return Ok(None);
            };
            node = graph.edges[edge].from;
            point = before;
            time = older;
        }
    }

    /// Whether the state is one with which its activation starts. A root starts with any state of
    /// its oldest rings; nothing leads back to the entry of a root.
    fn is_start(&self, procedure: usize, point: &Point) -> bool {
        if self.code.procedures[procedure].function.is_none() {
            return true;
        }
        let effect = &self.effects[procedure];
        effect
            .changed
            .iter()
            .chain(&effect.changed_params)
            .all(|v| self.value(point, *v, Moment::Now) == self.value(point, *v, Moment::Entry))
    }

    /// An edge into the node, and an older state from which it leads to `point`.
    fn before(
        &self,
        procedure: usize,
        node: NodeId,
        point: &Point,
        time: u32,
        backwards: &mut Vec<Walked>,
    ) -> Result<Option<(usize, Point, u32)>, Stop> {
        let graph = &self.code.procedures[procedure];
        for (e, edge) in graph.edges.iter().enumerate() {
            if edge.to != node {
                continue;
            }
            match &edge.operation {
                CodeOperation::Step { guard, lhs, rhs, constrain, forget } => {
                    let c = &self.compiler;
                    let d = self.diagrams();
                    let gone: Vec<Level> = lhs
                        .iter()
                        .chain(forget)
                        .flat_map(|v| c.levels.of(*v, Moment::Now))
                        .collect();
                    let kept = point.values.iter().filter(|(l, _)| !gone.contains(l));
                    let mut set = self.set_of(kept.map(|(l, v)| (*l, *v)))?;
                    for (v, e) in lhs.iter().zip(rhs) {
                        let value = self.value(point, *v, Moment::Now);
                        let takes = c.takes(*v, Moment::Next, e)?;
                        set = d.and(&set, &d.and(&takes, &c.is(*v, Moment::Next, value)?)?)?;
                    }
                    if let Some(condition) = constrain {
                        set = d.and(&set, &c.condition(&condition.about_assigned(lhs))?)?;
                    }
                    set = d.exists(&set, &c.cube(lhs, Moment::Next)?)?;
                    if let Some(guard) = guard {
                        set = d.and(&set, &c.condition(guard)?)?;
                    }
                    if let Some((older, before)) =
                        self.earliest(procedure, edge.from, &set, time)?
                    {
                        self.note_step(&edge.origin, lhs, point, backwards);
                        return Ok(Some((e, before, older)));
                    }
                }
                CodeOperation::Call { .. } => {
                    if let Some((before, older)) =
                        self.before_call(procedure, e, point, time, backwards)?
                    {
                        return Ok(Some((e, before, older)));
                    }
                }
                CodeOperation::Return(_) => {}
            }
        }
        Ok(None)
    }

    fn note_step(
        &self,
        origin: &Origin,
        lhs: &[VariableId],
        after: &Point,
        backwards: &mut Vec<Walked>,
    ) {
        let value = |v: &VariableId| Some(self.value(after, *v, Moment::Now));
        backwards.push(match origin {
            Origin::Glue => return,
            Origin::Resume => Walked::Resume,
            Origin::Start(function, frame) => {
                let globals = (0..self.code.variables.len())
                    .filter(|v| super::effects::is_global(self.code, *v))
                    .map(|v| (v, self.value(after, v, Moment::Now)));
                let own = self.code.frames[*function].iter().copied().zip(frame);
                let own = own.map(|(v, at)| (v, self.value(after, *at, Moment::Now)));
                Walked::Start(*function, globals.chain(own).collect())
            }
            Origin::Edge(f, e) | Origin::Leave(f, e) => {
                Walked::Action(Action::Edge(*f, *e, lhs.iter().map(value).collect()))
            }
            Origin::Enter(f, e, frame) => {
                Walked::Action(Action::Edge(*f, *e, frame.iter().map(value).collect()))
            }
        });
    }

    /// A caller's state and a path through the callee that together lead to `point`.
    fn before_call(
        &self,
        procedure: usize,
        edge: usize,
        point: &Point,
        time: u32,
        backwards: &mut Vec<Walked>,
    ) -> Result<Option<(Point, u32)>, Stop> {
        let Some(plan) = self.call_plan(procedure, edge) else { return Ok(None) };
        let (c, d) = (&self.compiler, self.diagrams());
        let (callee, code_edge) = (plan.procedure, &self.code.procedures[procedure].edges[edge]);
        let CodeOperation::Call { lhs, .. } = &code_edge.operation else { return Ok(None) };
        let target = &self.code.procedures[callee];
        let effect = &self.effects[callee];
        let levels_now = |list: &[VariableId]| -> Vec<Level> {
            list.iter().flat_map(|v| c.levels.of(*v, Moment::Now)).collect()
        };
        let (assigned, changed) = (levels_now(lhs), levels_now(&effect.changed));
        let kept =
            point.values.iter().filter(|(l, _)| !assigned.contains(l) && !changed.contains(l));
        let callers = self.set_of(kept.map(|(l, v)| (*l, *v)))?;
        let mut results = self.set_of(
            point
                .values
                .iter()
                .filter(|(l, _)| changed.contains(l) && !assigned.contains(l))
                .map(|(l, v)| (*l, *v)),
        )?;
        for (result, v) in target.results.iter().zip(lhs) {
            let value = self.value(point, *v, Moment::Now);
            results = d.and(&results, &c.is(*result, Moment::Now, value)?)?;
        }
        for (added, ring) in &self.states[procedure].rings[code_edge.from] {
            if *added >= time {
                break;
            }
            let from = d.and(ring, &callers)?;
            if from.is_false() {
                continue;
            }
            let passed = self.passed(plan, &from)?;
            for (given, summary) in &self.states[callee].summary_rings {
                if *given >= time {
                    break;
                }
                let both = d.and(&d.and(&passed, summary)?, &results)?;
                let Some(picked) = d.pick(&both) else { continue };
                let picked = Point { values: picked.into_iter().collect() };
                let Some(before) = self.caller_before(procedure, code_edge, &from, &picked)? else {
                    continue;
                };
                let mut inside = Vec::new();
                if self.through_callee(code_edge, &picked, *given, &mut inside)? {
                    backwards.extend(inside);
                    return Ok(Some((before, *added)));
                }
            }
        }
        Ok(None)
    }

    /// The caller's state before a call, given what it passed.
    fn caller_before(
        &self,
        procedure: usize,
        call: &CodeEdge,
        from: &Diagram,
        picked: &Point,
    ) -> Result<Option<Point>, Stop> {
        let (c, d) = (&self.compiler, self.diagrams());
        let CodeOperation::Call { procedure: callee, args, lhs } = &call.operation else {
            return Ok(None);
        };
        let (target, effect) = (&self.code.procedures[*callee], &self.effects[*callee]);
        let mut set = from.clone();
        for v in &effect.changed {
            set = d.and(&set, &c.is(*v, Moment::Now, self.value(picked, *v, Moment::Next))?)?;
        }
        let mut exact: Vec<VariableId> = self.code.procedures[procedure].frame.clone();
        exact.retain(|v| !lhs.contains(v));
        for v in exact {
            set = d.and(&set, &c.is(v, Moment::Now, self.value(picked, v, Moment::Now))?)?;
        }
        for (param, arg) in target.params.iter().zip(args) {
            let value = self.value(picked, *param, Moment::Next);
            let takes = c.takes(*param, Moment::Next, arg)?;
            let here = d.and(&takes, &c.is(*param, Moment::Next, value)?)?;
            let cube = c.cube(&[*param], Moment::Next)?;
            set = d.and_exists(&set, &here, &cube)?;
        }
        // Globals that the callee leaves alone, where the pick has fixed them.
        let globals = (0..self.code.variables.len())
            .filter(|v| super::effects::is_global(self.code, *v) && !effect.changed.contains(v));
        for v in globals {
            for level in c.levels.of(v, Moment::Now) {
                if let Some(value) = picked.values.get(&level) {
                    set = d.and(&set, &self.set_of([(level, *value)])?)?;
                }
            }
        }
        Ok(self.pick(procedure, &set))
    }

    /// The path of a completed call, from its return back to its entry.
    fn through_callee(
        &self,
        call: &CodeEdge,
        picked: &Point,
        given: u32,
        backwards: &mut Vec<Walked>,
    ) -> Result<bool, Stop> {
        let CodeOperation::Call { procedure: callee, lhs, .. } = &call.operation else {
            return Ok(false);
        };
        let callee = *callee;
        let (c, d) = (&self.compiler, self.diagrams());
        let target = &self.code.procedures[callee];
        let effect = &self.effects[callee];
        let mut set = d.constant(true);
        for v in effect.changed.iter().chain(&effect.changed_params) {
            let passed = self.value(picked, *v, Moment::Next);
            set = d.and(&set, &c.is(*v, Moment::Entry, passed)?)?;
        }
        for v in &effect.kept_params {
            set = d.and(&set, &c.is(*v, Moment::Now, self.value(picked, *v, Moment::Next))?)?;
        }
        for v in &effect.touched {
            set = d.and(&set, &c.is(*v, Moment::Now, self.value(picked, *v, Moment::Now))?)?;
        }
        for edge in &target.edges {
            let CodeOperation::Return(values) = &edge.operation else { continue };
            let mut here = set.clone();
            let results: Vec<u64> =
                target.results.iter().map(|v| self.value(picked, *v, Moment::Now)).collect();
            for ((v, e), value) in target.results.iter().zip(values).zip(&results) {
                let both = d.and(&c.takes(*v, Moment::Now, e)?, &c.is(*v, Moment::Now, *value)?)?;
                here = d.and_exists(&here, &both, &c.cube(&[*v], Moment::Now)?)?;
            }
            let Some((time, point)) = self.earliest(callee, edge.from, &here, given)? else {
                continue;
            };
            let mut inside = Vec::new();
            if let Origin::Edge(f, e) = edge.origin {
                let given = if lhs.is_empty() { Vec::new() } else { results };
                inside.push(Walked::Action(Action::Edge(
                    f,
                    e,
                    given.into_iter().map(Some).collect(),
                )));
            }
            let Some((_, entry)) =
                self.back_to_entry(callee, edge.from, point, time, &mut inside)?
            else {
                continue;
            };
            inside.push(self.entering(callee, &entry, &call.origin));
            backwards.extend(inside);
            return Ok(true);
        }
        Ok(false)
    }

    /// The step into a procedure, with the values its frame starts with.
    fn entering(&self, callee: usize, entry: &Point, origin: &Origin) -> Walked {
        let Origin::Edge(f, e) = origin else { return Walked::Resume };
        let graph = &self.code.procedures[callee];
        // The frame starts with the variables of the function itself, in its order.
        let own = graph.frame.iter().take(graph.own_frame);
        let values = own.map(|v| Some(self.value(entry, *v, Moment::Now))).collect();
        Walked::Action(Action::Edge(*f, *e, values))
    }

    /// A call that starts the procedure with the state at its entry.
    fn caller_of(
        &self,
        callee: usize,
        entry: &(u32, Point),
        backwards: &mut Vec<Walked>,
    ) -> Result<Option<(usize, NodeId, u32, Point)>, Stop> {
        let (c, d) = (&self.compiler, self.diagrams());
        let (time, point) = entry;
        let effect = &self.effects[callee];
        for (p, graph) in self.code.procedures.iter().enumerate() {
            for (e, edge) in graph.edges.iter().enumerate() {
                let Some(plan) = self.call_plan(p, e) else { continue };
                let CodeOperation::Call { args, .. } = &edge.operation else { continue };
                if plan.procedure != callee {
                    continue;
                }
                let mut set = d.constant(true);
                for v in &effect.touched {
                    let value = self.value(point, *v, Moment::Now);
                    set = d.and(&set, &c.is(*v, Moment::Now, value)?)?;
                }
                for (param, arg) in self.code.procedures[callee].params.iter().zip(args) {
                    let value = self.value(point, *param, Moment::Now);
                    let takes = c.takes(*param, Moment::Next, arg)?;
                    let both = d.and(&takes, &c.is(*param, Moment::Next, value)?)?;
                    set = d.and_exists(&set, &both, &c.cube(&[*param], Moment::Next)?)?;
                }
                if let Some((older, before)) = self.earliest(p, edge.from, &set, *time)? {
                    backwards.push(self.entering(callee, point, &edge.origin));
                    return Ok(Some((p, edge.from, older, before)));
                }
            }
        }
        Ok(None)
    }
}
