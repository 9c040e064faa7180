//! Diagnostics as text: file, line, column, excerpt, marker.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::diagnostic::{Diagnostic, Severity};
use super::span::{SourceMap, Span};

/// Expansions shown behind each other; more say nothing new.
const MAXIMAL_CHAIN: usize = 6;

/// One diagnostic as a few lines of text.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, colour: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let mut group = Group::with_title(title);
    // One snippet per file, because an annotation cannot reach into another one.
    let mut places: Vec<(Span, AnnotationKind, String)> =
        vec![(diagnostic.primary, AnnotationKind::Primary, String::new())];
    for (span, text) in &diagnostic.labels {
        places.push((*span, AnnotationKind::Context, text.clone()));
    }
    let mut current = diagnostic.primary.expansion;
    for _ in 0..MAXIMAL_CHAIN {
        let Some(expansion) = current.and_then(|id| sources.expansions.get(id.0 as usize)) else {
            break;
        };
        let text = format!("in expansion of `{}` used here", expansion.name);
        places.push((expansion.used_at, AnnotationKind::Context, text));
        current = expansion.used_at.expansion;
    }
    let mut files = Vec::new();
    for (span, _, _) in &places {
        if !files.contains(&span.file) {
            files.push(span.file);
        }
    }
    for file in files {
        let Some(source) = sources.files.get(file.0 as usize) else { continue };
        let here = || places.iter().filter(|(span, _, _)| span.file == file);
        let ranges: Vec<Range<usize>> =
            here().map(|(span, _, _)| clamp(&source.text, *span)).collect();
        let window = window(&source.text, &ranges);
        let first_line = source.text[..window.start].bytes().filter(|b| *b == b'\n').count() + 1;
        let mut snippet = Snippet::source(&source.text[window.clone()])
            .path(source.name.as_str())
            .line_start(first_line);
        for ((_, kind, text), range) in here().zip(ranges) {
            let annotation = kind.span(range.start - window.start..range.end - window.start);
            snippet = snippet.annotation(if text.is_empty() {
                annotation
            } else {
                annotation.label(text.as_str())
            });
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(suggestion) = &diagnostic.suggestion {
        group = group.element(Level::HELP.message(suggestion.as_str()));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// All diagnostics, with an empty line between them.
pub fn render_all(diagnostics: &[Diagnostic], sources: &SourceMap, colour: bool) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&render(diagnostic, sources, colour));
        text.push_str("\n\n");
    }
    text
}

/// The span as a range that the text has, on boundaries of characters.
fn clamp(text: &str, span: Span) -> Range<usize> {
    let mut start = (span.start as usize).min(text.len());
    let mut end = (span.end as usize).clamp(start, text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// The whole lines that the ranges lie in: the renderer looks at every line it is given.
fn window(text: &str, ranges: &[Range<usize>]) -> Range<usize> {
    let start = ranges.iter().map(|r| r.start).min().unwrap_or(0);
    let end = ranges.iter().map(|r| r.end).max().unwrap_or(0);
    let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[end..].find('\n').map_or(text.len(), |at| end + at);
    start..end
}
