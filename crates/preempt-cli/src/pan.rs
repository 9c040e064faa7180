//! `spin -a` writes a verifier in C, which scripts and graphical front ends compile and run. Ours is a few lines long:
//! `pan.c` starts `preempt spin -run` with the switches it was compiled with and the options it was given.

use crate::failure::Failure;
use crate::spin_flags::switches_of_pan;
use std::fmt::Write;
use std::path::Path;

/// Where the program goes, as in Spin.
const FILE: &str = "pan.c";

/// Writes the program for a command line of Spin's that contains `-a`.
pub(crate) fn write(words: &[String]) -> Result<(), Failure> {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(Path::to_str).unwrap_or("preempt");
    std::fs::write(FILE, source(program, words))
        .map_err(|error| Failure::io("write", Path::new(FILE), &error))
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
}
