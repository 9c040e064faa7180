//! `preempt fmt`: models and Boolean programs, indented by their nesting.

use crate::arguments::FormatArguments;
use crate::failure::Failure;
use crate::{languages, output};
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

/// Formats files in place, prints them formatted, or says which are not formatted.
pub(crate) fn run(arguments: &FormatArguments) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    for file in &arguments.files {
        let is_input = file.as_os_str() == "-";
        let text = read(file, is_input).map_err(|error| Failure::io("read", file, &error))?;
        let Ok(text) = String::from_utf8(text) else {
            return Err(Failure::Input(format!("{} is not UTF-8", file.display())));
        };
        let formatted = (languages::of(file).format)(&text);
        if arguments.print || (is_input && !arguments.check) {
            // A pipe gets the model as it is; on a terminal, control characters are made visible.
            if io::stdout().is_terminal() {
                output::print(&formatted);
            } else {
                output::print_exactly(&formatted);
            }
        } else if formatted == text {
            continue;
        } else if arguments.check {
            output::print(&format!("{}\n", file.display()));
            code = ExitCode::from(1);
        } else {
            output::write(file, &formatted)?;
        }
    }
    Ok(code)
}

fn read(file: &Path, is_input: bool) -> io::Result<Vec<u8>> {
    if !is_input {
        return std::fs::read(file);
    }
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text)?;
    Ok(text)
}
