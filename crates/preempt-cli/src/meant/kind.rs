//! What a file is, as far as its name and its first bytes tell, and which command takes it.

use std::path::Path;

/// What a file is.
pub(super) enum Kind {
    Model,
    C,
    CPlusPlus,
    Rust,
    Crate,
    Program,
    Page,
    Trace,
    Trail,
    Folder,
}

impl Kind {
    pub(super) fn of(path: &Path) -> Kind {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("c") if !is_promela(path) => Kind::C,
            Some("cc" | "cpp" | "cxx" | "c++" | "C") => Kind::CPlusPlus,
            Some("rs") => Kind::Rust,
            Some("toml") if path.ends_with("Cargo.toml") => Kind::Crate,
            Some("html") => Kind::Page,
            Some("trail") => Kind::Trail,
            _ if path.join("Cargo.toml").is_file() => Kind::Crate,
            _ if path.is_dir() => Kind::Folder,
            _ if begins_with(path, b"\x7fELF") => Kind::Program,
            _ if is_trace(path) => Kind::Trace,
            _ => Kind::Model,
        }
    }

    /// What it is and what to do with it; nothing for a model.
    pub(super) fn advice(&self, path: &Path) -> Option<String> {
        let file = path.display();
        let program = path.with_extension("");
        let compile = |compiler: &str| {
            format!(
                "compile it with `preempt {compiler} -g {file} -o {}`, then run `preempt run -- {}`",
                program.display(),
                as_command(&program)
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
            Kind::Page => {
                format!("{file} is a page: `preempt serve {file}` walks through its execution")
            }
            Kind::Trace => {
                format!("{file} is a saved trace: `preempt replay MODEL {file}` executes it again")
            }
            Kind::Trail => {
                format!("{file} is a trail: `preempt replay MODEL {file}` executes it again")
            }
            Kind::Folder => format!("{file} is a folder: name a model in it"),
        })
    }
}

/// A program in this folder needs its `./`.
pub(super) fn as_command(path: &Path) -> String {
    match path.components().count() {
        1 if !path.starts_with(".") => format!("./{}", path.display()),
        _ => path.display().to_string(),
    }
}

/// Any name will do for a model.
fn is_promela(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.contains("proctype"))
}

/// What `--trace` has written.
fn is_trace(path: &Path) -> bool {
    begins_with(path, b"{")
        && std::fs::read_to_string(path)
            .is_ok_and(|text| preempt_report::SavedTrace::from_json(&text).is_ok())
}

fn begins_with<const N: usize>(path: &Path, wanted: &[u8; N]) -> bool {
    use std::io::Read;
    let mut first = [0; N];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *wanted
}
