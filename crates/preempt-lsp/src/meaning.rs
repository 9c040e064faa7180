//! Which declarations a word can mean.
//!
//! Most words mean the innermost name that is visible where they stand. The bodies of macros and inlines stand
//! elsewhere: a word there means whatever it means where the macro or inline is used, which may be several
//! declarations. These belong together: they are referred to and renamed as one.
//!
//! Fields are looked up in the type of what stands before the dot, labels behind `@` and variables behind `:` in the
//! process type that is named before. Where that is not known, all of that name are meant.

use crate::scan::{Kind, Token};
use crate::symbol::{Class, Symbol};
use std::collections::HashMap;
use std::ops::Range;

/// Words with the symbols that they mean, at least one each.
pub(crate) type Uses = Vec<(Range<usize>, Vec<usize>)>;

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Role {
    Plain,
    Label,
}

struct Resolver<'t> {
    text: &'t str,
    /// All tokens but comments.
    words: Vec<&'t Token>,
    symbols: &'t [Symbol],
    by_name: HashMap<&'t str, Vec<usize>>,
    /// The macros and inlines.
    bodies: Vec<usize>,
    /// Where the names of macros and inlines stand.
    mentions: HashMap<&'t str, Vec<usize>>,
    /// What names mean in the bodies of macros and inlines.
    known: HashMap<(usize, &'t str, Role), Vec<usize>>,
}

/// What each word of a text means.
pub(crate) fn uses(text: &str, tokens: &[Token], symbols: &[Symbol]) -> Uses {
    let words: Vec<&Token> = tokens.iter().filter(|t| t.kind != Kind::Comment).collect();
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, symbol) in symbols.iter().enumerate() {
        by_name.entry(symbol.name.as_str()).or_default().push(at);
    }
    let is_body = |symbol: &usize| matches!(symbols[*symbol].class, Class::Macro | Class::Inline);
    let bodies = (0..symbols.len()).filter(&is_body).collect();
    let mut mentions: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, token) in words.iter().enumerate().filter(|(_, token)| token.kind == Kind::Word) {
        if by_name.get(token.text(text)).is_some_and(|known| known.iter().any(&is_body)) {
            mentions.entry(token.text(text)).or_default().push(at);
        }
    }
    let mut resolver =
        Resolver { text, words, symbols, by_name, bodies, mentions, known: HashMap::new() };
    let mut uses = Vec::new();
    for at in 0..resolver.words.len() {
        let token = resolver.words[at];
        if token.kind != Kind::Word || !resolver.by_name.contains_key(token.text(text)) {
            continue;
        }
        let meant = resolver.meaning(at);
        if !meant.is_empty() {
            uses.push((token.range.clone(), meant));
        }
    }
    uses
}

impl<'t> Resolver<'t> {
    fn word(&self, at: usize) -> &'t str {
        self.words.get(at).map_or("", |token| token.text(self.text))
    }

    fn before(&self, at: usize) -> &'t str {
        at.checked_sub(1).map_or("", |at| self.word(at))
    }

    fn named(&self, name: &str, fits: impl Fn(&Symbol) -> bool) -> Vec<usize> {
        let known = self.by_name.get(name).into_iter().flatten();
        known.copied().filter(|symbol| fits(&self.symbols[*symbol])).collect()
    }

    /// The token that a dot, `@` or colon belongs to, past an index in brackets.
    fn base(&self, mark: usize) -> Option<usize> {
        let mut at = mark.checked_sub(1)?;
        if self.word(at) == "]" {
            let mut depth = 0_usize;
            loop {
                match self.word(at) {
                    "]" => depth += 1,
                    "[" => depth -= 1,
                    _ => {}
                }
                at = at.checked_sub(1)?;
                if depth == 0 {
                    break;
                }
            }
        }
        (self.words[at].kind == Kind::Word).then_some(at)
    }

    /// What the word means where it stands.
    fn meaning(&mut self, at: usize) -> Vec<usize> {
        let (name, range) = (self.word(at), self.words[at].range.clone());
        let declared = self.named(name, |symbol| symbol.place == range);
        let is_macro = declared.iter().any(|symbol| self.symbols[*symbol].class == Class::Macro);
        if !declared.is_empty() && !is_macro {
            return declared;
        }
        // The preprocessor comes first; what is defined twice is one name.
        let macros = self.named(name, |symbol| symbol.class == Class::Macro);
        let first = macros.iter().map(|symbol| self.symbols[*symbol].place.start).min();
        let is_behind = first.is_some_and(|first| first < range.start);
        // `#ifdef N` may stand before any definition.
        if is_macro || self.is_condition(at) || is_behind && self.own_parameter(at).is_none() {
            return macros;
        }
        match self.before(at) {
            "." => self.field(at, name),
            "@" => {
                let own = self.members(at - 1, name, |class| class == Class::Label);
                own.unwrap_or_else(|| self.named(name, |symbol| symbol.class == Class::Label))
            }
            "goto" => match self.resolve(at, name, Role::Label) {
                found if found.is_empty() => {
                    self.named(name, |symbol| symbol.class == Class::Label)
                }
                found => found,
            },
            ":" => {
                let variable = |class| matches!(class, Class::Variable | Class::Parameter);
                let remote = self.members(at - 1, name, variable);
                remote.unwrap_or_else(|| self.resolve(at, name, Role::Plain))
            }
            _ => self.resolve(at, name, Role::Plain),
        }
    }

    /// Whether the word stands in a directive that defines nothing.
    fn is_condition(&self, at: usize) -> bool {
        let place = self.words[at].range.start;
        let inside = |body: &usize| self.symbols[*body].extent.contains(&place);
        self.words[at].in_directive && !self.bodies.iter().any(inside)
    }

    /// The parameter of the macro in whose body the word stands, if it is one.
    fn own_parameter(&self, at: usize) -> Option<usize> {
        let place = self.words[at].range.start;
        let own =
            |symbol: &Symbol| symbol.class == Class::Parameter && symbol.scope.contains(&place);
        self.named(self.word(at), own).into_iter().find(|_| self.words[at].in_directive)
    }

    /// What belongs to the process type before a mark; `None` if there is none, or it has nothing of this name.
    fn members(
        &self,
        mark: usize,
        name: &str,
        class: impl Fn(Class) -> bool,
    ) -> Option<Vec<usize>> {
        let owner = self.word(self.base(mark)?);
        let owners = self.named(owner, |symbol| symbol.class == Class::Proctype);
        let member = |symbol: &Symbol| {
            class(symbol.class) && symbol.parent.is_some_and(|parent| owners.contains(&parent))
        };
        let found = self.named(name, member);
        (!found.is_empty()).then_some(found)
    }

    /// A field, by the type of what stands before the dot.
    fn field(&mut self, at: usize, name: &str) -> Vec<usize> {
        let all = self.named(name, |symbol| symbol.class == Class::Field);
        let Some(base) = self.base(at - 1) else { return all };
        let owners = self.meaning(base);
        let types: Vec<usize> = owners
            .iter()
            .filter_map(|owner| self.symbols[*owner].detail.split_whitespace().next())
            .flat_map(|ty| self.named(ty, |symbol| symbol.class == Class::Structure))
            .collect();
        let own = |field: &usize| self.symbols[*field].parent.is_some_and(|of| types.contains(&of));
        let found: Vec<usize> = all.iter().copied().filter(own).collect();
        if found.is_empty() { all } else { found }
    }

    /// What a name would mean if it stood at this word.
    fn resolve(&mut self, at: usize, name: &'t str, role: Role) -> Vec<usize> {
        let (place, in_directive) = (self.words[at].range.start, self.words[at].in_directive);
        let encloses = |class: Class| {
            let inside = |body: &&usize| {
                let symbol = &self.symbols[**body];
                symbol.class == class && symbol.extent.contains(&place)
            };
            self.bodies.iter().find(inside).copied()
        };
        if in_directive {
            let Some(body) = encloses(Class::Macro) else { return Vec::new() };
            let own = |symbol: &Symbol| symbol.parent == Some(body);
            let own = self.named(name, own);
            return if own.is_empty() { self.where_used(body, name, role) } else { own };
        }
        let visible = |symbol: &Symbol| {
            let is_right = match symbol.class {
                Class::Field => false,
                Class::Label => role == Role::Label,
                _ => role == Role::Plain,
            };
            is_right && symbol.scope.contains(&place)
        };
        let visible = self.named(name, visible);
        let innermost = visible.into_iter().min_by_key(|at| self.symbols[*at].scope.len());
        if let Some(inline) = encloses(Class::Inline) {
            let extent = &self.symbols[inline].extent;
            let is_own = |symbol: usize| extent.contains(&self.symbols[symbol].place.start);
            if !innermost.is_some_and(is_own) {
                let elsewhere = self.where_used(inline, name, role);
                if !elsewhere.is_empty() {
                    return elsewhere;
                }
            }
        }
        match innermost {
            Some(found) => vec![found],
            // Formulas and bodies may speak of what is declared behind them.
            None if role == Role::Plain => self.named(name, |symbol| {
                symbol.parent.is_none() && !matches!(symbol.class, Class::Label | Class::Field)
            }),
            None => Vec::new(),
        }
    }

    /// What a name in the body of a macro or inline means, wherever that is used.
    fn where_used(&mut self, body: usize, name: &'t str, role: Role) -> Vec<usize> {
        if let Some(known) = self.known.get(&(body, name, role)) {
            return known.clone();
        }
        // A body that is used inside itself adds nothing.
        self.known.insert((body, name, role), Vec::new());
        let symbol = &self.symbols[body];
        let mentions = self.mentions.get(symbol.name.as_str()).cloned().unwrap_or_default();
        let mut found = Vec::new();
        for at in mentions {
            let is_declaration =
                self.symbols[body].place == self.words[at].range || self.before(at) == "inline";
            let is_call = self.symbols[body].class == Class::Macro || self.word(at + 1) == "(";
            if !is_declaration && is_call {
                found.extend(self.resolve(at, name, role));
            }
        }
        found.sort_unstable();
        found.dedup();
        self.known.insert((body, name, role), found.clone());
        found
    }
}

/// Symbols that some word means together: each with the first one of its group.
pub(crate) fn groups(uses: &Uses, symbols: usize) -> Vec<usize> {
    let mut first: Vec<usize> = (0..symbols).collect();
    fn find(first: &mut [usize], at: usize) -> usize {
        let mut root = at;
        while first[root] != root {
            root = first[root];
        }
        first[at] = root;
        root
    }
    for (_, meant) in uses {
        for pair in meant.windows(2) {
            let (a, b) = (find(&mut first, pair[0]), find(&mut first, pair[1]));
            first[a.max(b)] = a.min(b);
        }
    }
    (0..symbols).map(|at| find(&mut first, at)).collect()
}
