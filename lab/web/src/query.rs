//! The parameters of an address. Each has bounds; unknown ones are refused, so that a misspelt one is noticed.

use crate::problem::Problem;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Maximum length of a query, in bytes.
const LONGEST_BYTES: usize = 2048;

/// Parameters by name.
#[derive(Debug, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    /// The parameters of an address. `known`: the names that the address takes. Fails on others, on those given twice, and if it is too long.
    pub(crate) fn parse(text: Option<&str>, known: &[&str]) -> Result<Self, Problem> {
        let text = text.unwrap_or_default();
        if text.len() > LONGEST_BYTES {
            return Err(Problem::bad_request(
                "the query is too long",
                "2,048 bytes are enough for every address of this server",
            ));
        }
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let hint = match known {
                [] => "this address takes no parameters".to_owned(),
                known => format!("it takes: {}", known.join(", ")),
            };
            if !known.contains(&name.as_ref()) {
                return Err(Problem::bad_request("this address does not take one of the parameters", &hint));
            }
            if parameters.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(Problem::bad_request("a parameter is given twice", &hint));
            }
        }
        Ok(Query(parameters))
    }

    /// A parameter's text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A decimal number within bounds, both included; `None` if it is not given.
    pub(crate) fn decimal(&self, name: &str, least: f64, most: f64) -> Result<Option<f64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse::<f64>() {
            Ok(number) if number >= least && number <= most => Ok(Some(number)),
            _ => Err(Problem::bad_request(
                format!("`{name}` is not a number from {least} to {most}"),
                "write it like 2.5",
            )),
        }
    }

    /// A whole number within bounds, both included; `None` if it is not given.
    pub(crate) fn number<T>(&self, name: &str, least: T, most: T) -> Result<Option<T>, Problem>
    where
        T: FromStr + PartialOrd + std::fmt::Display,
    {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if number >= least && number <= most => Ok(Some(number)),
            _ => Err(Problem::bad_request(
                format!("`{name}` is not a whole number from {least} to {most}"),
                "write it in digits",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bounds() {
        let query = Query::parse(Some("from=7&to=%39"), &["from", "to"]).unwrap();
        assert_eq!(query.number("from", 0, 10), Ok(Some(7)));
        assert_eq!(query.number("to", 0, 10), Ok(Some(9)));
        assert_eq!(query.number::<u32>("width", 0, 10), Ok(None));
        assert!(query.number("from", 8, 10).is_err());
        for odd in ["-1", "1e3", "99999999999999999999", "<b>", ""] {
            let query = Query::parse(Some(&format!("from={odd}")), &["from"]).unwrap();
            assert!(query.number::<u32>("from", 0, 10).is_err(), "{odd}");
        }
    }

    #[test]
    fn decimals_have_bounds() {
        for (text, expected) in [("2.5", Some(2.5)), ("0", Some(0.0)), ("100", Some(100.0))] {
            assert_eq!(
                Query::parse(Some(&format!("min={text}")), &["min"]).unwrap().decimal("min", 0.0, 100.0),
                Ok(expected)
            );
        }
        for odd in ["-1", "NaN", "inf", "100.1", "5%25", ""] {
            assert!(
                Query::parse(Some(&format!("min={odd}")), &["min"]).unwrap().decimal("min", 0.0, 100.0).is_err(),
                "{odd}"
            );
        }
        assert_eq!(Query::default().decimal("min", 0.0, 1.0), Ok(None));
    }

    #[test]
    fn foreign_double_and_endless_parameters_are_refused() {
        for odd in ["fron=1", "from=1&from=2", &"a".repeat(LONGEST_BYTES + 1)] {
            assert!(Query::parse(Some(odd), &["from"]).is_err(), "{odd}");
        }
    }
}
