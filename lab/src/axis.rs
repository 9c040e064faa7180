//! One axis of a plot: which values it shows, where, and its ticks.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Ticks are at least this part of the axis apart.
const GAP: f64 = 0.055;
/// From this value on an axis of whole numbers has round ones.
const MANY: f64 = 100.0;
/// How much is left free at both ends.
const MARGIN: f64 = 0.03;

/// An axis. Values are placed by their logarithms if it is logarithmic.
#[derive(Clone)]
pub(crate) struct Axis {
    /// What is added to values before taking logarithms.
    shift: Option<f64>,
    /// The places of both ends.
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis for values in ascending order. `counts`: they are whole numbers, and ticks are at those that
    /// occur.
    pub(crate) fn new(values: &[f64], shift: Option<f64>, counts: bool) -> Axis {
        let first = values.first().copied().unwrap_or(0.0);
        let last = values.last().copied().unwrap_or(1.0);
        let ticks = match shift {
            _ if counts && last < MANY => values.to_vec(),
            Some(_) => powers(first, last),
            None => steps(first, last),
        };
        let mut axis = Axis { shift, low: 0.0, high: 1.0, ticks: Vec::new() };
        let shown: Vec<f64> =
            [first, last].iter().chain(&ticks).map(|value| axis.place(*value)).collect();
        axis.low = shown.iter().copied().fold(f64::MAX, f64::min);
        axis.high = shown.iter().copied().fold(f64::MIN, f64::max);
        if axis.low >= axis.high {
            (axis.low, axis.high) = (axis.low - 1.0, axis.low + 1.0);
        }
        for tick in ticks {
            let before = axis.ticks.last().map(|before| axis.part(*before));
            if before.is_none_or(|before| axis.part(tick) - before >= GAP) {
                axis.ticks.push(tick);
            }
        }
        let margin = MARGIN * (axis.high - axis.low);
        (axis.low, axis.high) = (axis.low - margin, axis.high + margin);
        axis
    }

    fn place(&self, value: f64) -> f64 {
        self.shift.map_or(value, |shift| (value + shift).max(1e-6).log10())
    }

    /// Where a value is, as a part of the axis.
    pub(crate) fn part(&self, value: f64) -> f64 {
        (self.place(value) - self.low) / (self.high - self.low)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let width = f64::from(limit.1 - limit.0);
        limit.0 + (self.part(*value) * width).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        let value = |place: f64| self.shift.map_or(place, |shift| 10f64.powf(place) - shift);
        value(self.low)..value(self.high)
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        short(*value)
    }
}

/// A number as a tick shows it.
fn short(value: f64) -> String {
    let with = |value: f64, unit: &str| {
        let text = format!("{value:.1}");
        format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    match value {
        v if v >= 9.995e8 => with(v / 1e9, "G"),
        v if v >= 9.995e5 => with(v / 1e6, "M"),
        v if v >= 9_999.0 => with(v / 1e3, "k"),
        v if v >= 0.095 || v == 0.0 => with(v, ""),
        v => format!("{v:.3}"),
    }
}

/// The powers of ten around some values.
fn powers(first: f64, last: f64) -> Vec<f64> {
    let low = first.max(1e-6).log10().floor() as i32;
    let high = last.max(1e-6).log10().ceil() as i32;
    (low..=high).map(|power| 10f64.powi(power)).collect()
}

/// Four to ten round numbers around some values.
fn steps(first: f64, last: f64) -> Vec<f64> {
    let width = (last - first).max(1e-9);
    let unit = 10f64.powf(width.log10().floor());
    let fits = |step: &f64| width / step <= 9.0;
    let step = [0.1, 0.2, 0.5, 1.0].map(|part| part * unit).into_iter().find(fits).unwrap_or(unit);
    let (low, high) = ((first / step).floor() as i64, (last / step).ceil() as i64);
    (low..=high).map(|count| count as f64 * step).collect()
}
