//! From a concurrent program to a sequential one that tracks one thread at a time.
//!
//! Paper: [LMP09] sections 4 and 5. Both translations give a program in the same language, which
//! can be printed, read by other tools, and solved by the sequential engine.

mod control;
mod eager;
mod lazy;

use crate::check::Method;
use crate::diagnostic::Diagnostic;
use crate::flow::{Program, Targets};
use crate::limits::Watch;
use crate::symbolic::code::Builder;
use crate::symbolic::diagram::Diagrams;
use crate::symbolic::engine::Engine;
use crate::symbolic::levels::Levels;
use crate::syntax::ast::Module;
use crate::syntax::print;
use preempt_core::Stop;

/// The sequential program as text: its label `Target` (of the lazy translation: the labels and
/// assertions of the threads) is reachable if and only if the concurrent program reaches the
/// target within `switches` context switches.
///
/// Methods other than eager give the lazy translation. Fails when the label does not exist.
pub fn sequentialize(
    program: &Program,
    method: Method,
    switches: u32,
    target: Option<&str>,
) -> Result<String, Diagnostic> {
    program.targets(target)?;
    let heading = format!(
        "// {} translation of {} for {switches} context switches, {} threads.\n",
        if method == Method::Eager { "Eager" } else { "Lazy" },
        program.file,
        program.threads.len(),
    );
    Ok(heading + &print::module(&translate(program, method, switches, target)))
}

/// The sequential program as a tree, and the label that is asked for in it.
pub(crate) fn translate(
    program: &Program,
    method: Method,
    switches: u32,
    target: Option<&str>,
) -> Module {
    match method {
        Method::Eager => eager::translate(program, switches as usize, target),
        _ => lazy::translate(program, switches as usize),
    }
}

/// What solving a sequential program gave.
pub(crate) struct Solved {
    pub(crate) reachable: bool,
    pub(crate) nodes: u64,
    pub(crate) bytes: u64,
}

/// Whether a target of a program with one thread is reachable; `full` goes on after a hit.
pub(crate) fn solve(
    program: &Program,
    targets: &Targets,
    full: bool,
    watch: &Watch<'_>,
) -> Result<Solved, Stop> {
    let mut builder = Builder::new(program, targets, false);
    let mut functions: Vec<usize> = program.init.into_iter().collect();
    functions.extend(program.threads.iter().map(|t| t.function));
    let root = builder.root(&functions);
    let code = builder.build();
    let levels = Levels::new(&code, &[], &|_| Vec::new());
    let diagrams = Diagrams::new(watch);
    let mut engine = Engine::new(&code, &diagrams, &levels, false)?;
    engine.stop_at_hit = !full;
    engine.seed(root, &diagrams.constant(true))?;
    engine.run()?;
    let (nodes, bytes) = diagrams.peak();
    Ok(Solved { reachable: engine.hit.is_some(), nodes, bytes })
}
