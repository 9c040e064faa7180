//! `simulate --interactive` on a terminal: the source, the path walked, variables and watches, and the steps that are
//! possible with what each would change and whether it costs a preemption.
//!
//! [`session`] holds what is going on and obeys keys, [`draw`] shows it; neither knows a terminal, so both are tested
//! without one. Here is the loop between them. **Invariant:** the terminal is given back as it was, also when something
//! goes wrong.

mod draw;
mod session;

pub(crate) use session::Subject;

use crate::failure::Failure;
use crate::terminal::INTERRUPTED;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use session::{Key, Session};
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Whether there is a screen to draw on.
pub(crate) fn is_possible() -> bool {
    std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Runs a session until the user ends it.
pub(crate) fn run(subject: Subject<'_>) -> Result<(), Failure> {
    let mut session = Session::new(subject);
    let failed =
        |error: std::io::Error| Failure::Input(format!("cannot use the terminal: {error}"));
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let ended = loop {
        if let Err(error) = terminal.draw(|frame| draw::draw(frame, &session)) {
            break Err(error);
        }
        if INTERRUPTED.load(Ordering::Relaxed) || session.is_over() {
            break Ok(());
        }
        match event::poll(Duration::from_millis(200))
            .and_then(|ready| ready.then(event::read).transpose())
        {
            Ok(Some(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                session.press(Key::of(key));
            }
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    ratatui::restore();
    ended.map_err(failed)
}
