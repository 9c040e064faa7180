//! Places of plain accesses that are operations, beside the schedules that count them.

use crate::snapshot;
use preempt_explore::Schedule;
use std::fmt::Write as _;

/// Places of plain accesses that are operations, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Places {
    /// Those that were found to race.
    pub(crate) racy: Vec<usize>,
    /// Those that tell in which order threads have stored.
    pub(crate) observers: Vec<usize>,
}

/// A schedule counts operations, so it means something only together with the places of plain
/// accesses that are operations: `p1.0x3@11d4+1200`, relative to the program's address; those of reads that tell in which order
/// threads have stored after `%`.
pub(crate) fn with_places(schedule: &Schedule, places: &Places) -> String {
    let base = snapshot::modules().first().map_or(0, |module| module.base);
    let mut text = schedule.to_string();
    for (mark, call_sites) in [('@', &places.racy), ('%', &places.observers)] {
        for (nth, call_site) in call_sites.iter().enumerate() {
            let _ = write!(text, "{}{:x}", if nth == 0 { mark } else { '+' }, call_site - base);
        }
    }
    text
}

/// The two parts of a schedule with places.
pub(crate) fn without_places(text: &str) -> Option<(&str, Places)> {
    let base = snapshot::modules().first().map_or(0, |module| module.base);
    let call_site = |part: &str| usize::from_str_radix(part, 16).ok().map(|offset| base + offset);
    let read = |part: Option<&str>| match part {
        None => Some(Vec::new()),
        Some(part) => part.split('+').map(call_site).collect(),
    };
    let (text, observers) = text.split_once('%').map_or((text, None), |(a, b)| (a, Some(b)));
    let (schedule, racy) = text.split_once('@').map_or((text, None), |(a, b)| (a, Some(b)));
    Some((schedule, Places { racy: read(racy)?, observers: read(observers)? }))
}
