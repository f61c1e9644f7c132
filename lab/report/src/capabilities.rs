//! The table of what works on a machine.

use crate::escape::one_line;
use crate::style::Style;
use crate::table::{Column, ResultTable};
use faultline_record::capability::Capability;

/// The parts, with their versions, or the problem and its remedy.
pub fn capabilities(capabilities: &[Capability], style: &Style) -> String {
    let columns = vec![
        Column::left("part", |part: &&Capability, _| part.part.to_owned()),
        Column::left("works", |part: &&Capability, _| if part.state.is_ok() { "yes" } else { "no" }.to_owned()),
        Column::left("with", |part: &&Capability, _| match &part.state {
            Ok(with) => one_line(with),
            Err(lack) => one_line(&format!("{}; hint: {}", lack.problem, lack.hint)),
        }),
    ];
    ResultTable::new(columns, capabilities).text(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::capability::Lack;

    #[test]
    fn a_missing_part_has_its_remedy() {
        let lack = Lack { problem: "no emulator".to_owned(), hint: "`make emulator`".to_owned() };
        let parts = [
            Capability { part: "time", state: Ok("23 workloads".to_owned()) },
            Capability { part: "guests", state: Err(lack) },
        ];
        let text = capabilities(&parts, &Style::PLAIN);
        assert!(text.contains("time    yes    23 workloads"), "{text}");
        assert!(text.contains("guests  no     no emulator; hint: `make emulator`"), "{text}");
    }
}
