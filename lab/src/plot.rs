//! Line plots as SVG.
//!
//! A bound is a whole number, so ticks are at the whole numbers of the data; logarithmic axes have powers
//! of ten. A model has the same colour in all pictures; variants of it differ in markers and dashes.

use crate::axis::Axis;
use crate::tool;
use anyhow::{Context, Result};
use plotters::prelude::*;

/// A named curve. What stands before the first comma of the name is the model, the rest the variant.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// What is drawn, and on which scales.
pub(crate) struct Plot<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    /// Logarithmic scales: of x (shifted by one, so that 0 can be shown) and of y.
    pub(crate) log: (bool, bool),
    pub(crate) series: Vec<Series>,
}

const SIZE: (u32, u32) = (760, 460);

/// The models that have a colour of their own, in the order of [`COLOURS`].
const MODELS: [&str; 10] = [
    "snoopy",
    "dtp",
    "worst-case",
    "pftp",
    "cambridge",
    "work-stealing queue",
    "bluetooth driver",
    "lock-free stack",
    "file system",
    "transaction manager",
];

const COLOURS: [RGBColor; 10] = [
    RGBColor(0x0b, 0x6f, 0xa4),
    RGBColor(0xc8, 0x50, 0x1e),
    RGBColor(0x3a, 0x7d, 0x34),
    RGBColor(0x7a, 0x4f, 0xa0),
    RGBColor(0xa0, 0x80, 0x00),
    RGBColor(0xb0, 0x30, 0x6a),
    RGBColor(0x30, 0x80, 0x8a),
    RGBColor(0x60, 0x60, 0x60),
    RGBColor(0x5b, 0x8c, 0x00),
    RGBColor(0x2f, 0x3e, 0x9e),
];

impl Plot<'_> {
    /// Writes `lab/results/NAME.svg` and gives the Markdown that shows it.
    pub(crate) fn write(&self, name: &str) -> Result<String> {
        let file = tool::root().join("lab/results").join(format!("{name}.svg"));
        let svg = self.svg().with_context(|| name.to_owned())?;
        std::fs::write(&file, svg).with_context(|| file.display().to_string())?;
        Ok(format!("![{}]({name}.svg)\n", self.title))
    }

    fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| anyhow::anyhow!("{error}"))?;
        if !svg.ends_with('\n') {
            svg.push('\n');
        }
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let (x, y) = (self.axis(true), self.axis(false));
        let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 18))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(76)
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .x_desc(self.x)
            .y_desc(self.y)
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .draw()?;
        let mut placed = Vec::new();
        for (number, series) in self.series.iter().enumerate() {
            let colour = self.colour(number);
            let variant = self.variant(number);
            let points = &series.points;
            placed.extend(points.iter().map(|p| (x.part(p.0), y.part(p.1))));
            let style = colour.stroke_width(2);
            let line = points.iter().copied();
            let drawn = match variant % 2 {
                0 => chart.draw_series(LineSeries::new(line, style))?,
                _ => chart.draw_series(DashedLineSeries::new(line, 7, 4, style))?,
            };
            let swatch =
                move |at| EmptyElement::at(at) + PathElement::new(vec![(0, 0), (22, 0)], style);
            let full = colour.filled();
            let drawn = drawn.label(&series.name);
            match variant % 3 {
                0 => drawn.legend(move |at| swatch(at) + Circle::new((11, 0), 4, full)),
                1 => drawn.legend(move |at| swatch(at) + TriangleMarker::new((11, 0), 5, full)),
                _ => drawn.legend(move |at| swatch(at) + Cross::new((11, 0), 4, style)),
            };
            let at = points.iter().copied();
            match variant % 3 {
                0 => chart.draw_series(at.map(|p| Circle::new(p, 4, full)))?,
                1 => chart.draw_series(at.map(|p| TriangleMarker::new(p, 5, full)))?,
                _ => chart.draw_series(at.map(|p| Cross::new(p, 4, style)))?,
            };
        }
        chart
            .configure_series_labels()
            .position(emptiest_corner(&placed))
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.4))
            .label_font(("sans-serif", 13))
            .legend_area_size(28)
            .draw()?;
        drop(chart);
        root.present()?;
        drop(root);
        Ok(())
    }

    /// The colour of a model; those that are not in the table get one that is free in this picture.
    fn colour(&self, number: usize) -> RGBColor {
        let known = |name: &str| MODELS.iter().position(|m| m.eq_ignore_ascii_case(model(name)));
        let own = &self.series[number].name;
        if let Some(at) = known(own) {
            return COLOURS[at];
        }
        let mut others: Vec<&str> = Vec::new();
        for series in self.series.iter().filter(|series| known(&series.name).is_none()) {
            if !others.contains(&model(&series.name)) {
                others.push(model(&series.name));
            }
        }
        let taken: Vec<usize> = self.series.iter().filter_map(|s| known(&s.name)).collect();
        let mut free = (0..COLOURS.len()).filter(|at| !taken.contains(at)).cycle();
        let place = others.iter().position(|other| *other == model(own)).unwrap_or(0);
        free.nth(place).map_or(BLACK, |at| COLOURS[at])
    }

    /// How many series of the same model come before this one.
    fn variant(&self, number: usize) -> usize {
        let own = model(&self.series[number].name);
        self.series[..number].iter().filter(|series| model(&series.name) == own).count()
    }

    fn axis(&self, horizontal: bool) -> Axis {
        let (log, shift) = match horizontal {
            true => (self.log.0, 1.0),
            false => (self.log.1, 0.0),
        };
        let points = self.series.iter().flat_map(|series| &series.points);
        let mut values: Vec<f64> = points.map(|p| if horizontal { p.0 } else { p.1 }).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        Axis::new(&values, log.then_some(shift), horizontal)
    }
}

/// What a series is about.
fn model(name: &str) -> &str {
    name.split(',').next().unwrap_or(name)
}

/// The corner with the fewest points, by their places as parts of both axes.
fn emptiest_corner(points: &[(f64, f64)]) -> SeriesLabelPosition {
    let near = |x: f64, y: f64| {
        points.iter().filter(|p| (p.0 - x).abs() < 0.45 && (p.1 - y).abs() < 0.4).count()
    };
    let corners = [
        (near(1.0, 0.0), SeriesLabelPosition::LowerRight),
        (near(0.0, 1.0), SeriesLabelPosition::UpperLeft),
        (near(1.0, 1.0), SeriesLabelPosition::UpperRight),
        (near(0.0, 0.0), SeriesLabelPosition::LowerLeft),
    ];
    let best = corners.into_iter().min_by_key(|(count, _)| *count);
    best.map_or(SeriesLabelPosition::LowerRight, |(_, corner)| corner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(names: &[&str], log: (bool, bool)) -> String {
        let series = |name: &&str| Series {
            name: name.to_string(),
            points: vec![(0.0, 1.0), (1.0, 10.0), (2.0, 1000.0)],
        };
        let series = names.iter().map(series).collect();
        let plot = Plot { title: "a < b", x: "bound", y: "states", log, series };
        plot.svg().expect("a picture")
    }

    /// The texts of a picture.
    fn texts(svg: &str) -> Vec<&str> {
        let texts = svg.split("<text").skip(1);
        texts.filter_map(|text| text.split(['>', '<']).nth(1)).map(str::trim).collect()
    }

    #[test]
    fn ticks_are_whole_numbers_and_powers_of_ten() {
        let svg = plot(&["one", "two"], (false, true));
        let texts = texts(&svg);
        for text in ["0", "1", "2", "10", "100", "1000", "one", "two", "bound", "states"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        assert!(!texts.contains(&"0.5"), "{texts:?}");
        assert!(svg.contains("a &lt; b"));
    }

    #[test]
    fn a_model_keeps_its_colour() {
        let colour = "#3A7D34";
        for names in [&["worst-case"][..], &["snoopy", "worst-case, Spin's", "other"]] {
            assert!(plot(names, (true, true)).contains(colour), "{names:?}");
        }
        assert!(!plot(&["snoopy", "other"], (true, true)).contains("#3A7D34"));
    }
}
