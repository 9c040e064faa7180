//! From text to a resolved model.
//!
//! [`parse`] runs the preprocessor, the parser and the checker over one model and returns the
//! [`Model`] with everything there is to say about it. [`parse_formula`] does the same for one
//! temporal formula given apart from the model. No phase reads files, prints or panics; the text
//! of included files comes from a function of the caller.

mod ast;
mod check;
pub mod codes;
pub mod diagnostic;
mod foreign;
mod fragment;
mod lex;
mod parse;
mod preprocess;
pub mod render;
pub mod span;
mod suggest;
mod token;

pub use check::evaluate_in;
pub use diagnostic::{Diagnostic, Severity};
pub use parse::KEYWORDS;
pub use preprocess::{Loader, Macros};

use crate::model::{Formula, Model};
use diagnostic::Findings;
use span::{SourceMap, Span};

/// What parsing needs besides the text.
pub struct ParseOptions<'a> {
    /// `-D` options: names and values.
    pub defines: Vec<(String, String)>,
    /// Reads included files: the name of the including file, then the path as written. A relative
    /// path is meant relative to the including file.
    pub loader: &'a Loader<'a>,
}

/// What parsing gives.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The model, unless there are errors.
    pub model: Option<Model>,
    /// Errors first, then warnings, each in order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// What the diagnostics point into.
    pub sources: SourceMap,
}

/// Reads a model.
pub fn parse(main_file_name: &str, text: Vec<u8>, options: &ParseOptions<'_>) -> Parsed {
    let mut sources = SourceMap::default();
    let mut findings = Findings::default();
    let preprocessed = preprocess::preprocess(
        main_file_name,
        text,
        &options.defines,
        options.loader,
        &mut sources,
        &mut findings,
    );
    // A file or macro that is missing may have declared anything.
    let is_complete = !findings.has_errors();
    let tokens = fragment::collapse(preprocessed.tokens, &sources, &mut findings);
    let parsed = parse::parse(tokens, &mut sources, &mut findings);
    let mut model = None;
    if !findings.has_errors() {
        let mut checked = check::check(parsed.units, &mut findings);
        checked.macros = preprocessed.macros;
        checked.sources = sources.clone();
        model = Some(checked);
    } else if is_complete {
        check_remains(parsed, &sources, &mut findings);
    }
    if findings.has_errors() {
        model = None;
    }
    Parsed { model, diagnostics: foreign::conceal(findings.finish(), &sources), sources }
}

/// Names and types are checked in what could be parsed, too, so that errors of all kinds show at once.
/// What may only follow from the text that was lost is kept quiet.
fn check_remains(parsed: parse::Parsed, sources: &SourceMap, findings: &mut Findings) {
    let mut more = Findings::default();
    check::check(parsed.units, &mut more);
    for diagnostic in more.finish() {
        let is_lost = |span: Span| {
            let text = sources.text(span);
            let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.any(|word| parsed.lost.contains(word))
        };
        if diagnostic.is_error()
            && diagnostic.code != codes::NO_PROCESS
            && !is_lost(diagnostic.primary)
        {
            findings.push(diagnostic);
        }
    }
}

/// What to say about a formula whose automaton would be too large.
pub fn formula_too_large(formula: &crate::model::Ltl, reason: &str) -> Diagnostic {
    Diagnostic::error(codes::FORMULA_TOO_LARGE, formula.span, format!("the formula: {reason}"))
}

/// A formula that was refused, with what its diagnostics point into.
#[derive(Clone, Debug)]
pub struct FormulaErrors {
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// The model's sources and the formula.
    pub sources: SourceMap,
}

/// Reads a temporal formula over the globals, remote references and macros of a model, and adds it to the sources of the model. The
/// operators and their precedence are those of an `ltl` block.
pub fn parse_formula(text: &str, model: &mut Model) -> Result<Formula, FormulaErrors> {
    let mut sources = model.sources.clone();
    let mut findings = Findings::default();
    let tokens =
        preprocess::expand_text("<formula>", text, &model.macros, &mut sources, &mut findings);
    let tokens = fragment::collapse(tokens, &sources, &mut findings);
    let names = model.proctypes.iter().map(|p| p.name.as_str().into());
    let tree = parse::parse_formula(tokens, names, &mut sources, &mut findings);
    let formula = match tree {
        Some(tree) if !findings.has_errors() => check::check_formula(&tree, model, &mut findings),
        _ => None,
    };
    match formula {
        Some(formula) if !findings.has_errors() => {
            model.sources = sources;
            Ok(formula)
        }
        _ => Err(FormulaErrors { diagnostics: findings.finish(), sources }),
    }
}
