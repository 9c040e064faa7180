//! `preempt fmt`: Promela models, indented by their nesting.

use crate::arguments::FormatArguments;
use crate::failure::Failure;
use crate::output;
use std::process::ExitCode;

/// Formats files in place, or says which are not formatted.
pub(crate) fn run(arguments: &FormatArguments) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    for file in &arguments.files {
        let text = std::fs::read(file).map_err(|error| Failure::io("read", file, &error))?;
        let Ok(text) = String::from_utf8(text) else {
            return Err(Failure::Input(format!("{} is not UTF-8", file.display())));
        };
        let formatted = preempt_lsp::format(&text);
        if formatted == text {
            continue;
        }
        if arguments.check {
            output::print(&format!("{}\n", file.display()));
            code = ExitCode::from(1);
        } else {
            output::write(file, &formatted)?;
        }
    }
    Ok(code)
}
