//! Pieces of C: what they may end with, and where they find the state.

use super::storage::{Home, too_large};
use super::{LowerError, Lowering};
use crate::embedded::{Ending, FragmentId, Library, Scope, TrackedDeclaration};
use crate::ir::{Cell, FaultEntry, FaultId, FragmentRef, Mirror, Named, NamedValue, Space};
use crate::model::{Model, Type, Variable};
use crate::syntax::span::Span;
use crate::syntax::{Diagnostic, codes};
use preempt_core::FaultKind;
use std::ops::Range;

/// A model with C can only run once that is compiled.
pub(super) fn demand_library(model: &Model) -> Result<(), LowerError> {
    let embedded = &model.embedded;
    if embedded.is_empty() || embedded.compiled.is_some() {
        return Ok(());
    }
    let texts = embedded.declarations.iter().chain(&embedded.functions);
    let fragments = embedded.fragments.iter().map(|fragment| &fragment.text);
    let mut spans = texts.chain(fragments).map(|text| text.span);
    let tracked = embedded.states.iter().map(|state| state.span);
    let span = spans.next().or(tracked.chain(embedded.tracks.iter().map(|t| t.span)).next());
    let message = "the model contains C, which was not compiled";
    Err(Diagnostic::error(codes::UNCOMPILED, span.unwrap_or_default(), message).into())
}

/// Whether C may keep the address of a variable of a process from one step to another: it has memory that may hold one, and
/// takes an address (`&`, or the name of an array or structure). A process may then use the memory of others.
fn may_reach_other_processes(model: &Model) -> bool {
    let embedded = &model.embedded;
    let has_variables =
        embedded.compiled.as_ref().is_some_and(|library| !library.0.untracked().0.is_empty());
    if embedded.states.is_empty() && embedded.tracks.is_empty() && !has_variables {
        return false;
    }
    let states = embedded.states.iter().filter(|state| matches!(state.scope, Scope::Local(_)));
    let is_wide = |v: &&Variable| v.array.is_some() || matches!(v.ty, Type::Struct(_));
    let locals = model.proctypes.iter().flat_map(|proctype| &proctype.locals).filter(is_wide);
    let mut wide: Vec<&str> = vec!["_this"];
    wide.extend(states.map(TrackedDeclaration::name));
    wide.extend(locals.map(|variable| variable.name.as_str()));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let texts = embedded.declarations.iter().chain(&embedded.functions);
    texts.chain(embedded.fragments.iter().map(|fragment| &fragment.text)).any(|text| {
        text.text.replace("&&", "").contains('&')
            || text.text.split(|c| !is_word(c)).any(|word| wide.contains(&word))
    })
}

impl<'m> Lowering<'m> {
    pub(super) fn compiled(&self) -> Option<&'m dyn Library> {
        self.model.embedded.compiled.as_ref().map(|library| &*library.0)
    }

    /// Room for the bytes of C in the global part, or in the frame of a process type.
    pub(super) fn place_tracked(
        &self,
        process: Option<usize>,
        end: &mut u32,
    ) -> Result<Range<u32>, LowerError> {
        let start = *end;
        let bytes = self.compiled().map_or(0, |library| match process {
            Some(process) => library.initial_local(process).len(),
            None => library.initial().len(),
        });
        *end = u32::try_from(bytes)
            .ok()
            .and_then(|bytes| start.checked_add(bytes))
            .filter(|end| *end < 1 << 20)
            .ok_or_else(|| {
                let states = self.model.embedded.states.iter().map(|state| state.span);
                let tracks = self.model.embedded.tracks.iter().map(|track| track.span);
                let span = tracks.chain(states).next().unwrap_or_default();
                too_large("the memory that C has in the state is too large", span)
            })?;
        Ok(start..*end)
    }

    /// Says where the variables lie that C sees.
    pub(super) fn mirror_variables(&mut self) {
        let Some(compiled) = self.model.embedded.compiled.clone() else { return };
        let mut globals = Vec::new();
        for (index, variable) in self.model.globals.iter().enumerate() {
            match self.storage.globals[index] {
                Home::At(offset) => {
                    globals.extend(self.cells(Space::Global, variable, offset));
                }
                Home::Fixed(first) => {
                    let ids = first + 1..=first + variable.array.unwrap_or(1);
                    globals.extend(ids.map(|id| Cell::Known(id as i32)));
                }
                Home::Hidden => {}
            }
        }
        let mut locals = Vec::new();
        for (index, proctype) in self.model.proctypes.iter().enumerate() {
            let mut cells = Vec::new();
            for (variable, home) in proctype.locals.iter().zip(&self.storage.locals[index]) {
                if let Home::At(offset) = home {
                    cells.extend(self.cells(Space::Local, variable, *offset));
                }
            }
            locals.push(cells);
        }
        let tracked = self.storage.tracked.clone();
        let unmatched = tracked.start + compiled.0.matched() as u32..tracked.end;
        let local_tracked = self.storage.local_tracked.clone();
        let beside = u32::from(self.options.count_claim);
        let reaches_others = may_reach_other_processes(self.model);
        self.program.embedded = Some(Mirror {
            compiled,
            globals,
            tracked,
            unmatched,
            locals,
            local_tracked,
            beside,
            reaches_others,
        });
        self.note_limits();
    }

    /// The scalars of a variable, in order.
    fn cells(&self, space: Space, variable: &Variable, offset: u32) -> Vec<Cell> {
        let mut names: Vec<Named> = Vec::new();
        self.name(space, "", variable, offset, &mut names);
        let cell = |named: Named| match named.value {
            NamedValue::Number(place) | NamedValue::ChannelAt(place) => {
                Cell::Stored(place.kind, place.offset)
            }
            NamedValue::Channel(index) => Cell::Known(index as i32 + 1),
        };
        names.into_iter().map(cell).collect()
    }

    /// What is not as in Spin, or no matter of the state.
    fn note_limits(&mut self) {
        let embedded = &self.model.embedded;
        if embedded.tracks.iter().any(|track| !track.matched) {
            self.program.notes.push(
                "c_track with \"UnMatched\": a depth-first search takes states that differ only in this memory for one, so the answer holds only if nothing depends on it; other searches tell them apart".into(),
            );
        }
        let (untracked, restored) = self.compiled().map_or((&[][..], true), Library::untracked);
        if !untracked.is_empty() {
            let what = match restored {
                true => "are restored, but a depth-first search does not compare them",
                false => "are no part of the state and not restored, because C uses the heap",
            };
            self.program.notes.push(format!(
                "C variables that are not tracked (c_track) {what}, so the answer holds only if nothing depends on them alone: {}",
                untracked.join(", ")
            ));
        }
        for state in embedded.states.iter().filter(|state| state.scope == Scope::Hidden) {
            self.program.notes.push(format!(
                "c_state `{}` is \"Hidden\": it is no part of the state, so the answer holds only if nothing depends on it",
                state.declaration.trim()
            ));
        }
    }

    /// A piece of C with what is reported when it does not come to its end.
    pub(super) fn fragment(&mut self, fragment: FragmentId, span: Span) -> FragmentRef {
        let guard = self.model.embedded.fragments[fragment.0 as usize].guard.clone();
        let guard = guard.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let fault = FaultId(self.program.faults.len() as u32);
        for ending in Ending::ALL {
            let message = match ending {
                Ending::Precondition => format!("precondition of C code is false: {guard}"),
                Ending::Assertion => "assertion violated in C code".into(),
                Ending::InvalidMemory => "C code uses invalid memory (SIGSEGV)".into(),
                Ending::Arithmetic => "division by zero in C code (SIGFPE)".into(),
                Ending::Abort => "C code calls abort".into(),
                Ending::IllegalInstruction => "illegal instruction in C code (SIGILL)".into(),
                Ending::Exit => "C code calls exit".into(),
                Ending::Reported => "C code reports an error (uerror)".into(),
            };
            self.program.faults.push(FaultEntry { kind: FaultKind::Runtime, message, span });
        }
        FragmentRef { fragment, fault }
    }
}
