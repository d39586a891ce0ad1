//! A writer to which text can only come escaped: markup is literals of this program, and nothing else.

use crate::escape::line;

/// HTML in the making.
pub(super) struct Html {
    out: String,
}

impl Html {
    pub(super) fn new() -> Html {
        Html { out: String::with_capacity(32_768) }
    }

    /// Markup: a literal, so nothing that was read or typed.
    pub(super) fn raw(&mut self, literal: &'static str) -> &mut Html {
        self.out.push_str(literal);
        self
    }

    /// Text, also inside of a quoted attribute. Control and bidirectional characters show as what they are.
    pub(super) fn text(&mut self, text: &str) -> &mut Html {
        for c in line(text).chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                c => self.out.push(c),
            }
        }
        self
    }

    /// A whole number.
    pub(super) fn number(&mut self, number: u64) -> &mut Html {
        self.out.push_str(&number.to_string());
        self
    }

    /// A number with two decimals, for places in a drawing.
    pub(super) fn place(&mut self, number: f64) -> &mut Html {
        let finite = if number.is_finite() { number } else { 0.0 };
        self.out.push_str(&format!("{finite:.2}"));
        self
    }

    /// Text between two pieces of markup.
    pub(super) fn within(&mut self, open: &'static str, text: &str, close: &'static str) -> &mut Html {
        self.raw(open).text(text).raw(close)
    }

    /// A cell, empty where there is nothing to show.
    pub(super) fn cell(&mut self, text: Option<String>) -> &mut Html {
        match text {
            Some(text) => self.within("<td>", &text, "</td>"),
            None => self.raw("<td></td>"),
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let mut html = Html::new();
        html.within("<p title=\"", "\" onmouseover='alert(1)' <script>&\u{202e}\u{0}\n", "\">");
        let expected = "<p title=\"&quot; onmouseover=&#39;alert(1)&#39; &lt;script&gt;&amp;\\u{202e}\\u{0}\\n\">";
        assert_eq!(html.finish(), expected);
    }
}
