//! What is to be said of many rows, once: sentences that hold for all, and numbered ones for some.

use super::estimates::Estimated;
use faultline_model::workload_comparison::Answer;
use faultline_report::caution_words;

/// The sentences about a table's intervals and answers.
#[derive(Debug)]
pub(crate) struct Footnotes {
    /// About every row that has an answer.
    pub common: Vec<String>,
    /// About some rows: their numbers begin at 1.
    numbered: Vec<String>,
}

impl Footnotes {
    /// Of all rows of a table.
    pub(crate) fn of(rows: &[Estimated]) -> Self {
        let judged: Vec<Vec<String>> = rows.iter().filter(|row| row.judgement.is_some()).map(sentences).collect();
        let mut notes = Footnotes { common: Vec::new(), numbered: Vec::new() };
        for sentence in judged.iter().flatten() {
            let list = match judged.iter().all(|of_row| of_row.contains(sentence)) {
                true => &mut notes.common,
                false => &mut notes.numbered,
            };
            if !list.contains(sentence) {
                list.push(sentence.clone());
            }
        }
        notes
    }

    /// The marks of a row: ` [1,3]`, or nothing.
    pub(crate) fn marks(&self, row: &Estimated) -> String {
        let said = sentences(row);
        let marked = (1..).zip(&self.numbered).filter(|(_, note)| said.contains(note));
        let numbers: Vec<String> = marked.map(|(number, _): (usize, _)| number.to_string()).collect();
        if numbers.is_empty() { String::new() } else { format!(" [{}]", numbers.join(",")) }
    }

    /// The numbered sentences with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = String> {
        self.numbered.iter().enumerate().map(|(index, sentence)| format!("[{}] {sentence}", index + 1))
    }
}

/// A row's cautions, and what becomes of its answer beside the others.
fn sentences(row: &Estimated) -> Vec<String> {
    let mut sentences: Vec<String> = row.cautions.iter().map(|caution| caution_words(caution)).collect();
    sentences.extend(row.judgement.as_ref().and_then(|judgement| {
        let alone = match (judgement.answer, judgement.answer_alone?) {
            (Answer::Faster | Answer::Slower, _) => return None,
            (_, Answer::Faster) => "faster",
            (_, Answer::Slower) => "slower",
            _ => return None,
        };
        Some(format!("Tested alone it would be {alone}; corrected for all tests of this table it is not."))
    }));
    sentences
}

#[cfg(test)]
mod tests {
    use super::super::estimates::estimates;
    use super::*;
    use faultline_model::workload_comparison::{Caution, OneBoot};

    #[test]
    fn what_holds_for_all_has_no_number() {
        let mut rows = estimates(Some("dragonfly-5.4")).unwrap().remove(0).rows;
        let caution = |boots| Caution::OneBoot { boots }.into();
        for row in &mut rows {
            row.cautions = vec![caution(OneBoot::Unknown)];
            row.judgement.as_mut().unwrap().answer = Answer::Faster;
        }
        let second = rows[1].judgement.as_mut().unwrap();
        (second.answer, second.answer_alone) = (Answer::Inconclusive, Some(Answer::Faster));
        rows[1].cautions.push(caution(OneBoot::Shared));
        let notes = Footnotes::of(&rows);
        assert_eq!(notes.common, [caution_words(&Caution::OneBoot { boots: OneBoot::Unknown })]);
        let numbered: Vec<_> = notes.numbered().collect();
        assert_eq!(numbered.len(), 2, "{numbered:?}");
        assert!(
            numbered[0].starts_with("[1] Both sides ran in one boot")
                && numbered[1].contains("alone it would be faster"),
            "{numbered:?}"
        );
        assert_eq!((notes.marks(&rows[0]).as_str(), notes.marks(&rows[1]).as_str()), ("", " [1,2]"));
    }
}
