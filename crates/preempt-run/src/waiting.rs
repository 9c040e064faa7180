//! What threads wait for where an execution cannot go on, and which threads keep them waiting.

use crate::std_calls;
use crate::symbols::{Line, Symbols};
use crate::words::{Names, at};
use preempt_core::Waiting;
use preempt_exchange::{Evidence, Kind, Waits};

/// What keeps a thread, if it waits.
fn wait(
    evidence: &Evidence,
    symbols: &Symbols,
    threads: &[String],
    number: usize,
) -> Option<String> {
    let waits = evidence.threads[number].waits.as_ref()?;
    let names = Names::of(evidence, symbols);
    let object = || names.object(waits.address);
    let name = |number: usize| threads.get(number).cloned().unwrap_or_default();
    let place = at(symbols.place(waits.pc, &waits.frames).as_ref());
    if let Some(call) = waits.call.and_then(|call| evidence.calls.get(call)) {
        return Some(format!("in {}{place}", call.text));
    }
    if let (Some(call), None) = (std_calls::call(symbols, waits.pc, &waits.frames), waits.holder) {
        let held = std_calls::holder(evidence, waits, &call).map(|(holder, since)| {
            let since = at(symbols.place(since.pc, &since.frames).as_ref());
            let by = if holder == number { "it".into() } else { name(holder) };
            format!(" for what {by} has held since the step{since}")
        });
        let what = std_calls::wait(&names, waits, &call);
        return Some(format!("{what}{place}{}", held.unwrap_or_default()));
    }
    let what = match (waits.action.as_str(), waits.holder) {
        ("join", Some(target)) => format!("for {} to end", name(target)),
        (_, Some(holder)) if holder == number => {
            format!("for {}, which it holds itself", object())
        }
        (_, Some(holder)) => format!("for {}, held by {}", object(), name(holder)),
        ("wake and lock again", None) => format!("for {} to be signalled", object()),
        ("recv", None) => format!("for {} to be posted", object()),
        ("leave", None) => format!("for others to arrive at {}", object()),
        ("yield", None) => "in a loop for a change that no thread makes".into(),
        (action, None) => format!("at {action} {}", object()),
    };
    Some(format!("{what}{place}"))
}

/// What threads wait for, in one sentence.
pub(crate) fn waits(
    evidence: &Evidence,
    symbols: &Symbols,
    threads: &[String],
) -> (String, Option<Line>) {
    let part = |(number, name): (usize, &String)| {
        wait(evidence, symbols, threads, number).map(|wait| format!("{name} waits {wait}"))
    };
    let parts: Vec<String> = threads.iter().enumerate().filter_map(part).collect();
    let waits = evidence.threads.iter().filter_map(|thread| thread.waits.as_ref());
    let places = waits.filter(|waits| waits.action != "join");
    let place =
        places.map(|waits| symbols.place(waits.pc, &waits.frames)).find(Option::is_some).flatten();
    let what = if evidence.kind == Kind::Deadlock { "deadlock" } else { "livelock" };
    (format!("{what}: {}", parts.join("; ")), place)
}

/// The same thread by thread, for a deadlock.
pub(crate) fn waiting(evidence: &Evidence, symbols: &Symbols, threads: &[String]) -> Vec<Waiting> {
    if evidence.kind != Kind::Deadlock {
        return Vec::new();
    }
    let all = evidence.threads.iter().enumerate();
    let stuck: Vec<usize> = all.filter(|(_, t)| t.waits.is_some()).map(|(at, _)| at).collect();
    let waiting = |number: &usize| {
        let waits = evidence.threads[*number].waits.as_ref();
        let of_std = |waits: &Waits| {
            let call = std_calls::call(symbols, waits.pc, &waits.frames)?;
            std_calls::holder(evidence, waits, &call).map(|(holder, _)| holder)
        };
        let holder = waits.and_then(|waits| waits.holder.or_else(|| of_std(waits)));
        // Where no thread in particular has it, any other thread that is left could do something.
        let others = || stuck.iter().copied().filter(|other| other != number).collect();
        Waiting {
            pid: *number,
            reasons: wait(evidence, symbols, threads, *number).into_iter().collect(),
            waits_for: holder.map_or_else(others, |holder| vec![holder]),
        }
    };
    stuck.iter().map(waiting).collect()
}
