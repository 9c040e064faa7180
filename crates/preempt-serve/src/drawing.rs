//! The user's drawing of a state, in a file beside the model: read again when it changes, and its expressions evaluated in
//! the states that the page looks at.
//!
//! An expression that is the name of a variable has the variable's value, so that names and messages are shown as they
//! are elsewhere, and programs without expressions can be drawn; anything else is an expression of the model.

use crate::show;
use crate::subject::{Evaluate, Subject};
use preempt_core::{System, Value as Shown};
use preempt_report::Drawn;
use preempt_report::drawing::{Drawing, beside};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::OnceLock;

/// Larger files are no drawings.
const LARGEST: u64 = 4 << 20;

/// The drawing of a model.
pub(crate) struct Picture {
    file: String,
    /// Its elements for the page, or what is wrong with the file.
    drawing: Result<Drawing, String>,
    compiled: OnceLock<Vec<Result<Evaluate, String>>>,
}

impl Picture {
    /// The drawing beside a model's file.
    pub(crate) fn beside(model: Option<&Path>) -> Option<Picture> {
        let path = beside(model?);
        let file = path.display().to_string();
        let drawing = match std::fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Ok(about) if about.len() > LARGEST => Err(format!("{file} is too large")),
            _ => match std::fs::read_to_string(&path) {
                Ok(text) => Drawing::read(&text)
                    .map_err(|error| format!("{file}, line {}: {}", error.line, error.message)),
                Err(error) => Err(format!("cannot read {file}: {error}")),
            },
        };
        Some(Picture { file, drawing, compiled: OnceLock::new() })
    }

    /// What the page builds once.
    pub(crate) fn scene(&self) -> Value {
        match &self.drawing {
            Ok(drawing) => match serde_json::from_str::<Value>(&drawing.scene) {
                Ok(scene) => json!({ "file": self.file, "scene": scene }),
                Err(error) => json!({ "file": self.file, "problem": error.to_string() }),
            },
            Err(problem) => json!({ "file": self.file, "problem": problem }),
        }
    }

    /// The values in a state, and what has none because it is not understood.
    pub(crate) fn values(&self, subject: &dyn Subject, system: &dyn System, state: &[u8]) -> Value {
        let Ok(drawing) = &self.drawing else { return Value::Null };
        let (mut values, mut problems) = (Vec::new(), Vec::new());
        for ((text, line), found) in
            drawing.expressions.iter().zip(self.each(drawing, subject, system, state))
        {
            match found {
                Ok(found) => values.push(found.as_ref().map(show::value)),
                Err(problem) => {
                    values.push(None);
                    problems.push(format!("{}, line {line}: `{text}`: {problem}", self.file));
                }
            }
        }
        json!({ "values": values, "problems": problems })
    }

    /// The same along an execution, for a page.
    pub(crate) fn along<'s>(
        &self,
        subject: &dyn Subject,
        system: &dyn System,
        states: impl Iterator<Item = &'s [u8]>,
    ) -> Option<Drawn> {
        let drawing = self.drawing.as_ref().ok()?;
        let values = |state: &[u8]| {
            let each = self.each(drawing, subject, system, state);
            each.into_iter().map(|found| found.ok().flatten()).collect()
        };
        Some(Drawn { scene: drawing.scene.clone(), values: states.map(values).collect() })
    }

    fn each(
        &self,
        drawing: &Drawing,
        subject: &dyn Subject,
        system: &dyn System,
        state: &[u8],
    ) -> Vec<Result<Option<Shown>, String>> {
        let compiled = self.compiled.get_or_init(|| {
            drawing.expressions.iter().map(|(text, _)| subject.compile(text)).collect()
        });
        let variables: HashMap<String, Shown> = system.variables(state).into_iter().collect();
        let one = |((text, _), compiled): (&(String, u32), &Result<Evaluate, String>)| match (
            variables.get(text),
            compiled,
        ) {
            (Some(value), _) => Ok(Some(value.clone())),
            (None, Ok(evaluate)) => Ok(evaluate(state).map(Shown::Int)),
            (None, Err(problem)) => Err(problem.clone()),
        };
        drawing.expressions.iter().zip(compiled).map(one).collect()
    }
}

/// Something that differs after a change of the drawing.
pub(crate) fn stamp(model: Option<&Path>) -> u64 {
    let about = model.and_then(|model| std::fs::metadata(beside(model)).ok());
    let mut hasher = DefaultHasher::new();
    about.map(|about| (about.modified().ok(), about.len())).hash(&mut hasher);
    hasher.finish()
}
