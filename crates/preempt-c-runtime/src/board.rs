//! What the search and the copies that help it see of each other: plain memory that all of them map.

use preempt_explore::{Names, Rules};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

/// The most workers.
pub(crate) const MOST: usize = 64;
/// Paths that a worker may have at a time.
pub(crate) const SLOTS: usize = 2;
/// Address space of a message; memory is used when it is touched.
pub(crate) const MESSAGE_BYTES: usize = 256 << 20;

pub(crate) const FREE: u32 = 0;
pub(crate) const PATH: u32 = 1;
pub(crate) const REPORT: u32 = 2;

/// What a worker begins with.
#[derive(Clone)]
pub(crate) struct WorkerStart {
    pub(crate) rules: Rules,
    pub(crate) names: Names,
    pub(crate) worker: usize,
    pub(crate) board: *const Board,
}

/// What the companion that samples begins with.
#[derive(Clone)]
pub(crate) struct SamplingStart {
    pub(crate) rules: Rules,
    pub(crate) names: Names,
    pub(crate) page: *const Page,
}

/// Longest text of a schedule.
pub(crate) const LONGEST: usize = 1 << 20;

/// What the search and the companion both map.
#[repr(C)]
pub(crate) struct Page {
    /// Executions that were drawn.
    pub(crate) executions: AtomicU64,
    /// Length of the schedule; 0 while nothing is found.
    pub(crate) length: AtomicU32,
    /// Whether the companion has its own heap.
    pub(crate) ready: AtomicU32,
    pub(crate) schedule: [u8; LONGEST],
}

/// Where a path or a report is put down.
#[repr(C, align(64))]
pub(crate) struct Slot {
    pub(crate) state: AtomicU32,
    pub(crate) message: AtomicUsize,
}

/// What all processes of the search see.
#[repr(C)]
pub(crate) struct Board {
    /// Counts reports.
    pub(crate) reports: AtomicU32,
    /// Whether the worker that is being made has its own heap.
    pub(crate) ready: AtomicU32,
    /// By worker: counts paths.
    pub(crate) paths: [AtomicU32; MOST],
    pub(crate) slots: [Slot; MOST * SLOTS],
}
