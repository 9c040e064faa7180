//! Formatting: indentation by nesting, nothing else.
//!
//! Lines keep their words, comments and breaks; only the white space at their beginning and end changes, and
//! runs of empty lines become one. Directives, lines continued by a backslash and the insides of comments stay
//! as they are. So the compiler sees the same tokens on the same lines, in the same order.
//!
//! `::` stands below its `do` or `if`, what belongs to an option three columns further. A line that goes on with
//! an expression moves with the line that it goes on from.

use crate::scan::{Kind, Token, scan};

/// What is open around a line.
struct Open {
    /// `{`, `(`, `[`, `do` or `if`.
    what: char,
    /// Indentation of the line, or of the option, that it was opened in.
    indent: String,
    /// An option of a `do` or `if` has begun.
    in_option: bool,
}

/// The text with its lines indented.
pub fn format(text: &str) -> String {
    let tokens = scan(text);
    let unit = if uses_tabs(text) { "\t" } else { "    " };
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut open: Vec<Open> = Vec::new();
    let (mut next, mut begin) = (0, 0);
    // How far the last line that began a statement was moved: old and new indentation.
    let mut moved = (String::new(), String::new());
    let (mut last, mut fixed_until, mut empty) = (None::<String>, 0, 0);
    for line in text.split_inclusive('\n') {
        let (start, end) = (begin, begin + line.len());
        begin = end;
        let inside = start < fixed_until;
        let first = next;
        while next < tokens.len() && tokens[next].range.start < end {
            next += 1;
        }
        let here = &tokens[first..next];
        let content = line.trim_matches(|c: char| c.is_ascii_whitespace());
        if content.is_empty() && !inside {
            empty += 1;
            if empty == 1 && !out.is_empty() {
                out.push('\n');
            }
            continue;
        }
        empty = 0;
        let is_directive = here.first().is_some_and(|t| t.in_directive);
        let continues = line.trim_end().ends_with('\\');
        if inside || is_directive || continues && here.is_empty() {
            out.push_str(line);
        } else {
            let old: String = line.chars().take_while(|c| *c == ' ' || *c == '\t').collect();
            let words = here.iter().find(|t| t.kind != Kind::Comment).map(|t| t.text(text));
            let goes_on = goes_on(last.as_deref(), words, &open);
            let new = match goes_on {
                true => shifted(&old, &moved),
                false => indentation(&open, here, text, unit),
            };
            if !goes_on {
                moved = (old, new.clone());
            }
            out.push_str(&new);
            // A comment that goes on behind the line stays as it is.
            if here.last().is_some_and(|t| t.range.end > end) {
                out.push_str(line.trim_start_matches(|c: char| c.is_ascii_whitespace()));
            } else {
                out.push_str(content);
                out.push_str(if line.ends_with('\n') { "\n" } else { "" });
            }
            let statement = match open.last() {
                // What follows a label on its line is indented as if it stood below.
                Some(around) if begins_with_label(here, text) => {
                    format!("{}{unit}", around.indent)
                }
                _ => new,
            };
            nest(&mut open, here, text, &statement);
        }
        if let Some(token) = here.iter().rev().find(|t| t.kind != Kind::Comment && !t.in_directive)
        {
            last = Some(token.text(text).to_string());
        }
        fixed_until =
            here.iter().map(|t| t.range.end).filter(|e| *e > end).max().unwrap_or(fixed_until);
        if continues {
            // What a backslash joins to this line.
            fixed_until = fixed_until.max(end + 1);
        }
    }
    // A comment that is never closed reaches to the end: nothing there is ours.
    let open_end = tokens.last().is_some_and(|t| t.range.end == text.len());
    while out.ends_with("\n\n") && !open_end {
        out.pop();
    }
    out
}

/// Tabs, if some line is indented by one. What is formatted with tabs has one, so it stays with them.
fn uses_tabs(text: &str) -> bool {
    text.lines().any(|line| line.trim_start_matches(' ').starts_with('\t'))
}

/// Whether a line goes on with what the line before began.
fn goes_on(last: Option<&str>, first: Option<&str>, open: &[Open]) -> bool {
    if open.last().is_some_and(|open| open.what == '(' || open.what == '[') {
        return true;
    }
    let joins = |mark: &str| {
        matches!(
            mark,
            "&&" | "||"
                | "=="
                | "!="
                | "<="
                | ">="
                | "<"
                | ">"
                | "+"
                | "*"
                | "/"
                | "%"
                | "|"
                | "&"
                | "^"
                | "<<"
                | ">>"
                | "="
                | ","
        )
    };
    last.is_some_and(joins) || first.is_some_and(joins)
}

/// Moves an indentation by as much as another one was moved: what it has more than that one stays.
fn shifted(old: &str, (from, to): &(String, String)) -> String {
    let width = |indent: &str| indent.chars().map(|c| if c == '\t' { 8 } else { 1 }).sum::<usize>();
    match old.strip_prefix(from.as_str()) {
        Some(rest) => format!("{to}{rest}"),
        None => format!("{to}{}", " ".repeat(width(old).saturating_sub(width(from)))),
    }
}

fn indentation(open: &[Open], here: &[Token], text: &str, unit: &str) -> String {
    let mut words = here.iter().filter(|t| t.kind != Kind::Comment).map(|t| t.text(text));
    let first = words.next().unwrap_or("");
    let Some(around) = open.last() else { return String::new() };
    match (around.what, first) {
        ('{', "}") => around.indent.clone(),
        ('d', "od" | "::") | ('i', "fi" | "::") => around.indent.clone(),
        ('d' | 'i', _) if around.in_option => format!("{}   ", around.indent),
        ('d' | 'i', _) => format!("{}{unit}", around.indent),
        // Labels stand further out.
        _ if begins_with_label(here, text) && open.len() == 1 => around.indent.clone(),
        _ => format!("{}{unit}", around.indent),
    }
}

fn begins_with_label(here: &[Token], text: &str) -> bool {
    let mut words = here.iter().filter(|t| t.kind != Kind::Comment);
    words.next().is_some_and(|t| t.kind == Kind::Word)
        && words.next().is_some_and(|t| t.text(text) == ":")
}

/// Notes what a line opens and closes.
fn nest(open: &mut Vec<Open>, here: &[Token], text: &str, indent: &str) {
    let mut column = indent.to_string();
    for token in here.iter().filter(|t| matches!(t.kind, Kind::Word | Kind::Mark)) {
        let opens = |what| Open { what, indent: column.clone(), in_option: false };
        match token.text(text) {
            "{" => open.push(opens('{')),
            "(" => open.push(opens('(')),
            "[" => open.push(opens('[')),
            "do" => open.push(opens('d')),
            "if" => open.push(opens('i')),
            "}" => close(open, '{'),
            ")" => close(open, '('),
            "]" => close(open, '['),
            "od" => close(open, 'd'),
            "fi" => close(open, 'i'),
            "::" => {
                if let Some(around) = open.last_mut() {
                    around.in_option = true;
                    column = format!("{}   ", around.indent);
                }
            }
            _ => {}
        }
    }
}

/// Closes the innermost bracket of a kind; what was left open inside it is closed, too.
fn close(open: &mut Vec<Open>, what: char) {
    if let Some(at) = open.iter().rposition(|around| around.what == what) {
        open.truncate(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_becomes_indentation() {
        let text = "active proctype p()\n{\nbyte x;  \n\n\n  end:\ndo\n:: x < 3 ->\nx++;\nif\n:: x == 1 &&\n      x != 2 -> skip\n:: else\nfi\n:: else -> break\nod\n}\n";
        let expected = "active proctype p()\n{\n\tbyte x;\n\nend:\n\tdo\n\t:: x < 3 ->\n\t   x++;\n\t   if\n\t   :: x == 1 &&\n\t         x != 2 -> skip\n\t   :: else\n\t   fi\n\t:: else -> break\n\tod\n}\n";
        assert_eq!(format(text), expected.replace('\t', "    "));
        assert_eq!(format(&text.replace("byte", "\tbyte")), expected);
        assert_eq!(format(expected), expected);
    }

    #[test]
    fn comments_and_directives_stay() {
        let text = "#define M(a) \\\n      a + 1\n/* one\n      two */\nactive proctype p() {\n#ifdef X\nskip // done\n#endif\n}\n";
        let out = format(text);
        assert!(out.contains("#define M(a) \\\n      a + 1\n/* one\n      two */\n"), "{out}");
        assert!(
            out.contains("\n#ifdef X\n") && out.contains("    skip // done\n#endif\n}"),
            "{out}"
        );
    }

    #[test]
    fn any_text_is_formatted_once() {
        let pieces = [
            "{",
            "}",
            "do",
            "od",
            "if",
            "fi",
            "::",
            "\n",
            "\n",
            " ",
            "\t",
            "x = 1;",
            "(",
            ")",
            "/*",
            "*/",
            "//",
            "\\\n",
            "\"",
            "a:",
            "&&",
            "#define x",
            "é",
        ];
        let mut random = 5_u32;
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..16 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(pieces[(random >> 16) as usize % pieces.len()]);
            }
            let once = format(&text);
            assert_eq!(format(&once), once, "{text:?}");
            let words = |text: &str| -> Vec<String> {
                scan(text).iter().map(|t| t.text(text).trim_end().to_string()).collect()
            };
            assert_eq!(words(&once), words(&text), "{text:?}");
        }
    }
}
