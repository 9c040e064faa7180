//! The report of Spin's verifier, for people and scripts that have read it for years.
//!
//! Headings, order and wording of each line are those of `pan`; the block of numbers is
//! [`summary::numbers`]. What Spin cannot say (the guarantee, notes on what was switched off) stands
//! at the end, so that whatever looks for a line by its text still finds it.

use crate::{fit, summary};
use preempt_core::{Claim, Stop, Verdict, Violation};

/// What was asked of the verifier: the table of properties above the numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// The claim that ran beside the model.
    pub never: Never,
    /// Assertions are checked.
    pub assertions: bool,
    /// Which cycles are looked for.
    pub cycles: Cycles,
    /// Only under weak fairness.
    pub fair: bool,
    /// Invalid end states are reported.
    pub ends: bool,
    /// Partial-order reduction was on.
    pub reduced: bool,
    /// How states were stored.
    pub store: Store,
    /// The bound on preemptions.
    pub bound: Option<u32>,
}

/// The claim beside the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Never {
    /// The model has none.
    #[default]
    None,
    /// It has one that was not used.
    NotSelected,
    /// The one of this name (empty: without a name).
    Named(String),
}

/// Cycles that a search looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cycles {
    /// None.
    #[default]
    None,
    /// Accepting ones.
    Acceptance,
    /// Those without progress.
    NonProgress,
}

/// How states were stored, as Spin names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// Every state in full.
    #[default]
    Full,
    /// Every state, compressed without loss.
    Compressed,
    /// Hash compaction.
    HashCompact,
    /// A bit per hash.
    Bitstate,
}

/// The report on one property. `trail` is the file that the counterexample went to.
pub fn render(claim: &Claim, heading: &Heading, trail: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(violation) = &claim.violation {
        out.push_str(&format!(
            "pan:1: {} (at depth {})\n",
            fit::clean(&error(violation)),
            violation.trace.steps.len()
        ));
        if let Some(trail) = trail {
            out.push_str(&format!("pan: wrote {trail}\n"));
        }
        out.push('\n');
    }
    out.push_str(concat!("(preempt ", env!("CARGO_PKG_VERSION"), ", reporting as Spin does)\n"));
    let stopped = match claim.verdict {
        Verdict::Inconclusive(stop) => stop != Stop::LossyStore,
        Verdict::Violated => !claim.statistics.complete,
        Verdict::Holds | Verdict::HoldsWithinBound(_) | Verdict::Nothing => false,
    };
    if stopped {
        out.push_str("Warning: Search not completed\n");
    }
    if heading.reduced {
        out.push_str("\t+ Partial Order Reduction\n");
    }
    if let Some(bound) = heading.bound {
        out.push_str(&format!("\t+ Scheduling Restriction (-L{bound})\n"));
    }
    if heading.store == Store::Compressed {
        out.push_str("\t+ Compression\n");
    }
    out.push('\n');
    out.push_str(&table(heading));
    out.push('\n');
    out.push_str(&summary::numbers(&claim.statistics));
    if !claim.unreached.is_empty() {
        out.push('\n');
        out.push_str(&summary::unreached(&claim.unreached));
    }
    // Spin's verifier reports the time of its search, not that of making it.
    let numbers = &claim.statistics;
    let searched =
        if numbers.search_seconds > 0.0 { numbers.search_seconds } else { numbers.seconds };
    out.push_str(&format!("\npan: elapsed time {searched:.3} seconds\n"));
    if searched >= 0.01 {
        let rate = numbers.states as f64 / searched;
        out.push_str(&format!("pan: rate {rate:9.0} states/second\n"));
    }
    out.push('\n');
    out.push_str(&format!("preempt: {}\n", fit::clean(claim.sentence.trim())));
    for note in &claim.notes {
        out.push_str(&format!("preempt: note: {}\n", fit::clean(note)));
    }
    out
}

/// Which properties were checked, and why the others were not.
fn table(heading: &Heading) -> String {
    let search = match heading.store {
        Store::Full | Store::Compressed => "Full statespace search for:",
        Store::HashCompact => "Hash-Compact 8 search for:",
        Store::Bitstate => "Bit statespace search for:",
    };
    let with_claim = matches!(heading.never, Never::Named(_));
    let never = match &heading.never {
        Never::None => "- (none specified)".to_string(),
        Never::NotSelected => "- (not selected)".to_string(),
        Never::Named(name) if name.is_empty() => "+".to_string(),
        Never::Named(name) => format!("+ ({name})"),
    };
    let assertions = match (heading.assertions, with_claim) {
        (false, _) => "- (disabled by -A flag)",
        (true, true) => "+ (if within scope of claim)",
        (true, false) => "+",
    };
    let fairness = if heading.fair { "+ (fairness enabled)" } else { "+ (fairness disabled)" };
    let cycles = match heading.cycles {
        Cycles::None => "acceptance   cycles \t- (not selected)".to_string(),
        Cycles::Acceptance => format!("acceptance   cycles \t{fairness}"),
        Cycles::NonProgress => format!("non-progress cycles \t{fairness}"),
    };
    let ends = match (heading.ends, with_claim) {
        (_, true) => "- (disabled by never claim)",
        (false, false) => "- (disabled by -E flag)",
        (true, false) => "+",
    };
    format!(
        "{search}\n\tnever claim         \t{never}\n\tassertion violations\t{assertions}\n\t{cycles}\n\tinvalid end states\t{ends}\n"
    )
}

/// An error in Spin's words.
fn error(violation: &Violation) -> String {
    use preempt_core::ViolationKind as Kind;
    match violation.kind {
        Kind::InvalidEnd => "invalid end state".into(),
        Kind::AcceptanceCycle => "acceptance cycle".into(),
        Kind::NonProgressCycle => "non-progress cycle".into(),
        Kind::Claim => "end state in claim reached".into(),
        Kind::Assertion => {
            violation.message.replacen("assertion violated: ", "assertion violated ", 1)
        }
        _ => violation.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The four tables that Spin 6.5.2 prints for: a plain run, `-E`, a claim with `-a -f`, and
    /// `-DNP -l`.
    #[test]
    fn the_table_of_properties_is_spins() {
        let plain = Heading { assertions: true, ends: true, ..Heading::default() };
        assert_eq!(
            table(&plain),
            "Full statespace search for:\n\
             \tnever claim         \t- (none specified)\n\
             \tassertion violations\t+\n\
             \tacceptance   cycles \t- (not selected)\n\
             \tinvalid end states\t+\n"
        );
        let no_ends = Heading { ends: false, ..plain.clone() };
        assert!(table(&no_ends).ends_with("\tinvalid end states\t- (disabled by -E flag)\n"));
        let claim = Heading {
            never: Never::Named("p".into()),
            cycles: Cycles::Acceptance,
            fair: true,
            ..plain.clone()
        };
        assert_eq!(
            table(&claim),
            "Full statespace search for:\n\
             \tnever claim         \t+ (p)\n\
             \tassertion violations\t+ (if within scope of claim)\n\
             \tacceptance   cycles \t+ (fairness enabled)\n\
             \tinvalid end states\t- (disabled by never claim)\n"
        );
        let never = Never::Named(":np_:".into());
        let stalled = Heading { never, cycles: Cycles::NonProgress, ..plain };
        assert_eq!(
            table(&stalled),
            "Full statespace search for:\n\
             \tnever claim         \t+ (:np_:)\n\
             \tassertion violations\t+ (if within scope of claim)\n\
             \tnon-progress cycles \t+ (fairness disabled)\n\
             \tinvalid end states\t- (disabled by never claim)\n"
        );
    }
}
