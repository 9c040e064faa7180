//! Line plots as SVG, by hand: axes, a polyline and a name per series.

use crate::tool;
use anyhow::{Context, Result};
use std::fmt::Write;

/// A named curve.
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

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 8] =
    ["#0b6fa4", "#c8501e", "#3a7d34", "#7a4fa0", "#a08000", "#b0306a", "#30808a", "#606060"];

impl Plot<'_> {
    /// Writes `lab/results/NAME.svg` and gives the Markdown that shows it.
    pub(crate) fn write(&self, name: &str) -> Result<String> {
        let file = tool::root().join("lab/results").join(format!("{name}.svg"));
        std::fs::write(&file, self.svg()).with_context(|| file.display().to_string())?;
        Ok(format!("![{}]({name}.svg)\n", self.title))
    }

    fn svg(&self) -> String {
        let scale = |value: f64, log: bool, shift: f64| {
            if log { (value + shift).max(1e-6).log10() } else { value }
        };
        let place = |(x, y): (f64, f64)| (scale(x, self.log.0, 1.0), scale(y, self.log.1, 0.0));
        let all: Vec<(f64, f64)> =
            self.series.iter().flat_map(|s| s.points.iter().copied().map(place)).collect();
        let range = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) =
                values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
            if low < high { (low, high) } else { (low - 1.0, low + 1.0) }
        };
        let (x0, x1) = range(&mut all.iter().map(|p| p.0));
        let (y0, y1) = range(&mut all.iter().map(|p| p.1));
        let to_x = |x: f64| LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT);
        let to_y = |y: f64| HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
            escape(self.title)
        );
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>"
        );
        for tick in 0..=4 {
            let part = f64::from(tick) / 4.0;
            let (x, y) = (x0 + part * (x1 - x0), y0 + part * (y1 - y0));
            let x_value = if self.log.0 { 10f64.powf(x) - 1.0 } else { x };
            let y_value = if self.log.1 { 10f64.powf(y) } else { y };
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                to_x(x),
                bottom + 18.0,
                short(x_value),
                LEFT - 6.0,
                to_y(y) + 4.0,
                short(y_value)
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 12.0,
            escape(self.x),
            (TOP + bottom) / 2.0,
            escape(self.y)
        );
        for (number, series) in self.series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let points: Vec<String> = series
                .points
                .iter()
                .map(|p| place(*p))
                .map(|(x, y)| format!("{:.1},{:.1}", to_x(x), to_y(y)))
                .collect();
            let dash = if number % 2 == 1 { " stroke-dasharray=\"6 3\"" } else { "" };
            let row = TOP + 14.0 + 20.0 * number as f64;
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\n\
                 <path d=\"M{:.1} {:.1}h22\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>\n\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                points.join(" "),
                right + 10.0,
                row - 4.0,
                right + 36.0,
                row,
                escape(&series.name)
            );
        }
        out + "</svg>\n"
    }
}

fn short(value: f64) -> String {
    match value {
        v if v >= 9.95e5 => format!("{:.1}M", v / 1e6),
        v if v >= 9950.0 => format!("{:.0}k", v / 1e3),
        v if v >= 9.95 => format!("{v:.0}"),
        v if v >= 0.095 || v == 0.0 => format!("{v:.1}"),
        v => format!("{v:.3}"),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_a_line_per_series() {
        let series = |name: &str| Series {
            name: name.into(),
            points: vec![(0.0, 1.0), (1.0, 10.0), (2.0, 100.0)],
        };
        let plot = Plot {
            title: "a < b",
            x: "x",
            y: "y",
            log: (false, true),
            series: vec![series("one"), series("two")],
        };
        let svg = plot.svg();
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("a &lt; b"));
        assert!(svg.contains("points=\"80.0,370.0 315.0,205.0 550.0,40.0\""), "{svg}");
    }
}
