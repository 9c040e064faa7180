//! The pictures of the gallery are what the command prints today.
//!
//! A picture follows the `console` block with its command. `INSTA_UPDATE=always` draws them again, as for all snapshots.

mod c_programs;

use anstyle_svg::Term;
use c_programs::{preempt, root};
use std::fs;

/// Each picture, with the command of the block before it.
fn pictures(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut command = None;
    for line in page.lines() {
        if let Some(words) = line.strip_prefix("$ preempt ") {
            command = Some(words.to_string());
        }
        let file = line.split_once("](gallery/").and_then(|(_, rest)| rest.split_once(".svg)"));
        if let Some((name, _)) = file {
            let command = command.take().unwrap_or_else(|| panic!("{name} has no command"));
            found.push((name.to_string(), command));
        }
    }
    found
}

/// What a command shows on a terminal, up to the answer: what it took differs from time to time.
fn shown(command: &str) -> String {
    let output = preempt()
        .args(command.split(' '))
        .current_dir(root())
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .output()
        .expect("preempt runs");
    assert_eq!(output.status.code(), Some(1), "{command}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let answer = text.find("\n\n").unwrap_or_else(|| panic!("{command}: no answer in {text}"));
    text[..answer + 1].to_string()
}

#[test]
fn pictures_are_up_to_date() {
    let book = root().join("docs/src");
    let page = fs::read_to_string(book.join("gallery.md")).expect("the page");
    let pictures = pictures(&page);
    assert!(pictures.len() >= 10, "{pictures:?}");
    let update = std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always");
    for (name, command) in pictures {
        let drawn = Term::new().render_svg(&shown(&command));
        let path = book.join(format!("gallery/{name}.svg"));
        if update {
            fs::write(&path, drawn).expect("the picture is written");
            continue;
        }
        let known = fs::read_to_string(&path).unwrap_or_default();
        assert!(known == drawn, "{name}.svg is out of date: `cargo xtask bless` draws it again");
    }
}
