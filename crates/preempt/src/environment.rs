//! The environment variables, read here and nowhere else.
//!
//! | variable | meaning |
//! |---|---|
//! | `PREEMPT_REPLAY` | run only this schedule |
//! | `PREEMPT_PREEMPTIONS` | at most this many preemptions |
//! | `PREEMPT_STALE` | at most this many stale choices |
//! | `PREEMPT_MEMORY` | `sc`: every ordering is run as SeqCst; `rc11`: what weaker ones allow is explored |
//! | `PREEMPT_TIME` | time per test: `500ms`, `30s`, `2m` |
//! | `PREEMPT_THREADS` | operating system threads per test |
//! | `PREEMPT_REPORT` | append the report of every test to this file, one object of JSON per line |
//! | `PREEMPT_LOG` | `1`: print what was covered to standard error, even if output is captured |

use crate::strategy::Memory;
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

/// What the environment asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    pub(crate) replay: Option<String>,
    pub(crate) preemptions: Option<u32>,
    pub(crate) stale: Option<u32>,
    pub(crate) memory: Option<Memory>,
    pub(crate) time: Option<Duration>,
    pub(crate) threads: Option<usize>,
    pub(crate) report: Option<PathBuf>,
    pub(crate) log: bool,
}

impl Environment {
    /// Reads the variables. Panics if a value makes no sense: the user wants to know.
    #[track_caller]
    pub(crate) fn read() -> Self {
        // What is no Unicode makes no sense as a number, and must not be ignored either.
        let get = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
        match Self::from_lookup(get) {
            Ok(environment) => environment,
            Err(message) => panic!("preempt: {message}"),
        }
    }

    fn from_lookup(get: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let wrong = RefCell::new(Vec::new());
        let bad = |name: &str, value: &str| {
            wrong.borrow_mut().push(format!("{name}={value} cannot be parsed"));
        };
        let number = |name: &str| {
            let value = get(name)?;
            let least = u32::from(name == "PREEMPT_THREADS");
            let parsed = value.trim().parse::<u32>().ok().filter(|&number| number >= least);
            if parsed.is_none() {
                bad(name, &value);
            }
            parsed
        };
        let time = get("PREEMPT_TIME").and_then(|value| {
            let parsed = duration(value.trim());
            if parsed.is_none() {
                bad("PREEMPT_TIME", &value);
            }
            parsed
        });
        let memory = get("PREEMPT_MEMORY").and_then(|value| {
            let parsed = match value.trim() {
                "sc" => Some(Memory::Sc),
                "rc11" => Some(Memory::Rc11),
                _ => None,
            };
            if parsed.is_none() {
                bad("PREEMPT_MEMORY", &value);
            }
            parsed
        });
        let environment = Environment {
            replay: get("PREEMPT_REPLAY").filter(|s| !s.trim().is_empty()),
            preemptions: number("PREEMPT_PREEMPTIONS"),
            stale: number("PREEMPT_STALE"),
            memory,
            time,
            threads: number("PREEMPT_THREADS").map(|n| n as usize),
            report: get("PREEMPT_REPORT").filter(|s| !s.is_empty()).map(PathBuf::from),
            log: get("PREEMPT_LOG").is_some_and(|value| !value.is_empty() && value != "0"),
        };
        let wrong = wrong.into_inner();
        if wrong.is_empty() { Ok(environment) } else { Err(wrong.join(", ")) }
    }
}

fn duration(text: &str) -> Option<Duration> {
    let (number, factor) = if let Some(number) = text.strip_suffix("ms") {
        (number, 1)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1000)
    } else if let Some(number) = text.strip_suffix('m') {
        (number, 60_000)
    } else {
        (text, 1000)
    };
    let number: u64 = number.trim().parse().ok()?;
    Some(Duration::from_millis(number.checked_mul(factor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_an_error() {
        for (name, value) in [
            ("PREEMPT_PREEMPTIONS", "three"),
            ("PREEMPT_STALE", "-1"),
            ("PREEMPT_TIME", "abc"),
            ("PREEMPT_TIME", "1h"),
            ("PREEMPT_MEMORY", "tso"),
            ("PREEMPT_THREADS", "0"),
        ] {
            let get = |asked: &str| (asked == name).then(|| value.to_string());
            let error = Environment::from_lookup(get).unwrap_err();
            assert_eq!(error, format!("{name}={value} cannot be parsed"));
        }
    }

    #[test]
    fn reads_what_makes_sense() {
        let read = Environment::from_lookup(|name| {
            Some(match name {
                "PREEMPT_REPLAY" => "p1.0".into(),
                "PREEMPT_PREEMPTIONS" => "3".into(),
                "PREEMPT_STALE" => "2".into(),
                "PREEMPT_MEMORY" => "sc".into(),
                "PREEMPT_TIME" => "250ms".into(),
                "PREEMPT_THREADS" => "2".into(),
                _ => "1".into(),
            })
        });
        let expected = Environment {
            replay: Some("p1.0".into()),
            preemptions: Some(3),
            stale: Some(2),
            memory: Some(Memory::Sc),
            time: Some(Duration::from_millis(250)),
            threads: Some(2),
            report: Some("1".into()),
            log: true,
        };
        assert_eq!(read, Ok(expected));
    }
}
