//! What a Promela model is checked for. An option is one entry; `combination.rs` says what belongs to it.

use crate::arguments::combination::{CHOOSE_ONE_PROPERTY, PROMELA_ONLY, Subject, options};
use preempt_verify::Request;
use preempt_verify::promela::Selection;
use std::path::PathBuf;

options! {
    /// What a Promela model is checked for.
    #[command(next_help_heading = "Properties")]
    pub(crate) struct PropertyArguments {
        /// Check the ltl block of this name
        #[arg(long, value_name = "NAME")]
        ltl: Option<String> {
            samples: [["--ltl", "served"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("formula") || r.has("claim") || r.has("no_claim") || r.has("non_progress") => CHOOSE_ONE_PROPERTY,
            ],
        }
        /// Check this LTL formula
        #[arg(long, value_name = "FORMULA")]
        formula: Option<String> {
            samples: [["--formula", "[] (x < 2)"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("claim") || r.has("no_claim") || r.has("non_progress") => CHOOSE_ONE_PROPERTY,
            ],
        }
        /// Check the never claim of this name
        #[arg(long, value_name = "NAME")]
        claim: Option<String> {
            samples: [["--claim", "odd"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("no_claim") || r.has("non_progress") => CHOOSE_ONE_PROPERTY,
            ],
        }
        /// Check the never claim in this file, and no other
        #[arg(long, value_name = "FILE")]
        claim_file: Option<PathBuf> {
            samples: [["--claim-file", "{folder}/other.never"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| ["ltl", "formula", "claim", "no_claim", "non_progress"].iter().any(|other| r.has(other)) => CHOOSE_ONE_PROPERTY,
            ],
        }
        /// Ignore never claims and ltl blocks
        #[arg(long)]
        no_claim: bool {
            permissions: [["--no-claim"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// Look for acceptance cycles (those of a never claim are looked for anyway)
        #[arg(long)]
        acceptance: bool {
            samples: [["--acceptance"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("non_progress") => "and --non-progress are two properties: choose one",
            ],
        }
        /// Judge never claims and formulas by finite executions only: those that complete the claim, or violate the formula
        /// whatever follows
        #[arg(long)]
        no_acceptance: bool {
            permissions: [["--no-acceptance"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("acceptance") => "and --acceptance contradict each other",
                |r| r.infinite()
                    => "is about never claims and formulas: this property is one of infinite executions",
            ],
        }
        /// Look for non-progress cycles
        #[arg(long)]
        non_progress: bool {
            samples: [["--non-progress"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// Weak fairness: only executions in which no process that can always move is ignored for ever
        #[arg(long)]
        fair: bool {
            samples: [["--fair"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.finite()
                    => "is about infinite executions: it needs --acceptance, --non-progress or a temporal formula",
            ],
        }
        /// Ignore invalid end states
        #[arg(long)]
        no_deadlock: bool {
            permissions: [["--no-deadlock"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
        /// An end state is valid only if all channels are empty (Spin's -q)
        #[arg(long)]
        empty_channels: bool {
            samples: [["--empty-channels"]],
            refused: [
                |r| r.boolean() => PROMELA_ONLY,
                |r| r.has("no_deadlock") => "and --no-deadlock contradict each other",
                |r| matches!(r.subject, Subject::Infinite | Subject::Completion)
                    => "is about end states, which this property does not check",
            ],
        }
        /// Ignore assertions
        #[arg(long)]
        no_assert: bool {
            samples: [["--no-assert"]],
            refused: [|r| r.boolean() => PROMELA_ONLY],
        }
    }
}

impl PropertyArguments {
    /// What these options ask of a search.
    pub(crate) fn ask(&self, request: &mut Request) {
        request.assertions = !self.no_assert;
        request.deadlocks = !self.no_deadlock;
        request.fair = self.fair;
    }

    /// Which properties are meant.
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            formula: self.formula.clone(),
            ltl: self.ltl.clone(),
            claim: self.claim.clone(),
            no_claim: self.no_claim,
            acceptance: self.acceptance,
            no_acceptance: self.no_acceptance,
            non_progress: self.non_progress,
        }
    }
}
