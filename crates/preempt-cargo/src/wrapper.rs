//! In front of rustc: which calls are changed, and how.
//!
//! Cargo is asked for a target explicitly, so its calls for crates of the target say `--target`, and those
//! for build scripts, procedural macros and what these depend on do not. Build scripts themselves call
//! the compiler to find out what it can do; what they would learn from a changed one is wrong, so these calls are
//! recognised by the variables that build scripts are started with, and left alone.
//!
//! What is unstable (marking plain accesses) is enabled for the single call that needs it.

use crate::variables;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::Command;

/// The call of the real compiler.
pub(crate) fn command(words: &[OsString]) -> Option<Command> {
    let (compiler, arguments) = words.split_first()?;
    let inner = std::env::var_os(variables::INNER).filter(|inner| !inner.is_empty());
    let mut command = match inner {
        Some(inner) => {
            let mut command = Command::new(inner);
            command.arg(compiler);
            command
        }
        None => Command::new(compiler),
    };
    let from_build_script = std::env::var_os("CARGO_CFG_TARGET_OS").is_some();
    let mut call = Call::read(arguments);
    if from_build_script || !call.is_for_target() {
        command.args(arguments);
        for variable in variables::ALL {
            command.env_remove(variable);
        }
        return Some(command);
    }
    note_foreign(&call);
    let linker = call.take_linker().unwrap_or_else(|| "cc".into());
    command.args(&call.words).args(call.flags());
    if let Ok(own) = std::env::current_exe() {
        let mut option = OsString::from("linker=");
        option.push(own);
        command.arg("-C").arg(option).args(["-C", "linker-flavor=gcc"]);
    }
    command.env(variables::ROLE, "linker").env(variables::LINKER, linker);
    if call.has("--test") {
        command.env(variables::TESTS, "1");
    }
    if call.marks_plain_accesses() {
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    Some(command)
}

/// A call for a crate.
struct Call {
    words: Vec<OsString>,
}

impl Call {
    fn read(words: &[OsString]) -> Self {
        Call { words: words.to_vec() }
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|given| given == word)
    }

    /// The values of an option, written `--name value` or `--name=value`.
    fn values(&self, option: &str) -> impl Iterator<Item = String> {
        let following = self.words.windows(2).filter(|pair| pair[0] == option);
        let following = following.map(|pair| pair[1].to_string_lossy().into_owned());
        let start = format!("{option}=");
        let joined = self.words.iter().filter_map(|word| {
            word.to_str().and_then(|word| word.strip_prefix(&start)).map(str::to_string)
        });
        following.chain(joined).collect::<Vec<_>>().into_iter()
    }

    /// The last value of a code generation option, written `-C name=value` or `-Cname=value`.
    fn codegen(&self, name: &str) -> Option<String> {
        let following = self.words.windows(2).filter(|p| p[0] == "-C" || p[0] == "--codegen");
        let following = following.map(|pair| pair[1].to_string_lossy().into_owned());
        let joined = self.words.iter().filter_map(|word| {
            word.to_str().and_then(|word| word.strip_prefix("-C")).map(str::to_string)
        });
        let all: Vec<String> = following.chain(joined).collect();
        let value = |option: &String| {
            let (key, value) = option.split_once('=')?;
            (key == name).then(|| value.to_string())
        };
        all.iter().rev().find_map(value)
    }

    fn is_for_target(&self) -> bool {
        let is_macro = self.values("--crate-type").any(|kind| kind == "proc-macro");
        self.values("--target").next().is_some()
            && !is_macro
            && self.values("--crate-name").next().is_some()
    }

    /// The user's linker, which ours calls.
    fn take_linker(&mut self) -> Option<OsString> {
        self.codegen("linker").map(OsString::from)
    }

    fn marks_plain_accesses(&self) -> bool {
        std::env::var_os(variables::INSTRUMENT).as_deref() == Some(OsStr::new("all"))
    }

    /// What is added. Of options that are given twice the last one counts.
    fn flags(&self) -> Vec<OsString> {
        let mut flags: Vec<&str> = Vec::new();
        if self.marks_plain_accesses() {
            flags.extend(["-Zsanitizer=thread", "-Zexternal-clangrt"]);
            flags.push("-Cunsafe-allow-abi-mismatch=sanitizer");
        } else {
            flags.extend(["-C", "passes=tsan"]);
        }
        // Every access to memory is a call: without optimisation there are several times as many,
        // for variables that no other thread can see. The program's own checks stay as they were.
        if matches!(self.codegen("opt-level").as_deref(), None | Some("0")) {
            flags.extend(["-C", "opt-level=1"]);
            if self.codegen("debug-assertions").is_none() {
                flags.extend(["-C", "debug-assertions=on"]);
            }
            if self.codegen("overflow-checks").is_none()
                && self.codegen("debug-assertions").is_none()
            {
                flags.extend(["-C", "overflow-checks=on"]);
            }
        }
        // Reports have lines of source.
        if matches!(self.codegen("debuginfo").as_deref(), None | Some("0" | "none"))
            && !self.has("-g")
        {
            flags.extend(["-C", "debuginfo=1"]);
        }
        flags.extend(["-C", "strip=none", "-C", "split-debuginfo=off"]);
        // The harness and the instrumented std are linked as objects: nothing may be left out before.
        flags.extend([
            "-C",
            "lto=off",
            "-C",
            "linker-plugin-lto=no",
            "-C",
            "target-feature=-crt-static",
        ]);
        flags.into_iter().map(OsString::from).collect()
    }
}

/// Libraries of the system itself, which the runtime stands in front of.
const SYSTEM: [&str; 9] = ["c", "m", "dl", "rt", "util", "pthread", "gcc_s", "gcc", "stdc++"];

/// Keeps the names of libraries in other languages that build scripts ask for.
fn note_foreign(call: &Call) {
    let Some(path) = std::env::var_os(variables::FOREIGN) else { return };
    let named = |value: String| {
        let name = value.rsplit_once('=').map_or(value.as_str(), |(_, name)| name);
        let name = name.split(':').next().unwrap_or(name).to_string();
        (!SYSTEM.contains(&name.as_str())).then_some(name)
    };
    let names: Vec<String> = call.values("-l").filter_map(named).collect();
    if names.is_empty() {
        return;
    }
    let crate_name = call.values("--crate-name").next().unwrap_or_default();
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(path) {
        for name in names {
            // A missing line loses a remark, nothing else.
            let _ = file.write_all(format!("{name} ({crate_name})\n").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Call {
        Call::read(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn crates_of_the_target_are_told_from_those_of_the_host() {
        let target = "--crate-name a --edition=2021 src/lib.rs --target x86_64-unknown-linux-gnu";
        assert!(call(target).is_for_target());
        assert!(!call("--crate-name build_script_build build.rs --crate-type bin").is_for_target());
        assert!(!call(&format!("{target} --crate-type proc-macro")).is_for_target());
        assert!(!call("-vV").is_for_target());
        // What cargo asks before it builds.
        let question = "- --crate-name ___ --print=file-names --target x86_64-unknown-linux-gnu";
        let _ = call(question).is_for_target();
    }

    #[test]
    fn the_last_of_several_values_counts() {
        let call = call("-C opt-level=3 -Copt-level=0 -C debuginfo=2");
        assert_eq!(call.codegen("opt-level").as_deref(), Some("0"));
        assert_eq!(call.codegen("debuginfo").as_deref(), Some("2"));
        assert_eq!(call.codegen("linker"), None);
    }

    #[test]
    fn checks_stay_as_they_are_without_optimisation() {
        let flags =
            |line: &str| call(line).flags().join(OsStr::new(" ")).to_string_lossy().into_owned();
        assert!(flags("-C debuginfo=2").contains("debug-assertions=on"));
        assert!(flags("-C debuginfo=2").contains("overflow-checks=on"));
        assert!(!flags("-C debuginfo=2").contains("debuginfo=1"));
        assert!(!flags("-C opt-level=3").contains("debug-assertions"));
        assert!(!flags("-C opt-level=0 -C debug-assertions=off").contains("assertions=on"));
    }
}
