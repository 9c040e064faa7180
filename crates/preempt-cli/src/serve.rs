//! `preempt serve`: models in the browser.

use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::languages;
use crate::output::print;
use crate::terminal::INTERRUPTED;
use preempt_serve::{Origin, RecordedFile, Server};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Serves until Ctrl-C.
pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let origins = arguments.files.iter().map(|file| origin(file, arguments));
    let origins: Vec<Box<dyn Origin>> = origins.collect::<Result<_, _>>()?;
    let server = Server::bind(origins, arguments.port).map_err(|error| {
        Failure::Input(format!("cannot listen on port {}: {error}", arguments.port))
    })?;
    let place = arguments.at.as_ref().map_or(String::new(), |path| format!("#path={path}"));
    let url = server.url() + &place;
    print(&format!(
        "{url}\nPress Ctrl-C to stop. Anyone who knows this address can read the models.\n"
    ));
    if !arguments.no_open {
        open(&url);
    }
    let run = server.stop(INTERRUPTED.clone()).run();
    run.map_err(|error| Failure::Input(format!("cannot serve: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn origin(file: &Path, arguments: &ServeArguments) -> Result<Box<dyn Origin>, Failure> {
    // What cannot be read now is a slip of the user's; what breaks later is shown on the page.
    std::fs::metadata(file).map_err(|error| Failure::io("read", file, &error))?;
    if file.extension().is_some_and(|extension| extension == "html" || extension == "json") {
        if !arguments.define.is_empty() || arguments.no_merge {
            let message = format!("{}: -D and --no-merge are for Promela models", file.display());
            return Err(Failure::Input(message));
        }
        return Ok(Box::new(RecordedFile::new(file.to_path_buf())));
    }
    (languages::of(file).origin)(file, arguments)
}

/// Opens the user's browser; where there is none, the address was printed.
fn open(url: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let quiet = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut child) = quiet {
        // It ends by itself, and must be waited for then.
        std::thread::spawn(move || child.wait());
    }
}
