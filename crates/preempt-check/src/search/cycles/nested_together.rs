//! The search of `nested_shared.rs` with helpers: one thread searches, the others expand states of the system that it is going to
//! need (`concurrent_graph.rs`).
//!
//! In a product with a property, most of the work is to expand and store the states of the system, and depth-first search needs
//! its order only for the rest. Searches by all threads, which share colours, repeat each other's work (`concurrent.rs`).
//!
//! Invariant: the search is that of one thread, whatever the others do: so are states, transitions, verdict and
//! counterexample.

use super::concurrent_graph::{ConcurrentGraph, Expanding};
use super::letters::Letters;
use super::nested::NestedOptions;
use super::nested_shared::{Reading, nested_shared, search};
use super::searched_graph::Searched;
use super::system_graph::Tally;
use crate::property::{Property, Stutter};
use crate::search::shared::workers::{run_together, with_as_many_as_possible};
use crate::{Budget, Covered, Finding};
use preempt_core::{Stop, System};

/// As [`nested_shared`], with so many threads.
pub fn nested_together<S: System + ?Sized>(
    system: &S,
    property: &dyn Property,
    stutter: Stutter,
    threads: usize,
    budget: &mut Budget,
    options: NestedOptions,
) -> Option<Finding> {
    if threads < 2 {
        return nested_shared(system, property, stutter, budget, options);
    }
    let least = options.least_locality()?;
    let mut is_unsuited = false;
    let finding = with_as_many_as_possible(threads, |threads| {
        let memory = budget.memory_limit();
        let graph = ConcurrentGraph::new((system, property), stutter, least, memory, threads);
        let others = (1..threads).map(|number| {
            let graph = &graph;
            move || {
                let _end = graph.pool.end_by(true);
                let mut expanding = Expanding::new(graph, number)?;
                expanding.help();
                Some((None, expanding.tally()))
            }
        });
        let first = || {
            let _end = graph.pool.end_by(false);
            let searched = Searched::new(Expanding::new(&graph, 0)?);
            let letters = Letters::new(property)?;
            let found = search(searched, letters, Reading::with(least), budget, options, u64::MAX);
            found.map(|(finding, tally)| (Some(finding), tally))
        };
        let parts = run_together(first, others.collect())?;
        let (mut found, mut total) = (None, Tally::default());
        for (finding, tally) in parts.into_iter().flatten() {
            found = found.or(finding);
            total.add(tally);
        }
        is_unsuited = found.is_none();
        // Without one, the caller searches in another way.
        let nothing = || Finding::new(Covered::Part(Stop::Bug));
        let mut finding = found.unwrap_or_else(nothing);
        total.complete(system, &mut finding);
        finding.statistics.contention = Some(total.contention);
        Ok(finding)
    });
    (!is_unsuited).then_some(finding)
}
