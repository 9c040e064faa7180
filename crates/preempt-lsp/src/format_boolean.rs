//! Formatting of Boolean programs: indentation by nesting, nothing else.
//!
//! Every line keeps its words and comments, and stays a line, so that places in messages stay right. Only the white
//! space at its beginning and end changes; the insides of comments do not.

use crate::scan::{Kind, Token, scan};

/// The text with its lines indented.
pub fn format_boolean(text: &str) -> String {
    let tokens = scan(text);
    let unit = if text.lines().any(|line| line.starts_with('\t')) { "\t" } else { "  " };
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let (mut next, mut begin, mut depth) = (0, 0, 0_usize);
    // A statement that goes on in the next line, and braces of names such as `{x == y}`, are still open.
    let (mut goes_on, mut braces) = (false, 0_usize);
    let mut comment_until = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (begin, begin + line.len());
        begin = end;
        let first = next;
        while next < tokens.len() && tokens[next].range.start < end {
            next += 1;
        }
        let here = &tokens[first..next];
        let content = line.trim_matches(|c: char| c.is_ascii_whitespace());
        let behind = here.last().map_or(0, |token| token.range.end);
        if start < comment_until || braces > 0 {
            out.push_str(line);
        } else if content.is_empty() {
            out.push_str(if line.ends_with('\n') { "\n" } else { "" });
        } else {
            let words: Vec<&str> = plain(here, text).collect();
            let closes = matches!(words.first(), Some(&("end" | "fi" | "od" | "else" | "elsif")));
            let opens = matches!(words.first(), Some(&("begin" | "then" | "do")));
            // Comments that stand alone belong to what follows.
            let further = usize::from(goes_on && !closes && !opens && !words.is_empty());
            out.push_str(&unit.repeat(depth.saturating_sub(usize::from(closes)) + further));
            if behind > end {
                out.push_str(line.trim_start_matches(|c: char| c.is_ascii_whitespace()));
            } else {
                out.push_str(content);
                out.push_str(if line.ends_with('\n') { "\n" } else { "" });
            }
        }
        comment_until = comment_until.max(behind);
        for token in here.iter().filter(|token| token.kind != Kind::Comment) {
            match token.text(text) {
                "{" => braces += 1,
                "}" => braces = braces.saturating_sub(1),
                _ if braces > 0 => {}
                "begin" | "then" | "do" => depth += 1,
                "end" | "fi" | "od" | "elsif" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if let Some(last) = plain(here, text).last() {
            goes_on = !matches!(
                last,
                ";" | ":" | "begin" | "then" | "do" | "else" | "end" | ")" | "fi" | "od"
            );
        }
    }
    out
}

/// The words and marks of a line that are no comments.
fn plain<'t>(tokens: &'t [Token], text: &'t str) -> impl Iterator<Item = &'t str> {
    tokens.iter().filter(|token| token.kind != Kind::Comment).map(|token| token.text(text))
}
