//! From what a search found to the sentence that says what it means.
//!
//! The wording of the four answers lives here and nowhere else, so that every search speaks alike
//! and no verdict is stronger than what was searched.

use crate::Budget;
use crate::search::mark_taken;
use preempt_core::{
    Claim, FaultKind, Outcome, ReplayError, Statistics, Step, Stop, System, Trace, Unreached,
    Verdict, Violation, ViolationKind, counted, follow, replay_until,
};
use std::time::{Duration, Instant};

/// An execution that violates a property, as a search found it.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// The steps from the initial state; the last one is to blame, or leads to the state that is.
    pub steps: Vec<Step>,
    /// What is violated.
    pub kind: ViolationKind,
    /// The number behind an assertion or runtime fault.
    pub fault: Option<u32>,
    /// One sentence for kinds without a fault; empty for the usual one.
    pub message: String,
    /// First step of the part that repeats for ever.
    pub cycle_start: Option<usize>,
}

impl Counterexample {
    fn new(steps: Vec<Step>, kind: ViolationKind, fault: Option<u32>) -> Self {
        Counterexample { steps, kind, fault, message: String::new(), cycle_start: None }
    }

    /// A step that broke or violated an assertion.
    pub fn from_fault<S: System + ?Sized>(system: &S, steps: Vec<Step>, fault: u32) -> Self {
        let kind = match system.fault(fault).kind {
            FaultKind::Assertion => ViolationKind::Assertion,
            FaultKind::Claim => ViolationKind::Claim,
            FaultKind::Exclusivity => ViolationKind::Exclusivity,
            FaultKind::Runtime | FaultKind::Limit | FaultKind::Cut(_) | FaultKind::Stopped(_) => {
                ViolationKind::Runtime
            }
        };
        Counterexample::new(steps, kind, Some(fault))
    }

    /// A state in which nothing can move although something should.
    pub fn invalid_end(steps: Vec<Step>) -> Self {
        Counterexample::new(steps, ViolationKind::InvalidEnd, None)
    }

    /// A fault, or without one an invalid end.
    pub fn from_end<S: System + ?Sized>(system: &S, steps: Vec<Step>, fault: Option<u32>) -> Self {
        match fault {
            Some(fault) => Counterexample::from_fault(system, steps, fault),
            None => Counterexample::invalid_end(steps),
        }
    }

    /// Steps that repeat for ever from this one on.
    pub fn cycle(steps: Vec<Step>, kind: ViolationKind, start: usize) -> Self {
        let cycle_start = Some(start);
        Counterexample { cycle_start, ..Counterexample::new(steps, kind, None) }
    }
}

/// What a search covered: a finding cannot be made without naming it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Covered {
    /// Every execution.
    Everything,
    /// Every execution with at most so many preemptions; there are executions with more.
    Within(u32),
    /// Less than was asked for, for this reason.
    Part(Stop),
}

/// What a search found. There is no default: without a counterexample, a stop and a bound a finding is a proof, so
/// [`Finding::new`] asks what was covered.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The first, or best, counterexample.
    pub counterexample: Option<Counterexample>,
    /// Whether no simpler counterexample exists (fewest preemptions, then fewest steps).
    pub simplest: bool,
    /// Why the search ended early, if it did.
    pub stop: Option<Stop>,
    /// The preemption bound that was searched completely, if there was one.
    pub bound: Option<u32>,
    /// The numbers.
    pub statistics: Statistics,
    /// For a lossy store: one clause on what may have been missed.
    pub coverage: Option<String>,
    /// Code that no execution reached.
    pub unreached: Vec<Unreached>,
    /// Lines worth knowing.
    pub notes: Vec<String>,
    /// The property automaton stopped following some execution: what comes later was not explored.
    pub cut: bool,
    /// For a search of a temporal property or never claim: what it says of assertions. It never says
    /// anything of invalid end states.
    pub assertions: Option<Assertions>,
    /// The search ended because its reduction left nothing out: it is to be done again without.
    pub reduction_useless: bool,
}

impl Finding {
    /// No counterexample in what was covered, and no numbers yet.
    pub fn new(covered: Covered) -> Self {
        let (stop, bound) = match covered {
            Covered::Everything => (None, None),
            Covered::Within(bound) => (None, Some(bound)),
            Covered::Part(stop) => (Some(stop), None),
        };
        Finding {
            counterexample: None,
            simplest: false,
            stop,
            bound,
            statistics: Statistics::default(),
            coverage: None,
            unreached: Vec::new(),
            notes: Vec::new(),
            cut: false,
            assertions: None,
            reduction_useless: false,
        }
    }

    /// A step that was given up is no violation: the search just ended there.
    pub fn drop_given_up<S: System + ?Sized>(&mut self, system: &S) {
        let Some(found) = &self.counterexample else { return };
        if let Some(reason) = given_up(system, found) {
            self.counterexample = None;
            self.stop = self.stop.or(Some(reason));
            self.statistics.errors = self.statistics.errors.saturating_sub(1);
        }
    }
}

/// What a search of a temporal property or never claim says of assertions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assertions {
    /// No execution violates one.
    Checked,
    /// No execution violates one; so many states were explored for that alone.
    CheckedApart(u64),
    /// Nothing.
    Ignored,
}

/// A claim, and the raw steps behind its counterexample to be replayed.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The verdict in words and numbers.
    pub claim: Claim,
    /// The steps of the counterexample, to be replayed on another implementation of the system.
    pub counterexample: Option<Counterexample>,
}

impl Answer {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.claim.verdict
    }

    /// The steps of the counterexample.
    pub fn steps(&self) -> Option<&[Step]> {
        self.counterexample.as_ref().map(|found| found.steps.as_slice())
    }
}

/// Turns a finding into an answer about `property`. The counterexample is replayed on `system` to
/// describe it; steps that do not replay are a bug of the search.
pub fn conclude<S: System + ?Sized>(system: &S, property: &str, finding: Finding) -> Answer {
    conclude_until(system, property, finding, &|| None)
}

/// As [`conclude`]; a counterexample is not shown if `over` gives a reason before it was replayed.
pub fn conclude_until<S: System + ?Sized>(
    system: &S,
    property: &str,
    mut finding: Finding,
    over: &dyn Fn() -> Option<Stop>,
) -> Answer {
    finding.drop_given_up(system);
    let Finding {
        mut counterexample,
        simplest,
        mut stop,
        bound,
        mut statistics,
        coverage,
        mut unreached,
        mut notes,
        cut: _,
        reduction_useless: _,
        assertions,
    } = finding;
    let replayed = counterexample.as_ref().map(|found| violation(system, found, simplest, over));
    let mut unconfirmed = None;
    let violation = match replayed {
        Some(Err(reason)) => {
            unconfirmed = Some(reason);
            counterexample = None;
            stop = stop.or(Some(reason));
            None
        }
        Some(Ok(violation)) => Some(violation),
        None => None,
    };
    // A violation that was counted and cannot be shown leaves nothing that could be called a proof.
    if counterexample.is_none() && stop.is_none() && statistics.errors > 0 {
        notes.push("a violation was found, but the steps that lead to it were not kept".into());
        stop = Some(Stop::Bug);
    }
    statistics.complete &= stop.is_none();
    if let Some(found) = &counterexample {
        remove_executed(system, &found.steps, &mut unreached);
        if let Some(stop @ (Stop::Memory | Stop::Time | Stop::Depth | Stop::Interrupted)) = stop {
            notes.push(format!("the search is incomplete: {stop}; there may be more violations"));
        }
    }
    let verdict = match (&violation, stop, bound) {
        (Some(_), _, _) => Verdict::Violated,
        (None, Some(stop), _) => Verdict::Inconclusive(stop),
        (None, None, Some(bound)) => Verdict::HoldsWithinBound(bound),
        (None, None, None) => Verdict::Holds,
    };
    let sentence = match unconfirmed {
        Some(reason) => format!("inconclusive: {reason}; {UNCONFIRMED}{}", way_on(reason)),
        None => sentence(verdict, violation.as_ref(), bound, &statistics, coverage, assertions),
    };
    Answer {
        claim: Claim {
            property: property.to_owned(),
            verdict,
            sentence,
            violation,
            statistics,
            unreached,
            notes,
        },
        counterexample,
    }
}

/// How long it takes about to confirm, describe and write what was found: a simpler counterexample is worth nothing if no
/// time is left to show it. Nothing where there is no limit.
pub fn time_to_show<S: System + ?Sized>(
    system: &S,
    finding: &Finding,
    budget: &Budget,
) -> Duration {
    let Some(found) = finding.counterexample.as_ref().filter(|_| budget.is_timed()) else {
        return Duration::ZERO;
    };
    let start = Instant::now();
    let _ = follow(system, &found.steps, &|| budget.is_late().then_some(Stop::Time));
    start.elapsed() * SHOWN_SLOWER
}

/// So many times as long as following an execution takes confirming and describing it.
const SHOWN_SLOWER: u32 = 12;

/// Said where the limits end the replay of a counterexample.
const UNCONFIRMED: &str = "a violation was found, but could not be confirmed and shown in time";

/// Why the last step of a counterexample was given up, if it was.
fn given_up<S: System + ?Sized>(system: &S, found: &Counterexample) -> Option<Stop> {
    match system.fault(found.fault?).kind {
        FaultKind::Cut(reason) | FaultKind::Stopped(reason) => Some(reason),
        _ => None,
    }
}

/// What the counterexample executes is reached, also where the search that found another one left it
/// out.
fn remove_executed<S: System + ?Sized>(system: &S, steps: &[Step], unreached: &mut Vec<Unreached>) {
    if unreached.is_empty() {
        return;
    }
    let mut taken = vec![false; system.transition_count()];
    for step in steps {
        mark_taken(system, &mut taken, *step);
    }
    let left = system.unreached(&taken);
    unreached.retain(|place| left.contains(place));
}

/// Tells the story of a counterexample; the error is why that had to be given up.
fn violation<S: System + ?Sized>(
    system: &S,
    found: &Counterexample,
    simplest: bool,
    over: &dyn Fn() -> Option<Stop>,
) -> Result<Violation, Stop> {
    let (mut trace, state) = match replay_until(system, &found.steps, over) {
        Ok((trace, state, outcome)) => {
            (trace, (!matches!(outcome, Outcome::Broken(_))).then_some(state))
        }
        Err(ReplayError { stopped: Some(reason), .. }) => return Err(reason),
        Err(error) => unreachable!("the search found steps that are no execution: {error}"),
    };
    trace.cycle_start = found.cycle_start;
    let (message, file, line) = match found.fault {
        Some(number) => {
            let fault = system.fault(number);
            (fault.message, fault.file, fault.line)
        }
        None if !found.message.is_empty() => (found.message.clone(), String::new(), 0),
        None => (usual_message(system, found.kind, state.as_deref()), String::new(), 0),
    };
    Ok(Violation { kind: found.kind, message, file, line, trace, simplest, stale: None })
}

fn usual_message<S: System + ?Sized>(
    system: &S,
    kind: ViolationKind,
    state: Option<&[u8]>,
) -> String {
    match (kind, state) {
        (ViolationKind::InvalidEnd, Some(state)) => match system.process_count(state) {
            0 => "all processes have ended, but this is not a valid end".into(),
            1 => "deadlock: the only process cannot move, and this is not a valid end".into(),
            count => format!(
                "deadlock: none of the {count} processes can move, and this is not a valid end"
            ),
        },
        (ViolationKind::Claim, _) => "the never claim was matched to its end".into(),
        (ViolationKind::AcceptanceCycle, _) => "an acceptance cycle".into(),
        (ViolationKind::NonProgressCycle, _) => "a cycle without progress".into(),
        _ => "the property is violated".into(),
    }
}

fn sentence(
    verdict: Verdict,
    violation: Option<&Violation>,
    bound: Option<u32>,
    numbers: &Statistics,
    coverage: Option<String>,
    assertions: Option<Assertions>,
) -> String {
    let states = counted(numbers.states, "state");
    let scope = assertions.map_or(String::new(), scope);
    match verdict {
        Verdict::Holds if numbers.states == 0 && assertions.is_some() => format!(
            "holds of every execution whatsoever: nothing that can follow the first state violates it, so no state was explored for it{scope}"
        ),
        Verdict::Holds => {
            format!("holds: no violation in any execution ({states}, all explored{scope})")
        }
        Verdict::HoldsWithinBound(bound) => format!(
            "No violation with at most {} (all {states} within that bound explored{scope}). Any violation needs at least {}.",
            counted(bound, "preemption"),
            bound + 1
        ),
        // No search says so: what is asked about is decided before.
        Verdict::Nothing => "nothing to check".into(),
        Verdict::Violated => {
            let cost = violation.map(|violation| describe_cost(&violation.trace));
            let simplest = match violation {
                Some(violation) if violation.simplest => "the simplest counterexample has ",
                _ => "counterexample with ",
            };
            let message = violation.map_or(String::new(), |violation| violation.message.clone());
            format!("violated: {message}; {simplest}{}", cost.unwrap_or_default())
        }
        Verdict::Inconclusive(Stop::LossyStore) => {
            let within = bound.map_or(String::new(), |bound| {
                format!(" with at most {}", counted(bound, "preemption"))
            });
            format!(
                "no violation found{within} in {states}, but {}{}",
                Stop::LossyStore,
                coverage.map_or(String::new(), |coverage| format!(": {coverage}"))
            )
        }
        Verdict::Inconclusive(stop) => {
            // Several threads explore in no particular order and do not track depth.
            let depth = match numbers.depth {
                0 => String::new(),
                depth => format!(", down to depth {depth}"),
            };
            format!(
                "inconclusive: {stop}; no violation in the {states} explored{depth}{}{}",
                coverage.map_or(String::new(), |coverage| format!("; {coverage}")),
                way_on(stop)
            )
        }
    }
}

/// What the search of a property says beyond the property.
fn scope(assertions: Assertions) -> String {
    match assertions {
        Assertions::Checked => "; assertions included, invalid end states not".into(),
        Assertions::CheckedApart(states) => format!(
            "; assertions included ({} explored for them alone), invalid end states not",
            counted(states, "state")
        ),
        Assertions::Ignored => "; neither assertions nor invalid end states included".into(),
    }
}

/// How to learn more than an inconclusive search did.
fn way_on(stop: Stop) -> &'static str {
    match stop {
        Stop::Memory => "; more memory, or a smaller store (tree, compact, bitstate), covers more",
        Stop::Time => "; more time covers more",
        Stop::Depth => "; a higher depth limit covers more",
        Stop::Interrupted => "; a longer run covers more",
        Stop::Bound => "; a higher bound covers more",
        Stop::PeerLost => "; run it again with the processes that are left",
        Stop::Disk => "; a folder that can be written to, on a disk with enough space, covers more",
        Stop::LossyStore | Stop::Sampling | Stop::Fault | Stop::Unsupported | Stop::Bug => "",
    }
}

fn describe_cost(trace: &Trace) -> String {
    let cost = trace.cost();
    format!("{}, {}", counted(cost.preemptions, "preemption"), counted(cost.steps, "step"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::NoSteps;

    #[test]
    fn sentences_never_claim_more_than_was_searched() {
        let numbers = Statistics { states: 10, depth: 4, ..Statistics::default() };
        let say =
            |verdict, bound, coverage| sentence(verdict, None, bound, &numbers, coverage, None);
        assert_eq!(
            say(Verdict::Holds, None, None),
            "holds: no violation in any execution (10 states, all explored)"
        );
        assert_eq!(
            say(Verdict::HoldsWithinBound(1), Some(1), None),
            "No violation with at most 1 preemption (all 10 states within that bound explored). Any violation needs at least 2."
        );
        assert_eq!(
            say(Verdict::Inconclusive(Stop::Memory), None, None),
            "inconclusive: the memory limit was reached; no violation in the 10 states explored, down to depth 4; more memory, or a smaller store (tree, compact, bitstate), covers more"
        );
        assert_eq!(
            say(
                Verdict::Inconclusive(Stop::LossyStore),
                None,
                Some("expected coverage 99 %".into())
            ),
            "no violation found in 10 states, but the store does not keep states exactly: expected coverage 99 %"
        );
    }

    /// A violation that was counted, and of which nothing can be shown, is no proof of its absence.
    #[test]
    fn a_violation_without_steps_is_no_proof() {
        let mut finding = Finding::new(Covered::Everything);
        finding.statistics.errors = 1;
        let answer = conclude(&NoSteps, "anything", finding);
        assert_eq!(answer.verdict(), Verdict::Inconclusive(Stop::Bug));
        assert!(!answer.claim.statistics.complete);
        for (covered, verdict) in [
            (Covered::Everything, Verdict::Holds),
            (Covered::Within(2), Verdict::HoldsWithinBound(2)),
            (Covered::Part(Stop::Time), Verdict::Inconclusive(Stop::Time)),
        ] {
            assert_eq!(conclude(&NoSteps, "", Finding::new(covered)).verdict(), verdict);
        }
    }

    #[test]
    fn sentences_about_properties_say_what_else_was_looked_at() {
        let say = |states, assertions| {
            let numbers = Statistics { states, ..Statistics::default() };
            sentence(Verdict::Holds, None, None, &numbers, None, Some(assertions))
        };
        assert_eq!(
            say(10, Assertions::Checked),
            "holds: no violation in any execution (10 states, all explored; assertions included, invalid end states not)"
        );
        assert_eq!(
            say(10, Assertions::Ignored),
            "holds: no violation in any execution (10 states, all explored; neither assertions nor invalid end states included)"
        );
        assert_eq!(
            say(0, Assertions::CheckedApart(1234)),
            "holds of every execution whatsoever: nothing that can follow the first state violates it, so no state was explored for it; assertions included (1,234 states explored for them alone), invalid end states not"
        );
    }
}
