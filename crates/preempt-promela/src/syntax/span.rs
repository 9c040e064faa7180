//! Where things stand in the source, through includes and macros.

/// Macros that use macros are looked through this far.
const MAXIMAL_CHAIN: usize = 32;

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name as given by the user or the `#include`.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The `#include` that it came by; `None` for the main file and the command line.
    pub included_at: Option<Span>,
}

/// Index of a file in the [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId(pub u32);

/// Index of a macro or inline expansion in the [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExpansionId(pub u32);

/// One use of a macro or inline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The macro's or inline's name.
    pub name: String,
    /// Where it was used, its arguments included.
    pub used_at: Span,
    /// An inline, or a macro.
    pub is_inline: bool,
}

/// A range of bytes in a file, and the expansion it came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// The innermost expansion the text came out of.
    pub expansion: Option<ExpansionId>,
}

impl Span {
    /// From the start of `self` to the end of `other`, where both lie in one file and expansion.
    pub fn to(self, other: Span) -> Span {
        if self.file == other.file && self.expansion == other.expansion && self.start <= other.end {
            Span { end: other.end, ..self }
        } else {
            self
        }
    }
}

/// All files and expansions of one model.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// The files, the main one first.
    pub files: Vec<SourceFile>,
    /// The expansions.
    pub expansions: Vec<Expansion>,
}

impl SourceMap {
    /// The file a span lies in.
    pub fn file(&self, span: Span) -> &SourceFile {
        &self.files[span.file.0 as usize]
    }

    /// Line and column of the span's start, both counted from 1.
    pub fn line_column(&self, span: Span) -> (u32, u32) {
        let text = &self.file(span).text;
        let mut at = (span.start as usize).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        // Every step of a trace asks: sums of bytes are what processors add many of at once.
        let lines = |part: &[u8]| part.iter().map(|b| u8::from(*b == b'\n')).sum::<u8>();
        let line =
            before.as_bytes().chunks(255).map(|part| usize::from(lines(part))).sum::<usize>() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line as u32, column as u32)
    }

    /// Records one use of a macro or inline.
    pub(crate) fn add_expansion(&mut self, expansion: Expansion) -> ExpansionId {
        let id = ExpansionId(self.expansions.len() as u32);
        self.expansions.push(expansion);
        id
    }

    /// From the start of one span to the end of another; where macros stand between, at the place
    /// of their use.
    pub(crate) fn join(&self, first: Span, last: Span) -> Span {
        let around = |span: &Span| Some(self.expansions[span.expansion?.0 as usize].used_at);
        for start in std::iter::successors(Some(first), around).take(MAXIMAL_CHAIN) {
            for end in std::iter::successors(Some(last), around).take(MAXIMAL_CHAIN) {
                let same_text = start.file == end.file && start.expansion == end.expansion;
                if same_text && start.start <= end.end {
                    return start.to(end);
                }
            }
        }
        first
    }

    /// The text of a span on one line.
    pub fn text(&self, span: Span) -> String {
        let Some(file) = self.files.get(span.file.0 as usize) else { return String::new() };
        let text = file.text.get(span.start as usize..span.end as usize).unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The place a reader would point at: for text out of an expansion, where it was used.
    pub fn use_site(&self, mut span: Span) -> Span {
        while let Some(expansion) = span.expansion {
            span = self.expansions[expansion.0 as usize].used_at;
        }
        span
    }
}
