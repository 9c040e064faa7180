//! From a concurrent program to a sequential one that tracks one thread at a time.
//!
//! Paper: [LMP09] sections 4 and 5. Both translations give a program in the same language, which
//! can be printed, read by other tools, and solved by the sequential engine. Where its target is
//! reached, its variables hold the schedule and the shared values at all switches: the
//! counterexample of a translation is its own.

mod control;
mod eager;
mod lazy;

use crate::diagnostic::{Diagnostic, Lines};
use crate::direct::Schedule;
use crate::flow::{Expr, Owner, Program, Targets, VariableId};
use crate::limits::Watch;
use crate::options::Method;
use crate::symbolic::code::{Builder, Code};
use crate::symbolic::diagram::{Diagrams, Level};
use crate::symbolic::engine::Engine;
use crate::symbolic::levels::{Levels, Moment};
use crate::syntax::ast::Module;
use crate::syntax::print;
use preempt_core::Stop;

/// The sequential program as text: its label `Target` (of the lazy translation: the labels and
/// assertions of the threads) is reachable if and only if the concurrent program reaches the
/// target within `switches` context switches.
///
/// Methods other than eager give the lazy translation. Fails when the label does not exist, or when
/// the sequential program would have millions of statements.
pub fn sequentialize(
    program: &Program,
    method: Method,
    switches: u32,
    target: Option<&str>,
) -> Result<String, Diagnostic> {
    program.targets(target)?;
    if program.instances.is_some() && switches > 1000 || size(program, switches) > MAX_SIZE {
        let message = format!("a translation for {switches} context switches is too large");
        return Err(Lines::new(&program.file, "").error("B0004", &(0..0), message));
    }
    let more = program.with_threads_for(switches as usize)?;
    let program = more.as_ref().unwrap_or(program);
    let heading = format!(
        "// {} translation of {} for {switches} context switches, {} threads.\n",
        if method == Method::Eager { "Eager" } else { "Lazy" },
        program.file,
        program.threads.len(),
    );
    Ok(heading + &print::module(&translate(program, method, switches, target, true).module))
}

/// A sequential program, and what its variables say about the concurrent one.
pub(crate) struct Translated {
    pub(crate) module: Module,
    /// The thread of each context, counted from 1.
    schedule: Vec<String>,
    /// The shared variables at each switch.
    copies: Vec<Vec<String>>,
    /// Functions that run before the threads.
    plain: Vec<String>,
    /// The context that runs when the target is reached.
    last: String,
    /// Lazy: the context that is explored; earlier ones are only run again.
    explored: Option<String>,
}

/// `forgets`: the lazy program may drop, before its last context, what it will not read.
pub(crate) fn translate(
    program: &Program,
    method: Method,
    switches: u32,
    target: Option<&str>,
    forgets: bool,
) -> Translated {
    match method {
        Method::Eager => eager::translate(program, switches as usize, target),
        _ => lazy::translate(program, switches as usize, forgets),
    }
}

/// Largest sequential program that is made, in assignments and conditions of its control code.
const MAX_SIZE: u64 = 2_000_000;

/// How large the control code of a translation is: each context may be followed by each later one,
/// with all shared variables.
fn size(program: &Program, switches: u32) -> u64 {
    let contexts = u64::from(switches) + 1;
    (contexts * contexts / 2).saturating_mul(program.shared.len() as u64 + 3)
}

/// What is asked of a translation.
pub(crate) struct Question<'a> {
    pub(crate) method: Method,
    pub(crate) switches: u32,
    pub(crate) target: Option<&'a str>,
    /// Goes on behind the first violation.
    pub(crate) full: bool,
    /// Most nodes of diagrams in memory, garbage included.
    pub(crate) nodes: usize,
}

/// What solving a translation gave.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) reachable: bool,
    /// Of an execution that reaches the target.
    pub(crate) schedule: Option<Schedule>,
    pub(crate) nodes: u64,
    pub(crate) bytes: u64,
}

/// Translates and solves; if the target is reachable, reads the schedule and its boundaries off
/// the state of the sequential program there.
pub(crate) fn answer(
    program: &Program,
    question: &Question<'_>,
    watch: &Watch<'_>,
) -> Result<Answer, Stop> {
    let Question { method, switches, target, full, nodes } = *question;
    let mut answer = Answer::default();
    if size(program, switches) > MAX_SIZE {
        return Err(Stop::Memory);
    }
    for forgets in [true, false] {
        watch.check(0)?;
        let translated = translate(program, method, switches, target, forgets);
        // A translation that is not a program, or lost its target, is a mistake in preempt.
        let sequential =
            Program::from_module(translated.module.clone()).map_err(|_| Stop::Fault)?;
        watch.check(0)?;
        let usual = sequential.targets(None).map_err(|_| Stop::Fault)?;
        let targets = target.map_or(Ok(usual.clone()), |label| sequential.targets(Some(label)));
        let targets = targets.unwrap_or(usual);
        let full = full && forgets;
        let search = Search { program: &sequential, targets: &targets, full, nodes };
        let forgotten = (forgets && method != Method::Eager).then_some(switches as usize);
        let found = |run: &Run<'_, '_>| run.schedule(&translated, forgotten);
        let solved = search.run(&translated.variables(&sequential), watch, &found)?;
        answer.nodes = answer.nodes.max(solved.nodes);
        answer.bytes = answer.bytes.max(solved.bytes);
        answer.reachable |= solved.reachable;
        answer.schedule = solved.schedule;
        if !answer.reachable || answer.schedule.is_some() {
            break;
        }
    }
    Ok(answer)
}

/// Whether a target of a program with one thread is reachable.
#[cfg(test)]
pub(crate) fn is_reachable(
    program: &Program,
    targets: &Targets,
    watch: &Watch<'_>,
) -> Result<bool, Stop> {
    let search = Search { program, targets, full: false, nodes: usize::MAX };
    Ok(search.run(&[], watch, &|_| Ok(None))?.reachable)
}

struct Search<'a> {
    program: &'a Program,
    targets: &'a Targets,
    /// Goes on after a hit.
    full: bool,
    nodes: usize,
}

/// A search that has ended.
struct Run<'a, 'w> {
    program: &'a Program,
    code: &'a Code,
    levels: &'a Levels,
    engine: Engine<'a, 'w>,
}

impl Search<'_> {
    /// `carried` are variables that are known wherever a target is reached.
    fn run(
        &self,
        carried: &[VariableId],
        watch: &Watch<'_>,
        found: &dyn Fn(&Run<'_, '_>) -> Result<Option<Schedule>, Stop>,
    ) -> Result<Answer, Stop> {
        let mut builder = Builder::new(self.program, self.targets, false);
        let mut functions: Vec<usize> = self.program.init.into_iter().collect();
        functions.extend(self.program.threads.iter().map(|t| t.function));
        let root = builder.root(&functions);
        let mut code = builder.build();
        code.carried = carried.to_vec();
        let levels = Levels::new(&code, &[], &|_| Vec::new());
        let diagrams = Diagrams::with_limit(watch, self.nodes);
        let mut engine = Engine::new(&code, &diagrams, &levels, false)?;
        engine.stop_at_hit = !self.full;
        engine.seed(root, &diagrams.constant(true))?;
        engine.run()?;
        let reachable = engine.hit.is_some();
        let run = Run { program: self.program, code: &code, levels: &levels, engine };
        let schedule = if reachable { found(&run)? } else { None };
        let (nodes, bytes) = diagrams.peak();
        Ok(Answer { reachable, schedule, nodes, bytes })
    }
}

impl Translated {
    fn variables(&self, program: &Program) -> Vec<VariableId> {
        let names = self.schedule.iter().chain(self.copies.iter().flatten());
        let names = names.chain([&self.last]).chain(&self.explored);
        names.filter_map(|name| global(program, name)).collect()
    }
}

fn global(program: &Program, name: &str) -> Option<VariableId> {
    program.variables.iter().position(|v| v.name == name && !matches!(v.owner, Owner::Function(_)))
}

impl Run<'_, '_> {
    /// The schedule of a hit with the fewest contexts that still knows its boundaries; in context
    /// `forgotten` they are lost.
    fn schedule(
        &self,
        translated: &Translated,
        forgotten: Option<usize>,
    ) -> Result<Option<Schedule>, Stop> {
        let d = self.engine.diagrams();
        let mut hits = Vec::new();
        for (p, procedure) in self.code.procedures.iter().enumerate() {
            for (node, mark) in procedure.marks.iter().enumerate() {
                let reached = self.engine.reached(p, node);
                let (Some((function, _)), false) = (mark, reached.is_false()) else { continue };
                if translated.plain.contains(&self.program.functions[*function].name) {
                    let (threads, boundaries) = (Vec::new(), Vec::new());
                    return Ok(Some(Schedule { threads, boundaries, in_init: true }));
                }
                hits.push(reached);
            }
        }
        for last in 0..translated.schedule.len() {
            if forgotten == Some(last) {
                continue;
            }
            let mut in_context = d.constant(true);
            for name in [Some(&translated.last), translated.explored.as_ref()].into_iter().flatten()
            {
                let is = self.engine.condition(&self.is(name, last as u64)?)?;
                in_context = d.and(&in_context, &is)?;
            }
            for hit in &hits {
                if let Some(values) = d.pick(&d.and(hit, &in_context)?) {
                    return Ok(Some(self.read(translated, &values, last)?));
                }
            }
        }
        Ok(None)
    }

    fn is(&self, name: &str, value: u64) -> Result<Expr, Stop> {
        let v = global(self.program, name).ok_or(Stop::Fault)?;
        let width = self.code.variables[v].width;
        Ok(Expr::Equal(Box::new(Expr::Variable(v)), Box::new(Expr::Constant { value, width })))
    }

    fn read(
        &self,
        translated: &Translated,
        values: &[(Level, bool)],
        last: usize,
    ) -> Result<Schedule, Stop> {
        let value = |name: &String| {
            let v = global(self.program, name).ok_or(Stop::Fault)?;
            let bits = self.levels.of(v, Moment::Now).enumerate();
            Ok(bits.fold(0u64, |value, (i, level)| {
                let bit = values.iter().any(|(l, b)| *l == level && *b);
                value | u64::from(bit) << i
            }))
        };
        let mut threads = Vec::new();
        for name in &translated.schedule[..=last] {
            threads.push((value(name)? as usize).checked_sub(1).ok_or(Stop::Fault)?);
        }
        let copies = translated.copies[..last].iter();
        let boundaries = copies.map(|names| names.iter().map(value).collect());
        Ok(Schedule { threads, boundaries: boundaries.collect::<Result<_, _>>()?, in_init: false })
    }
}
