//! What a step does, in words.

use crate::found::Event;
use crate::symbols::Symbols;

/// The name of an object: a variable, or an address.
pub(crate) fn object(symbols: &Symbols, address: u64) -> String {
    symbols.name(address).unwrap_or_else(|| format!("{address:#x}"))
}

/// The name of a thread: its number and its function.
pub(crate) fn thread(symbols: &Symbols, number: usize, start: u64) -> String {
    match symbols.name(start) {
        _ if number == 0 => "main".into(),
        Some(function) => format!("{function} {number}"),
        None => format!("thread {number}"),
    }
}

/// A step as text.
pub(crate) fn describe(symbols: &Symbols, threads: &[String], event: &Event) -> String {
    let name = || object(symbols, event.address);
    let action = event.action.as_str();
    if event.timeout {
        return format!("{action} {}: times out", name());
    }
    match action {
        "join" => {
            let target = threads.get(event.first as usize);
            format!("join {}", target.map_or("a thread", |name| name.as_str()))
        }
        "yield" if event.first == 1 => "sleep".into(),
        "yield" => "yield".into(),
        "choose" => "exit".into(),
        "load" => format!("load {} -> {}", name(), number(event.result)),
        "store" if event.number && event.first == 0 && event.after == 0 => {
            format!("store {}", name())
        }
        "store" => format!("store {} = {}", name(), number(event.first)),
        "compare_exchange" if event.result == event.first && !event.fails_for_no_reason() => {
            format!("compare_exchange {} succeeds", name())
        }
        "compare_exchange" => {
            format!("compare_exchange {} fails: {}", name(), number(event.result))
        }
        "try_lock" | "try_read" | "try_write" => {
            let outcome = if event.result == 1 { "acquired" } else { "busy" };
            format!("{action} {} -> {outcome}", name())
        }
        "swap" => format!("exchange {} -> {}", name(), number(event.result)),
        _ if action.starts_with("fetch_") => {
            format!("{action} {} -> {}", name(), number(event.result))
        }
        "send" => format!("post {}", name()),
        "recv" => format!("wait {}", name()),
        "try_recv" => {
            format!("trywait {} -> {}", name(), if event.result == 0 { "taken" } else { "empty" })
        }
        "notify_one" => format!("signal {}", name()),
        "notify_all" => format!("broadcast {}", name()),
        _ => format!("{action} {}", name()),
    }
}

/// A number as a C programmer writes it.
pub(crate) fn number(value: u64) -> String {
    const SMALL: u64 = 1 << 32;
    match value {
        0..SMALL => (value as u32 as i32).to_string(),
        _ if value > u64::MAX - SMALL => (value as i64).to_string(),
        _ => format!("{value:#x}"),
    }
}
