//! The results page: tables between marks, and charts beside it.

use crate::sections::Report;
use anyhow::Context as _;
use std::{fmt::Write as _, path::Path};

/// Bars in groups, each as a share of a whole.
pub(crate) struct Chart {
    title: &'static str,
    whole: f64,
    bars: Vec<(String, String, f64)>,
}

impl Chart {
    pub(crate) const fn new(title: &'static str, whole: f64) -> Self {
        Self { title, whole, bars: Vec::new() }
    }

    pub(crate) fn bar(&mut self, group: &str, name: &str, value: f64) {
        self.bars.push((group.to_owned(), name.to_owned(), value));
    }

    /// Returns the chart as SVG, for light and dark schemes.
    fn svg(&self) -> String {
        const ROW: usize = 24;
        const LEFT: usize = 220;
        const WIDTH: f64 = 480.0;
        let height = 60 + self.bars.len() * ROW;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 {height}\" role=\"img\" font-family=\"sans-serif\" \
             font-size=\"14\">\n<title>{title}</title>\n<style>text {{ fill: #24292f }} .bar {{ fill: #57606a }} \
             .ours {{ fill: #0969da }} @media (prefers-color-scheme: dark) {{ text {{ fill: #e6edf3 }} .bar {{ fill: #8b949e }} \
             .ours {{ fill: #58a6ff }} }}</style>\n<text x=\"10\" y=\"24\" font-weight=\"bold\">{title}</text>\n",
            title = self.title,
        );
        let mut last = "";
        for (place, (group, name, value)) in self.bars.iter().enumerate() {
            let y = 44 + place * ROW;
            let label = if group == last { String::new() } else { group.clone() };
            last = group;
            let class = if matches!(name.as_str(), "Fastify" | "FastAPI") { "bar" } else { "ours" };
            let width = (value / self.whole).clamp(0.0, 1.1) * WIDTH;
            // Writing to a string cannot fail.
            let _ = writeln!(
                svg,
                "<text x=\"10\" y=\"{text}\">{label}</text><text x=\"{names}\" y=\"{text}\" text-anchor=\"end\">{name}</text>\
                 <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"16\"/>\
                 <text x=\"{end:.1}\" y=\"{text}\">{value:.2}</text>",
                text = y + 13,
                names = LEFT - 8,
                end = LEFT as f64 + width + 6.0,
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Writes a report between its marks in `performance.md` of this folder, and its chart beside it.
pub(crate) fn put(folder: &Path, name: &str, report: &Report) -> anyhow::Result<()> {
    let file = folder.join("performance.md");
    let page = std::fs::read_to_string(&file)?;
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&start).with_context(|| format!("{start} is missing"))?;
    let (_, after) = rest.split_once(&end).with_context(|| format!("{end} is missing"))?;
    let picture = match &report.chart {
        Some(chart) => {
            std::fs::create_dir_all(folder.join("performance"))?;
            std::fs::write(folder.join(format!("performance/{name}.svg")), chart.svg())?;
            format!("\n![{}](performance/{name}.svg)\n", chart.title)
        }
        None => String::new(),
    };
    std::fs::write(&file, format!("{before}{start}\n{}{picture}\n{end}{after}", report.text))?;
    Ok(())
}
