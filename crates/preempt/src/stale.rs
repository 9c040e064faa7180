//! Why a failing execution is not an interleaving, and which memory orders would forbid it.
//!
//! Remedies are tried, not guessed: the schedule is executed again with other orders at one place, or at
//! two, and if one of its stale choices is then impossible, the orders forbid it.

use crate::evidence::{Evidence, line_of, writer};
use crate::gather::gather_with;
use crate::job::{Job, Learnt};
use preempt_explore::{Action, Event, Operation, Order, Site, remedies};

/// Lines for the report of an execution with stale choices.
pub(crate) fn explain(job: &Job<'_>, learnt: &mut Learnt, evidence: &Evidence) -> Vec<String> {
    if evidence.stale == 0 || evidence.diverged {
        return Vec::new();
    }
    let mut notes: Vec<String> =
        evidence.events.iter().filter_map(|event| story(evidence, event)).collect();
    notes.extend(remedy(job, learnt, evidence));
    notes
}

fn story(evidence: &Evidence, event: &Event) -> Option<String> {
    let source = event.source.filter(|source| source.stale)?;
    let site = event.operation.site;
    let thread = event.step.thread.index();
    let who = evidence.threads.get(thread).map_or("a thread", String::as_str);
    if source.fails {
        return Some(format!(
            "{who}: compare_exchange_weak at {site} fails for no reason, as it may"
        ));
    }
    let number = |number| evidence.number(event.operation.object, number);
    let newest = number(source.newest_value);
    let other = writer(&evidence.events, source.newest)?.operation.site;
    let other = line_of(other, site);
    Some(match event.operation.action {
        Action::Store => format!(
            "{who} stores {} at {site} before the {newest} that was stored at {other}: nothing orders \
             the two stores the other way around",
            number(event.operation.first)
        ),
        _ => format!(
            "{who} reads {} at {site}, though {newest} was stored at {other}: nothing orders that store \
             before this {}",
            number(event.result),
            if event.operation.action == Action::Load { "load" } else { "operation" }
        ),
    })
}

/// The weakest change of orders that makes the execution impossible, in words.
fn remedy(job: &Job<'_>, learnt: &mut Learnt, evidence: &Evidence) -> Option<String> {
    let accesses: Vec<(Site, Operation)> =
        evidence.events.iter().map(|event| (event.operation.site, event.operation)).collect();
    let (site, _) = *accesses.first()?;
    for change in remedies(&accesses) {
        if gather_with(job, learnt, evidence.schedule.clone(), &change).diverged {
            let words = |(at, order): &(Site, Order)| {
                let at = if at.file() == site.file() { line_of(at, site) } else { at.to_string() };
                format!("{} at {at}", name(*order))
            };
            let changes: Vec<String> = change.iter().map(words).collect();
            return Some(format!("with {} this execution is impossible", changes.join(" and ")));
        }
    }
    None
}

fn name(order: Order) -> &'static str {
    match order {
        Order::Relaxed => "Relaxed",
        Order::Acquire => "Acquire",
        Order::Release => "Release",
        Order::AcquireRelease => "AcqRel",
        Order::SequentiallyConsistent => "SeqCst",
    }
}
