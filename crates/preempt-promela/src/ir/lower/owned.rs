//! Variables that are declared `local`: the author's promise that one process alone uses them.
//!
//! Spin believes the promise: steps on such a variable are merged and taken alone, and where it is false violations
//! are missed. Here it is believed where the text shows that it is true: one process type names the variable, and
//! there is at most one process of that type. Otherwise the variable is a global one, and a note says so.

use super::Lowering;
use crate::model::{Model, Visibility};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Which process types use which globals, and which start others.
#[derive(Default)]
pub(super) struct Users {
    of: BTreeMap<u32, BTreeSet<usize>>,
    runs: Vec<Run>,
    jumps: HashSet<usize>,
    /// How many loops are open in the text.
    pub(super) loops: usize,
}

/// A `run` in the text.
struct Run {
    started: usize,
    by: Option<usize>,
    in_loop: bool,
}

impl Users {
    /// Stands for any process but the one at hand.
    pub(super) const SOME_OTHER: usize = usize::MAX;

    /// A global is used; claims, which are no process, do not count.
    pub(super) fn uses(&mut self, global: u32, process: Option<usize>) {
        if let Some(process) = process {
            self.of.entry(global).or_default().insert(process);
        }
    }

    pub(super) fn runs(&mut self, started: usize, by: Option<usize>) {
        self.runs.push(Run { started, by, in_loop: self.loops > 0 });
    }

    /// A process type jumps, perhaps back.
    pub(super) fn jump(&mut self, process: Option<usize>) {
        self.jumps.extend(process);
    }

    /// Whether the text shows that there is at most one process of a type. `depth` bounds the chain of starts.
    fn is_single(&self, model: &Model, proctype: usize, depth: usize) -> bool {
        let mut runs = self.runs.iter().filter(|run| run.started == proctype);
        match (model.proctypes[proctype].active, runs.next(), runs.next()) {
            (0 | 1, None, _) => true,
            (0, Some(Run { by: Some(by), in_loop: false, .. }), None) => {
                depth > 0 && !self.jumps.contains(by) && self.is_single(model, *by, depth - 1)
            }
            _ => false,
        }
    }

    /// Whether the text shows that one process alone uses a global.
    fn has_one_user(&self, model: &Model, global: u32) -> bool {
        let Some(users) = self.of.get(&global) else { return true };
        match users.first() {
            Some(only) if users.len() == 1 && *only < model.proctypes.len() => {
                self.is_single(model, *only, model.proctypes.len())
            }
            _ => false,
        }
    }

    /// Whether the promise of `local` is made for a global, and the text shows that it is true. C may use whatever it likes.
    pub(super) fn is_owned(&self, model: &Model, global: u32) -> bool {
        model.globals[global as usize].visibility == Visibility::Local
            && model.embedded.is_empty()
            && self.has_one_user(model, global)
    }
}

impl Lowering<'_> {
    /// Says which promises are not believed.
    pub(super) fn note_shared_locals(&mut self) {
        let model = self.model;
        for (at, variable) in model.globals.iter().enumerate() {
            let users = &self.facts.users;
            if variable.visibility != Visibility::Local || users.is_owned(model, at as u32) {
                continue;
            }
            let named = users.of.get(&(at as u32)).into_iter().flatten();
            let named: Vec<String> = named
                .filter_map(|user| model.proctypes.get(*user))
                .map(|proctype| format!("`{}`", proctype.name.trim_matches(':')))
                .collect();
            let why = match &named[..] {
                _ if !model.embedded.is_empty() => "C may use it".into(),
                [only] => format!("several processes of type {only} may use it"),
                _ => format!("processes of several types use it ({})", named.join(", ")),
            };
            self.program.notes.push(format!(
                "`{}` is declared `local`, but {why}: it is treated like any other global variable",
                variable.name
            ));
        }
    }
}
