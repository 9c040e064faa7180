//! Schedules as strings: short, printable, and valid as long as the test does the same.
//!
//! `p1.0x5.1.2x3.1c2` reads: format 1, the main thread five steps, thread 1 one step, thread 2
//! three, thread 1 with alternative 2. Threads are numbered in the order of spawning. Under weak memory the
//! alternative is how many newer writes an access does not see; `.1f0` is a comparison that fails for
//! no reason. `.(.0.1)x1000` at the end is a cycle that is repeated so often.

use crate::{Driver, Ending, ExecutionState, Move, Run, ThreadId};
use std::fmt;
use std::str::FromStr;

/// A list of decisions that leads to one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// (number of the thread in the order of spawning, alternative)
    pub steps: Vec<(u32, u32)>,
}

impl Schedule {
    /// The decisions of a finished execution.
    pub fn of(run: &Run) -> Self {
        let steps = run.path.iter().map(|m| (run.ordinal(m.thread) as u32, m.choice)).collect();
        Schedule { steps }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("p1")?;
        let Some((length, times)) = self.repeated() else { return write_steps(f, &self.steps) };
        let (rest, cycles) = self.steps.split_at(self.steps.len() - length * times);
        write_steps(f, rest)?;
        f.write_str(".(")?;
        write_steps(f, &cycles[..length])?;
        write!(f, ")x{times}")
    }
}

impl Schedule {
    /// Steps at the end that are repeated often: how many, and how often.
    fn repeated(&self) -> Option<(usize, usize)> {
        const OFTEN: usize = 64;
        (2..=256).find_map(|length| {
            let pairs = self.steps.iter().rev().zip(self.steps.iter().rev().skip(length));
            let times = pairs.take_while(|(a, b)| a == b).count() / length + 1;
            let cycle = &self.steps[self.steps.len().checked_sub(length)?..];
            let uniform = cycle.iter().all(|step| *step == cycle[0]);
            (times >= OFTEN && !uniform).then_some((length, times))
        })
    }
}

/// The steps with a dot before each group of equal ones.
fn write_steps(f: &mut fmt::Formatter<'_>, steps: &[(u32, u32)]) -> fmt::Result {
    for group in steps.chunk_by(|a, b| a == b) {
        let (thread, choice) = group[0];
        write!(f, ".{thread}")?;
        match choice {
            0 => {}
            Move::TIMEOUT => f.write_str("t")?,
            choice if choice & Move::FAILURE != 0 => write!(f, "f{}", choice - Move::FAILURE)?,
            choice => write!(f, "c{choice}")?,
        }
        if group.len() > 1 {
            write!(f, "x{}", group.len())?;
        }
    }
    Ok(())
}

/// Why a string is no schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleError(String);

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScheduleError {}

const LONGEST: usize = 100_000_000;

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let Some((once, cycle)) = text.split_once(".(") else { return Schedule::of_steps(text) };
        let bad = || ScheduleError("a schedule ends with `)x` and a number after `(`".into());
        let (cycle, times) = cycle.split_once(")x").ok_or_else(bad)?;
        let times = times.parse::<usize>().map_err(|_| bad())?;
        let mut schedule = Schedule::of_steps(once)?;
        let cycle = Schedule::of_steps(&format!("p1{cycle}"))?.steps;
        if cycle.len().saturating_mul(times).saturating_add(schedule.steps.len()) > LONGEST {
            return Err(ScheduleError("the schedule is too long".into()));
        }
        for _ in 0..times {
            schedule.steps.extend_from_slice(&cycle);
        }
        Ok(schedule)
    }
}

impl Schedule {
    /// Without cycles.
    fn of_steps(text: &str) -> Result<Self, ScheduleError> {
        let mut parts = text.split('.');
        if parts.next() != Some("p1") {
            return Err(ScheduleError("a schedule begins with `p1`".into()));
        }
        let mut schedule = Schedule::default();
        for part in parts {
            let bad = || ScheduleError(format!("`{part}` is no step of a schedule"));
            let (rest, count) = match part.split_once('x') {
                Some((rest, count)) => (rest, count.parse::<usize>().map_err(|_| bad())?),
                None => (part, 1),
            };
            let number = |text: &str| text.parse::<u32>().ok().filter(|n| n & Move::FAILURE == 0);
            let (thread, choice) = if let Some(thread) = rest.strip_suffix('t') {
                (thread, Move::TIMEOUT)
            } else if let Some((thread, choice)) = rest.split_once('c') {
                (thread, number(choice).ok_or_else(bad)?)
            } else if let Some((thread, choice)) = rest.split_once('f') {
                (thread, Move::FAILURE + number(choice).ok_or_else(bad)?)
            } else {
                (rest, 0)
            };
            let thread = thread.parse().map_err(|_| bad())?;
            if schedule.steps.len().saturating_add(count) > LONGEST {
                return Err(ScheduleError("the schedule is too long".into()));
            }
            schedule.steps.extend(std::iter::repeat_n((thread, choice), count));
        }
        Ok(schedule)
    }
}

/// Follows a schedule, then goes on without preemption.
pub struct Replay {
    schedule: Schedule,
    /// Whether some decision could not be followed.
    pub diverged: bool,
}

impl Replay {
    /// A driver that follows this schedule.
    pub fn new(schedule: Schedule) -> Self {
        Replay { schedule, diverged: false }
    }

    /// Whether the execution is not the one that the schedule describes: a decision could not be followed, or the
    /// program completed before the last one.
    pub fn misses(&self, run: &Run) -> bool {
        let is_short = run.path.len() < self.schedule.steps.len();
        self.diverged || is_short && matches!(run.ending, None | Some(Ending::Complete))
    }
}

impl Driver for Replay {
    fn choose(&mut self, run: &Run, moves: &[Move]) -> Option<Move> {
        if let Some(&(ordinal, choice)) = self.schedule.steps.get(run.path.len()) {
            let step = run.order.get(ordinal as usize).map(|&thread| Move { thread, choice });
            match step.filter(|step| moves.contains(step) || run.state.permits(*step)) {
                Some(step) => return Some(step),
                None => self.diverged = true,
            }
        }
        Some(without_preemption(&run.state, run.last, moves))
    }
}

/// The move that continues the last thread if it can go on, else that of the next one in turn.
pub fn without_preemption(state: &ExecutionState, last: ThreadId, moves: &[Move]) -> Move {
    if state.keeps_running(last, moves) {
        return moves.iter().copied().find(|m| m.thread == last).unwrap_or(moves[0]);
    }
    let real = |m: &&Move| m.choice != Move::TIMEOUT;
    let later = moves.iter().filter(real).find(|m| m.thread > last);
    *later.or_else(|| moves.iter().find(real)).unwrap_or(&moves[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_round_trip() {
        let steps = vec![(0, 0), (0, 0), (1, 2), (2, Move::TIMEOUT), (2, Move::TIMEOUT), (0, 0)];
        let steps = [steps, vec![(1, Move::FAILURE + 1)]].concat();
        let schedule = Schedule { steps };
        assert_eq!(schedule.to_string(), "p1.0x2.1c2.2tx2.0.1f1");
        assert_eq!(schedule.to_string().parse(), Ok(schedule));
        let mut steps = vec![(0, 0), (2, 0)];
        (0..100).for_each(|_| steps.extend([(1, 0), (0, 0), (0, 0)]));
        let schedule = Schedule { steps };
        assert_eq!(schedule.to_string(), "p1.0.2.(.1.0x2)x100");
        assert_eq!(schedule.to_string().parse(), Ok(schedule));
    }

    #[test]
    fn bad_strings_are_errors() {
        for text in [
            "",
            "p2.0",
            "p1.a",
            "p1.0x",
            "p1.0x99999999999",
            "p1.0c",
            "p1.0c1073741825",
            "p1.0f",
            "p1.0f9999999999",
            "p1.-1",
            "p1.(.0",
            "p1.(.0)",
            "p1.(.0)x",
            "p1.(0)x2",
            "p1.(.0x9999999)x9999999",
        ] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
    }
}
