//! Searches over stores that lose states, and what may be said after one.
//!
//! Invariant: such a search never proves anything, and says how much it may have missed.

use crate::search::{Job, SHARD_BITS, SHARDS};
use crate::store::{Bitstate, Compact, Store};
use crate::{Covered, Finding, Options, Storage};
use preempt_core::{Stop, System};

/// What hash compaction may have lost.
pub(crate) fn omissions(expected: f64) -> String {
    format!("about {expected:.1e} states are expected to be confused with others")
}

/// What bitstate hashing may have lost.
pub(crate) fn misses(coverage: f64, misses: f64) -> String {
    format!(
        "expected coverage {:.4} % at best, about {misses:.0} states missed and with them all that only they lead to",
        100.0 * coverage
    )
}

/// How large a field of bits is, as log2; `None` if memory does not allow what was asked for.
pub(crate) fn field_bits(bits: Option<u32>, limit: usize, options: &Options) -> Option<u32> {
    // Half of the memory is left to the stack.
    let field = limit / 2;
    let field = if options.memory.is_some() { field } else { field.min(1 << 30) };
    let bits = bits.unwrap_or(Bitstate::bits_for(field));
    (bits <= Bitstate::bits_for(limit)).then_some(bits)
}

/// A search with a store that keeps a few bits of each state.
pub(crate) fn in_bits(
    (bits, hashes): (Option<u32>, u32),
    limit: usize,
    options: &Options,
    search: impl FnOnce(&mut Bitstate) -> Finding,
) -> Finding {
    let Some(bits) = field_bits(bits, limit, options) else {
        return Finding::new(Covered::Part(Stop::Memory));
    };
    let mut store = Bitstate::new(bits, hashes);
    let mut finding = search(&mut store);
    finding.coverage = Some(misses(store.expected_coverage(), store.expected_misses()));
    weaken(finding)
}

/// What a lossy store permits to say.
pub(crate) fn weaken(mut finding: Finding) -> Finding {
    finding.stop = finding.stop.or(Some(Stop::LossyStore));
    finding.unreached.clear();
    finding
}

/// A search with a bound on preemptions by several threads, whose stores are in parts.
pub(crate) fn lossy_in_parallel(job: &mut Job<'_, '_, dyn System + '_>) -> Finding {
    let limit = job.budget.memory_limit();
    let Storage::Bitstate { bits, hashes } = job.options.storage else {
        let make = || (0..SHARDS).map(|_| Compact::new(limit / SHARDS, true)).collect();
        let (mut finding, stores) = job.lossy_by_buckets(make);
        // States with the same hash are in the same part.
        let expected: f64 = stores.iter().map(Compact::expected_omissions).sum();
        finding.coverage = Some(omissions(expected * SHARDS as f64));
        return weaken(finding);
    };
    let Some(bits) = field_bits(bits, limit, job.options) else {
        return Finding::new(Covered::Part(Stop::Memory));
    };
    let part = bits.saturating_sub(SHARD_BITS);
    let make = || (0..SHARDS).map(|_| Bitstate::new(part, hashes)).collect();
    let (mut finding, stores) = job.lossy_by_buckets(make);
    let expected: f64 = stores.iter().map(Bitstate::expected_misses).sum();
    let stored = stores.iter().map(Store::len).sum::<usize>() as f64;
    finding.coverage = Some(misses(stored / (stored + expected).max(1.0), expected));
    weaken(finding)
}
