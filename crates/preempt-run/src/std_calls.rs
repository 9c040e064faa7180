//! Calls into Rust's standard library: each is one thing that the program does, whatever it takes std to do it.
//!
//! A lock of std is a number and a futex, a channel is a list of blocks; one call takes from one to hundreds of steps. What a
//! thread does in a row within one call is shown as one step with the name of the function (`fold.rs`). What is stale is shown as
//! it is. Which thread holds a lock is read off the values of its number, as std defines them.

use crate::symbols::{Line, Symbols};
use crate::words::Names;
use preempt_exchange::{Event, Evidence, Waits};

/// The function of std that the user's code has called there, as `Mutex::lock`.
pub(crate) fn call(symbols: &Symbols, pc: u64, frames: &[u64]) -> Option<String> {
    let function = symbols.std_function(pc, frames)?;
    Some(brief(&function))
}

/// The last two parts of a path, without parameters.
fn brief(function: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0_usize;
    // `<a::B<T> as c::D>::e` is about B.
    let text = match function.strip_prefix('<') {
        Some(rest) => rest.replacen(" as ", "<", 1),
        None => function.to_string(),
    };
    for c in text.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let parts: Vec<&str> = plain.split("::").filter(|part| !part.is_empty()).collect();
    let last = parts.len().saturating_sub(2);
    parts[last..].join("::")
}

/// Whether a step says best itself what is done.
fn speaks_for_itself(event: &Event) -> bool {
    let stale = event.source.as_ref().is_some_and(|source| source.stale);
    stale || matches!(event.action.as_str(), "join" | "choose") || event.timeout
}

/// Which call of std each step belongs to.
pub(crate) fn calls(events: &[Event], symbols: &Symbols) -> Vec<Option<String>> {
    // The call that each thread was in last, and where.
    let mut last: Vec<Option<(Line, String)>> = Vec::new();
    let of = |event: &Event| {
        if last.len() <= event.thread {
            last.resize(event.thread + 1, None);
        }
        let place = symbols.place(event.pc, &event.frames).unwrap_or_default();
        let before = last[event.thread].take().filter(|(line, _)| line.line == place.line);
        let found = match speaks_for_itself(event) {
            true => None,
            // The last call of a function may leave no trace of it on the stack.
            false if is_futex(event) => {
                call(symbols, event.pc, &event.frames).or(before.map(|b| b.1))
            }
            false => call(symbols, event.pc, &event.frames),
        };
        last[event.thread] = found.clone().map(|call| (place, call));
        found
    };
    events.iter().map(of).collect()
}

/// Whether a step is part of waiting or waking.
fn is_futex(event: &Event) -> bool {
    let actions =
        ["lock", "unlock", "wait", "wake and lock again", "notify_one", "notify_all", "yield"];
    !event.number && actions.contains(&event.action.as_str())
}

/// The bits of a read-write lock's number that count readers; all of them are set while it is held for writing.
const READERS: u64 = 0x3FFF_FFFF;

/// The thread that holds the lock of std that another one waits for, if there is exactly one, and the event by which it
/// has got it.
pub(crate) fn holder<'a>(
    evidence: &'a Evidence,
    waits: &Waits,
    call: &str,
) -> Option<(usize, &'a Event)> {
    let is_mutex = call.starts_with("Mutex::");
    if !is_mutex && !call.starts_with("RwLock::") {
        return None;
    }
    let numbers = |address: u64| {
        evidence.events.iter().filter(move |event| event.number && event.address == address)
    };
    // A writer waits at the word behind the number.
    let takes = |event: &Event| event.before & READERS == 0 && event.after & READERS != 0;
    let beside = waits.address.wrapping_sub(4);
    let address = if numbers(waits.address).any(takes) { waits.address } else { beside };
    let mut holders: Vec<(usize, &Event)> = Vec::new();
    for event in numbers(address) {
        let (before, after) = (event.before & READERS, event.after & READERS);
        match (before, after) {
            _ if before == after => {}
            (0, _) if is_mutex => holders = vec![(event.thread, event)],
            (_, 0) if is_mutex || before == READERS => holders.clear(),
            _ if is_mutex => {}
            _ if after == before + 1 || after == READERS => holders.push((event.thread, event)),
            _ => {
                let gone = holders.iter().position(|(thread, _)| *thread == event.thread);
                gone.map(|at| holders.remove(at));
            }
        }
    }
    if holders.len() == 1 { holders.pop() } else { None }
}

/// What a thread waits for that is inside of a call of std, in words.
pub(crate) fn wait(names: &Names<'_>, waits: &Waits, call: &str) -> String {
    let object = names.object(waits.address);
    let named = if object.starts_with("0x") { String::new() } else { format!(" of {object}") };
    match call.rsplit("::").next().unwrap_or_default() {
        _ if call.starts_with("Condvar::") => format!("in {call}{named} for a notification"),
        "park" | "park_timeout" => format!("in {call} to be unparked"),
        "recv" | "recv_timeout" | "recv_deadline" => format!("in {call} for a message"),
        "send" => format!("in {call} for a receiver"),
        _ if call.starts_with("Barrier::") => format!("in {call} for others to arrive"),
        _ => format!("in {call}{named}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_brief_names() {
        for (long, short) in [
            ("std::sync::poison::mutex::Mutex<i32>::lock", "Mutex::lock"),
            ("<std::sync::mpsc::Receiver<T>>::recv_timeout", "Receiver::recv_timeout"),
            (
                "<std::sync::poison::mutex::MutexGuard<i32> as core::ops::drop::Drop>::drop",
                "MutexGuard::drop",
            ),
            ("std::thread::park", "thread::park"),
            ("std::sync::once_lock::OnceLock<T>::get_or_init<f>", "OnceLock::get_or_init"),
            ("main", "main"),
        ] {
            assert_eq!(brief(long), short);
        }
    }
}
