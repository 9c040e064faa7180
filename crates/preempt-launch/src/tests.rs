//! The tests that a text has, found in the text itself: nothing is compiled.
//!
//! What macros make is not seen. Comments, strings and characters are passed over, so that nothing in them is a test.

use std::path::Path;

/// A language whose programs can be launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C, compiled by `preempt cc`.
    C,
    /// C++, compiled by `preempt c++`.
    CPlusPlus,
    /// Rust, by cargo.
    Rust,
}

impl Language {
    /// The language of a file, by its ending.
    pub fn of(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()? {
            "c" => Language::C,
            "cc" | "cpp" | "cxx" | "c++" | "C" => Language::CPlusPlus,
            "rs" => Language::Rust,
            _ => return None,
        })
    }
}

/// How a test is searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A whole program: it is compiled, and its schedules are searched by `preempt run`.
    Program,
    /// A test over the std facade: it searches its schedules itself.
    Facade,
    /// Any other Rust test, by `preempt cargo test`.
    Plain,
}

/// A test, or a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    /// Its path within its file, such as `tests::no_update_is_lost`; of a program `main`.
    pub name: String,
    /// Its line, from 1.
    pub line: u32,
    /// How it is searched.
    pub kind: Kind,
}

/// The tests of a text, in its order.
pub fn tests(language: Language, text: &str) -> Vec<Test> {
    let tokens = tokens(text, language);
    match language {
        Language::Rust => rust(&tokens),
        Language::C | Language::CPlusPlus => {
            let word = |at: usize| tokens.get(at).map_or("", |(word, _)| *word);
            let mut depth = 0_i32;
            let found = (0..tokens.len()).find(|at| {
                depth += i32::from(word(*at) == "{") - i32::from(word(*at) == "}");
                depth == 0 && word(*at) == "main" && word(at + 1) == "("
            });
            let main =
                |at: usize| Test { name: "main".into(), line: tokens[at].1, kind: Kind::Program };
            found.map(main).into_iter().collect()
        }
    }
}

fn rust(tokens: &[(&str, u32)]) -> Vec<Test> {
    let word = |at: usize| tokens.get(at).map_or("", |(word, _)| *word);
    let (mut found, mut modules) = (Vec::new(), Vec::<(&str, i32)>::new());
    let (mut depth, mut at) = (0_i32, 0);
    let mut attribute = None;
    while at < tokens.len() {
        match word(at) {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                modules.retain(|(_, outside)| *outside < depth);
            }
            "#" if word(at + 1) == "[" => {
                // The path of the attribute, up to its arguments.
                let mut end = at + 2;
                while !["]", "(", "=", ""].contains(&word(end)) {
                    end += 1;
                }
                let path: String = (at + 2..end).map(word).collect();
                if path == "test" || path.ends_with("::test") {
                    attribute = Some(path);
                }
                let mut open = 1;
                at += 2;
                while at < tokens.len() && open > 0 {
                    open += i32::from(word(at) == "[") - i32::from(word(at) == "]");
                    at += 1;
                }
                continue;
            }
            "mod" if word(at + 2) == "{" => modules.push((word(at + 1), depth)),
            "fn" => {
                if let Some(path) = attribute.take() {
                    let inside = modules.iter().map(|(module, _)| *module);
                    let name: Vec<&str> = inside.chain([word(at + 1)]).collect();
                    let is_facade =
                        path == "preempt::test" || path == "test" && names_us(&tokens[at..]);
                    let kind = if is_facade { Kind::Facade } else { Kind::Plain };
                    found.push(Test { name: name.join("::"), line: tokens[at].1, kind });
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Whether the body of the function that begins here names the facade, as `preempt::check(|| …)` does.
fn names_us(tokens: &[(&str, u32)]) -> bool {
    let mut depth = 0_i32;
    for (word, _) in tokens {
        depth += i32::from(*word == "{") - i32::from(*word == "}");
        match *word {
            "preempt" => return true,
            "}" if depth <= 0 => return false,
            _ => {}
        }
    }
    false
}

/// Words and marks with their lines.
fn tokens(text: &str, language: Language) -> Vec<(&str, u32)> {
    let bytes = text.as_bytes();
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        let rest = &text[at..];
        let length = match bytes[at] {
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'r' if language == Language::Rust && raw(rest) > 0 => raw(rest),
            b'"' => quoted(rest, b'"'),
            b'\'' => character(rest, language),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let length = end.unwrap_or(rest.len());
                tokens.push((&rest[..length], line));
                length
            }
            _ => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                if !bytes[at].is_ascii_whitespace() {
                    tokens.push((&rest[..length], line));
                }
                length
            }
        };
        line += rest[..length].bytes().filter(|byte| *byte == b'\n').count() as u32;
        at += length;
    }
    tokens
}

/// The length of what a quote begins.
fn quoted(text: &str, quote: u8) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            byte if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character; of the quote alone if it begins a lifetime.
fn character(text: &str, language: Language) -> usize {
    let mut letters = text.char_indices().skip(1);
    let first = letters.next().map(|(_, letter)| letter);
    let is_closed = letters.next().is_some_and(|(_, letter)| letter == '\'');
    match language {
        Language::Rust if first != Some('\\') && !is_closed => 1,
        _ => quoted(text, b'\''),
    }
}

/// The length of a raw string; 0 if none begins here.
fn raw(text: &str) -> usize {
    let marks = text[1..].bytes().take_while(|byte| *byte == b'#').count();
    if text.as_bytes().get(1 + marks) != Some(&b'"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(marks));
    let begin = marks + 2;
    text[begin..].find(&end).map_or(text.len(), |found| begin + found + end.len())
}

#[cfg(test)]
mod found {
    use super::*;

    fn named(language: Language, text: &str) -> Vec<(String, u32, Kind)> {
        tests(language, text).into_iter().map(|test| (test.name, test.line, test.kind)).collect()
    }

    #[test]
    fn tests_of_rust_have_their_paths() {
        let text = r##"
// #[test] fn in_a_comment() {}
const TEXT: &str = "#[test] fn in_a_string() {}";
const RAW: &str = r#"#[test] fn "raw"() {}"#;
fn brace<'a>(x: &'a str) -> char { '{' }
#[preempt::test(preemptions = 2)]
#[ignore = "[slow]"]
fn over_the_facade() {}
mod inner {
    mod tests {
        #[tokio::test]
        async fn deep() { if true { } }
    }
    #[cfg(test)]
    #[test]
    fn beside() { preempt::check(|| { 1; }) }
}
#[test]
fn outside() {}
"##;
        let expected = [
            ("over_the_facade", 8, Kind::Facade),
            ("inner::tests::deep", 12, Kind::Plain),
            ("inner::beside", 16, Kind::Facade),
            ("outside", 19, Kind::Plain),
        ];
        assert_eq!(named(Language::Rust, text), expected.map(|(n, l, k)| (n.to_string(), l, k)));
        let plain = "#[test]\nfn alone() {}";
        assert_eq!(named(Language::Rust, plain), [("alone".to_string(), 2, Kind::Plain)]);
    }

    #[test]
    fn the_program_of_c_is_its_main() {
        let text = "/* int main(void) */\nstatic void helper(void) { main(); }\nint main(int c, char **v) {}\n";
        assert_eq!(named(Language::C, text), [("main".to_string(), 3, Kind::Program)]);
        assert!(tests(Language::CPlusPlus, "char main_ = '\\''; // main(\n").is_empty());
    }

    #[test]
    fn texts_that_end_anywhere_are_read() {
        let text = "#[test]\nfn a() { \"x\\\"\"; 'c'; '\\n'; r#\"raw\"#; /* c */ } mod m { #[x::test(a = [1])] fn b() {} }";
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            for language in [Language::C, Language::CPlusPlus, Language::Rust] {
                tests(language, &text[..end]);
                tests(language, &text[end..]);
            }
        }
    }
}
