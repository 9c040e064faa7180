//! What an editor asks about one text, and the answers.

use crate::boolean_fixes;
use crate::boolean_names;
use crate::checks::{Answer, Language};
use crate::document::Document;
use crate::fixes::{Fix, Patient};
use crate::format::format;
use crate::format_boolean::format_boolean;
use crate::names::{Names, names};
use crate::programs;
use crate::results::{Results, State};
use crate::scan::{Kind, Token, scan};
use crate::symbol::{Class, Symbol};
use crate::words::{WORDS, meaning};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, CodeLens, Command, CompletionItem,
    CompletionItemKind, Diagnostic, DocumentSymbol, Documentation, Hover, HoverContents, Location,
    MarkupContent, MarkupKind, NumberOrString, Position, SemanticToken, SemanticTokenType,
    SymbolKind, TextEdit, Uri, WorkspaceEdit,
};
use preempt_promela::syntax::KEYWORDS;
use std::ops::Range;
use std::sync::OnceLock;

/// A text with what is known about it.
pub(crate) struct Known {
    pub(crate) document: Document,
    /// Found when it is asked for: after most keys it is not.
    tokens: OnceLock<Vec<Token>>,
    names: OnceLock<Names>,
    language: Language,
    is_boolean: bool,
}

impl Known {
    pub(crate) fn new(text: String, language: Language) -> Self {
        let document = Document::new(text);
        let is_boolean = language == Language::Boolean;
        Known { document, tokens: OnceLock::new(), names: OnceLock::new(), language, is_boolean }
    }

    /// Of a program there are none: its names are known to the server of its language.
    fn tokens(&self) -> &[Token] {
        self.tokens.get_or_init(|| match self.language {
            Language::Program(_) => Vec::new(),
            Language::Promela | Language::Boolean => scan(&self.document.text),
        })
    }

    fn names(&self) -> &Names {
        self.names.get_or_init(|| match self.is_boolean {
            true => boolean_names::names(&self.document.text, self.tokens()),
            false => names(&self.document.text, self.tokens()),
        })
    }

    /// The word at a position that is a keyword, or predefined.
    fn is_keyword(&self, word: &str) -> bool {
        match self.is_boolean {
            true => boolean_names::KEYWORDS.contains(&word),
            // `in` is a word of `for` loops only.
            false => KEYWORDS.contains(&word) || word == "in" || meaning(word).is_some(),
        }
    }

    /// What the editor may offer to change between two positions, each with what it mends.
    pub(crate) fn actions(&self, uri: &Uri, asked: &CodeActionParams) -> Vec<CodeAction> {
        let patient =
            Patient { document: &self.document, tokens: self.tokens(), names: self.names() };
        let action = |fix: Fix, mended: Option<&Diagnostic>| {
            let edit = |(bytes, text)| TextEdit::new(self.document.range(bytes), text);
            let edits: Vec<TextEdit> = fix.edits.into_iter().map(edit).collect();
            #[allow(clippy::mutable_key_type)] // the protocol's type
            let changes = std::collections::HashMap::from([(uri.clone(), edits)]);
            CodeAction {
                title: fix.title,
                kind: Some(match mended {
                    Some(_) => CodeActionKind::QUICKFIX,
                    None => CodeActionKind::REFACTOR,
                }),
                diagnostics: mended.map(|one| vec![one.clone()]),
                edit: Some(WorkspaceEdit::new(changes)),
                ..CodeAction::default()
            }
        };
        let mut actions = Vec::new();
        for one in &asked.context.diagnostics {
            let Some(NumberOrString::String(code)) = &one.code else { continue };
            let place = self.document.offset(one.range.start)..self.document.offset(one.range.end);
            let fixes = match self.is_boolean {
                true => {
                    let program = (&self.document, self.tokens(), self.names());
                    boolean_fixes::fixes(program, (code, &one.message), place)
                }
                false => patient.fixes(code, &one.message, place),
            };
            actions.extend(fixes.into_iter().map(|fix| action(fix, Some(one))));
        }
        let offers = match self.language {
            Language::Boolean | Language::Program(_) => Vec::new(),
            Language::Promela => patient.offers(self.document.offset(asked.range.start)),
        };
        actions.extend(offers.into_iter().map(|fix| action(fix, None)));
        actions
    }

    fn symbol_at(&self, position: Position) -> Option<(Range<usize>, usize)> {
        self.names().at(self.document.offset(position))
    }

    pub(crate) fn hover(&self, uri: &Uri, position: Position, results: &Results) -> Option<Hover> {
        let markdown = |value: String, range: Range<usize>| Hover {
            contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
            range: Some(self.document.range(range)),
        };
        if let Language::Program(_) = self.language {
            let offset = self.document.offset(position);
            let (range, word) = programs::word_at(&self.document.text, offset)?;
            let of_this = (uri.as_str(), self.document.text.as_str());
            return Some(markdown(results.seen_at(of_this, position.line + 1, word)?, range));
        }
        let last = results.last(uri.as_str());
        if let Some((range, symbol)) = self.symbol_at(position) {
            let Symbol { class, detail, .. } = &self.names().symbols[symbol];
            let values = range_of(detail).map_or(String::new(), |values| format!(", {values}"));
            let language = if self.is_boolean { "boolean-program" } else { "promela" };
            let mut text = format!("```{language}\n{detail}\n```\n{}{values}", self.class(*class));
            if let Some(last) = last {
                text.push_str(&self.seen(symbol, last));
                let steps = self.steps(position.line + 1, last);
                if !steps.is_empty() {
                    text.push_str(&format!("\n\n{steps}"));
                }
            }
            return Some(markdown(text, range));
        }
        let offset = self.document.offset(position);
        let word =
            self.tokens().iter().find(|t| t.range.start <= offset && offset <= t.range.end)?;
        let meant = meaning(word.text(&self.document.text)).unwrap_or_default().to_string();
        let steps = last.map_or(String::new(), |last| self.steps(position.line + 1, last));
        let text = match (meant.is_empty(), steps.is_empty()) {
            (true, true) => return None,
            (false, false) => format!("{meant}\n\n{steps}"),
            _ => meant + &steps,
        };
        Some(markdown(text, word.range.clone()))
    }

    /// What the last counterexample does at a line, as long as the text is the one that was checked.
    fn steps(&self, line: u32, last: &Answer) -> String {
        /// More are not worth reading.
        const MOST: usize = 8;
        if last.task.text != self.document.text {
            return String::new();
        }
        let steps = last.steps_at(line);
        if steps.is_empty() {
            return String::new();
        }
        let hidden = steps.len().saturating_sub(MOST);
        let more = if hidden > 0 { format!("\n- {hidden} more") } else { String::new() };
        let shown: String = steps.iter().take(MOST).map(|step| format!("\n- `{step}`")).collect();
        format!("In the last counterexample:\n{shown}{more}")
    }

    fn class(&self, class: Class) -> &'static str {
        match (self.is_boolean, class) {
            (true, Class::Proctype) => "procedure",
            _ => class.name(),
        }
    }

    /// The values of a variable in the last counterexample.
    fn seen(&self, symbol: usize, last: &Answer) -> String {
        /// More are not worth reading.
        const MOST: usize = 8;
        let symbol = &self.names().symbols[symbol];
        if !matches!(symbol.class, Class::Variable | Class::Parameter) {
            return String::new();
        }
        let owner = symbol.parent.map(|parent| self.names().symbols[parent].name.as_str());
        let mut text = String::new();
        for (name, values) in last.values(&symbol.name, owner).into_iter().take(MOST) {
            let hidden = values.len().saturating_sub(MOST);
            let dots = if hidden > 0 { "… → " } else { "" };
            text.push_str(&format!("\n\n`{name}`: {dots}{}", values[hidden..].join(" → ")));
        }
        match (text.is_empty(), last.task.text == self.document.text) {
            (true, _) => text,
            (false, true) => format!("\n\nIn the last counterexample:{text}"),
            (false, false) => format!("\n\nIn the counterexample of an earlier text:{text}"),
        }
    }

    pub(crate) fn definition(&self, uri: &Uri, position: Position) -> Option<Location> {
        let (_, symbol) = self.symbol_at(position)?;
        let place = self.names().symbols[symbol].place.clone();
        Some(Location::new(uri.clone(), self.document.range(place)))
    }

    pub(crate) fn references(
        &self,
        uri: &Uri,
        position: Position,
        declaration: bool,
    ) -> Vec<Location> {
        let Some((_, symbol)) = self.symbol_at(position) else { return Vec::new() };
        let declared = &self.names().symbols[symbol].place;
        let places = self.names().of(symbol).filter(|place| declaration || place != declared);
        places.map(|place| Location::new(uri.clone(), self.document.range(place))).collect()
    }

    /// The name that a rename would change.
    pub(crate) fn renamed(&self, position: Position) -> Option<lsp_types::Range> {
        let found = self.symbol_at(position).map(|(range, _)| range);
        let found = found.filter(|place| !self.is_keyword(&self.document.text[place.clone()]));
        found.map(|place| self.document.range(place))
    }

    /// The edits of a rename, or why there are none.
    pub(crate) fn rename(&self, position: Position, to: &str) -> Result<Vec<TextEdit>, String> {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if to.is_empty() || !to.chars().all(letters) || to.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(format!("`{to}` is not a name"));
        }
        if self.is_keyword(to) {
            return Err(format!("`{to}` is a keyword"));
        }
        let (place, symbol) = self.symbol_at(position).ok_or("there is no name here")?;
        // `init` and a `never` without a name are listed among the names.
        if self.is_keyword(&self.document.text[place]) {
            return Err("this is a word of the language".into());
        }
        if self.names().symbols.iter().any(|other| other.name == to) {
            return Err(format!("`{to}` is another name of this model"));
        }
        let Symbol { name, class, .. } = &self.names().symbols[symbol];
        if *class == Class::Label && !self.is_boolean && special(name) != special(to) {
            let both = special(name).or(special(to)).unwrap_or_default();
            return Err(format!("labels that begin with `{both}` have a meaning"));
        }
        let edit = |place| TextEdit::new(self.document.range(place), to.to_string());
        Ok(self.names().of(symbol).map(edit).collect())
    }

    pub(crate) fn outline(&self) -> Vec<DocumentSymbol> {
        let top = |symbol: &&(usize, &Symbol)| symbol.1.parent.is_none();
        let all: Vec<(usize, &Symbol)> = self.names().symbols.iter().enumerate().collect();
        let mut list: Vec<DocumentSymbol> =
            all.iter().filter(top).map(|(at, _)| self.entry(*at)).collect();
        list.sort_by_key(|entry| entry.selection_range.start);
        list
    }

    #[allow(deprecated)] // the protocol's type has a field that is
    fn entry(&self, at: usize) -> DocumentSymbol {
        let symbol = &self.names().symbols[at];
        let children =
            self.names().symbols.iter().enumerate().filter(|(_, s)| s.parent == Some(at));
        let children: Vec<DocumentSymbol> = children.map(|(child, _)| self.entry(child)).collect();
        DocumentSymbol {
            name: symbol.name.clone(),
            detail: Some(self.class(symbol.class).into()),
            kind: match symbol.class {
                Class::Proctype => SymbolKind::CLASS,
                Class::Inline | Class::Macro => SymbolKind::FUNCTION,
                Class::Variable | Class::Parameter => SymbolKind::VARIABLE,
                Class::Constant => SymbolKind::ENUM_MEMBER,
                Class::Structure => SymbolKind::STRUCT,
                Class::Field => SymbolKind::FIELD,
                Class::Label => SymbolKind::KEY,
                Class::Property => SymbolKind::PROPERTY,
            },
            tags: None,
            deprecated: None,
            range: self.document.range(symbol.extent.clone()),
            selection_range: self.document.range(symbol.place.clone()),
            children: (!children.is_empty()).then_some(children),
        }
    }

    pub(crate) fn completion(&self, position: Position) -> Vec<CompletionItem> {
        let offset = self.document.offset(position);
        let mut items: Vec<CompletionItem> = self
            .names()
            .visible(offset)
            .map(|symbol| CompletionItem {
                label: symbol.name.clone(),
                kind: Some(match symbol.class {
                    Class::Proctype => CompletionItemKind::CLASS,
                    Class::Inline | Class::Macro => CompletionItemKind::FUNCTION,
                    Class::Constant => CompletionItemKind::ENUM_MEMBER,
                    Class::Structure => CompletionItemKind::STRUCT,
                    Class::Field => CompletionItemKind::FIELD,
                    Class::Label | Class::Property => CompletionItemKind::REFERENCE,
                    Class::Variable | Class::Parameter => CompletionItemKind::VARIABLE,
                }),
                detail: Some(symbol.detail.clone()),
                ..CompletionItem::default()
            })
            .collect();
        if let Language::Program(_) = self.language {
            return Vec::new();
        }
        items.sort_by(|a, b| a.label.cmp(&b.label));
        items.dedup_by(|a, b| a.label == b.label);
        if self.is_boolean {
            items.extend(boolean_names::KEYWORDS.iter().map(|word| CompletionItem {
                label: (*word).into(),
                kind: Some(CompletionItemKind::KEYWORD),
                ..CompletionItem::default()
            }));
            return items;
        }
        items.extend(WORDS.iter().map(|(word, meaning)| CompletionItem {
            label: (*word).into(),
            kind: Some(CompletionItemKind::KEYWORD),
            documentation: Some(Documentation::MarkupContent(MarkupContent {
                kind: MarkupKind::Markdown,
                value: (*meaning).into(),
            })),
            ..CompletionItem::default()
        }));
        items
    }

    /// Colours, as the protocol packs them: each relative to the one before.
    pub(crate) fn colours(&self) -> Vec<SemanticToken> {
        let mut out = Vec::new();
        let mut before = Position::new(0, 0);
        let mut meant = self.names().uses.iter().peekable();
        for token in self.tokens() {
            while meant.peek().is_some_and(|(range, _)| range.start < token.range.start) {
                meant.next();
            }
            let symbol = meant.peek().filter(|(range, _)| *range == token.range).map(|(_, s)| *s);
            let class = symbol.map(|s| self.names().symbols[s].class);
            let is_keyword = self.is_keyword(token.text(&self.document.text));
            let Some(kind) = colour(token, class, is_keyword) else { continue };
            // A token may not reach over the end of a line.
            let mut start = token.range.start;
            for line in token.text(&self.document.text).split_inclusive('\n') {
                let length = line.trim_end().encode_utf16().count() as u32;
                let here = self.document.position(start);
                start += line.len();
                if length == 0 {
                    continue;
                }
                let delta_line = here.line - before.line;
                let delta_start = if delta_line == 0 {
                    here.character - before.character
                } else {
                    here.character
                };
                out.push(SemanticToken {
                    delta_line,
                    delta_start,
                    length,
                    token_type: kind,
                    token_modifiers_bitset: 0,
                });
                before = here;
            }
        }
        out
    }

    pub(crate) fn formatted(&self) -> Option<Vec<TextEdit>> {
        let text = match self.language {
            Language::Boolean => format_boolean(&self.document.text),
            Language::Promela => format(&self.document.text),
            Language::Program(_) => return None,
        };
        let edit = |text| vec![TextEdit::new(self.document.whole(), text)];
        Some(if text == self.document.text { Vec::new() } else { edit(text) })
    }

    /// What can be started from the text: a check of each property with what came of the last one, a simulation, a walk.
    pub(crate) fn lenses(&self, uri: &Uri, results: &Results) -> Vec<CodeLens> {
        let lens = |place: &Range<usize>, title: String, command: &str, more: Option<&str>| {
            let mut arguments = vec![serde_json::json!(uri.as_str())];
            arguments.extend(more.map(|more| serde_json::json!(more)));
            let command = Command { title, command: command.into(), arguments: Some(arguments) };
            CodeLens {
                range: self.document.range(place.clone()),
                command: Some(command),
                data: None,
            }
        };
        let mut list = Vec::new();
        let mut check = |place: &Range<usize>, title: String, property: Option<&str>| {
            let state = results.of(uri.as_str(), property);
            let (title, command) = match state {
                State::Unknown => (title, "preempt.check"),
                State::Running => (format!("{title}: running; stop it"), "preempt.cancel"),
                State::Known(answer) if answer.task.text != self.document.text => (
                    format!("{title} again (before the last change: {})", answer.in_brief()),
                    "preempt.check",
                ),
                State::Known(answer) => {
                    (format!("{title}: {}", answer.in_brief()), "preempt.check")
                }
            };
            list.push(lens(place, title, command, property));
            if matches!(state, State::Known(answer) if answer.trace().is_some()) {
                let title = "show the execution".to_string();
                list.push(lens(place, title, "preempt.showTrace", property));
            }
        };
        if let Language::Program(language) = self.language {
            for test in programs::offered(language, &self.document.text) {
                let line = self.document.line(test.line as usize - 1);
                let place = self.document.offset(line.start)..self.document.offset(line.end);
                check(&place, "check all schedules".into(), Some(&test.name));
            }
            return list;
        }
        for symbol in &self.names().symbols {
            if symbol.class == Class::Property && symbol.scope_is_wide() {
                check(&symbol.place, format!("check {}", symbol.name), Some(&symbol.name));
            }
        }
        if let Some(first) = self.names().symbols.iter().find(|s| s.class == Class::Proctype) {
            check(&first.place, "check".into(), None);
            if !self.is_boolean {
                list.push(lens(&first.place, "simulate".into(), "preempt.simulate", None));
            }
            list.push(lens(&first.place, "walk through it".into(), "preempt.serve", None));
        }
        list
    }
}

/// The types of tokens, in the order of their numbers.
pub(crate) const COLOURS: &[SemanticTokenType] = &[
    SemanticTokenType::KEYWORD,
    SemanticTokenType::NUMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::COMMENT,
    SemanticTokenType::MACRO,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::CLASS,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::ENUM_MEMBER,
    SemanticTokenType::STRUCT,
    SemanticTokenType::PROPERTY,
];

fn colour(token: &Token, class: Option<Class>, is_keyword: bool) -> Option<u32> {
    Some(match (token.kind, class) {
        (Kind::Number, _) => 1,
        (Kind::String, _) => 2,
        (Kind::Comment, _) => 3,
        (Kind::Directive, _) | (_, Some(Class::Macro)) => 4,
        (_, Some(Class::Inline | Class::Property)) => 5,
        (_, Some(Class::Proctype)) => 6,
        (_, Some(Class::Variable)) => 7,
        (_, Some(Class::Parameter)) => 8,
        (_, Some(Class::Constant)) => 9,
        (_, Some(Class::Structure)) => 10,
        (_, Some(Class::Field | Class::Label)) => 11,
        (Kind::Word, None) if is_keyword => 0,
        _ => return None,
    })
}

/// The values that a declaration allows.
fn range_of(detail: &str) -> Option<&'static str> {
    Some(match detail.split(' ').next()? {
        "bit" | "bool" => "0 or 1",
        "byte" | "pid" => "0 to 255",
        "short" => "-32768 to 32767",
        "int" => "32 bits with a sign",
        _ => return None,
    })
}

/// The beginning that gives a label its meaning.
fn special(label: &str) -> Option<&'static str> {
    ["accept", "end", "progress"].into_iter().find(|prefix| label.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_promela::syntax::{ParseOptions, parse};
    use std::path::Path;

    fn compiles(text: &str) -> bool {
        let options = ParseOptions {
            defines: Vec::new(),
            loader: &|_, _| Err(std::io::ErrorKind::NotFound.into()),
        };
        parse("model.pml", text.as_bytes().to_vec(), &options).model.is_some()
    }

    /// A rename that forgets a use, or takes one that means something else, leaves a model that does not
    /// compile: every name of every example is renamed.
    #[test]
    fn every_name_can_be_renamed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let mut renamed = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if path.extension().is_none_or(|e| e != "pml") || !compiles(&text) {
                continue;
            }
            let known = Known::new(text.clone(), Language::Promela);
            for symbol in
                known.names().symbols.iter().filter(|s| s.name != "init" && s.name != "never")
            {
                // The prefix of a label means something.
                let to = format!("{}_renamed", symbol.name);
                let place = known.document.position(symbol.place.start);
                let edits = known.rename(place, &to).unwrap();
                let mut changed = text.clone();
                for edit in edits.iter().rev() {
                    let bytes = known.document.offset(edit.range.start)
                        ..known.document.offset(edit.range.end);
                    changed.replace_range(bytes, &edit.new_text);
                }
                assert!(
                    compiles(&changed),
                    "{}: {} ({})",
                    path.display(),
                    symbol.name,
                    symbol.class.name()
                );
                renamed += 1;
            }
        }
        assert!(renamed > 100, "{renamed}");
    }
}
