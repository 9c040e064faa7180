//! What the terminal can do, how progress is shown on it, and Ctrl-C.

use preempt_core::{counted, grouped};
use preempt_report::Look;
use preempt_verify::{Phase, Progress};
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Set by Ctrl-C. Searches end with what they have; a second Ctrl-C ends the process.
pub(crate) static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Exit code of a process that was interrupted twice: a partial answer was not awaited.
const INCONCLUSIVE: i32 = 3;

/// Whether the first Ctrl-C ends the process: nothing is under way whose result could be reported.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C, or signal to terminate, ends the process.
#[cfg(feature = "lsp")]
pub(crate) fn end_at_once() {
    AT_ONCE.store(true, Ordering::SeqCst);
    if INTERRUPTED.load(Ordering::SeqCst) {
        std::process::exit(0);
    }
}

/// Starts listening for Ctrl-C.
pub(crate) fn listen_for_interrupts() {
    LazyLock::force(&INTERRUPTED);
    // Without a handler Ctrl-C just ends the process, which is fine.
    let _ = ctrlc::set_handler(|| {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if AT_ONCE.load(Ordering::SeqCst) {
            std::process::exit(0);
        }
        if again {
            std::process::exit(INCONCLUSIVE);
        }
    });
}

/// How text on standard output should look.
pub(crate) fn look() -> Look {
    let terminal = std::io::stdout().is_terminal();
    let width = match terminal_size::terminal_size() {
        Some((width, _)) if terminal => usize::from(width.0).max(40),
        _ => 100,
    };
    Look::plain(width).with_color((terminal || colour_forced()) && colour_wanted())
}

/// Whether addresses on standard output may be links.
pub(crate) fn has_links() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether diagnostics on standard error may be coloured.
pub(crate) fn colour_on_stderr() -> bool {
    (std::io::stderr().is_terminal() || colour_forced()) && colour_wanted()
}

fn colour_forced() -> bool {
    std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0")
}

fn colour_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Shows how far a search is: a line that is rewritten on a terminal, a plain line every ten seconds
/// elsewhere.
pub(crate) struct ProgressLine {
    /// What stands at the beginning of the line and stays there.
    before: String,
    terminal: bool,
    shown: bool,
    begin: Instant,
    last: Instant,
    silent: bool,
}

const PLAIN_EVERY: Duration = Duration::from_secs(10);

impl ProgressLine {
    pub(crate) fn new(silent: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let (before, begin) = (String::new(), Instant::now());
        ProgressLine { before, terminal, shown: false, begin, last: begin, silent }
    }

    /// One behind a text that was printed on standard output, if that is the same terminal.
    pub(crate) fn behind(text: String) -> Option<Self> {
        let line = ProgressLine::new(false);
        let shown = line.terminal && std::io::stdout().is_terminal();
        shown.then_some(ProgressLine { before: text, ..line })
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        if self.silent || (!self.terminal && self.last.elapsed() < PLAIN_EVERY) {
            return;
        }
        self.last = Instant::now();
        let phase = match progress.phase {
            Phase::Search => "",
            Phase::Simplify => "violated; looking for a simpler counterexample: ",
        };
        let text = format!(
            "{phase}{} states, {}/s, depth {}, queue {}, {} MB, {:.0} s",
            grouped(progress.states),
            grouped(progress.rate() as u64),
            grouped(progress.depth),
            grouped(progress.queue),
            grouped((progress.memory >> 20) as u64),
            progress.elapsed.as_secs_f64(),
        );
        self.write(&text);
    }

    /// The same of the executions of a program.
    pub(crate) fn show_program(&mut self, progress: preempt_run::Progress) {
        let elapsed = self.begin.elapsed();
        if self.silent || (!self.terminal && self.last.elapsed() < PLAIN_EVERY) {
            return;
        }
        self.last = Instant::now();
        let finished = match progress.finished {
            None => String::new(),
            Some((0, bound)) => format!("bound {bound} is finished, "),
            Some((stale, bound)) => {
                format!("bound {bound} with {} is finished, ", counted(stale, "stale choice"))
            }
        };
        let executions = counted(progress.executions, "execution");
        let text = format!("{}{finished}{executions}, {:.0} s", self.before, elapsed.as_secs_f64());
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        let mut error = std::io::stderr();
        let written = match self.terminal {
            true => write!(error, "\r{text}\x1b[K"),
            false => writeln!(error, "{text}"),
        };
        self.shown |= written.is_ok();
    }

    /// The same of a symbolic search, on a terminal only.
    pub(crate) fn show_symbolic(&mut self, progress: &preempt_bool::Progress) {
        if self.silent || !self.terminal {
            return;
        }
        let written = write!(
            std::io::stderr(),
            "\r{}: {} switches, {} in memory, {:.0} s\x1b[K",
            progress.method,
            progress.switches,
            grouped(progress.size),
            progress.seconds
        );
        self.shown |= written.is_ok();
    }

    /// Removes the line from the terminal. Another search may follow.
    pub(crate) fn clear(&mut self) {
        if self.shown && self.terminal {
            let _ = write!(std::io::stderr(), "\r{}\x1b[K", self.before);
        }
        self.shown = false;
        self.last = Instant::now();
    }
}
