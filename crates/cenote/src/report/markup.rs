//! Text in HTML, and legends.

use std::borrow::Cow;
use std::fmt::Write;

/// Text inside an element or an attribute.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    Cow::Owned(safe)
}

/// A legend: a class of the sample, and a name each.
pub fn key<'k>(out: &mut String, keys: impl Iterator<Item = (&'k str, &'k str)>) {
    let mut keys = keys.peekable();
    if keys.peek().is_none() {
        return;
    }
    out.push_str("<ul class=\"key\">");
    for (class, name) in keys {
        let _ = write!(out, "<li><i class=\"{class}\"></i>{}</li>", escape(name));
    }
    out.push_str("</ul>");
}
