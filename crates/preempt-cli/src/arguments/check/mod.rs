//! The options of `preempt check`, a file for each group; those of models are shared with other commands.

mod boolean;
mod bounds;
mod limits;
mod machines;
mod model;
mod output;
mod properties;
mod search;

pub(crate) use boolean::BooleanArguments;
pub(crate) use bounds::BoundArguments;
pub(crate) use limits::LimitArguments;
pub(crate) use machines::MachineArguments;
pub(crate) use model::ModelArguments;
pub(crate) use output::OutputArguments;
pub(crate) use properties::PropertyArguments;
pub(crate) use search::SearchArguments;

use super::combination::{Combination, OptionFacts, Subject};
use super::files::ModelFiles;
use super::given::Given;
use clap::Args;
use preempt_verify::Request;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

/// All options of `preempt check`.
#[derive(Args, Debug, Clone)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) bounds: BoundArguments,
    #[command(flatten)]
    pub(crate) search: SearchArguments,
    #[command(flatten)]
    pub(crate) machines: MachineArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    #[command(flatten)]
    pub(crate) properties: PropertyArguments,
    #[command(flatten)]
    pub(crate) boolean: BooleanArguments,
    #[command(flatten)]
    pub(crate) files: ModelFiles,
    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// What was given, and when the command began.
    #[arg(skip)]
    pub(crate) given: Given,
    /// The search goes on from the checkpoint in this folder.
    #[arg(skip)]
    pub(crate) resumed: Option<PathBuf>,
    /// With the options that were given then.
    #[arg(skip)]
    pub(crate) resume_options: Vec<OsString>,
}

impl CheckArguments {
    /// What is known of every option; those of [files](ModelFiles) go together with all others.
    pub(crate) fn options() -> impl Iterator<Item = &'static OptionFacts> {
        let groups = [
            ModelArguments::OPTIONS,
            BoundArguments::OPTIONS,
            SearchArguments::OPTIONS,
            LimitArguments::OPTIONS,
            MachineArguments::OPTIONS,
            PropertyArguments::OPTIONS,
            BooleanArguments::OPTIONS,
            OutputArguments::OPTIONS,
        ];
        groups.into_iter().flatten()
    }

    /// What is asked of the engines.
    pub(crate) fn request(&self) -> Request {
        let mut request = Request::default();
        self.bounds.ask(&mut request);
        self.search.ask(&mut request);
        self.limits.ask(&mut request);
        self.properties.ask(&mut request);
        request
    }

    /// The options that were given, about this subject.
    pub(crate) fn about(&self, subject: Subject) -> Combination<'_> {
        Combination {
            given: &self.given,
            subject,
            iterate: self.bounds.iterate,
            search: self.search.search,
            por: self.search.por,
            store: self.limits.store,
            method: self.boolean.method,
            prints_json: matches!(self.output.json, Some(None)),
        }
    }

    /// When the whole command has to be over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.limits.time.and_then(|limit| self.given.start.checked_add(limit))
    }
}
