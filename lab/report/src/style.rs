//! Properties of the output device: width, colours, characters.

use anstyle::{AnsiColor, Style as Ansi};

/// Properties of the output device. Only [`crate::Format::Table`] depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Characters per line; `None` if lines may have any length.
    pub width: Option<usize>,
    /// Colours and bold, as ANSI escapes.
    pub colour: bool,
    /// Non-ASCII signs. Labels and names stay unchanged.
    pub unicode: bool,
}

impl Style {
    /// Files and pipes: long lines, no colours.
    pub const PLAIN: Style = Style { width: None, colour: false, unicode: true };

    /// Width at which sentences are wrapped.
    pub(crate) fn text_width(&self) -> usize {
        self.width.unwrap_or(110).clamp(40, 140)
    }

    /// `text` in lines that fit. Only words longer than a line are broken.
    pub fn wrap(&self, text: &str, first: &str, others: &str) -> Vec<String> {
        let options = textwrap::Options::new(self.text_width())
            .initial_indent(first)
            .subsequent_indent(others)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::wrap(text, options).into_iter().map(std::borrow::Cow::into_owned).collect()
    }

    /// The signs of this style.
    pub fn signs(&self) -> &'static Signs {
        if self.unicode { &UNICODE } else { &ASCII }
    }

    /// `text` with emphasis, if there are colours.
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let ansi = match tone {
            Tone::Title => Ansi::new().bold(),
            Tone::Good => Ansi::new().bold().fg_color(Some(AnsiColor::Green.into())),
            Tone::Middling => Ansi::new().bold().fg_color(Some(AnsiColor::Yellow.into())),
            Tone::Bad => Ansi::new().bold().fg_color(Some(AnsiColor::Red.into())),
            Tone::Quiet => Ansi::new().dimmed(),
        };
        format!("{ansi}{text}{ansi:#}")
    }
}

/// The meaning of a text, for its emphasis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A heading.
    Title,
    /// Good news.
    Good,
    /// Neither good nor bad, or a warning.
    Middling,
    /// Bad news.
    Bad,
    /// Explanations.
    Quiet,
}

/// The signs between figures and words.
#[derive(Debug, PartialEq, Eq)]
pub struct Signs {
    /// Between the ends of an interval.
    pub to: &'static str,
    /// For an empty value.
    pub none: &'static str,
    /// Between parts of a line.
    pub dot: &'static str,
    /// Before the half-width of an interval.
    pub plus_minus: &'static str,
    /// Times, between a count and what is counted.
    pub times: &'static str,
    /// Between the old and the new value.
    pub arrow: &'static str,
    /// Between a function and its caller.
    pub called_by: &'static str,
    /// Before a negative number.
    pub minus: &'static str,
    /// Before an explanation.
    pub dash: &'static str,
    /// 10⁻⁶.
    pub micro: &'static str,
    /// Opening and closing quote.
    pub quotes: (&'static str, &'static str),
}

/// Typographic signs.
pub const UNICODE: Signs = Signs {
    to: "…",
    none: "–",
    dot: "·",
    plus_minus: "±",
    times: "×",
    arrow: "→",
    called_by: "←",
    minus: "−",
    dash: "—",
    micro: "µ",
    quotes: ("“", "”"),
};

/// Signs for devices with ASCII only.
pub(crate) const ASCII: Signs = Signs {
    to: "..",
    none: "-",
    dot: "|",
    plus_minus: "+-",
    times: "x",
    arrow: "->",
    called_by: "<-",
    minus: "-",
    dash: "--",
    micro: "u",
    quotes: ("\"", "\""),
};
