//! Cargo's words and ours: `preempt cargo test [CARGO OPTIONS] [FILTER] [-- OPTIONS]`.
//!
//! Everything before `--` is cargo's and goes to it as it is, but for the few words that decide where and what is
//! built, which this command decides. The filter is the one word of cargo's that is no option and no option's value.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `cargo test`
    Test,
    /// `cargo run`
    Run,
    /// `cargo nextest run`
    Nextest,
}

/// A command line, in parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// What is asked for.
    pub kind: Kind,
    /// For cargo.
    pub cargo: Vec<OsString>,
    /// Words before `--` that select tests.
    pub filters: Vec<String>,
    /// Everything after `--`.
    pub own: Vec<OsString>,
    /// `--target-dir`
    pub target_folder: Option<PathBuf>,
    /// `--manifest-path`
    pub manifest: Option<PathBuf>,
    /// `--no-run`: build and do nothing else.
    pub only_build: bool,
    /// Whether an option selects what is built.
    pub(crate) selects: bool,
}

impl Line {
    /// What was asked of cargo, without the filters, to be asked again.
    pub fn for_cargo(&self) -> String {
        let word = match self.kind {
            Kind::Test => "test",
            Kind::Run => "run",
            Kind::Nextest => "nextest run",
        };
        let mut text = word.to_string();
        let mut add = |word: &OsStr| {
            let word = word.to_string_lossy();
            let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:@+".contains(c);
            match word.chars().all(is_plain) && !word.is_empty() {
                true => text.push_str(&format!(" {word}")),
                false => text.push_str(&format!(" '{}'", word.replace('\'', "'\\''"))),
            }
        };
        self.cargo.iter().for_each(|word| add(word));
        if let Some(folder) = &self.target_folder {
            add(OsStr::new("--target-dir"));
            add(folder.as_os_str());
        }
        text
    }
}

/// Options of cargo that take a value as the next word.
const WITH_VALUE: [&str; 24] = [
    "-p",
    "--package",
    "--exclude",
    "-j",
    "--jobs",
    "-F",
    "--features",
    "--profile",
    "--target",
    "--target-dir",
    "--manifest-path",
    "--lockfile-path",
    "--message-format",
    "--color",
    "--config",
    "-Z",
    "-C",
    "--bin",
    "--example",
    "--test",
    "--bench",
    "--timings-format",
    "--artifact-dir",
    "--build-dir",
];

/// Options that select what is built.
const SELECTING: [&str; 10] = [
    "--lib",
    "--bins",
    "--bin",
    "--examples",
    "--example",
    "--tests",
    "--test",
    "--benches",
    "--bench",
    "--all-targets",
];

/// Takes a command line apart, or says what is wrong with it.
pub fn split(words: &[OsString]) -> Result<Line, String> {
    let (first, rest) = words.split_first().ok_or_else(usage)?;
    let (kind, rest) = match (first.to_str(), rest.split_first()) {
        (Some("test" | "t"), _) => (Kind::Test, rest),
        (Some("run" | "r"), _) => (Kind::Run, rest),
        (Some("nextest"), Some((word, rest))) if word == "run" || word == "r" => {
            (Kind::Nextest, rest)
        }
        (Some("nextest"), _) => return Err("of nextest, `nextest run` is supported".into()),
        _ => return Err(format!("there is no `cargo {}` here; {}", first.display(), usage())),
    };
    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let (before, after) = rest.split_at(end);
    let own = after.iter().skip(1).cloned().collect();
    let mut line = Line {
        kind,
        cargo: Vec::new(),
        filters: Vec::new(),
        own,
        target_folder: None,
        manifest: None,
        only_build: false,
        selects: false,
    };
    let mut words = before.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let (name, joined) = match text.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value)),
            _ => (&*text, None),
        };
        line.selects |= SELECTING.contains(&name);
        let mut value = || -> Result<OsString, String> {
            match joined {
                Some(value) => Ok(value.into()),
                None => words.next().cloned().ok_or_else(|| format!("{name} needs a value")),
            }
        };
        match name {
            "--target-dir" => line.target_folder = Some(value()?.into()),
            "--target" => {
                let target = value()?;
                if target != OsStr::new(crate::toolchain::TARGET) {
                    let only = crate::toolchain::TARGET;
                    return Err(format!("programs can be run on {only} only"));
                }
            }
            "--manifest-path" => {
                let value = value()?;
                line.manifest = Some(value.clone().into());
                line.cargo.extend([name.into(), value]);
            }
            // It has many options of its own, and selects tests itself.
            _ if kind == Kind::Nextest => line.cargo.push(word.clone()),
            "--doc" => {
                return Err("documentation tests are not run here; leave out --doc".into());
            }
            "--no-run" => line.only_build = true,
            "--no-fail-fast" => {}
            _ if WITH_VALUE.contains(&name) => {
                let value = value()?;
                line.cargo.extend([name.into(), value]);
            }
            _ if name.starts_with('-') => line.cargo.push(word.clone()),
            _ if kind == Kind::Test => line.filters.push(text.into_owned()),
            _ => {
                return Err(format!(
                    "`{text}` is no option of cargo; the program's own arguments come after a second --"
                ));
            }
        }
    }
    Ok(line)
}

fn usage() -> String {
    "use `preempt cargo test`, `preempt cargo nextest run` or `preempt cargo run`, with cargo's \
     options, and after -- those of preempt"
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Line, String> {
        split(&text.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    fn joined(words: &[OsString]) -> String {
        words.join(OsStr::new(" ")).to_string_lossy().into_owned()
    }

    #[test]
    fn the_filter_is_what_no_option_takes() {
        let line = line("test -p a --test it --features x,y queue --release -- --time 5s").unwrap();
        assert_eq!(line.filters, ["queue"]);
        assert_eq!(joined(&line.cargo), "-p a --test it --features x,y --release");
        assert_eq!(joined(&line.own), "--time 5s");
    }

    #[test]
    fn a_selection_is_noticed() {
        assert!(!line("test --release -p lib").unwrap().selects);
        assert!(line("test --lib").unwrap().selects);
        assert!(line("test --test=a").unwrap().selects);
        assert_eq!(joined(&line("test --test=a").unwrap().cargo), "--test a");
        assert_eq!(joined(&line("run --example a").unwrap().cargo), "--example a");
    }

    #[test]
    fn what_this_command_decides_is_not_cargo_s() {
        let line = line("t --target-dir /x --manifest-path=a/Cargo.toml --no-run").unwrap();
        assert_eq!(line.target_folder.as_deref(), Some("/x".as_ref()));
        assert_eq!(line.manifest.as_deref(), Some("a/Cargo.toml".as_ref()));
        assert!(line.only_build);
        assert_eq!(joined(&line.cargo), "--manifest-path a/Cargo.toml");
    }

    #[test]
    fn nextest_has_its_own_options() {
        let line = line("nextest run -E test(x) --target-dir /x a b -- --time 5s").unwrap();
        assert_eq!(line.kind, Kind::Nextest);
        assert_eq!(joined(&line.cargo), "-E test(x) a b");
        assert_eq!(joined(&line.own), "--time 5s");
        assert!(line.filters.is_empty());
    }

    #[test]
    fn wrong_lines_are_refused() {
        for text in [
            "",
            "bench",
            "nextest",
            "nextest list",
            "test --doc",
            "test --target wasm32-unknown-unknown",
            "test -p",
            "run x",
        ] {
            assert!(line(text).is_err(), "{text}");
        }
    }
}
