//! `preempt serve`: models in the browser.

use crate::applicability;
use crate::arguments::{self, ServeArguments, Subject};
use crate::failure::Failure;
use crate::languages;
use crate::output::print;
use crate::terminal::INTERRUPTED;
use clap::builder::PossibleValue;
use preempt_serve::{
    About, Origin, ProgramFile, RecordedFile, SearchOption, SearchOptions, Server,
};
use preempt_verify::Request;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Serves until Ctrl-C.
pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let origins = arguments.files.iter().map(|file| origin(file, arguments));
    let origins: Vec<Box<dyn Origin>> = origins.collect::<Result<_, _>>()?;
    let server = Server::bind(origins, arguments.port).map_err(|error| {
        Failure::Input(format!("cannot listen on port {}: {error}", arguments.port))
    })?;
    let server = server.search_options(search_options());
    let place = arguments.at.as_ref().map_or(String::new(), |path| format!("#path={path}"));
    let url = server.url() + &place;
    print(&format!(
        "{url}\nPress Ctrl-C to stop. This address lets everyone in: keep it to yourself.\n"
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
    if ProgramFile::is_one(file) {
        if !arguments.define.is_empty() || arguments.no_merge || arguments.trust {
            let message = format!(
                "{}: -D, --no-merge and --trust are for Promela models; programs are compiled and run when the page asks for it",
                file.display()
            );
            return Err(Failure::Input(message));
        }
        return Ok(Box::new(ProgramFile::new(file.to_path_buf(), crate::own_path())));
    }
    (languages::of(file).origin)(file, arguments)
}

/// The options of `check` that say how to search, offered on the page.
const OFFERED: [&str; 11] = [
    "por",
    "search",
    "seed",
    "store",
    "bits",
    "hashes",
    "threads",
    "depth",
    "first",
    "max_errors",
    "compat",
];

/// What the page offers of the options of `check`, with the words of its help, and the same rules of what goes together.
fn search_options() -> SearchOptions {
    let command = arguments::command_of_check();
    let option = |id: &&str| {
        let option = command.get_arguments().find(|option| option.get_id() == *id)?;
        let takes_value = option.get_action().takes_values();
        let listed = |value: &PossibleValue| value.get_name().to_string();
        let values: Vec<String> = option.get_possible_values().iter().map(listed).collect();
        let name =
            option.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
        Some(SearchOption {
            name: format!("--{}", option.get_long()?),
            about: option.get_help().map(ToString::to_string).unwrap_or_default(),
            values: if takes_value { values } else { Vec::new() },
            value_name: name.filter(|_| takes_value),
        })
    };
    SearchOptions { list: OFFERED.iter().filter_map(option).collect(), read: Box::new(read) }
}

/// Reads options as `check` does.
fn read(words: &[String], about: About) -> Result<Request, String> {
    let line = ["preempt", "check", "model"].into_iter().map(OsString::from);
    let parsed = arguments::parse(line.chain(words.iter().map(OsString::from)).collect());
    let parsed = parsed.map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        first.trim_start_matches("error: ").to_string()
    })?;
    let arguments::Command::Check(arguments) = parsed.command else {
        return Err("these are no options of a check".into());
    };
    let subject = match about {
        About::Boolean => Subject::Boolean,
        About::Finite => Subject::Finite,
        About::Completion => Subject::Completion,
        About::Infinite => Subject::Infinite,
    };
    applicability::check(&arguments, subject).map_err(|failure| match failure {
        Failure::Input(message) => message,
        _ => "these options do not go together".into(),
    })?;
    Ok(arguments.request())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_on_the_page_have_the_words_and_the_rules_of_the_command() {
        let offered = search_options();
        assert_eq!(offered.list.len(), OFFERED.len());
        assert!(offered.list.iter().all(|option| option.about.len() > 10), "{:?}", offered.list);
        let store = offered.list.iter().find(|option| option.name == "--store").unwrap();
        assert_eq!(store.values, ["exact", "tree", "compact", "bitstate"]);
        let read = |words: &[&str], about| {
            (offered.read)(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>(), about)
        };
        let request = read(&["--store=bitstate", "--bits=20", "--first"], About::Finite).unwrap();
        assert!(request.first && request.storage != Request::default().storage);
        for (words, about, why) in [
            (&["--bits=20"][..], About::Finite, "--bits needs --store bitstate"),
            (&["--store=tree"], About::Boolean, "--store"),
            (&["--search=bfs"], About::Infinite, "--search"),
            (&["--depth=many"], About::Finite, "invalid value 'many'"),
        ] {
            let problem = read(words, about).unwrap_err();
            assert!(problem.contains(why), "{words:?}: {problem}");
        }
    }
}
