//! What a step does, in words.

use crate::expressions::operand;
use crate::symbols::{Line, Symbols};
use preempt_exchange::{Event, Evidence, Thread};
use std::collections::{HashMap, HashSet};

/// The names of objects in an execution: variables by their symbols; what has none, such as memory of the
/// heap, by the expression that the first access to it is written with.
pub(crate) struct Names<'a> {
    symbols: &'a Symbols,
    written: HashMap<u64, String>,
}

impl<'a> Names<'a> {
    /// Reads the names off an execution.
    pub(crate) fn of(evidence: &Evidence, symbols: &'a Symbols) -> Self {
        let mut written = HashMap::new();
        let numbers: HashSet<u64> =
            evidence.events.iter().filter(|e| e.number).map(|e| e.address).collect();
        for event in &evidence.events {
            // A thread that waits for a number to change does not name it.
            let waits = !event.number && numbers.contains(&event.address);
            if event.address == 0 || waits || written.contains_key(&event.address) {
                continue;
            }
            let name = expression((event.pc, &event.frames), &event.action, symbols);
            if let Some(name) = name.or_else(|| count(event, symbols)) {
                written.insert(event.address, name);
            }
        }
        for access in evidence.race.iter().flatten() {
            if let Some(name) = expression((access.pc, &access.frames), "", symbols) {
                written.entry(access.address).or_insert(name);
            }
        }
        // Objects of the same name are told apart by their addresses.
        let mut uses: HashMap<&String, usize> = HashMap::new();
        for name in written.values() {
            *uses.entry(name).or_default() += 1;
        }
        let shared: HashSet<String> =
            uses.into_iter().filter(|(_, uses)| *uses > 1).map(|(name, _)| name.clone()).collect();
        for (address, name) in written.iter_mut().filter(|(_, name)| shared.contains(*name)) {
            *name = format!("{name}@{:x}", address & 0xff_ffff);
        }
        Names { symbols, written }
    }

    /// The name of an object: a variable, an expression, or an address.
    pub(crate) fn object(&self, address: u64) -> String {
        self.known(address).unwrap_or_else(|| format!("{address:#x}"))
    }

    /// The name of a variable, or the expression that it is written with.
    pub(crate) fn known(&self, address: u64) -> Option<String> {
        self.symbols.name(address).or_else(|| self.written.get(&address).cloned())
    }
}

/// The expression that an operation is written with, in the user's code or in that of a package.
fn expression((pc, frames): (u64, &[u64]), action: &str, symbols: &Symbols) -> Option<String> {
    let (line, functions) = symbols.call_outside(pc, frames)?;
    let within = |parts: &[&str]| {
        functions.iter().all(|function| parts.iter().any(|part| function.contains(part)))
    };
    match dialect(&line.file) {
        Some(is_cxx) if within(&SYNCHRONISATION) => {
            operand(&symbols.text(&line)?, line.column, is_cxx)
        }
        None if within(&["atomic"]) => receiver(&symbols.text(&line)?, line.column, action),
        _ => None,
    }
}

/// What functions of C++'s library are about that do nothing but the operation they are called for.
const SYNCHRONISATION: [&str; 7] =
    ["atomic", "barrier", "condition_variable", "gthread", "latch", "lock", "mutex"];

/// Whether a file is one of C++, or of C; `None` if it is neither.
fn dialect(file: &str) -> Option<bool> {
    match file.rsplit_once('.')?.1 {
        "c" => Some(false),
        "cc" | "cpp" | "cxx" | "C" | "c++" | "h" | "hh" | "hpp" | "hxx" | "inl" | "ipp" | "tcc" => {
            Some(true)
        }
        _ => None,
    }
}

/// What counts references has no name in the program.
pub(crate) const ARC_COUNT: &str = "Arc's count";

const SHARED_COUNT: &str = "shared_ptr's count";

fn count(event: &Event, symbols: &Symbols) -> Option<String> {
    let (functions, _) = symbols.libraries(event.pc, &event.frames);
    let within = |part: &str| functions.iter().any(|name| name.contains(part));
    match () {
        () if within("sync::Arc<") => Some(ARC_COUNT.to_string()),
        () if within("_Sp_counted") || within("__shared_count") => Some(SHARED_COUNT.to_string()),
        () => None,
    }
}

/// What an operation is called on: `self.head` in `let h = self.head.load(Acquire);`. Of several calls on a
/// line it is the one nearest to the column.
fn receiver(text: &str, column: u32, action: &str) -> Option<String> {
    let calls = [format!(".{action}("), format!(".{action}_weak("), ".fetch_update(".into()];
    let found = calls.iter().flat_map(|call| text.match_indices(call.as_str()));
    let (end, _) = found.min_by_key(|(at, _)| (*at + 2).abs_diff(column as usize))?;
    let mut depth = 0_usize;
    let mut start = end;
    for (at, c) in text[..end].char_indices().rev() {
        match c {
            ')' | ']' => depth += 1,
            '(' | '[' if depth > 0 => depth -= 1,
            c if depth > 0 || c.is_alphanumeric() || "_.:".contains(c) => {}
            _ => break,
        }
        start = at;
    }
    let name = &text[start..end];
    name.starts_with(|c: char| c.is_alphabetic() || c == '_').then(|| name.to_string())
}

/// The name of a thread: its own, its function, or the line that created it.
pub(crate) fn thread(symbols: &Symbols, number: usize, thread: &Thread) -> String {
    if number == 0 {
        return "main".into();
    }
    if !thread.name.is_empty() {
        return format!("{} {number}", thread.name);
    }
    let function = symbols.name(thread.start);
    // Every thread of Rust and of C++'s library begins with the same function.
    let own = function.filter(|name| !name.contains("std::"));
    let line = || {
        let (pc, frames) = thread.creation.split_first()?;
        let line = symbols.place(*pc, frames)?;
        let file = line.file.rsplit('/').next()?.to_string();
        Some(format!("thread {number} of {file}:{}", line.line))
    };
    match own {
        Some(function) => format!("{function} {number}"),
        None => line().unwrap_or_else(|| format!("thread {number}")),
    }
}

pub(crate) fn at(line: Option<&Line>) -> String {
    line.map_or(String::new(), |line| format!(" at {}:{}", line.file, line.line))
}

/// A step as text.
pub(crate) fn describe(names: &Names<'_>, threads: &[String], event: &Event) -> String {
    let name = || names.object(event.address);
    let action = event.action.as_str();
    if event.timeout && action == "park" {
        return "sleep".into();
    }
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
        "choose" if event.first > 1 => format!("choose -> {}", event.result),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_by_what_operations_are_called_on() {
        let named = |text, action| receiver(text, 0, action);
        assert_eq!(named("let h = self.head.load(Acquire);", "load").as_deref(), Some("self.head"));
        let two = "if d.1.load(Acquire) == 1 { assert_eq!(d.0.load(Relaxed), 7); }";
        assert_eq!(receiver(two, 8, "load").as_deref(), Some("d.1"));
        assert_eq!(receiver(two, 44, "load").as_deref(), Some("d.0"));
        assert_eq!(named("(*p).next.store(1, SeqCst)", "store"), None);
        assert_eq!(named("slots[i + 1].swap(0, SeqCst)", "swap").as_deref(), Some("slots[i + 1]"));
        assert_eq!(
            named("if STATE.compare_exchange_weak(", "compare_exchange").as_deref(),
            Some("STATE")
        );
        assert_eq!(named("*m.lock().unwrap() += 1;", "compare_exchange"), None);
        assert_eq!(named(".load(SeqCst)", "load"), None);
        assert_eq!(named("é.load(SeqCst)", "load").as_deref(), Some("é"));
    }
}
