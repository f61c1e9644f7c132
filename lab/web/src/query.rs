//! Query parameters, declared with their bounds, and pages of rows. Unknown parameters are refused,
//! so that a misspelt one is noticed.

use crate::problem::Problem;
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum length of a query in bytes.
const LONGEST_BYTES: usize = 2048;

/// A query parameter. The API's description contains it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter {
    /// Name in the address.
    pub(crate) name: &'static str,
    /// Meaning, for the description.
    pub(crate) about: &'static str,
    /// Accepted values.
    pub(crate) takes: Takes,
    /// True if a request without it is refused.
    pub(crate) is_required: bool,
}

/// Accepted values of a parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Takes {
    /// Integers from the first to the second.
    Integer(i64, i64),
    /// Decimal numbers from the first to the second.
    Decimal(f64, f64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Texts that match a regular expression. Only the description has it; handlers check the text.
    Text(&'static str),
}

impl Parameter {
    /// An integer from `least` to `most`.
    pub(crate) const fn integer(name: &'static str, least: i64, most: i64, about: &'static str) -> Self {
        Parameter { name, about, takes: Takes::Integer(least, most), is_required: false }
    }

    /// A decimal number from `least` to `most`.
    pub(crate) const fn decimal(name: &'static str, least: f64, most: f64, about: &'static str) -> Self {
        Parameter { name, about, takes: Takes::Decimal(least, most), is_required: false }
    }

    /// One of these words.
    pub(crate) const fn word(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Parameter { name, about, takes: Takes::Word(words), is_required: false }
    }

    /// A text that matches a regular expression.
    pub(crate) const fn text(name: &'static str, pattern: &'static str, about: &'static str) -> Self {
        Parameter { name, about, takes: Takes::Text(pattern), is_required: false }
    }

    /// The position of the first row, counted from 0.
    pub(crate) const fn from(about: &'static str) -> Self {
        Self::integer("from", 0, u32::MAX as i64, about)
    }

    /// The maximum number of rows.
    pub(crate) const fn limit(most: i64, about: &'static str) -> Self {
        Self::integer("limit", 1, most, about)
    }

    /// This parameter, required.
    pub(crate) const fn required(self) -> Self {
        Parameter { is_required: true, ..self }
    }
}

/// The parameters of a request.
#[derive(Debug, Default)]
pub(crate) struct Query(BTreeMap<&'static str, (Takes, String)>);

impl Query {
    /// Parses a query. Fails if it is too long, if it has a parameter that is not in `known`, or
    /// one twice.
    pub(crate) fn parse(text: Option<&str>, known: &[Parameter]) -> Result<Self, Problem> {
        let text = text.unwrap_or_default();
        if text.len() > LONGEST_BYTES {
            return Err(Problem::bad_request(
                "the query is too long",
                "no address of this server needs more than 2,048 bytes",
            ));
        }
        let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
        let hint = match names.as_slice() {
            [] => "this address takes no parameters".to_owned(),
            names => format!("it takes: {}", names.join(", ")),
        };
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let Some(parameter) = known.iter().find(|parameter| parameter.name == name) else {
                return Err(Problem::bad_request("unknown parameter", &hint));
            };
            if parameters.insert(parameter.name, (parameter.takes, value.into_owned())).is_some() {
                return Err(Problem::bad_request("a parameter is given twice", &hint));
            }
        }
        Ok(Query(parameters))
    }

    /// The text of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|(_, text)| text.as_str())
    }

    /// The decimal number of a parameter; `None` without it. Fails if it is out of bounds.
    pub(crate) fn decimal(&self, name: &str) -> Result<Option<f64>, Problem> {
        let Some((takes, text)) = self.0.get(name) else { return Ok(None) };
        let Takes::Decimal(least, most) = *takes else { return Err(Problem::internal()) };
        match text.parse::<f64>() {
            Ok(number) if number >= least && number <= most => Ok(Some(number)),
            _ => Err(Problem::bad_request(
                format!("`{name}` is not a number from {least} to {most}"),
                "write it like 2.5",
            )),
        }
    }

    /// The integer of a parameter; `None` without it. Fails if it is out of bounds.
    pub(crate) fn number<T: TryFrom<i64>>(&self, name: &str) -> Result<Option<T>, Problem> {
        let Some((takes, text)) = self.0.get(name) else { return Ok(None) };
        let Takes::Integer(least, most) = *takes else { return Err(Problem::internal()) };
        let number = text.parse::<i64>().ok().filter(|number| (least..=most).contains(number));
        number.and_then(|number| T::try_from(number).ok()).map(Some).ok_or_else(|| {
            Problem::bad_request(format!("`{name}` is not an integer from {least} to {most}"), "write it in digits")
        })
    }

    /// The word of a parameter; `None` without it. Fails if it is an unknown word.
    pub(crate) fn word(&self, name: &str) -> Result<Option<&'static str>, Problem> {
        let Some((takes, text)) = self.0.get(name) else { return Ok(None) };
        let Takes::Word(words) = *takes else { return Err(Problem::internal()) };
        let found = words.iter().copied().find(|word| word == text);
        found.map(Some).ok_or_else(|| {
            Problem::bad_request(format!("unknown value of `{name}`"), &format!("it takes: {}", words.join(", ")))
        })
    }

    /// The rows that the parameters `from` and `limit` select; `usual` is the default limit. Fails
    /// if one is out of bounds.
    pub(crate) fn rows(&self, usual: usize) -> Result<Rows, Problem> {
        Ok(Rows { from: self.number("from")?.unwrap_or(0), limit: self.number("limit")?.unwrap_or(usual) })
    }
}

/// A page of rows: commits of a history, workloads of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    /// Position of the first row, from 0.
    pub(crate) from: usize,
    /// Maximum number of rows.
    pub(crate) limit: usize,
}

impl Rows {
    /// The range of these rows among `all` rows, and the start of the next page, if there is one.
    pub(crate) fn among(self, all: usize) -> (Range<usize>, Option<usize>) {
        let begin = self.from.min(all);
        let end = begin.saturating_add(self.limit).min(all);
        (begin..end, (end < all).then_some(end))
    }

    /// These rows of all, and the start of the next page, if there is one.
    pub(crate) fn of<T>(self, all: Vec<T>) -> (Vec<T>, Option<usize>) {
        let (range, next) = self.among(all.len());
        (all.into_iter().skip(range.start).take(range.len()).collect(), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: Parameter = Parameter::integer("from", 0, 10, "");
    const TO: Parameter = Parameter::integer("to", 8, 10, "");
    const LEAST: Parameter = Parameter::decimal("min", 0.0, 100.0, "");
    const PHASE: Parameter = Parameter::word("phase", &["warmup", "window"], "");

    #[test]
    fn integers_have_bounds() {
        let query = Query::parse(Some("from=7&to=%39"), &[FROM, TO]).unwrap();
        assert_eq!(query.number("from"), Ok(Some(7)));
        assert_eq!(query.number("to"), Ok(Some(9_u32)));
        assert_eq!(query.number::<u32>("width"), Ok(None));
        assert!(Query::parse(Some("to=7"), &[TO]).unwrap().number::<u32>("to").is_err());
        for odd in ["-1", "11", "1e3", "99999999999999999999", "<b>", ""] {
            let query = Query::parse(Some(&format!("from={odd}")), &[FROM]).unwrap();
            assert!(query.number::<u32>("from").is_err(), "{odd}");
        }
    }

    #[test]
    fn decimals_have_bounds() {
        let least = |text: &str| Query::parse(Some(&format!("min={text}")), &[LEAST]).unwrap().decimal("min");
        for (text, expected) in [("2.5", Some(2.5)), ("0", Some(0.0)), ("100", Some(100.0))] {
            assert_eq!(least(text), Ok(expected));
        }
        for odd in ["-1", "NaN", "inf", "100.1", "5%25", ""] {
            assert!(least(odd).is_err(), "{odd}");
        }
        assert_eq!(Query::default().decimal("min"), Ok(None));
    }

    #[test]
    fn words_are_known() {
        let phase = |text: &str| Query::parse(Some(&format!("phase={text}")), &[PHASE]).unwrap().word("phase");
        assert_eq!(phase("warmup"), Ok(Some("warmup")));
        assert_eq!(phase("Warmup").unwrap_err().hint.as_deref(), Some("it takes: warmup, window"));
    }

    #[test]
    fn unknown_repeated_and_long_parameters_are_refused() {
        for odd in ["fron=1", "from=1&from=2", &"a".repeat(LONGEST_BYTES + 1)] {
            assert!(Query::parse(Some(odd), &[FROM]).is_err(), "{odd}");
        }
    }

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let page = |from, limit| Rows { from, limit }.of((0..5).collect::<Vec<_>>());
        assert_eq!(page(0, 2), (vec![0, 1], Some(2)));
        assert_eq!(page(4, 2), (vec![4], None));
        assert_eq!(page(3, 2), (vec![3, 4], None));
        assert_eq!(page(9, usize::MAX), (vec![], None));
    }
}
