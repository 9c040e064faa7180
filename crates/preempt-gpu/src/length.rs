//! How long states get, as far as a few walks through the model show.
//!
//! All states have the same room on a card. Where one needs more, the search begins anew with twice as much, another kernel
//! and other tables, which takes longer than to look ahead. A walk that comes too short does no harm.

use preempt_check::search::states_after;
use preempt_core::System;
use std::time::{Duration, Instant};

/// How many walks there are at most, how many steps one has, and how long all of them take.
const WALKS: u64 = 32;
const STEPS: u64 = 400;
const PATIENCE: Duration = Duration::from_millis(20);

/// The length of the longest state on some walks from this one. Every other walk goes where states are longest, the rest anywhere.
pub(crate) fn longest(system: &dyn System, first: &[u8]) -> usize {
    let begin = Instant::now();
    let mut longest = first.len();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for walk in 0..WALKS {
        let mut state = first.to_vec();
        for _ in 0..STEPS {
            if begin.elapsed() > PATIENCE {
                return longest;
            }
            let mut after = states_after(system, &state).unwrap_or_default();
            let most = after.iter().map(Vec::len).max().unwrap_or_default();
            longest = longest.max(most);
            if walk % 2 == 0 {
                after.retain(|state| state.len() == most);
            }
            if after.is_empty() {
                break;
            }
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state = after.swap_remove((random >> 33) as usize % after.len());
        }
    }
    longest
}
