//! Names as in their source. The mangled name itself says whether it is Rust or C++.

/// `name` demangled; unchanged if it is not mangled.
pub(crate) fn demangle(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn both_languages_and_neither() {
        assert_eq!(demangle("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE"), "core::fmt::Formatter::write_str");
        assert_eq!(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        assert_eq!(demangle("_ZN5Shape4areaEv"), "Shape::area()");
        assert_eq!(demangle("do_anonymous_page"), "do_anonymous_page");
    }
}
