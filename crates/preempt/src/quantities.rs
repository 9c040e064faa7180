//! Numbers of things, in words.

use preempt_core::grouped;

pub(crate) fn preemptions(number: u32) -> String {
    plural(number.into(), "preemption", "preemptions")
}

pub(crate) fn stale_choices(number: u32) -> String {
    plural(number.into(), "stale choice", "stale choices")
}

pub(crate) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}
