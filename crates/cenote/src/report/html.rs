//! Writes pages as HTML. Nothing in a page is executed: no script, and a policy that forbids them.

use std::fmt::Write;

use super::chart::{self, STYLES};
use super::markup::{escape, key};
use super::page::{Bars, Block, Figure, Finding, Page, Section, Table};

/// The page around the content.
const TEMPLATE: &str = include_str!("page.html");

impl Page {
    /// The page: one HTML document, without references to anything outside of it.
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        self.head(&mut body);
        self.sections.iter().for_each(|section| draw_section(&mut body, section));
        // As JSON, `<` only occurs in strings; escaped, nothing in them can end the element.
        let data = self.data.to_string().replace('<', "\\u003c");
        let title = format!("{} of {} - Cenote", self.title, self.subject);
        let mut html = String::with_capacity(TEMPLATE.len() + body.len() + data.len());
        let mut rest = TEMPLATE;
        for (mark, text) in
            [("{{title}}", escape(&title).as_ref()), ("{{body}}", &body), ("{{data}}", &data)]
        {
            let (before, after) = rest.split_once(mark).expect("the template has the mark once");
            html.push_str(before);
            html.push_str(text);
            rest = after;
        }
        html.push_str(rest);
        html
    }

    fn head(&self, out: &mut String) {
        let (title, subject) = (escape(&self.title), escape(&self.subject));
        let _ = write!(out, "<header><p class=\"kind\">Cenote report</p><h1>{title} ");
        let _ = write!(out, "<span class=\"of\">{subject}</span></h1>");
        let _ = write!(out, "<p class=\"sub\">{}</p></header>", escape(&self.subtitle));
        out.push_str("<section class=\"verdict\" aria-label=\"Verdict\"><div class=\"figures\">");
        self.figures.iter().for_each(|figure| draw_figure(out, figure));
        out.push_str("</div>");
        if !self.findings.is_empty() {
            out.push_str("<div class=\"findings\">");
            self.findings.iter().for_each(|finding| draw_finding(out, finding));
            out.push_str("</div>");
        }
        out.push_str("</section>");
    }
}

fn draw_figure(out: &mut String, figure: &Figure) {
    let Figure { label, value, note, share } = figure;
    let (label, value, note) = (escape(label), escape(value), escape(note));
    let _ = write!(out, "<div class=\"figure\"><p class=\"label\">{label}</p>");
    let _ = write!(out, "<p class=\"value\">{value}</p>");
    if let Some(share) = share {
        // A little more may be the program's own memory, which is not known to the byte.
        let over = if *share > 1.1 { " class=\"over\"" } else { "" };
        let width = share.clamp(0.0, 1.0) * 100.0;
        let _ = write!(out, "<p class=\"meter\"><i{over} style=\"width:{width:.1}%\"></i></p>");
    }
    let _ = write!(out, "<p class=\"note\">{note}</p></div>");
}

fn draw_finding(out: &mut String, finding: &Finding) {
    let Finding { label, value, text } = finding;
    let (label, value, text) = (escape(label), escape(value), escape(text));
    let _ = write!(out, "<div class=\"finding\"><p class=\"label\">{label}</p>");
    let _ = write!(out, "<p class=\"answer\">{value}</p><p class=\"why\">{text}</p></div>");
}

fn draw_section(out: &mut String, section: &Section) {
    let _ = write!(out, "<section><h2>{}</h2>", escape(&section.title));
    if !section.intro.is_empty() {
        let _ = write!(out, "<p class=\"intro\">{}</p>", escape(&section.intro));
    }
    let is_pair = |block: &Block| match block {
        Block::Chart(chart) => !chart.low,
        Block::Bars(_) => true,
        Block::Table(_) | Block::Facts(_) => false,
    };
    // Neighbours of half width stand in a grid.
    for group in section.blocks.chunk_by(|a, b| is_pair(a) == is_pair(b)) {
        let class = match (is_pair(&group[0]), group.len()) {
            (true, 2..) => "grid2",
            _ => "stack",
        };
        let _ = write!(out, "<div class=\"{class}\">");
        for block in group {
            match block {
                Block::Chart(chart) => chart::draw(out, chart),
                Block::Bars(bars) => draw_bars(out, bars),
                Block::Table(table) => draw_table(out, table),
                Block::Facts(facts) => draw_facts(out, facts),
            }
        }
        out.push_str("</div>");
    }
    out.push_str("</section>");
}

fn draw_facts(out: &mut String, facts: &[(String, String)]) {
    out.push_str("<dl class=\"facts\">");
    for (name, value) in facts {
        let (name, value) = (escape(name), escape(value));
        // A command is read as it is typed.
        let _ = match name.as_ref() {
            "command" => write!(
                out,
                "<div class=\"wide\"><dt>{name}</dt><dd><code>{value}</code></dd></div>"
            ),
            _ => write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>"),
        };
    }
    out.push_str("</dl>");
}

fn draw_table(out: &mut String, table: &Table) {
    let label = escape(&table.title);
    let narrow = if table.header.len() <= 4 { " narrow" } else { "" };
    // Wider than the page, it scrolls by itself, with the keyboard too.
    let _ = write!(
        out,
        "<div class=\"scroll{narrow}\" tabindex=\"0\" role=\"region\" \
         aria-label=\"{label}\"><table>"
    );
    if !table.title.is_empty() {
        let _ = write!(out, "<caption>{label}</caption>");
    }
    let class = |column: usize| if column < table.words { "" } else { " class=\"n\"" };
    out.push_str("<thead><tr>");
    for (column, name) in table.header.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column), escape(name));
    }
    out.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(out, "<td{}>{}</td>", class(column), escape(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

fn draw_bars(out: &mut String, bars: &Bars) {
    let values = bars.rows.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let level = bars.level.iter().map(|level| level.at);
    let most = values.chain(level).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let width = |value: f64| if most > 0.0 { (value / most).clamp(0.0, 1.0) * 100.0 } else { 0.0 };
    let _ = write!(out, "<figure class=\"chart\"><figcaption><span class=\"name\">");
    let _ = write!(out, "{}</span>", escape(&bars.title));
    let mut keys: Vec<(String, String)> = Vec::new();
    if bars.series.len() > 1 {
        let series = bars.series.iter().enumerate();
        keys.extend(series.map(|(at, name)| (format!("s{}", at % STYLES + 1), name.clone())));
    }
    let level = bars.level.as_ref();
    keys.extend(level.map(|level| {
        ("dash l1".to_owned(), format!("{} {}", level.name, bars.unit.text(level.at)))
    }));
    key(out, keys.iter().map(|(class, name)| (class.as_str(), name.as_str())));
    out.push_str("</figcaption><div class=\"bars\">");
    for (name, values) in &bars.rows {
        let _ = write!(out, "<p class=\"bar-name\">{}</p><div class=\"group\">", escape(name));
        for (at, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let (style, text) = (at % STYLES + 1, bars.unit.text(*value));
            let share = width(*value);
            let _ = write!(out, "<p class=\"track\"><i class=\"s{style}\" ");
            let _ = write!(out, "style=\"width:{share:.2}%\"></i>");
            if let Some(level) = level {
                let _ = write!(out, "<b style=\"left:{:.2}%\"></b>", width(level.at));
            }
            let _ = write!(out, "</p><p class=\"bar-value\">{}</p>", escape(&text));
        }
        out.push_str("</div>");
    }
    out.push_str("</div></figure>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::format::Unit;
    use crate::report::page::{Axis, Band, Chart, Mark, Series, Shape};

    const HOSTILE: &str = "</script><script>alert('1')</script>\"&{{data}}";

    /// Every text of a page is hostile.
    fn hostile() -> Page {
        let text = || HOSTILE.to_owned();
        let chart = Chart {
            title: text(),
            x: Axis::linear(HOSTILE, Unit::Seconds),
            y: Axis::log(HOSTILE, Unit::Bytes),
            series: [Shape::Line, Shape::Columns]
                .map(|shape| Series::new(HOSTILE, shape, vec![(0.0, 1.0), (f64::NAN, 0.0)]))
                .into(),
            levels: vec![Mark::new(HOSTILE, 1.0)],
            marks: vec![Mark::new(HOSTILE, 2.0)],
            bands: vec![Band { name: text(), start: 0.0, end: 1.0 }],
            low: false,
        };
        let bars = Bars {
            title: text(),
            series: vec![text(), text()],
            rows: vec![(text(), vec![Some(1.0), None])],
            level: Some(Mark::new(HOSTILE, 1.0)),
            ..Bars::default()
        };
        let table =
            Table { title: text(), header: vec![text()], words: 1, rows: vec![vec![text()]] };
        let blocks = vec![
            Block::Chart(chart),
            Block::Bars(bars),
            Block::Table(table),
            Block::Facts(vec![(text(), text())]),
        ];
        Page {
            title: text(),
            subject: text(),
            subtitle: text(),
            figures: vec![Figure::new(HOSTILE, HOSTILE, HOSTILE).of(0.5)],
            findings: vec![Finding::new(HOSTILE, HOSTILE, HOSTILE)],
            sections: vec![Section { title: text(), intro: text(), blocks }],
            data: serde_json::json!({ HOSTILE: HOSTILE }),
        }
    }

    #[test]
    fn no_text_becomes_markup_and_the_data_is_read_back() {
        let html = hostile().to_html();
        assert_eq!(html.matches("<script").count(), 1, "the data alone");
        assert_eq!(html.matches("</script").count(), 1);
        assert!(!html.contains("alert('1')</script>") && !html.contains("<script>alert"));
        let (_, data) = html.split_once("id=\"data\">").unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(data).unwrap(), hostile().data);
        for outside in ["http:", "https:", " src=", "url(", "@import", "NaN"] {
            assert!(!html.contains(outside), "{outside}");
        }
    }

    #[test]
    fn an_empty_page_is_a_page() {
        let chart =
            Chart { series: vec![Series::new("", Shape::Area, vec![])], ..Chart::default() };
        let blocks = vec![Block::Chart(chart), Block::Bars(Bars::default())];
        let section = Section { blocks, ..Section::default() };
        let html = Page { sections: vec![section], ..Page::default() }.to_html();
        assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
        assert!(!html.contains("NaN") && !html.contains("inf%"));
    }
}
