//! Rust tests and C programs in the editor: lenses that search their schedules, and the values of the execution that fails.
//!
//! Everything else about such texts belongs to the servers of their languages. A test is compiled from its file, so what is
//! checked is what was saved.

use preempt_core::Claim;
use preempt_launch::{Kind, Language, Launch, Limits, Test, tests};
use preempt_report::Source;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Headers of programs that have threads; over the `main` of others there is no lens.
const WITH_THREADS: [&str; 7] = [
    "<pthread.h>",
    "<threads.h>",
    "<stdatomic.h>",
    "<thread>",
    "<atomic>",
    "<mutex>",
    "<condition_variable>",
];

/// The tests of a text over which there is a lens: those of the std facade, and programs with threads.
pub(crate) fn offered(language: Language, text: &str) -> Vec<Test> {
    let is_wanted = |test: &Test| match test.kind {
        Kind::Facade => true,
        Kind::Program => WITH_THREADS.iter().any(|header| text.contains(header)),
        Kind::Plain => false,
    };
    tests(language, text).into_iter().filter(is_wanted).collect()
}

/// Compiles and searches a test: the claim, and the texts that its execution points into.
pub(crate) fn check(
    path: &str,
    text: &str,
    wanted: Option<&str>,
    preempt: &Path,
    time: Duration,
    cancel: &AtomicBool,
) -> Result<(Claim, Vec<Source>), String> {
    let file = PathBuf::from(path);
    if std::fs::read_to_string(&file).ok().as_deref() != Some(text) {
        return Err("save the file first: it is compiled from the disk".into());
    }
    let language = Language::of(&file).ok_or("this is no program")?;
    let test = tests(language, text).into_iter().find(|test| Some(test.name.as_str()) == wanted);
    let test = test.ok_or("there is no such test any more")?;
    let launch = Launch { preempt: preempt.to_path_buf(), file, test };
    let answer = launch.run(&Limits { time: Some(time), bound: None }, cancel)?;
    let mut sources = answer.execution.map_or_else(Vec::new, |execution| execution.sources);
    if !sources.iter().any(|source| source.file == path) {
        sources.push(Source { file: path.into(), text: text.into() });
    }
    Ok((answer.claim, sources))
}

/// The word at a byte of a text, with its place.
pub(crate) fn word_at(text: &str, offset: usize) -> Option<(std::ops::Range<usize>, &str)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let (before, behind) = (text.get(..offset)?, text.get(offset..)?);
    let begin = offset
        - before.chars().rev().take_while(|c| is_letter(*c)).map(char::len_utf8).sum::<usize>();
    let end =
        offset + behind.chars().take_while(|c| is_letter(*c)).map(char::len_utf8).sum::<usize>();
    (begin < end).then(|| (begin..end, &text[begin..end]))
}

#[cfg(test)]
mod lenses {
    use super::*;

    #[test]
    fn words_are_found_at_all_their_letters() {
        let text = "let ändern = counter;";
        for (offset, wanted) in [(4, "ändern"), (7, "ändern"), (14, "counter"), (21, "counter")] {
            assert_eq!(word_at(text, offset).unwrap().1, wanted);
        }
        assert!(
            word_at(text, 12).is_none()
                && word_at(text, 5).is_none()
                && word_at(text, 99).is_none()
        );
    }

    #[test]
    fn tests_of_others_have_no_lens() {
        assert!(offered(Language::Rust, "#[test]\nfn plain() {}").is_empty());
        assert!(offered(Language::C, "int main(void) {}").is_empty());
        assert_eq!(offered(Language::C, "#include <pthread.h>\nint main(void) {}")[0].line, 2);
        assert_eq!(offered(Language::Rust, "#[preempt::test]\nfn own() {}")[0].name, "own");
    }
}
