//! Call-free threads, another way: sets of whole states, each thread's position and variables
//! beside the shared ones, context by context.
//!
//! What the interface engines remember grows with every context, what this one remembers is
//! bounded by the states there are. So it pays with many switches, and when a context adds no new
//! state the answer holds for every number of switches. Every thread has an engine of its own,
//! whose sets hold the states in which that thread runs; a context starts from the ends of the
//! last one, and only what is new is explored.
//!
//! Invariant: a thread that does not run stands at a node where an interruption can make a
//! difference (or at its start), and its position says which. Variables that are dead there are
//! unconstrained.

use super::{Extent, Outcome, Roots, Schedule};
use crate::flow::{Expr, Program, Targets, VariableId};
use crate::limits::Watch;
use crate::symbolic::code::{Code, CodeEdge, CodeOperation, Procedure};
use crate::symbolic::diagram::{Diagram, Diagrams, Level};
use crate::symbolic::engine::Engine;
use crate::symbolic::levels::{Levels, Moment};
use crate::symbolic::walk::Start;
use preempt_core::Stop;
use std::collections::HashMap;

/// One thread with variables of its own.
struct Instance {
    procedure: usize,
    /// The thread before it that runs the same code.
    twin: Option<usize>,
    position: VariableId,
    own: Vec<VariableId>,
    atomic: Option<VariableId>,
    /// Nodes where it can stand while others run: the entry, then its switch nodes.
    stops: Vec<usize>,
    /// Per stop, its variables that are dead there.
    dead: Vec<Vec<VariableId>>,
}

/// The code of all threads side by side.
struct Threads {
    instances: Vec<Instance>,
}

impl Threads {
    /// Copies each thread's code; `roots` gives the root that each thread runs.
    fn new(code: &mut Code, program: &Program, roots: &[usize]) -> Self {
        let mut instances = Vec::new();
        for (thread, root) in roots.iter().enumerate() {
            let original = code.procedures[*root].clone();
            let stops: Vec<usize> = std::iter::once(original.entry)
                .chain((0..original.out.len()).filter(|n| original.switches[*n]))
                .collect();
            let width = (usize::BITS - (stops.len() - 1).leading_zeros()).max(1) as u8;
            let position = code.add(format!("position{thread}"), width);
            let mut map = HashMap::new();
            let mut own = Vec::new();
            for v in original.frame.iter().chain(&program.private) {
                let Variable { name, width } = variable(code, *v);
                let copy = code.add(format!("{name}@{thread}"), width);
                map.insert(*v, copy);
                own.push(copy);
            }
            let copy = instantiate(&original, &map);
            let live = live_variables(&copy, &own);
            let dead = stops
                .iter()
                .map(|n| own.iter().copied().filter(|v| !live[*n].contains(v)).collect())
                .collect();
            code.procedures.push(copy);
            instances.push(Instance {
                procedure: code.procedures.len() - 1,
                twin: roots[..thread].iter().rposition(|r| r == root),
                position,
                own,
                atomic: program.atomic.map(|flag| map[&flag]),
                stops,
                dead,
            });
        }
        Threads { instances }
    }

    /// Positions and variables of the threads, thread by thread, for the variable order.
    fn variables(&self) -> Vec<VariableId> {
        self.instances
            .iter()
            .flat_map(|i| std::iter::once(i.position).chain(i.own.clone()))
            .collect()
    }
}

struct Variable {
    name: String,
    width: u8,
}

fn variable(code: &Code, v: VariableId) -> Variable {
    Variable { name: code.variables[v].name.clone(), width: code.variables[v].width }
}

fn instantiate(original: &Procedure, map: &HashMap<VariableId, VariableId>) -> Procedure {
    let rename = |v: VariableId| map.get(&v).copied().unwrap_or(v);
    let all = |list: &[VariableId]| list.iter().map(|v| rename(*v)).collect::<Vec<_>>();
    let expressions = |list: &[Expr]| list.iter().map(|e| e.map(&rename)).collect::<Vec<_>>();
    let mut copy = original.clone();
    copy.frame = Vec::new();
    for edge in &mut copy.edges {
        if let CodeOperation::Step { guard, lhs, rhs, constrain, forget } = &mut edge.operation {
            *guard = guard.as_ref().map(|e| e.map(&rename));
            *constrain = constrain.as_ref().map(|e| e.map(&rename));
            (*lhs, *rhs, *forget) = (all(lhs), expressions(rhs), all(forget));
        }
    }
    copy
}

/// Per node, which of the variables may still be read.
fn live_variables(procedure: &Procedure, own: &[VariableId]) -> Vec<Vec<VariableId>> {
    let mut live: Vec<Vec<VariableId>> = vec![Vec::new(); procedure.out.len()];
    let mut again = true;
    while again {
        again = false;
        for CodeEdge { from, to, operation, .. } in procedure.edges.iter().rev() {
            let CodeOperation::Step { guard, lhs, rhs, constrain, forget } = operation else {
                continue;
            };
            let mut read: Vec<VariableId> = live[*to].clone();
            read.retain(|v| !lhs.contains(v) && !forget.contains(v));
            for e in guard.iter().chain(rhs).chain(constrain) {
                e.each_variable(&mut |v| read.push(v));
            }
            for v in read {
                if own.contains(&v) && !live[*from].contains(&v) {
                    live[*from].push(v);
                    again = true;
                }
            }
        }
    }
    live
}

/// Where each thread's contexts start, and how to get from one thread to another.
struct Runner<'a, 'w> {
    program: &'a Program,
    diagrams: &'a Diagrams<'w>,
    levels: &'a Levels,
    instances: &'a [Instance],
    engines: Vec<Engine<'a, 'w>>,
    /// Per thread and stop: the position says so.
    at: Vec<Vec<Diagram>>,
    position_cubes: Vec<Diagram>,
    dead_cubes: Vec<Vec<Diagram>>,
    interruptible: Vec<Diagram>,
}

/// Searches programs without recursion.
pub(super) fn search(
    program: &Program,
    targets: &Targets,
    extent: Extent,
    watch: &Watch<'_>,
    diagrams: &Diagrams<'_>,
    outcome: &mut Outcome,
) -> Result<(), Stop> {
    let (mut code, Roots { classes, roots, init }) = super::build(program, targets);
    let root_of = |t: usize| classes.iter().position(|c| *c == program.class_of(t));
    let all: Vec<usize> =
        (0..program.threads.len()).filter_map(root_of).map(|class| roots[class]).collect();
    let threads = Threads::new(&mut code, program, &all);
    let levels = Levels::new(&code, &threads.variables(), &|_| Vec::new());
    let initial = match super::initial_values(program, &code, init, &levels, diagrams)? {
        Ok(initial) => initial,
        Err(violation) => {
            outcome.found = Some(violation);
            return Ok(());
        }
    };
    let mut runner = Runner::new(program, &code, &threads, &levels, diagrams)?;
    let d = diagrams;
    let mut starts = initial.clone();
    for at in &runner.at {
        starts = d.and(&starts, &at[0])?;
    }
    let mut context = 0;
    for c in 0..=extent.switches {
        watch.switches.set(c);
        watch.check(0)?;
        let mut ends = d.constant(false);
        for thread in 0..runner.instances.len() {
            if extent.rounds {
                starts = d.or(&starts, &ends)?;
                context += 1;
            }
            let reached = runner.context(thread, &starts, context, !extent.rounds)?;
            ends = d.or(&ends, &reached.ends)?;
            if let (Some(node), None) = (reached.hit, &outcome.found) {
                outcome.found = Some(runner.schedule(thread, node)?);
                if !extent.full {
                    return Ok(());
                }
                runner.engines.iter_mut().for_each(Engine::forget_rings);
            }
        }
        if outcome.found.is_none() {
            outcome.covered = Some(c);
        }
        if ends.is_false() {
            outcome.exhausted = outcome.found.is_none();
            return Ok(());
        }
        starts = ends;
        context += 1;
    }
    Ok(())
}

/// What a context of one thread adds.
struct Reached {
    ends: Diagram,
    hit: Option<usize>,
}

impl<'a, 'w> Runner<'a, 'w> {
    fn new(
        program: &'a Program,
        code: &'a Code,
        threads: &'a Threads,
        levels: &'a Levels,
        diagrams: &'a Diagrams<'w>,
    ) -> Result<Self, Stop> {
        let mut runner = Runner {
            program,
            diagrams,
            levels,
            instances: &threads.instances,
            engines: Vec::new(),
            at: Vec::new(),
            position_cubes: Vec::new(),
            dead_cubes: Vec::new(),
            interruptible: Vec::new(),
        };
        let cube = |list: &[VariableId]| {
            let levels = list.iter().flat_map(|v| levels.of(*v, Moment::Now).collect::<Vec<_>>());
            diagrams.cube(levels)
        };
        for instance in runner.instances {
            let mut engine = Engine::new(code, diagrams, levels, true)?;
            engine.report_fresh = true;
            let is = |v: VariableId, value: u64| {
                let width = code.variables[v].width;
                engine.condition(&Expr::Equal(
                    Box::new(Expr::Variable(v)),
                    Box::new(Expr::Constant { value, width }),
                ))
            };
            let stops = 0..instance.stops.len() as u64;
            runner.at.push(stops.map(|i| is(instance.position, i)).collect::<Result<_, _>>()?);
            runner.position_cubes.push(cube(&[instance.position])?);
            let dead = instance.dead.iter().map(|list| cube(list));
            runner.dead_cubes.push(dead.collect::<Result<_, _>>()?);
            runner.interruptible.push(match instance.atomic {
                Some(flag) => is(flag, 0)?,
                None => diagrams.constant(true),
            });
            runner.engines.push(engine);
        }
        Ok(runner)
    }

    /// Runs a thread from the given states; only what is new is explored. `in_order`: of identical
    /// threads, the first runs first.
    fn context(
        &mut self,
        thread: usize,
        starts: &Diagram,
        context: u32,
        in_order: bool,
    ) -> Result<Reached, Stop> {
        let d = self.diagrams;
        let instance = &self.instances[thread];
        for i in 0..instance.stops.len() {
            let here = d.and_exists(starts, &self.at[thread][i], &self.position_cubes[thread])?;
            let here = match self.instances[thread].twin {
                Some(twin) if i == 0 && in_order => d.minus(&here, &self.at[twin][0])?,
                _ => here,
            };
            let node = self.resumes(thread, i);
            self.engines[thread].start_at(instance.procedure, node, here, context)?;
        }
        let engine = &mut self.engines[thread];
        engine.run()?;
        let graph = &engine.code().procedures[instance.procedure];
        let mut reached = Reached { ends: d.constant(false), hit: None };
        for (_, node, set) in std::mem::take(&mut engine.fresh) {
            if graph.marks[node].is_some() {
                reached.hit = Some(node);
            }
            if !graph.switches[node] {
                continue;
            }
            let Some(i) = instance.stops.iter().position(|s| *s == node) else { continue };
            let set =
                d.and_exists(&set, &self.interruptible[thread], &self.dead_cubes[thread][i])?;
            let set = d.and(&set, &self.at[thread][i])?;
            reached.ends = d.or(&reached.ends, &set)?;
        }
        Ok(reached)
    }

    /// The schedule behind a target, read off backwards.
    fn schedule(&self, thread: usize, node: usize) -> Result<Schedule, Stop> {
        let (mut threads, mut boundaries) = (vec![thread], Vec::new());
        let goal = self.diagrams.constant(true);
        let procedure = self.instances[thread].procedure;
        let start = self.engines[thread].walk_to_start(procedure, node, &goal)?;
        let mut start = start.ok_or(Stop::Fault)?;
        let mut thread = thread;
        while !self.is_initial(thread, &start) {
            let shared = self.program.shared.iter().map(|v| self.value(&start.values, *v));
            boundaries.push(shared.collect());
            (thread, start) = self.before(thread, &start)?;
            threads.push(thread);
        }
        threads.reverse();
        boundaries.reverse();
        Ok(Schedule { threads, boundaries, in_init: false })
    }

    /// Whether no thread has run before: one that has stands behind its first node.
    fn is_initial(&self, thread: usize, start: &Start) -> bool {
        let mut others = self.instances.iter().enumerate().filter(|(o, _)| *o != thread);
        start.node == self.instances[thread].stops[0]
            && others.all(|(_, other)| self.value(&start.values, other.position) == 0)
    }

    fn value(&self, values: &HashMap<Level, bool>, v: VariableId) -> u64 {
        self.levels.of(v, Moment::Now).enumerate().fold(0, |value, (i, level)| {
            value | u64::from(values.get(&level).copied().unwrap_or(false)) << i
        })
    }

    /// The thread with the context that ended in the state with which the given one starts, and how that
    /// context started.
    fn before(&self, thread: usize, start: &Start) -> Result<(usize, Start), Stop> {
        let d = self.diagrams;
        let mut mine = d.constant(false);
        for i in (0..self.instances[thread].stops.len())
            .filter(|i| self.resumes(thread, *i) == start.node)
        {
            mine = d.or(&mine, &self.at[thread][i])?;
        }
        for (other, instance) in self.instances.iter().enumerate().filter(|(o, _)| *o != thread) {
            let stop = self.value(&start.values, instance.position) as usize;
            if stop == 0 || stop >= instance.stops.len() {
                continue;
            }
            let unknown = instance.dead[stop]
                .iter()
                .chain([&instance.position, &self.instances[thread].position]);
            let unknown: Vec<Level> =
                unknown.flat_map(|v| self.levels.of(*v, Moment::Now).collect::<Vec<_>>()).collect();
            let known = start.values.iter().filter(|(level, _)| !unknown.contains(level));
            let mut known: Vec<(Level, bool)> = known.map(|(l, v)| (*l, *v)).collect();
            known.sort_unstable();
            let mut goal = mine.clone();
            for (level, value) in known.into_iter().rev() {
                let variable = d.variable(level)?;
                goal = d.and(&goal, &if value { variable } else { d.not(&variable) })?;
            }
            let goal = d.and(&goal, &self.interruptible[other])?;
            let node = instance.stops[stop];
            // Another thread's context may end there as well, but later.
            let earlier = self.engines[other].walk_to_start(instance.procedure, node, &goal)?;
            if let Some(earlier) = earlier.filter(|e| e.context < start.context) {
                return Ok((other, earlier));
            }
        }
        Err(Stop::Fault)
    }

    /// The node with which a thread goes on from a stop.
    fn resumes(&self, thread: usize, stop: usize) -> usize {
        let instance = &self.instances[thread];
        let graph = &self.engines[thread].code().procedures[instance.procedure];
        let node = instance.stops[stop];
        if stop == 0 { node } else { graph.edges[graph.out[node][0]].to }
    }
}
