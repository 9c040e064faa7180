//! One trace, many looks.
//!
//! Engines hand over a [`preempt_core::Claim`]; this crate turns it into something a person or a
//! program can read: [`summary`] (the verdict and Spin's familiar block of numbers), [`spin`] (all of
//! Spin's report), [`lanes`] (a column per process in a terminal), [`json`] and [`SavedTrace`] (machine-readable, schema version
//! 1), [`chart`] (message sequence charts), [`graph`] (small state graphs), [`page`] (one self-contained HTML page) and
//! with the feature `drawing` pictures of states that the user draws. Everything is text in, text out: no IO, no terminal detection, no
//! environment variables; the caller decides about width and colour.
//!
//! ```
//! use preempt_core::{Change, Switch, Trace, TraceStep, Value};
//! use preempt_report::{Look, lanes};
//!
//! let step = TraceStep {
//!     process: "P".into(),
//!     pid: 0,
//!     partner: None,
//!     file: "p.pml".into(),
//!     line: 3,
//!     text: "x = 1".into(),
//!     switch: Switch::None,
//!     changes: vec![Change {
//!         name: "x".into(),
//!         from: Some(Value::Int(0)),
//!         to: Some(Value::Int(1)),
//!     }],
//!     output: String::new(),
//! };
//! let trace = Trace { steps: vec![step], ..Trace::default() };
//! let text = lanes::render(&trace, None, &Look::plain(60));
//! assert!(text.contains("x: 0 -> 1"));
//! ```

#![forbid(unsafe_code)]

mod cast;
pub mod chart;
#[cfg(feature = "drawing")]
pub mod drawing;
mod fit;
pub mod graph;
#[cfg(feature = "json")]
pub mod json;
pub mod keys;
pub mod lanes;
mod link;
mod look;
mod message;
mod moment;
mod page;
mod plain_json;
#[cfg(feature = "json")]
mod saved;
pub mod spin;
pub mod summary;
mod words;
mod xml;

pub use cast::{Cast, CastMember};
pub use fit::visible;
pub use link::links;
pub use look::Look;
pub use message::{Event, Message, messages};
pub use moment::{Moment, MomentKind, moments};
pub use page::{Drawn, Page, Source, page};
#[cfg(feature = "json")]
pub use saved::{SavedTrace, SavedTraceError};
pub use words::{Wait, change_words, reasons, remarks, seen_words, wait, waits};

/// A form in which a claim is written to a file. Commands have an option for each.
pub struct Format {
    /// Its name, which is that of the option.
    pub name: &'static str,
    /// What the option does, for the help.
    pub about: &'static str,
    /// Whether it says something about an execution of a program, too, or of models only.
    pub suits_programs: bool,
    /// The text; `None` where only a counterexample has this form, and there is none.
    pub render: fn(&Page<'_>) -> Option<String>,
}

/// The forms that there are. One more is a row here, and the file that renders it.
pub const FORMATS: &[Format] = &[
    Format {
        name: "html",
        about: "Write the counterexample as a self-contained HTML page",
        suits_programs: true,
        render: |shown| Some(page(shown)),
    },
    Format {
        name: "msc",
        about: "Write the message sequence chart of the counterexample (.svg)",
        suits_programs: false,
        render: |shown| {
            shown.claim.violation.as_ref().map(|violation| chart::svg(&violation.trace))
        },
    },
];
