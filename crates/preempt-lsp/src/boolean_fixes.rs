//! Quick fixes for Boolean programs: declarations, `:=`, and `;` where they are missing.

use crate::document::Document;
use crate::fixes::Fix;
use crate::names::Names;
use crate::scan::{Kind, Token};
use crate::symbol::{Class, Symbol};
use std::ops::Range;

/// The fixes for a diagnostic, given by its code, message and place.
pub(crate) fn fixes(
    (document, tokens, names): (&Document, &[Token], &Names),
    (code, message): (&str, &str),
    place: Range<usize>,
) -> Vec<Fix> {
    let text = &document.text;
    let Some(word) = text.get(place.clone()) else { return Vec::new() };
    match code {
        "B0002" if message.starts_with("expected `:=`") && word == "=" => {
            vec![Fix { title: "write `:=`".into(), edits: vec![(place, ":=".into())] }]
        }
        "B0002" if message.starts_with("expected `;`") => {
            let before = |token: &&Token| token.range.end <= place.start;
            let last = tokens.iter().filter(|token| token.kind != Kind::Comment).rfind(before);
            let end = last.map_or(place.start, |token| token.range.end);
            vec![Fix { title: "add `;`".into(), edits: vec![(end..end, ";".into())] }]
        }
        "B0006" => undeclared((text, tokens, names), word, place),
        _ => Vec::new(),
    }
}

fn undeclared(
    (text, tokens, names): (&str, &[Token], &Names),
    word: &str,
    place: Range<usize>,
) -> Vec<Fix> {
    let constant = match word {
        "TRUE" | "True" => Some("true"),
        "FALSE" | "False" => Some("false"),
        _ => None,
    };
    if let Some(constant) = constant {
        let title = format!("write `{constant}`");
        return vec![Fix { title, edits: vec![(place, constant.into())] }];
    }
    if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Vec::new();
    }
    let mut fixes = Vec::new();
    let is_around =
        |symbol: &&Symbol| symbol.class == Class::Proctype && symbol.extent.contains(&place.start);
    let procedure = names.symbols.iter().rfind(is_around);
    let is_begin = |token: &&Token| token.text(text) == "begin";
    if let Some(procedure) = procedure
        && let Some(begin) =
            tokens.iter().filter(|token| token.range.start >= procedure.place.end).find(is_begin)
    {
        let at = begin.range.end;
        fixes.push(Fix {
            title: format!("declare `{word}` in {}", procedure.name),
            edits: vec![(at..at, format!("\n  decl {word};"))],
        });
    }
    // Before the first thing that is not a comment.
    let first = tokens.iter().find(|token| token.kind != Kind::Comment);
    let top = first.map_or(0, |token| text[..token.range.start].rfind('\n').map_or(0, |at| at + 1));
    fixes.push(Fix {
        title: format!("declare `{word}` for all procedures"),
        edits: vec![(top..top, format!("decl {word};\n"))],
    });
    fixes
}
