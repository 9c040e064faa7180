//! The preprocessor: directives, includes and conditionals. No external `cpp` is run.
//!
//! Works on tokens, so every token keeps the place it came from, and a message about expanded text
//! can show the macro and its use. Reading files is the caller's business (`loader`).
//!
//! Differs from a C preprocessor: in `0..N` the `N` is a name of its own and is expanded; C would
//! take `0..N` for one number, and Spin would then complain about an undeclared `N`.

mod condition;
mod expand;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use super::codes;
use super::diagnostic::{Diagnostic, Findings};
use super::fragment::FragmentTracker;
use super::lex::lex;
use super::span::{FileId, SourceFile, SourceMap, Span};
use super::token::{BadToken, Kind, Token};

/// Reads an included file: the name of the including file, then the path as written.
pub type Loader<'a> = dyn Fn(&str, &str) -> io::Result<Vec<u8>> + 'a;

const MAXIMAL_INCLUDE_DEPTH: usize = 64;
const MAXIMAL_FILES: usize = 2_000;
/// Tokens that macros make; about 50 times what those of the largest model known to us do. Text that
/// stands in the files does not count.
const MAXIMAL_TOKENS: usize = 1_000_000;

/// A macro.
#[derive(Clone, Debug)]
struct Macro {
    /// `None` for an object-like macro.
    parameters: Option<Vec<Arc<str>>>,
    /// The last parameter takes the rest of the arguments.
    variadic: bool,
    body: Arc<[Token]>,
    span: Span,
}

/// What preprocessing leaves behind.
pub(crate) struct Preprocessed {
    /// All tokens; the last one is [`Kind::End`].
    pub(crate) tokens: Vec<Token>,
    /// Object-like macros still defined at the end, for formulas given apart from the model.
    pub(crate) macros: Macros,
}

/// The macros at the end of a model.
#[derive(Clone, Debug, Default)]
pub struct Macros {
    table: HashMap<Arc<str>, Macro>,
}

/// Preprocesses the main file. `defines` are the `-D` options: name and value.
pub(crate) fn preprocess(
    name: &str,
    text: Vec<u8>,
    defines: &[(String, String)],
    loader: &Loader<'_>,
    sources: &mut SourceMap,
    findings: &mut Findings,
) -> Preprocessed {
    let mut this = Preprocessor::new(loader, sources, findings);
    let main = this.add_file(name, text);
    for (key, value) in defines {
        this.define_from_command_line(key, value);
    }
    this.file(main, 0);
    let macros = Macros { table: std::mem::take(&mut this.macros) };
    Preprocessed { tokens: this.tokens_to_end(main), macros }
}

/// Expands a text given apart from the model (`--formula`) with the model's macros.
pub(crate) fn expand_text(
    name: &str,
    text: &str,
    macros: &Macros,
    sources: &mut SourceMap,
    findings: &mut Findings,
) -> Vec<Token> {
    let loader = |_: &str, _: &str| Err(io::Error::from(io::ErrorKind::NotFound));
    let mut this = Preprocessor::new(&loader, sources, findings);
    this.macros = macros.table.clone();
    let file = this.add_file(name, text.as_bytes().to_vec());
    let tokens = this.lex(file);
    this.expand_into_output(tokens);
    this.tokens_to_end(file)
}

struct Preprocessor<'a> {
    loader: &'a Loader<'a>,
    sources: &'a mut SourceMap,
    findings: &'a mut Findings,
    macros: HashMap<Arc<str>, Macro>,
    output: Vec<Token>,
    /// Whether the output is inside a piece of C.
    fragments: FragmentTracker,
    /// A limit was hit: unwind without doing more.
    aborted: bool,
    /// Tokens in the output that came out of macros.
    expanded: usize,
    /// Expansion work done so far, against the same limit.
    work: usize,
}

/// One open `#if`.
struct Conditional {
    span: Span,
    /// This group is being kept.
    active: bool,
    /// Some group was kept already, or the whole conditional lies in skipped text.
    done: bool,
    seen_else: bool,
}

impl<'a> Preprocessor<'a> {
    fn new(loader: &'a Loader<'a>, sources: &'a mut SourceMap, findings: &'a mut Findings) -> Self {
        Preprocessor {
            loader,
            sources,
            findings,
            macros: HashMap::new(),
            fragments: FragmentTracker::default(),
            output: Vec::new(),
            aborted: false,
            expanded: 0,
            work: 0,
        }
    }

    /// The output, with an end that stands at the end of this file.
    fn tokens_to_end(self, file: FileId) -> Vec<Token> {
        let end = self.sources.files[file.0 as usize].text.len() as u32;
        let span = Span { file, start: end, end, expansion: None };
        let (starts_line, after_space, frozen) = (true, true, false);
        let mut tokens = self.output;
        tokens.push(Token { kind: Kind::End, span, starts_line, after_space, frozen });
        tokens
    }

    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(code, span, message));
    }

    fn add_file(&mut self, name: &str, bytes: Vec<u8>) -> FileId {
        let id = FileId(self.sources.files.len() as u32);
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let included_at = None;
        self.sources.files.push(SourceFile {
            name: name.to_string(),
            text: plain(text),
            included_at,
        });
        id
    }

    fn lex(&mut self, file: FileId) -> Vec<Token> {
        let text = std::mem::take(&mut self.sources.files[file.0 as usize].text);
        let tokens = lex(file, &text, self.findings);
        self.sources.files[file.0 as usize].text = text;
        tokens
    }

    fn define_from_command_line(&mut self, key: &str, value: &str) {
        let text = format!("{key} {value}");
        let file = self.add_file("<command line>", text.into_bytes());
        let tokens = self.lex(file);
        self.define(&tokens, Span { file, start: 0, end: key.len() as u32, expansion: None });
    }

    fn file(&mut self, file: FileId, depth: usize) {
        let tokens = self.lex(file);
        let mut conditionals: Vec<Conditional> = Vec::new();
        let mut at = 0;
        // Text that was read and not expanded yet.
        let mut text: Vec<Token> = Vec::new();
        while at < tokens.len() && !self.aborted {
            let token = &tokens[at];
            if token.starts_line && token.is("#") {
                let end = line_end(&tokens, at + 1);
                if self.may_change_output(&tokens[at..end]) {
                    self.expand_into_output(std::mem::take(&mut text));
                }
                self.directive(file, &tokens[at..end], &mut conditionals, depth);
                at = end;
                continue;
            }
            // Text up to the next directive is expanded at once, so that the arguments of a macro
            // may stand on several lines.
            let mut end = at + 1;
            while end < tokens.len() && !(tokens[end].starts_line && tokens[end].is("#")) {
                end += 1;
            }
            if conditionals.iter().all(|c| c.active) {
                text.extend_from_slice(&tokens[at..end]);
                // Arguments may also go on behind a directive, such as an `#if` around one of them.
                if !self.has_open_use(&text) {
                    self.expand_into_output(std::mem::take(&mut text));
                }
            }
            at = end;
        }
        self.expand_into_output(text);
        if let Some(open) = conditionals.last().filter(|_| !self.aborted) {
            let span = open.span;
            self.error(codes::UNBALANCED_CONDITIONAL, span, "this conditional has no `#endif`");
        }
    }

    /// Whether what stands before a directive must be expanded before it: macros and included text are
    /// not to be mixed up with the arguments of a use that is still open.
    fn may_change_output(&self, line: &[Token]) -> bool {
        let word = line.get(1).and_then(Token::name).map_or("", |name| name);
        matches!(word, "define" | "undef" | "include")
    }

    /// Whether the text ends inside the arguments of a macro.
    fn has_open_use(&self, text: &[Token]) -> bool {
        let mut at = 0;
        while let Some(token) = text.get(at) {
            at += 1;
            let takes_arguments = token
                .name()
                .and_then(|name| self.macros.get(name))
                .is_some_and(|definition| definition.parameters.is_some());
            if !takes_arguments || !text.get(at).is_some_and(|next| next.is("(")) {
                continue;
            }
            let mut open = 0usize;
            loop {
                match text.get(at) {
                    None => return true,
                    Some(token) if token.is("(") => open += 1,
                    Some(token) if token.is(")") => open -= 1,
                    Some(_) => {}
                }
                at += 1;
                if open == 0 {
                    break;
                }
            }
        }
        false
    }

    fn directive(
        &mut self,
        file: FileId,
        line: &[Token],
        conditionals: &mut Vec<Conditional>,
        depth: usize,
    ) {
        let Some(first) = line.get(1) else { return };
        let span = line[0].span.to(line[line.len() - 1].span);
        let rest = &line[2..];
        let active = conditionals.iter().all(|c| c.active);
        let Some(word) = first.name().cloned() else {
            // `# 12 "file"`: a line marker left by another preprocessor.
            if active && !matches!(first.kind, Kind::Number(_)) {
                self.error(
                    codes::UNKNOWN_DIRECTIVE,
                    first.span,
                    "a directive needs a name after `#`",
                );
            }
            return;
        };
        match &*word {
            "if" | "ifdef" | "ifndef" | "elif" | "else" | "endif" => {
                self.conditional(&word, rest, span, conditionals);
            }
            _ if !active => {}
            "define" => self.define(rest, span),
            "undef" => match rest.first().and_then(Token::name) {
                Some(name) => {
                    self.macros.remove(name);
                }
                None => self.error(codes::MALFORMED_DIRECTIVE, span, "`#undef` needs a name"),
            },
            // A header of C is the C compiler's matter.
            "include" if active && self.fragments.is_inside() => {
                line.iter().for_each(|token| self.emit(token.clone()));
            }
            "include" => self.include(file, rest, span, depth),
            "error" => {
                let text = source_text(self.sources, rest);
                self.error(codes::ERROR_DIRECTIVE, span, format!("#error {text}"));
            }
            "warning" => {
                let text = source_text(self.sources, rest);
                self.findings.push(Diagnostic::warning(
                    codes::ERROR_DIRECTIVE,
                    span,
                    format!("#warning {text}"),
                ));
            }
            "line" | "pragma" | "ident" => {}
            unknown => self.unknown_directive(unknown, first.span),
        }
    }

    fn unknown_directive(&mut self, word: &str, span: Span) {
        const KNOWN: &[&str] = &[
            "define", "undef", "include", "if", "ifdef", "ifndef", "elif", "else", "endif",
            "error", "warning", "line", "pragma",
        ];
        let message = format!("unknown directive `#{word}`");
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_DIRECTIVE, span, message);
        if let Some(near) = super::suggest::nearest(word, KNOWN.iter().copied()) {
            diagnostic = diagnostic.suggest(format!("did you mean `#{near}`?"));
        }
        self.findings.push(diagnostic);
    }

    /// Whether the macro that an `#ifdef` or `#ifndef` names is defined.
    fn is_defined(&mut self, word: &str, rest: &[Token], span: Span) -> Option<bool> {
        let Some(name) = rest.first().and_then(Token::name) else {
            self.error(codes::MALFORMED_DIRECTIVE, span, format!("`#{word}` needs a name"));
            return None;
        };
        Some(self.macros.contains_key(name))
    }

    /// A directive that opens, goes on with or closes a conditional.
    fn conditional(
        &mut self,
        word: &str,
        rest: &[Token],
        span: Span,
        conditionals: &mut Vec<Conditional>,
    ) {
        let code = codes::UNBALANCED_CONDITIONAL;
        match word {
            "elif" | "else" => {
                let Some(mut current) = conditionals.pop() else {
                    return self.error(code, span, format!("`#{word}` without an open `#if`"));
                };
                if current.seen_else {
                    self.error(code, span, format!("`#{word}` after `#else`"));
                }
                let open_around = conditionals.iter().all(|c| c.active);
                let value =
                    open_around && !current.done && (word == "else" || self.condition(rest, span));
                current.seen_else |= word == "else";
                current.active = value;
                current.done |= value;
                conditionals.push(current);
            }
            "endif" => {
                if conditionals.pop().is_none() {
                    self.error(code, span, "`#endif` without an open `#if`");
                }
            }
            opens => {
                let around = conditionals.iter().all(|c| c.active);
                let active = around
                    && match opens {
                        "if" => self.condition(rest, span),
                        _ => self.is_defined(word, rest, span) == Some(word == "ifdef"),
                    };
                let done = active || !around;
                conditionals.push(Conditional { span, active, done, seen_else: false });
            }
        }
    }

    fn define(&mut self, rest: &[Token], span: Span) {
        let Some(name) = rest.first().and_then(Token::name).cloned() else {
            return self.error(codes::MALFORMED_DIRECTIVE, span, "`#define` needs a name");
        };
        if &*name == "defined" {
            return self.error(codes::MALFORMED_DIRECTIVE, span, "`defined` cannot be a macro");
        }
        let mut at = 1;
        let mut parameters = None;
        let mut variadic = false;
        if rest.get(1).is_some_and(|t| t.is("(") && !t.after_space) {
            let mut names: Vec<Arc<str>> = Vec::new();
            at = 2;
            let closed = loop {
                let Some(token) = rest.get(at) else { break false };
                at += 1;
                if token.is(")") {
                    break true;
                }
                if token.is(",") && !names.is_empty() {
                    continue;
                }
                if token.is("...") {
                    variadic = true;
                    names.push("__VA_ARGS__".into());
                } else if let Some(parameter) = token.name() {
                    names.push(parameter.clone());
                } else {
                    break false;
                }
            };
            if !closed {
                return self.error(
                    codes::MALFORMED_DIRECTIVE,
                    span,
                    format!("the parameters of macro `{name}` must be names between parentheses"),
                );
            }
            parameters = Some(names);
        }
        let body: Arc<[Token]> = rest[at..].into();
        if let Some(old) = self.macros.get(&name) {
            let same = old.parameters == parameters
                && old.body.len() == body.len()
                && old.body.iter().zip(body.iter()).all(|(a, b)| a.kind == b.kind);
            if !same {
                self.findings.push(
                    Diagnostic::warning(
                        codes::MACRO_REDEFINED,
                        span,
                        format!("macro `{name}` gets a new meaning"),
                    )
                    .label(old.span, "first defined here"),
                );
            }
        }
        self.macros.insert(name, Macro { parameters, variadic, body, span });
    }

    fn include(&mut self, file: FileId, rest: &[Token], span: Span, depth: usize) {
        let line = if rest.first().is_some_and(|t| t.name().is_some()) {
            self.expand_all(rest.to_vec())
        } else {
            rest.to_vec()
        };
        let path = match line.first().map(|t| &t.kind) {
            Some(Kind::String(path)) => path.to_string(),
            Some(Kind::Mark("<")) => {
                let text = source_text(self.sources, &line);
                text.trim_start_matches('<').trim_end_matches('>').trim().to_string()
            }
            _ => {
                return self.error(
                    codes::MALFORMED_DIRECTIVE,
                    span,
                    "`#include` needs a file name in quotes",
                );
            }
        };
        if depth >= MAXIMAL_INCLUDE_DEPTH || self.sources.files.len() >= MAXIMAL_FILES {
            self.aborted = true;
            return self.error(
                codes::INCLUDE_DEPTH,
                span,
                format!("includes are nested too deeply; does `{path}` include itself?"),
            );
        }
        let including = self.sources.files[file.0 as usize].name.clone();
        match (self.loader)(&including, &path) {
            Ok(bytes) => {
                // Paths are relative to the including file, so messages must name the joined one.
                let name = match including.rfind('/') {
                    Some(slash) if !path.starts_with('/') => {
                        format!("{}{path}", &including[..=slash])
                    }
                    _ => path,
                };
                let included = self.add_file(&name, bytes);
                self.sources.files[included.0 as usize].included_at = Some(span);
                self.file(included, depth + 1);
            }
            Err(error) => {
                self.error(
                    codes::INCLUDE_UNREADABLE,
                    span,
                    format!("cannot read `{path}`: {error}"),
                );
            }
        }
    }

    /// Reports what is no token, and gives the rest to the parser.
    fn emit(&mut self, token: Token) {
        if token.span.expansion.is_some() {
            self.expanded += 1;
            if self.expanded > MAXIMAL_TOKENS {
                return self.abort_too_large(token.span);
            }
        }
        let is_c = self.fragments.pass(&token);
        let Kind::Bad(bad) = &token.kind else {
            self.output.push(token);
            return;
        };
        match bad {
            // What has no meaning in Promela may have one in C.
            BadToken::MalformedCharacter | BadToken::Stray('\\' | '$' | '`') if is_c => {
                self.output.push(token);
            }
            BadToken::UnterminatedString => self.error(
                codes::UNTERMINATED_STRING,
                token.span,
                "this string is not closed on its line",
            ),
            BadToken::MalformedCharacter => self.error(
                codes::MALFORMED_CHARACTER,
                token.span,
                "a character constant is one character between quotes, such as 'a' or '\\n'",
            ),
            BadToken::Stray('\u{fffd}') => self.error(
                codes::NOT_UTF8,
                token.span,
                "these bytes are not text in UTF-8; outside comments only ASCII can stand here",
            ),
            BadToken::Stray(c) => {
                let message = format!("the character `{}` has no meaning here", c.escape_default());
                self.error(codes::STRAY_CHARACTER, token.span, message)
            }
        }
    }

    fn abort_too_large(&mut self, span: Span) {
        if !self.aborted {
            self.aborted = true;
            let span = self.sources.use_site(span);
            self.error(
                codes::EXPANSION_TOO_LARGE,
                span,
                format!("macro expansion makes more than {MAXIMAL_TOKENS} tokens"),
            );
        }
    }
}

/// Without a byte order mark, with line ends as they are here.
fn plain(text: String) -> String {
    let unmarked = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if unmarked.contains('\r') { unmarked.replace("\r\n", "\n") } else { unmarked.to_string() }
}

fn line_end(tokens: &[Token], mut at: usize) -> usize {
    while at < tokens.len() && !tokens[at].starts_line {
        at += 1;
    }
    at
}

/// The source text from the first to the last of these tokens.
fn source_text(sources: &SourceMap, tokens: &[Token]) -> String {
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return String::new() };
    let text = &sources.file(first.span).text;
    text.get(first.span.start as usize..last.span.end as usize).unwrap_or("").to_string()
}
