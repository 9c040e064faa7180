//! `spin -a` writes a verifier in C, which scripts and graphical front ends compile and run. Ours is a few lines long:
//! `pan.c` starts `preempt spin -run` with the switches it was compiled with and the options it was given.

use crate::arguments::SimulateArguments;
use crate::failure::Failure;
use crate::promela;
use crate::request::interruptible;
use crate::spin_flags::switches_of_pan;
use preempt_verify::promela::observed;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

/// Where the program goes, as in Spin.
const FILE: &str = "pan.c";

/// Writes the program for a command line of Spin's that contains `-a`, if the model can be searched. Nothing is printed but what
/// is wrong with it.
pub(crate) fn generate(
    arguments: &SimulateArguments,
    words: &[String],
) -> Result<ExitCode, Failure> {
    let model = promela::load(&arguments.model, false)?;
    observed(&model, &arguments.model.settings(), &interruptible()).map_err(promela::failed)?;
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::to_str).unwrap_or("preempt");
    std::fs::write(FILE, source(program, words))
        .map_err(|error| Failure::io("write", Path::new(FILE), &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Leaves an executable file `pan` behind for a command line of Spin's that contains `-run`, as Spin does: it runs the same again,
/// with further options of its own. A file that is there stays if it is no such file, or if it is the one that runs now.
pub(crate) fn write_verifier(words: &[String]) -> Result<(), Failure> {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::to_str).unwrap_or("preempt");
    let path = Path::new("pan");
    let script = script(program, words);
    if std::fs::read(path).is_ok_and(|present| !is_outdated(&present, &script)) {
        return Ok(());
    }
    let written = std::fs::write(path, script + REST).and_then(|()| make_executable(path));
    written.map_err(|error| Failure::io("write", path, &error))
}

const OPENING: &str = "#!/bin/sh\n# Written by `preempt spin -run`: runs it again.\nexec";
/// What the script is run with.
const REST: &str = " \"$@\"\n";

/// The script without what it is run with.
fn script(program: &str, words: &[String]) -> String {
    let words = [program, "spin"].into_iter().chain(words.iter().map(String::as_str));
    words.fold(OPENING.to_string(), |mut text, word| {
        _ = write!(text, " '{}'", word.replace('\'', r"'\''"));
        text
    })
}

/// Whether a file is a script of another command than the one that runs now.
fn is_outdated(present: &[u8], script: &str) -> bool {
    let Some(present) = std::str::from_utf8(present).ok().and_then(|text| text.strip_suffix(REST))
    else {
        return false;
    };
    present.starts_with(OPENING) && !script.starts_with(present)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

fn source(program: &str, words: &[String]) -> String {
    let mut text = String::from(
        "/* Written by `preempt spin -a`: starts preempt on the model, with Spin's switches and options. */\n\
         #define SPELLED(x) #x\n#define VALUE(x) SPELLED(x)\n\
         static const char *const first[] = {\n",
    );
    let kept = words.iter().map(String::as_str).filter(|word| *word != "-a");
    for word in [program, "spin"].into_iter().chain(kept).chain(["-run"]) {
        _ = writeln!(text, "{},", quoted(word));
    }
    for name in switches_of_pan() {
        _ = writeln!(text, "#ifdef {name}\n\"-D{name}=\" VALUE({name}),\n#endif");
    }
    text.push_str(
        "};\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         int main(int argc, char **argv) {\n\
         \x20   size_t known = sizeof first / sizeof *first;\n\
         \x20   char **words = calloc(known + argc + 1, sizeof *words);\n\
         \x20   if (!words) return 2;\n\
         \x20   for (size_t i = 0; i < known; i++) words[i] = (char *) first[i];\n\
         \x20   for (int i = 1; i < argc; i++) words[known + i - 1] = argv[i];\n\
         \x20   execv(words[0], words);\n\
         \x20   execvp(\"preempt\", words);\n\
         \x20   perror(words[0]);\n\
         \x20   return 2;\n}\n",
    );
    text
}

/// A string of C.
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    for byte in word.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => _ = write!(text, "\\{}", char::from(byte)),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => _ = write!(text, "\\{byte:03o}"),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_spelled_as_in_c() {
        assert_eq!(quoted(r#"a "b" \ ??="#), r#""a \"b\" \\ \?\?=""#);
        assert_eq!(quoted("é\n"), r#""\303\251\012""#);
    }

    #[test]
    fn a_verifier_is_replaced_by_that_of_another_model_only() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let one = script("preempt", &words("-run it's.pml"));
        assert_eq!(one, format!(r"{OPENING} 'preempt' 'spin' '-run' 'it'\''s.pml'"));
        let present = (one.clone() + REST).into_bytes();
        assert!(!is_outdated(&present, &script("preempt", &words("-run it's.pml -e"))));
        assert!(is_outdated(&present, &script("preempt", &words("-run b.pml"))));
        assert!(!is_outdated(b"\x7fELF", &one));
    }
}
