//! The values that options take, and how they are written.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use preempt_check::Sampler;
use preempt_check::search::SAMPLERS;
use std::sync::LazyLock;

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportForm {
    /// The counterexample in lanes, the verdict, the numbers
    Plain,
    /// As Spin's verifier prints it
    Spin,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compat {
    Spin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchOrder {
    Auto,
    Dfs,
    Bfs,
    Idfs,
    Sample(&'static Sampler),
}

/// By hand, so that every search of [`SAMPLERS`] is offered by its name.
impl ValueEnum for SearchOrder {
    fn value_variants<'a>() -> &'a [Self] {
        static ORDERS: LazyLock<Vec<SearchOrder>> = LazyLock::new(|| {
            let exhaustive =
                [SearchOrder::Auto, SearchOrder::Dfs, SearchOrder::Bfs, SearchOrder::Idfs];
            exhaustive.into_iter().chain(SAMPLERS.iter().map(SearchOrder::Sample)).collect()
        });
        &ORDERS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self {
            SearchOrder::Auto => "auto",
            SearchOrder::Dfs => "dfs",
            SearchOrder::Bfs => "bfs",
            SearchOrder::Idfs => "idfs",
            SearchOrder::Sample(sampler) => sampler.name,
        }))
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Native,
    Interp,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    Exact,
    Tree,
    Compact,
    Bitstate,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Lazy,
    Eager,
    Direct,
    Explicit,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Translation {
    Lazy,
    Eager,
}

/// `512M`, `8G`, `1000000B`. A number alone would be read as bytes by some and as megabytes by others.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let whole = text.trim();
    let text = whole.trim_end_matches(['B', 'b']).trim_end_matches('i');
    if whole.ends_with(|last: char| last.is_ascii_digit()) && whole.parse::<f64>().is_ok() {
        return Err(format!("`{whole}` has no unit: {whole}M are megabytes, {whole}B are bytes"));
    }
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        Some((at, 't' | 'T')) => (&text[..at], 1_u64 << 40),
        _ => (text, 1),
    };
    let number: f64 = digits.parse().map_err(|_| format!("`{text}` is not a size such as 512M"))?;
    if !number.is_finite() || number <= 0.0 {
        return Err("a size must be larger than 0".into());
    }
    Ok((number * factor as f64) as u64)
}

/// One of several jobs, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) number: u32,
    pub(crate) of: u32,
}

pub(super) fn parse_part(text: &str) -> Result<Part, String> {
    let numbers = text
        .split_once('/')
        .and_then(|(number, of)| Some(Part { number: number.parse().ok()?, of: of.parse().ok()? }));
    match numbers {
        Some(part) if (1..=part.of).contains(&part.number) => Ok(part),
        _ => Err("a part is I/N, with I between 1 and N".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("512M"), Ok(512 << 20));
        assert_eq!(parse_size("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_size("2000B"), Ok(2000));
        assert!(parse_size("2000").is_err_and(|why| why.contains("2000M")));
        assert!(parse_size("many").is_err());
        assert!(parse_size("-1").is_err());
    }
}
