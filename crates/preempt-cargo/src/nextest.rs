//! In front of the tests that `cargo nextest run` starts: one process lists the tests of a program, or searches one of them.
//!
//! nextest knows two outcomes, so whatever is not explored is a failure, as everywhere by its exit code.

pub use crate::variables::NEXTEST as IN_FRONT;

use crate::project::foreign;
use crate::recorder::Program;
use crate::selection::Test;
use crate::variables::{self, SEPARATOR};
use std::ffi::OsString;
use std::path::Path;

/// What nextest asks for.
pub enum Asked {
    /// The names of the tests, in its form.
    List(String),
    /// This test of this program is to be searched.
    Search(Box<Program>, Test),
}

/// What is asked of the search, and the libraries in other languages that are linked.
pub struct Given {
    /// Words for the search.
    pub own: Vec<OsString>,
    /// Names of libraries.
    pub foreign: Vec<String>,
}

/// What the command that started nextest was given.
pub fn given() -> Given {
    let text = std::env::var(variables::OPTIONS).unwrap_or_default();
    let words = text.split(SEPARATOR).filter(|word| !word.is_empty());
    let file = std::env::var_os(variables::FOREIGN).unwrap_or_default();
    Given { own: words.map(Into::into).collect(), foreign: foreign(Path::new(&file)) }
}

/// What nextest asks for by these words, a program and its arguments.
pub fn asked(words: &[OsString]) -> Result<Asked, String> {
    let mut program = Program::here(words).ok_or("nextest has named no program")?;
    program.is_test = true;
    let words = std::mem::take(&mut program.arguments);
    let has = |flag: &str| words.iter().any(|word| word == flag);
    let tests = program.tests()?;
    if has("--list") {
        let wanted = tests.iter().filter(|test| test.ignored || !has("--ignored"));
        return Ok(Asked::List(wanted.map(|test| format!("{}: test\n", test.name)).collect()));
    }
    let is_named = |test: &Test| words.iter().any(|word| word.to_str() == Some(&test.name));
    match tests.into_iter().find(is_named) {
        Some(test) => Ok(Asked::Search(Box::new(program), test)),
        None => Err("nextest has named a test that there is not".into()),
    }
}
