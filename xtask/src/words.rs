//! The words of comments: what reads badly in a hover window, and what sounds like characters of a play.
//!
//! - A doc comment is a whole sentence, so it does not begin in the middle of one: not in lower case, unless with code or with a
//!   name that is written so.
//! - Processes, threads and visits are "it". Pronouns for people are rejected wherever they stand: no rule can tell what they are
//!   about, and another word can always be found.

/// Names that are written in lower case.
const NAMES: &[&str] =
    &["clang", "gcc", "log2", "loom", "n", "pop", "psc", "shuttle", "std", "steal", "xorshift64"];

const PRONOUNS: &[&str] = &[
    "who",
    "whom",
    "somebody",
    "nobody",
    "anybody",
    "everybody",
    "he",
    "she",
    "himself",
    "herself",
];

/// What is to be written again in a file.
pub(crate) fn complaints(name: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let (mut is_example, mut before) = (false, "");
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if doc.is_some_and(|doc| doc.trim_start().starts_with("```")) {
            is_example = !is_example;
        }
        let words = || words(comment(line).unwrap_or_default());
        if !is_example {
            let found = words().find(|word| PRONOUNS.contains(&word.to_lowercase().as_str()));
            complaints.extend(found.map(|word| {
                format!("{name}:{}: say which thread or process, not `{word}`", at + 1)
            }));
        }
        let begins = line.starts_with("/// ") && !before.starts_with("///");
        let first =
            words().next().filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
        let is_prose = doc.is_some_and(|doc| doc.trim_start().starts_with(char::is_alphabetic));
        if let Some(first) = first.filter(|word| begins && is_prose && !NAMES.contains(word)) {
            complaints.push(format!("{name}:{}: a doc comment that begins with `{first}`", at + 1));
        }
        before = line;
    }
    complaints
}

/// The comment of a line, if it is one or has one behind code.
fn comment(line: &str) -> Option<&str> {
    match line.strip_prefix("//") {
        Some(rest) => Some(rest.trim_start_matches(['/', '!'])),
        None => line.split_once(" // ").map(|(_, rest)| rest),
    }
}

/// The words of prose: code between backticks is none.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split('`').step_by(2);
    prose.flat_map(|part| part.split(|c: char| !c.is_alphanumeric())).filter(|w| !w.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_badly_is_noticed() {
        let lines = [
            "/// The first,",
            "let a = 1;",
            "/// and the rest: nobody knows who.",
            "let b = 2; {} He waits.",
        ];
        let text = lines.join("\n").replace("{}", "//");
        let found = complaints("crates/x/src/a.rs", &text);
        assert_eq!(
            found,
            [
                "crates/x/src/a.rs:3: say which thread or process, not `nobody`",
                "crates/x/src/a.rs:3: a doc comment that begins with `and`",
                "crates/x/src/a.rs:4: say which thread or process, not `He`",
            ]
        );
    }

    #[test]
    fn code_and_names_are_let_through() {
        let text = "/// `who` is a variable.\nfn a() {}\n/// loom's `Arc`.\n/// ```\n/// let who = 1;\n/// ```\nfn b() {}\n";
        assert_eq!(complaints("crates/x/src/a.rs", text), Vec::<String>::new());
    }
}
