//! Makes text fit a number of terminal columns.
//!
//! Widths are display columns, not bytes or characters: source text may hold wide characters.
//! Control characters of printed output become visible marks, so that a model cannot move the
//! user's cursor.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Stands for a character that a terminal would obey instead of showing it.
const MARK: char = '\u{b7}';

/// `text` on one line without control characters.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(' '),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if is_obeyed(c) => out.push(MARK),
            c => out.push(c),
        }
    }
    out
}

/// Lines of text without anything that a terminal obeys, but for line ends, tabs and, with `colours`,
/// escape sequences that only set colours and weights. For all that goes to a terminal: source text,
/// file names and saved traces may come from anywhere.
pub fn visible(text: &str, colours: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_obeyed) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let shown = match rest.as_bytes()[0] {
            b'\n' | b'\t' => 1,
            b'\r' if rest.as_bytes().get(1) == Some(&b'\n') => 1,
            _ if colours => style_length(rest),
            _ => 0,
        };
        if shown > 0 {
            out.push_str(&rest[..shown]);
            rest = &rest[shown..];
        } else {
            out.push(MARK);
            rest = &rest[rest.chars().next().map_or(rest.len(), char::len_utf8)..];
        }
    }
    out.push_str(rest);
    out
}

/// Whether a terminal does not simply show the character: controls, and those that turn the direction
/// of writing around.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The length of the sequence at the start that sets colours and weights, 0 if there is none.
fn style_length(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let parameters = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b';').count();
    if rest.as_bytes().get(parameters) == Some(&b'm') { parameters + 3 } else { 0 }
}

/// `text` cut to `columns`, with a mark when something was cut.
pub(crate) fn cut(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let room = columns.saturating_sub(width(mark));
    let mut out = take(text, room).to_string();
    if width(mark) <= columns {
        out.push_str(mark);
    }
    out
}

/// `text` cut to `columns` in its middle: names that differ at the end stay apart.
pub(crate) fn cut_middle(text: &str, columns: usize, mark: &str) -> String {
    let room = columns.saturating_sub(width(mark));
    if width(text) <= columns || room < 4 {
        return cut(text, columns, mark);
    }
    let head = take(text, room - room / 2);
    let mut tail = text.len();
    for (at, _) in text.char_indices().rev() {
        if width(&text[at..]) > room / 2 {
            break;
        }
        tail = at;
    }
    [head, mark, &text[tail..]].concat()
}

/// `text` followed by spaces up to `columns`.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let mut out = text.to_string();
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(text))));
    out
}

/// Lines of at most `columns`, broken at spaces or else after punctuation where possible; lines after the first start with
/// `indent` spaces.
pub(crate) fn wrap(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let columns = columns.max(4);
    let indent = if indent + 4 > columns { 0 } else { indent };
    let mut lines = Vec::new();
    let mut rest = text.trim_end();
    loop {
        let prefix = if lines.is_empty() { 0 } else { indent };
        let room = columns - prefix;
        let lead = " ".repeat(prefix);
        if width(rest) <= room {
            lines.push(lead + rest);
            return lines;
        }
        let head = take(rest, room);
        // A break in the first half would waste more space than a broken word costs.
        let good = |at: usize| width(&head[..at]) * 2 >= room;
        let space = head.rfind(' ').filter(|&at| good(at));
        let mark = head.rfind([',', ';', '(', '!', '?']).map(|at| at + 1).filter(|&at| good(at));
        let at = if rest[head.len()..].starts_with(' ') {
            head.len()
        } else {
            space.or(mark).unwrap_or(head.len())
        };
        // One character wider than the room would loop for ever.
        let at = if at == 0 { rest.chars().next().map_or(rest.len(), char::len_utf8) } else { at };
        lines.push(lead + rest[..at].trim_end());
        rest = rest[at..].trim_start();
        if rest.is_empty() {
            return lines;
        }
    }
}

/// The longest prefix of at most `columns`.
fn take(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_every_word_and_every_width() {
        let text = "alpha beta gammagammagamma delta 日本語日本語 epsilon";
        for columns in 4..40 {
            let lines = wrap(text, columns, 2);
            assert!(lines.iter().all(|l| width(l) <= columns), "{columns}: {lines:?}");
            let joined: String = lines.concat().replace(' ', "");
            assert_eq!(joined, text.replace(' ', ""));
        }
    }

    #[test]
    fn cutting_marks_what_is_missing() {
        assert_eq!(cut("abcdef", 4, "…"), "abc…");
        assert_eq!(cut("abc", 3, "…"), "abc");
        assert_eq!(cut("日本語", 4, "…"), "日…");
        assert_eq!(cut("abc", 0, "…"), "");
    }

    #[test]
    fn control_characters_cannot_reach_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\n"), "a\u{b7}[31mb\\n");
        assert_eq!(clean("a\u{9b}31mb\u{202e}"), "a\u{b7}31mb\u{b7}");
        let text = "x\ty\r\n\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}]0;title\u{7} \rback\u{9b}2J";
        let kept =
            "x\ty\r\n\u{1b}[1;31mred\u{1b}[0m \u{b7}[2J\u{b7}]0;title\u{b7} \u{b7}back\u{b7}2J";
        assert_eq!(visible(text, true), kept);
        assert_eq!(visible(text, false), kept.replace('\u{1b}', "\u{b7}"));
    }
}
