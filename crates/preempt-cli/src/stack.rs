//! Enough stack to work with, whatever `ulimit -s` says.
//!
//! Parsers and translations follow nested input by recursion, down to limits of their own that fit the
//! usual eight megabytes. Where the main thread has less, the work is done on a thread that has them.

use std::process::ExitCode;

/// What the deepest input that is accepted needs, with room to spare.
const ENOUGH: usize = 8 << 20;
/// Tried in turn where address space is short, too.
const SIZES: [usize; 3] = [64 << 20, 16 << 20, ENOUGH];

/// Runs `work` with enough stack, if there is any way to get it.
pub(crate) fn with_room(work: impl Fn() -> ExitCode + Send + Sync) -> ExitCode {
    if limit().is_none_or(|bytes| bytes >= ENOUGH) {
        return work();
    }
    std::thread::scope(|scope| {
        let spawn = |size| std::thread::Builder::new().stack_size(size).spawn_scoped(scope, &work);
        let helper = SIZES.into_iter().find_map(|size| spawn(size).ok());
        match helper.map(|helper| helper.join()) {
            Some(Ok(code)) => code,
            Some(Err(_)) => ExitCode::from(crate::BUG),
            None => work(),
        }
    })
}

/// The soft limit of the main thread's stack in bytes; `None` if there is none, or it is not known.
fn limit() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max stack size"))?;
    line.split_whitespace().next()?.parse().ok()
}
