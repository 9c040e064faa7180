//! What a command was probably meant to be, where it gets a file that another command takes.

use crate::failure::Failure;
use std::ffi::OsString;
use std::path::Path;

/// What a file is, as far as its name and its first bytes tell.
enum Kind {
    Model,
    C,
    CPlusPlus,
    Rust,
    Crate,
    Program,
    Folder,
}

impl Kind {
    fn of(path: &Path) -> Kind {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("c") if !is_promela(path) => Kind::C,
            Some("cc" | "cpp" | "cxx" | "c++" | "C") => Kind::CPlusPlus,
            Some("rs") => Kind::Rust,
            Some("toml") if path.ends_with("Cargo.toml") => Kind::Crate,
            _ if path.join("Cargo.toml").is_file() => Kind::Crate,
            _ if path.is_dir() => Kind::Folder,
            _ if is_executable(path) => Kind::Program,
            _ => Kind::Model,
        }
    }

    /// What it is and what to do with it; nothing for a model.
    fn advice(&self, path: &Path) -> Option<String> {
        let file = path.display();
        let program = path.with_extension("");
        let compile = |compiler: &str| {
            format!(
                "compile it with `preempt {compiler} -g {file} -o {0}`, then run `preempt run -- ./{0}`",
                program.display()
            )
        };
        Some(match self {
            Kind::Model => return None,
            Kind::C => format!("{file} is a C program: {}", compile("cc")),
            Kind::CPlusPlus => format!("{file} is a C++ program: {}", compile("c++")),
            Kind::Rust => format!(
                "{file} is Rust: `preempt cargo test` checks the tests of its crate as they are, `preempt cargo run` a \
                 program; the chapter \"Any Rust crate, as it is\" of the book explains both"
            ),
            Kind::Crate => {
                format!("{file} is a Rust crate: run `preempt cargo test` in its folder")
            }
            Kind::Program => {
                format!("{file} is a program: run `preempt run -- {}`", as_command(path))
            }
            Kind::Folder => format!("{file} is a folder: name a model in it"),
        })
    }
}

/// A program in this folder needs its `./`.
fn as_command(path: &Path) -> String {
    match path.components().count() {
        1 => format!("./{}", path.display()),
        _ => path.display().to_string(),
    }
}

/// Any name will do for a model.
fn is_promela(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.contains("proctype"))
}

fn is_executable(path: &Path) -> bool {
    use std::io::Read;
    let mut first = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"\x7fELF"
}

/// Refuses what is no model, and names the command that takes it.
pub(crate) fn a_model(path: &Path) -> Result<(), Failure> {
    match Kind::of(path).advice(path) {
        Some(advice) => Err(Failure::Input(advice)),
        None => Ok(()),
    }
}

/// What to say about a command line that cannot be read, if a file in it tells what was meant: `preempt FILE`,
/// `preempt run FILE.c`.
pub(crate) fn command(words: &[OsString]) -> Option<String> {
    let file = match words {
        [_, file] => file,
        [_, run, file, ..] if run == "run" => file,
        _ => return None,
    };
    let path = Path::new(file);
    if !path.exists() {
        return None;
    }
    let is_run = words.get(1).is_some_and(|word| word == "run");
    Kind::of(path).advice(path).or_else(|| {
        (!is_run)
            .then(|| format!("a command is missing: `preempt check {}` checks it", path.display()))
    })
}
