//! From C text to a shared object, by the system's compiler.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::{NamedTempFile, TempDir, TempPath};
use xxhash_rust::xxh3::xxh3_128;

/// The functions that end a process or print: calls of them come to our own.
const WRAPPED: &[&str] = &[
    "exit",
    "_exit",
    "_Exit",
    "__assert_fail",
    "printf",
    "vprintf",
    "__printf_chk",
    "puts",
    "putchar",
];
/// What Spin's verifier consists of, where C in models has been seen to use it.
const OF_VERIFIER: &[&str] = &[
    "putrail",
    "Nr_Trails",
    "getrail",
    "wrapup",
    "trpt",
    "depthfound",
    "mreached",
    "maxdepth",
    "hash_table",
    "svtack",
    "upto",
];
/// So many lines of a compiler's complaints are shown.
const MOST_LINES: usize = 40;

/// How C is compiled.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The program, such as `cc`.
    pub program: String,
    /// Folders in which included files are looked for.
    pub folders: Vec<PathBuf>,
    /// Macros given on the command line: names and values.
    pub defines: Vec<(String, String)>,
    /// Where shared objects are kept from one run to the next.
    pub cache: Option<PathBuf>,
}

/// Why C cannot be run.
#[derive(Debug)]
pub enum Trouble {
    /// The compiler cannot be started.
    NoCompiler(String, io::Error),
    /// The compiler refused the text, with what it said.
    Refused(String),
    /// A file cannot be written or read.
    File(io::Error),
    /// The result cannot be loaded.
    Load(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NoCompiler(program, error) => write!(
                f,
                "the model contains C, and the C compiler `{program}` cannot be started: {error}; \
                 install one, or name it in PREEMPT_C_COMPILER"
            ),
            Trouble::Refused(complaints) => {
                write!(f, "the C of the model does not compile:\n{complaints}")?;
                match OF_VERIFIER.iter().find(|name| names(complaints, name)) {
                    Some(name) => write!(
                        f,
                        "\n`{name}` belongs to the verifier that Spin generates, and has no equivalent here"
                    ),
                    None => Ok(()),
                }
            }
            Trouble::File(error) => write!(f, "the C of the model cannot be compiled: {error}"),
            Trouble::Load(error) => write!(f, "the C of the model cannot be loaded: {error}"),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::File(error)
    }
}

/// Whether a compiler complains of this name: both quote it.
fn names(complaints: &str, name: &str) -> bool {
    ["`", "'", "‘"].iter().any(|quote| {
        complaints.split(quote).skip(1).any(|rest| {
            rest.strip_prefix(name).is_some_and(|rest| rest.starts_with(['\'', '’', '`']))
        })
    })
}

impl Compiler {
    /// Compiles a text. The file belongs to this call alone: a library that is loaded twice from one file has its
    /// memory once.
    pub(crate) fn compile(&self, text: &str) -> Result<TempPath, Trouble> {
        let known = self.known(text);
        let object = NamedTempFile::with_prefix("preempt-c-")?.into_temp_path();
        if let Some((folder, name)) = &known
            && fs::copy(folder.join(name), &object).is_ok()
        {
            return Ok(object);
        }
        let folder = TempDir::with_prefix("preempt-c-")?;
        let source = folder.path().join("model.c");
        fs::write(&source, text)?;
        self.run(&source, &object)?;
        if let Some((folder, name)) = known {
            // A cache that cannot be written to costs time, nothing else.
            _ = keep(&folder, &name, &object);
        }
        Ok(object)
    }

    fn run(&self, source: &Path, object: &Path) -> Result<(), Trouble> {
        let mut command = Command::new(&self.program);
        // A function that is nowhere defined is found by the linker, not when it is called.
        command.args(["-O2", "-shared", "-fPIC", "-w", "-Wl,-z,defs"]);
        command.args(WRAPPED.iter().map(|name| format!("-Wl,--wrap={name}")));
        command.args(self.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        for folder in &self.folders {
            command.arg("-I").arg(folder);
        }
        command.arg("-o").arg(object).arg(source).arg("-lm");
        let output =
            command.output().map_err(|error| Trouble::NoCompiler(self.program.clone(), error))?;
        if output.status.success() {
            return Ok(());
        }
        let complaints = String::from_utf8_lossy(&output.stderr);
        let shown: Vec<&str> = complaints.lines().take(MOST_LINES).collect();
        Err(Trouble::Refused(shown.join("\n")))
    }

    /// Where the result is kept. What files contain that the text includes is not known, so with an
    /// `#include "…"` nothing is.
    fn known(&self, text: &str) -> Option<(PathBuf, String)> {
        let includes = |line: &str| {
            let line = line.trim_start().strip_prefix('#').map(str::trim_start);
            line.and_then(|line| line.strip_prefix("include"))
                .is_some_and(|rest| !rest.trim_start().starts_with('<'))
        };
        if text.lines().any(includes) {
            return None;
        }
        let folder = self.cache.clone()?;
        let key = format!("{}\n{:?}\n{:?}\n{text}", self.program, self.defines, self.folders);
        Some((folder, format!("{:032x}.so", xxh3_128(key.as_bytes()))))
    }
}

/// Copies an object to the cache: under another name first, because others may look for it at the same time.
fn keep(folder: &Path, name: &str, object: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    }
    let draft = NamedTempFile::new_in(folder)?.into_temp_path();
    fs::copy(object, &draft)?;
    draft.persist(folder.join(name)).map_err(|error| error.error)
}
