//! A share of the executions is drawn at random, beside the search.
//!
//! A search by bounds finds the simplest violation, if it gets there: a bound may hold more executions than time allows,
//! while some violation beyond it is hit by every tenth execution at random. So a search that takes long has a
//! companion, a process that samples: random walks and random priorities in turn. What the search says about bounds is not
//! affected. A violation that the companion has found it makes simpler for a while, in which the search may still find the
//! simplest one.
//!
//! The companion is a copy of this process with a heap of its own, like a worker (`workers.rs`). It puts what
//! it has found on a page that both map, and asks the search to end by the signal that the driver uses, too.

use crate::board::{LONGEST, Page, SamplingStart};
use crate::copies::{begin_copy, make_copy};
use crate::limits::limits;
use crate::places::with_places;
use crate::raw;
use crate::runtime::{Runtime, runtime};
use crate::signal_numbers::STOP;
use crate::switch::Wanted;
use preempt_explore::{Ending, Finding, Halt, Names, Rules, Session, pct, random, simplify};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A search that ends sooner has no companion.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long a violation is made simpler at least, and at most; in between as long as it took to find.
const GRACE: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(3)];
/// How long the search goes on after that at least, and at most; in between as long as all that took.
const HEAD_START: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// Executions by one way of drawing before the next one's turn.
const TURN: u64 = 30;
/// The companion, as the search sees it. It ends with this value.
pub(crate) struct Companion {
    process: isize,
    page: &'static Page,
}

impl Companion {
    /// Starts it. Called by the search.
    pub(crate) fn start(rules: Rules, names: Names) -> Self {
        let page = raw::map(size_of::<Page>(), true).cast::<Page>();
        // SAFETY: zeroed memory is a page on which nothing was found; it is unmapped when both are done.
        let page: &'static Page = unsafe { &*page };
        runtime().sampling_start = Some(SamplingStart { rules, names, page });
        let process = make_copy(runtime(), Wanted::Companion, &page.ready);
        Companion { process, page }
    }

    /// How many executions it has drawn.
    pub(crate) fn executions(&self) -> u64 {
        self.page.executions.load(Ordering::Relaxed)
    }

    /// The schedule of the simplest violation that it has found.
    pub(crate) fn found(&self) -> Option<String> {
        let length = self.page.length.load(Ordering::Acquire) as usize;
        let text = self.page.schedule.get(..length).filter(|text| !text.is_empty())?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        raw::kill(self.process);
        raw::wait(self.process);
        raw::unmap(&raw const *self.page as usize, size_of::<Page>());
    }
}

/// A new companion, on the launcher's stack, before the search goes on.
pub(crate) fn begin(runtime: *mut Runtime) {
    // SAFETY: the runtime is in the heap, at the same address; nothing else uses it.
    let start = unsafe { (*runtime).sampling_start.clone() };
    let Some(start) = start else { raw::fail("preempt: a companion without work\n") };
    // SAFETY: the page is mapped as long as there is a companion.
    begin_copy(runtime, unsafe { &(*start.page).ready });
}

/// Its life, on a stack of its own.
pub(crate) extern "C" fn body() -> ! {
    let Some(SamplingStart { rules, names, page }) = runtime().sampling_start.clone() else {
        raw::fail("preempt: a companion without work\n")
    };
    // SAFETY: see `begin`. The text is written before its length is, and read after it.
    let page = unsafe { &mut *page.cast_mut() };
    let begin = Instant::now();
    raw::sleep(PATIENCE);
    let Some(best) = draw(rules, &names, page, begin) else { raw::exit(0) };
    let text = with_places(&best.schedule, &runtime().shadow.places());
    let length = text.len().min(LONGEST);
    if length < text.len() {
        raw::exit(0);
    }
    page.schedule[..length].copy_from_slice(text.as_bytes());
    page.length.store(length as u32, Ordering::Release);
    // The search may find a simpler one soon.
    raw::sleep(begin.elapsed().clamp(HEAD_START[0], HEAD_START[1]));
    raw::signal_parent(STOP);
    raw::exit(0)
}

/// Draws executions until one fails, and makes that one simpler.
fn draw(mut rules: Rules, names: &Names, page: &Page, begin: Instant) -> Option<Finding> {
    for turn in 0.. {
        let mut limits = limits(Instant::now());
        (limits.deadline, limits.executions, limits.stop) = (None, TURN, None);
        // Most violations are interleavings, and those are simpler to understand.
        if turn % 4 != 3 {
            limits.stale = Some(0);
        }
        loop {
            let mut session = Session::new(runtime(), limits.clone(), rules, names.clone());
            let halt = match turn % 4 {
                2 => random::explore(&mut session, turn),
                nth => pct::explore(&mut session, 2 + nth as u32 % 2, turn),
            };
            page.executions.fetch_add(session.statistics.executions, Ordering::Relaxed);
            rules = session.run.rules;
            match (halt, session.statistics.failure.take()) {
                (Halt::Failure, Some(finding)) => {
                    if !is_of_the_program(session.program, &finding.ending) {
                        return None;
                    }
                    let path = session.run.path.clone();
                    let until = Instant::now() + begin.elapsed().clamp(GRACE[0], GRACE[1]);
                    let simpler = simplify(&mut session, &path, until, &is_of_the_program);
                    return Some(simpler.unwrap_or(finding));
                }
                // Something was learnt that has to be known from the beginning.
                (Halt::Restart, _) => {}
                (Halt::Executions, _) => break,
                _ => return None,
            }
        }
    }
    None
}

/// Whether a failure is the program's: not a limit of ours, which the search will meet as well.
fn is_of_the_program(runtime: &Runtime, ending: &Ending) -> bool {
    let limit = matches!(ending, Ending::Nondeterminism(_) | Ending::StepLimit);
    let refused = runtime.trouble.as_ref().is_some_and(|trouble| !trouble.is_program_s());
    !limit && !refused
}
