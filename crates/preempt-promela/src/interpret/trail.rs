//! Executions as Spin's trail files: `depth:process:transition`, one line per step.
//!
//! Spin numbers the statements of all process types and claims in the order of the text
//! ([`Move::number`](crate::ir::Move)). A rendezvous is two lines, sender first. Lines with a negative
//! depth say something about the rest: `-1` begins the cycle, `-2` names the claim that runs as
//! process 0 (so that all others count from 1), `-4` says that statements are merged.
//!
//! Moves of a claim are left out when a trail is written, and passed over when one is read: our
//! automata are not Spin's, and what the processes do is the execution. Those of a never claim whose C changes the
//! state are part of it.

use super::Interpreter;
use crate::ir::{Automaton, AutomatonMove};
use preempt_core::{Enabled, Outcome, ProcessId, Step, System};
use std::fmt;

/// An execution that a trail describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// Its steps.
    pub steps: Vec<Step>,
    /// The first step of the part that repeats for ever.
    pub cycle_start: Option<usize>,
    /// Moves of a never claim whose C changes the state, by number: each with how many steps come before it.
    pub claim_moves: Vec<(usize, u32)>,
}

/// Why a trail is no execution of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailError {
    /// The line, counted from 1.
    pub line: usize,
    /// Why.
    pub message: String,
}

impl fmt::Display for TrailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TrailError {}

/// A claim whose moves belong to an execution, and with which of them a step begins.
type Beside<'a> = (&'a Automaton, &'a dyn Fn(Step) -> Option<u32>);

/// One line: depth, process, number of the transition.
type Line = (i64, i64, i64);

/// Whether a text looks like a trail of Spin.
pub fn is_trail(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.next().is_some_and(|line| line_of(line).is_some())
}

/// Whether the statements of the model that a trail belongs to were merged.
pub fn is_merged(text: &str) -> bool {
    text.lines().any(|line| line_of(line.trim()).is_some_and(|(depth, ..)| depth == -4))
}

/// Whether the execution that a trail describes was found beside a claim.
pub fn has_claim(text: &str) -> bool {
    text.lines().any(|line| line_of(line.trim()).is_some_and(|(depth, ..)| depth == -2))
}

fn line_of(text: &str) -> Option<Line> {
    let mut parts = text.split(':').map(|part| part.trim().parse::<i64>().ok());
    let line = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(line)
}

impl Interpreter {
    /// The steps of the processes as a trail that Spin can follow.
    pub fn write_trail(&self, trail: &Trail) -> String {
        self.write_steps(trail, None)
    }

    /// The same with the moves of a claim that changes the state; `number_of` says with which move a step begins.
    pub fn write_trail_beside(
        &self,
        trail: &Trail,
        claim: &Automaton,
        number_of: &dyn Fn(Step) -> Option<u32>,
    ) -> String {
        self.write_steps(trail, Some((claim, number_of)))
    }

    fn write_steps(&self, trail: &Trail, beside: Option<Beside<'_>>) -> String {
        let mut text = String::new();
        if let Some((claim, _)) = beside {
            text.push_str(&format!("-2:{}:-2\n", claim.place));
        }
        if self.program.merges_statements {
            text.push_str("-4:-4:-4\n");
        }
        let mut depth = 0;
        for (at, step) in trail.steps.iter().enumerate() {
            if trail.cycle_start == Some(at) {
                text.push_str("-1:-1:-1\n");
            }
            let moved = beside.and_then(|(claim, number_of)| claim.move_of(number_of(*step)?));
            for number in moved.iter().flat_map(|moved| &moved.numbers) {
                depth += 1;
                text.push_str(&format!("{depth}:0:{number}\n"));
            }
            if step.process == ProcessId::PROPERTY {
                continue;
            }
            // The claim is process 0.
            let shift = u16::from(beside.is_some());
            let halves = [
                Some((step.process, step.transition)),
                step.partner.map(|partner| (partner, step.partner_transition)),
            ];
            for (process, transition) in halves.into_iter().flatten() {
                let process = process.0 + shift;
                depth += 1;
                let taken = self.move_of(transition);
                let number = taken.map_or(0, |taken| taken.number);
                text.push_str(&format!("{depth}:{process}:{number}\n"));
                // Spin is told that nothing is merged: then it asks for each statement.
                let apart = taken.filter(|_| !self.program.merges_statements);
                for number in apart.iter().flat_map(|taken| &taken.joined) {
                    depth += 1;
                    text.push_str(&format!("{depth}:{process}:{number}\n"));
                }
            }
        }
        text
    }

    /// Reads a trail of Spin: finds the steps that it describes, one by one.
    pub fn read_trail(&self, text: &str) -> Result<Trail, TrailError> {
        let mut trail = Trail::default();
        let (mut state, mut enabled) = (Vec::new(), Enabled::new());
        let mut outcome = self.initial(&mut state);
        // The claim is process 0.
        let mut claims = 0;
        let mut beside: Option<ClaimReader<'_>> = None;
        let mut sender: Option<(usize, Line)> = None;
        for (at, text) in text.lines().enumerate() {
            if text.trim().is_empty() {
                continue;
            }
            let error = |message: String| TrailError { line: at + 1, message };
            let Some(line) = line_of(text.trim()) else {
                return Err(error("not of the form `depth:process:transition`".into()));
            };
            match line {
                (-1, ..) => trail.cycle_start = Some(trail.steps.len()),
                (-2, place, _) => {
                    claims = 1;
                    beside = ClaimReader::new(self, place);
                }
                (..0, ..) => {}
                (_, process, number) if process < claims => {
                    if let Some(beside) = &mut beside {
                        let taken = beside.take(number, &mut state).map_err(error)?;
                        trail.claim_moves.extend(taken.map(|taken| (trail.steps.len(), taken)));
                        if beside.is_at_end() {
                            // The violation; Spin may write what a process does next.
                            break;
                        }
                    }
                }
                (depth, process, number) => {
                    if let Outcome::Broken(_) = outcome {
                        return Err(error("the step before it has no successor".into()));
                    }
                    enabled.clear();
                    self.enabled(&mut state, &mut enabled);
                    let line = (depth, process - claims, number);
                    let step = match sender.take() {
                        Some((_, sent)) => self.joint_step(&enabled, sent, line),
                        None => {
                            let step = self.step_like(&enabled, line);
                            if step.is_some_and(|step| step.partner.is_some()) {
                                sender = Some((at, line));
                                continue;
                            }
                            step
                        }
                    };
                    let Some(step) = step else {
                        return Err(error(format!(
                            "process {} cannot take transition {number} here",
                            process - claims
                        )));
                    };
                    outcome = self.apply(&mut state, step);
                    trail.steps.push(step);
                }
            }
        }
        match sender {
            Some((at, _)) => {
                Err(TrailError { line: at + 1, message: "no process receives this message".into() })
            }
            None => Ok(trail),
        }
    }

    fn is_number(&self, transition: u32, number: i64) -> bool {
        self.move_of(transition).is_some_and(|taken| i64::from(taken.number) == number)
    }

    fn step_like(&self, enabled: &Enabled, (_, process, number): Line) -> Option<Step> {
        let process = ProcessId(u16::try_from(process).ok()?);
        let mut own = enabled.of(process).iter();
        own.find(|step| self.is_number(step.transition, number)).copied()
    }

    fn joint_step(&self, enabled: &Enabled, sent: Line, received: Line) -> Option<Step> {
        let sender = ProcessId(u16::try_from(sent.1).ok()?);
        let receiver = ProcessId(u16::try_from(received.1).ok()?);
        let fits = |step: &&Step| {
            step.partner == Some(receiver)
                && self.is_number(step.transition, sent.2)
                && self.is_number(step.partner_transition, received.2)
        };
        enabled.of(sender).iter().find(fits).copied()
    }
}

/// Follows the moves of a claim whose C changes the state.
struct ClaimReader<'a> {
    interpreter: &'a Interpreter,
    claim: &'a Automaton,
    at: u32,
    /// The moves that the numbers read so far can be the beginning of, with their own numbers.
    open: Vec<(u32, &'a AutomatonMove)>,
    /// How many numbers these are.
    read: usize,
}

impl<'a> ClaimReader<'a> {
    /// The claim at this place of the text, if it changes the state.
    fn new(interpreter: &'a Interpreter, place: i64) -> Option<Self> {
        let claims = &interpreter.program().claims;
        let claim = claims.iter().find(|claim| i64::from(claim.place) == place);
        let claim = claim.or(claims.first()).filter(|claim| claim.changes())?;
        Some(ClaimReader { interpreter, claim, at: claim.entry, open: Vec::new(), read: 0 })
    }

    fn is_at_end(&self) -> bool {
        self.claim.states[self.at as usize].is_end
    }

    /// Takes a statement of the claim. Gives the number of the move that it completes.
    fn take(&mut self, number: i64, state: &mut [u8]) -> Result<Option<u32>, String> {
        if self.read == 0 {
            self.open = self.interpreter.possible_moves(self.claim, self.at, state);
        }
        let read = self.read;
        let is_next = |(_, taken): &(u32, &AutomatonMove)| {
            taken.numbers.get(read).is_some_and(|next| i64::from(*next) == number)
        };
        self.open.retain(is_next);
        self.read += 1;
        if self.open.is_empty() {
            return Err(format!("the claim cannot take transition {number} here"));
        }
        let whole = self.open.iter().find(|(_, taken)| taken.numbers.len() == self.read);
        Ok(whole.copied().map(|(at, taken)| {
            self.at = taken.target;
            self.read = 0;
            self.interpreter.change_by_claim(taken, state, &mut |_| ());
            at
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trails_are_known_by_their_first_line() {
        assert!(is_trail("-4:-4:-4\n1:0:3\n"));
        assert!(is_trail("\n1:0:3"));
        assert!(!is_trail("{ \"file\": 1 }"));
        assert!(!is_trail("1:2"));
        assert!(!is_trail(""));
        assert_eq!(line_of("12:-1:7"), Some((12, -1, 7)));
    }
}
