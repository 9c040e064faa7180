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

/// `text` on one line without control characters.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push(' '),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push('\u{b7}'),
            c => out.push(c),
        }
    }
    out
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
    }
}
