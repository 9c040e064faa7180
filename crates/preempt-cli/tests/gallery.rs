//! The pictures of the gallery are what the command prints today.
//!
//! A picture follows the `console` block with its command. `INSTA_UPDATE=always` draws them again, as for all snapshots.

mod c_programs;

use anstyle::{Color, RgbColor};
use anstyle_svg::{Palette, Term};
use c_programs::{preempt, root};
use std::fs;

/// A colour, as pages write it.
const fn colour(number: u32) -> RgbColor {
    RgbColor((number >> 16) as u8, (number >> 8) as u8, number as u8)
}

/// The sixteen of a terminal, dark enough to be read on white. Lanes are told apart by their place, too.
const COLOURS: Palette = Palette([
    colour(0x1B1B1B),
    colour(0xB3261E),
    colour(0x00734A),
    colour(0x8A5A00),
    colour(0x0B57A4),
    colour(0x8E2C7B),
    colour(0x006E82),
    colour(0x555555),
    colour(0x6B6B6B),
    colour(0xB3261E),
    colour(0x2E6B00),
    colour(0x8A5A00),
    colour(0x3949AB),
    colour(0x8E2C7B),
    colour(0x00566B),
    colour(0x1B1B1B),
]);

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
    let look = Term::new()
        .palette(COLOURS)
        .fg_color(Color::Rgb(colour(0x1B1B1B)))
        .bg_color(Color::Rgb(colour(0xFFFFFF)));
    for (name, command) in pictures {
        let drawn = look.render_svg(&shown(&command));
        let path = book.join(format!("gallery/{name}.svg"));
        if update {
            fs::write(&path, drawn).expect("the picture is written");
            continue;
        }
        let known = fs::read_to_string(&path).unwrap_or_default();
        assert!(known == drawn, "{name}.svg is out of date: `cargo xtask bless` draws it again");
    }
}
