//! Line plots as SVG.
//!
//! Axes, meshes, dashes, bars and legends are plotters': of the crates that draw plots without a browser it is the
//! one that is kept up, writes text as text, and needs nothing that is not Rust. Here is decided what of it a plot uses.
//!
//! Every series differs from all others in its dashes and in its marker, in the legend too, so that a plot can be read
//! without colours. The colours are those of Okabe and Ito that are dark enough on white; series of one model share
//! one. An axis that is not linear says so. A linear axis begins at zero, and an axis of bounds has ticks where there
//! are points. A point that stands for several runs has a bar from the least to the greatest of them.

use crate::tool;
use anyhow::{Context, Result};
use plotters::coord::combinators::BindKeyPoints;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use std::ops::Range;

/// One point: a run, or several.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// The least and the greatest of several runs.
    pub(crate) spread: Option<(f64, f64)>,
}

impl Point {
    pub(crate) fn new(x: f64, y: f64) -> Point {
        Point { x, y, spread: None }
    }

    /// The mean of several runs.
    pub(crate) fn mean(x: f64, runs: &[f64]) -> Point {
        let least = runs.iter().copied().fold(f64::MAX, f64::min);
        let greatest = runs.iter().copied().fold(f64::MIN, f64::max);
        let mean = runs.iter().sum::<f64>() / runs.len().max(1) as f64;
        Point { x, y: mean, spread: (least < greatest).then_some((least, greatest)) }
    }
}

/// A named curve. What stands before the first comma of the name is the model, the rest the variant.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// From zero.
    Linear,
    /// In powers of ten; where there is a zero, of the value and one.
    Log,
}

/// What is drawn, and on which scales.
pub(crate) struct Plot<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: (&'a str, Scale),
    pub(crate) y: (&'a str, Scale),
    pub(crate) series: Vec<Series>,
}

const SIZE: (u32, u32) = (760, 480);

/// The palette of Okabe and Ito without its yellow.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0x00, 0x00, 0x00),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
];

/// Dashes and what is between them, in pixels. The first is longer than any line: solid.
const DASHES: [(u32, u32); 7] = [(100_000, 1), (9, 4), (2, 3), (16, 5), (5, 3), (5, 8), (12, 12)];

/// Outlines around a point: a circle, a triangle, a square, a cross, a diamond, a triangle on its tip, a plus.
const MARKERS: [&[(i32, i32)]; 7] = [
    &[(4, 0), (3, 3), (0, 4), (-3, 3), (-4, 0), (-3, -3), (0, -4), (3, -3)],
    &[(0, -5), (5, 4), (-5, 4)],
    &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
    &[
        (0, -2),
        (3, -5),
        (5, -3),
        (2, 0),
        (5, 3),
        (3, 5),
        (0, 2),
        (-3, 5),
        (-5, 3),
        (-2, 0),
        (-5, -3),
        (-3, -5),
    ],
    &[(0, -6), (5, 0), (0, 6), (-5, 0)],
    &[(0, 5), (5, -4), (-5, -4)],
    &[
        (-1, -6),
        (1, -6),
        (1, -1),
        (6, -1),
        (6, 1),
        (1, 1),
        (1, 6),
        (-1, 6),
        (-1, 1),
        (-6, 1),
        (-6, -1),
        (-1, -1),
    ],
];

/// How far the bars of neighbouring series are apart, as a part of a linear axis.
const DODGE: f64 = 0.008;

impl Plot<'_> {
    /// Writes `lab/results/NAME.svg` and gives the Markdown that shows it.
    pub(crate) fn write(&self, name: &str) -> Result<String> {
        let file = tool::root().join("lab/results").join(format!("{name}.svg"));
        let svg = self.svg().with_context(|| name.to_owned())?;
        std::fs::write(&file, svg).with_context(|| file.display().to_string())?;
        Ok(format!("![{}]({name}.svg)\n", self.title))
    }

    fn svg(&self) -> Result<String> {
        anyhow::ensure!(self.series.len() <= MARKERS.len(), "more series than markers");
        let x = self.values(|p| [p.x; 2]);
        let y = self.values(|p| p.spread.map_or([p.y; 2], |spread| [spread.0, spread.1]));
        let linear_x = -0.03 * last(&x)..last(&x) * 1.03;
        // A logarithmic axis with a zero shows all values one greater, and has its ticks where there are points.
        let has_zero = x.first().is_some_and(|least| *least <= 0.0);
        let log_x = match has_zero {
            true => (-0.1..last(&x) * 1.1).log_scale().zero_point(-1.0).with_key_points(x.clone()),
            false => powers(&x).log_scale().with_key_points(ticks(&powers(&x))),
        };
        let linear_y = 0.0..last(&y) * 1.05;
        let log_y = powers(&y).log_scale();
        let mut svg = String::new();
        let done = match (self.x.1, self.y.1) {
            (Scale::Linear, Scale::Linear) => self.draw(&mut svg, linear_x, linear_y),
            (Scale::Linear, Scale::Log) => self.draw(&mut svg, linear_x, log_y),
            (Scale::Log, Scale::Linear) => self.draw(&mut svg, log_x, linear_y),
            (Scale::Log, Scale::Log) => self.draw(&mut svg, log_x, log_y),
        };
        done.map_err(|error| anyhow::anyhow!("{error}"))?;
        if !svg.ends_with('\n') {
            svg.push('\n');
        }
        Ok(svg)
    }

    fn draw<X, Y>(&self, svg: &mut String, x: X, y: Y) -> Result<(), Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
        Y: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
    {
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 18))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(76)
            .build_cartesian_2d(x, y)?;
        let x_label = label(self.x, self.values(|p| [p.x; 2]).first() == Some(&0.0));
        let y_label = label(self.y, false);
        chart
            .configure_mesh()
            .light_line_style(BLACK.mix(0.04))
            .bold_line_style(BLACK.mix(0.14))
            .x_max_light_lines(light_lines(self.x.1))
            .y_max_light_lines(light_lines(self.y.1))
            .x_desc(&x_label)
            .y_desc(&y_label)
            // On a linear axis so many that they are whole numbers.
            .x_labels(last(&self.values(|p| [p.x; 2])).min(20.0) as usize + 1)
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .draw()?;
        let mut drawn = Vec::new();
        for (number, series) in self.series.iter().enumerate() {
            let style = COLOURS[self.model(number) % COLOURS.len()].stroke_width(2);
            let (dash, gap) = DASHES[number];
            let points: Vec<Point> =
                series.points.iter().map(|p| self.beside(number, *p)).collect();
            let ends = points.iter().flat_map(|p| [Some((p.x, p.y)), p.spread.map(|s| (p.x, s.1))]);
            drawn.extend(ends.flatten().map(|end| chart.backend_coord(&end)));
            let line: Vec<(f64, f64)> = points.iter().map(|p| (p.x, p.y)).collect();
            chart
                .draw_series(DashedLineSeries::new(line.clone(), dash, gap, style))?
                .label(&series.name)
                .legend(move |at| {
                    EmptyElement::at(at)
                        + DashedPathElement::new([(0, 0), (44, 0)], dash, gap, style)
                        + Polygon::new(marker(number, 22), style.filled())
                });
            chart.draw_series(points.iter().filter_map(|p| {
                let (least, greatest) = p.spread?;
                Some(ErrorBar::new_vertical(p.x, least, p.y, greatest, style.stroke_width(1), 8))
            }))?;
            chart.draw_series(line.into_iter().map(|at| {
                EmptyElement::at(at) + Polygon::new(marker(number, 0), style.filled())
            }))?;
        }
        let (width, height) = chart.plotting_area().dim_in_pixel();
        let (left, top) = chart.plotting_area().get_base_pixel();
        let parts = drawn.iter().map(|(x, y)| {
            (f64::from(x - left) / f64::from(width), f64::from(y - top) / f64::from(height))
        });
        chart
            .configure_series_labels()
            .position(emptiest_corner(&parts.collect::<Vec<_>>()))
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.4))
            .label_font(("sans-serif", 13))
            .legend_area_size(50)
            .draw()?;
        drop(chart);
        root.present()?;
        drop(root);
        Ok(())
    }

    /// Bars at the same value of x stand side by side.
    fn beside(&self, number: usize, point: Point) -> Point {
        if point.spread.is_none() || self.x.1 == Scale::Log {
            return point;
        }
        let from_middle = number as f64 - (self.series.len() as f64 - 1.0) / 2.0;
        let width = last(&self.values(|p| [p.x; 2]));
        Point { x: point.x + from_middle * DODGE * width, ..point }
    }

    /// The number of a series' model among those of the plot.
    fn model(&self, number: usize) -> usize {
        let mut models: Vec<&str> = Vec::new();
        for series in &self.series[..=number] {
            let model = series.name.split(',').next().unwrap_or_default();
            if !models.contains(&model) {
                models.push(model);
            }
        }
        let own = self.series[number].name.split(',').next();
        models.iter().position(|model| Some(*model) == own).unwrap_or(0)
    }

    /// The different values on one axis, in ascending order.
    fn values(&self, of: impl Fn(&Point) -> [f64; 2]) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.series.iter().flat_map(|series| &series.points).flat_map(of).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    }
}

/// The outline of a series' marker, so far to the right of a point.
fn marker(number: usize, right: i32) -> Vec<(i32, i32)> {
    MARKERS[number].iter().map(|(x, y)| (x + right, *y)).collect()
}

/// How many faint lines there are between two ticks: on a logarithmic axis they show what it is.
fn light_lines(scale: Scale) -> usize {
    match scale {
        Scale::Linear => 1,
        Scale::Log => 10,
    }
}

/// What is written beside an axis.
fn label((name, scale): (&str, Scale), has_zero: bool) -> String {
    match scale {
        Scale::Linear => name.to_owned(),
        Scale::Log if has_zero => format!("{name} (log scale of one more)"),
        Scale::Log => format!("{name} (log scale)"),
    }
}

fn last(values: &[f64]) -> f64 {
    values.last().copied().unwrap_or(1.0).max(1e-9)
}

/// From the power of ten below some values to the one above.
fn powers(values: &[f64]) -> Range<f64> {
    let power = |value: f64| value.max(1e-6).log10();
    let low = power(values.first().copied().unwrap_or(1.0)).floor();
    let high = power(last(values)).ceil().max(low + 1.0);
    10f64.powf(low)..10f64.powf(high)
}

/// The powers of ten in a range.
fn ticks(range: &Range<f64>) -> Vec<f64> {
    let (low, high) = (range.start.log10().round() as i32, range.end.log10().round() as i32);
    (low..=high).map(|power| 10f64.powi(power)).collect()
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

/// The corner with the fewest points, by their places as parts of both axes, the second from the top.
fn emptiest_corner(points: &[(f64, f64)]) -> SeriesLabelPosition {
    let near = |x: f64, y: f64| {
        points.iter().filter(|p| (p.0 - x).abs() < 0.45 && (p.1 - y).abs() < 0.4).count()
    };
    let corners = [
        (near(1.0, 1.0), SeriesLabelPosition::LowerRight),
        (near(0.0, 0.0), SeriesLabelPosition::UpperLeft),
        (near(1.0, 0.0), SeriesLabelPosition::UpperRight),
        (near(0.0, 1.0), SeriesLabelPosition::LowerLeft),
    ];
    let best = corners.into_iter().min_by_key(|(count, _)| *count);
    best.map_or(SeriesLabelPosition::LowerRight, |(_, corner)| corner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn plot(names: &[&str], x: Scale, y: Scale, spread: Option<(f64, f64)>) -> String {
        let series = |name: &&str| Series {
            name: name.to_string(),
            points: [(0.0, 1.0), (1.0, 10.0), (2.0, 1000.0)]
                .map(|(x, y)| Point { x, y, spread })
                .to_vec(),
        };
        let series = names.iter().map(series).collect();
        let plot = Plot { title: "a < b", x: ("bound", x), y: ("states", y), series };
        plot.svg().expect("a picture")
    }

    /// The texts of a picture.
    fn texts(svg: &str) -> Vec<&str> {
        let texts = svg.split("<text").skip(1);
        texts.filter_map(|text| text.split(['>', '<']).nth(1)).map(str::trim).collect()
    }

    #[test]
    fn ticks_are_whole_numbers_and_powers_of_ten() {
        let svg = plot(&["one", "two"], Scale::Linear, Scale::Log, None);
        let texts = texts(&svg);
        for text in
            ["0", "1", "2", "10", "100", "1000", "one", "two", "bound", "states (log scale)"]
        {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        assert!(!texts.contains(&"0.5"), "{texts:?}");
        assert!(svg.contains("a &lt; b"));
    }

    #[test]
    fn an_axis_that_is_not_linear_says_so_and_a_linear_one_begins_at_zero() {
        let svg = plot(&["one"], Scale::Log, Scale::Linear, None);
        assert!(texts(&svg).contains(&"bound (log scale of one more)"), "{svg}");
        assert!(texts(&svg).contains(&"states"));
        assert!(texts(&svg).contains(&"0"));
    }

    #[test]
    fn every_series_has_its_own_marker_and_dashes() {
        assert_eq!(MARKERS.iter().collect::<BTreeSet<_>>().len(), MARKERS.len());
        assert_eq!(DASHES.iter().collect::<BTreeSet<_>>().len(), DASHES.len());
        // Each marker is drawn at three points and in the legend.
        let names: Vec<String> = (0..MARKERS.len()).map(|n| format!("model, {n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let svg = plot(&names, Scale::Linear, Scale::Linear, None);
        assert_eq!(svg.matches("<polygon").count(), 4 * names.len());
        // One model, one colour.
        let colours =
            svg.split("<polygon").skip(1).filter_map(|p| p.split("fill=\"").nth(1)?.get(..7));
        assert_eq!(colours.collect::<BTreeSet<_>>().len(), 1);
    }

    #[test]
    fn several_runs_have_bars() {
        let bare = plot(&["one"], Scale::Linear, Scale::Log, None);
        let barred = plot(&["one"], Scale::Linear, Scale::Log, Some((0.5, 2000.0)));
        assert!(barred.matches("<line").count() > bare.matches("<line").count());
        let mean = Point::mean(3.0, &[1.0, 2.0, 6.0]);
        assert_eq!((mean.y, mean.spread), (3.0, Some((1.0, 6.0))));
        assert_eq!(Point::mean(3.0, &[2.0]).spread, None);
    }
}
