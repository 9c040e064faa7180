//! Diagnostics: the compiler's own, with its codes, places and hints.

use crate::checks::{Answer, Language, beside, language_of};
use crate::document::Document;
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location,
    NumberOrString, Uri,
};
use preempt_bool::Dialect;
use preempt_promela::ir::{LowerOptions, can_be_lowered};
use preempt_promela::syntax::span::{SourceMap, Span};
use preempt_promela::syntax::{self, ParseOptions, parse};

/// What `preempt check` would say about a text, as far as it can be said without a search.
pub(crate) fn diagnose(uri: &Uri, path: &str, document: &Document) -> Vec<Diagnostic> {
    match language_of(path) {
        Language::Boolean => boolean(path, document),
        Language::Promela => promela(uri, path, document),
        Language::Program(_) => Vec::new(),
    }
}

/// What the last check of a text found, at the line to blame, as long as the text is the one that was checked.
pub(crate) fn found(answer: &Answer, document: &Document) -> Vec<Diagnostic> {
    let claims = answer.claims.iter().flatten().filter(|_| answer.task.text == document.text);
    claims
        .filter_map(|claim| claim.violation.as_ref())
        .map(|violation| {
            let mut message = violation.message.clone();
            for reason in preempt_report::reasons(&violation.trace) {
                message.push('\n');
                message.push_str(&reason);
            }
            let line = violation.line.saturating_sub(1) as usize;
            let line = if violation.file == answer.task.path { line } else { 0 };
            Diagnostic {
                range: document.line(line),
                severity: Some(DiagnosticSeverity::ERROR),
                code: Some(NumberOrString::String(violation.kind.name().into())),
                source: Some("preempt check".into()),
                message,
                ..Diagnostic::default()
            }
        })
        .collect()
}

fn promela(uri: &Uri, path: &str, document: &Document) -> Vec<Diagnostic> {
    let options = ParseOptions { defines: Vec::new(), loader: &beside };
    let parsed = parse(path, document.text.clone().into_bytes(), &options);
    let mut found = parsed.diagnostics;
    if let Some(model) = &parsed.model
        && let Err(error) = can_be_lowered(model, LowerOptions::default())
    {
        found.push(error.diagnostic());
    }
    found.iter().map(|one| shown(uri, document, &parsed.sources, one)).collect()
}

fn shown(
    uri: &Uri,
    document: &Document,
    sources: &SourceMap,
    found: &syntax::Diagnostic,
) -> Diagnostic {
    // Text out of a macro or an included file is shown where it came from.
    let place = |span: Span| {
        let mut span = sources.use_site(span);
        while let Some(included) =
            sources.files.get(span.file.0 as usize).and_then(|f| f.included_at)
        {
            span = sources.use_site(included);
        }
        document.range(span.start as usize..(span.end as usize).max(span.start as usize))
    };
    let mut message = found.message.clone();
    for more in found.notes.iter().chain(&found.suggestion) {
        message.push('\n');
        message.push_str(more);
    }
    let related = found.labels.iter().map(|(span, text)| DiagnosticRelatedInformation {
        location: Location::new(uri.clone(), place(*span)),
        message: text.clone(),
    });
    let related: Vec<_> = related.collect();
    Diagnostic {
        range: place(found.primary),
        severity: Some(match found.is_error() {
            true => DiagnosticSeverity::ERROR,
            false => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(found.code.into())),
        code_description: None::<CodeDescription>,
        source: Some("preempt".into()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    }
}

fn boolean(path: &str, document: &Document) -> Vec<Diagnostic> {
    let found = match preempt_bool::parse(&document.text, path, Dialect::Slam) {
        Ok((_, warnings)) => warnings,
        Err(errors) => errors,
    };
    let shown = |one: &preempt_bool::Diagnostic| Diagnostic {
        range: document.range(one.span.clone()),
        severity: Some(match one.severity {
            preempt_bool::Severity::Error => DiagnosticSeverity::ERROR,
            preempt_bool::Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(one.code.into())),
        source: Some("preempt".into()),
        message: std::iter::once(&one.message)
            .chain(&one.notes)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n"),
        ..Diagnostic::default()
    };
    found.iter().map(shown).collect()
}
