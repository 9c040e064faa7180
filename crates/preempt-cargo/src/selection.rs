//! Which tests a program has, and which of them are wanted.

use crate::recorder::Program;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A test of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Its name, as `cargo test` shows it; of a program without our harness the program's.
    pub name: String,
    /// Whether it is marked `#[ignore]`.
    pub ignored: bool,
    /// Whether the whole program is the test.
    pub is_program: bool,
    /// Where it is.
    pub file: PathBuf,
    /// The line, from 1; 0 where it is unknown.
    pub line: u32,
}

/// Which tests are wanted.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Parts of names, one of which must occur; all tests if empty.
    pub filters: Vec<String>,
    /// Parts of names that must not occur.
    pub skip: Vec<String>,
    /// Names must be as a whole.
    pub exact: bool,
    /// Only those that are marked `#[ignore]`.
    pub only_ignored: bool,
    /// Also those that are marked `#[ignore]`.
    pub with_ignored: bool,
}

impl Selection {
    /// Whether the name is wanted.
    pub fn names(&self, test: &Test) -> bool {
        let matches = |filter: &String| match self.exact {
            true => test.name == *filter,
            false => test.name.contains(filter.as_str()),
        };
        let wanted = self.filters.is_empty() || self.filters.iter().any(matches);
        wanted && !self.skip.iter().any(matches)
    }

    /// Whether a test whose name is wanted is to be run.
    pub fn runs(&self, test: &Test) -> bool {
        match test.ignored {
            true => self.only_ignored || self.with_ignored,
            false => !self.only_ignored || self.with_ignored,
        }
    }
}

/// What our harness writes into programs that it is part of.
const MARK: &[u8] = b"preempt_test_main";

impl Program {
    /// The tests of this program, in the order of their names.
    pub fn tests(&self) -> Result<Vec<Test>, String> {
        let name = self.path.display();
        let bytes =
            std::fs::read(&self.path).map_err(|error| format!("cannot read {name}: {error}"))?;
        if !bytes.windows(MARK.len()).any(|window| window == MARK) {
            // `harness = false`: the program is the test.
            return Ok(vec![self.as_test()]);
        }
        let output = Command::new(&self.path)
            .arg("--preempt-list")
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .map_err(|error| format!("cannot start {name}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{name} does not say which tests it has ({})", output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut tests: Vec<Test> = text.lines().filter_map(read).collect();
        tests.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(tests)
    }

    /// The program itself as a test.
    pub fn as_test(&self) -> Test {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Cargo adds a hash to the names of test programs.
        let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let name = match stem.rsplit_once('-') {
            Some((name, hash)) if is_hash(hash) => name.to_string(),
            _ => stem,
        };
        Test { name, ignored: false, is_program: true, file: PathBuf::new(), line: 0 }
    }
}

fn read(line: &str) -> Option<Test> {
    let mut parts = line.splitn(4, '\t');
    let (ignored, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Test {
        name: parts.next()?.to_string(),
        ignored: ignored == "ignored",
        is_program: false,
        file: file.into(),
        line: line.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, ignored: bool) -> Test {
        Test { name: name.into(), ignored, is_program: false, file: PathBuf::new(), line: 1 }
    }

    #[test]
    fn selections_are_libtest_s() {
        let all = Selection::default();
        assert!(all.names(&test("a::b", false)) && all.runs(&test("a", false)));
        assert!(!all.runs(&test("a", true)));
        let some = Selection { filters: vec!["b".into()], skip: vec!["bc".into()], ..all.clone() };
        assert!(some.names(&test("a::b", false)));
        assert!(!some.names(&test("a::bc", false)) && !some.names(&test("x", false)));
        let exact = Selection { filters: vec!["a::b".into()], exact: true, ..all.clone() };
        assert!(exact.names(&test("a::b", false)) && !exact.names(&test("a::bc", false)));
        let ignored = Selection { only_ignored: true, ..all.clone() };
        assert!(ignored.runs(&test("a", true)) && !ignored.runs(&test("a", false)));
        let both = Selection { with_ignored: true, ..all };
        assert!(both.runs(&test("a", true)) && both.runs(&test("a", false)));
    }

    #[test]
    fn a_line_of_the_harness_is_read() {
        let read = read("ignored\t12\tsrc/lib.rs\ttests::a").unwrap();
        assert_eq!(read, Test { file: "src/lib.rs".into(), line: 12, ..test("tests::a", true) });
    }
}
