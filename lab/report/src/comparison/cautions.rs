//! The cautions of a comparison, each once, with the workloads that it is about.

use super::words;
use crate::one_line::one_line;
use crate::sentences;
use faultline_model::comparison::Comparison;
use faultline_model::workload_comparison::{Caution, CautionCode};

/// A caution, with the names of the workloads that it is about; none of them when it is about all.
pub(crate) struct Grouped {
    /// Its code.
    pub(crate) code: CautionCode,
    /// Its text.
    pub(crate) text: String,
    /// Whom it concerns.
    pub(crate) names: Option<String>,
}

/// Each caution once, in the order of the codes. Left out is what the answers tell.
pub(crate) fn grouped(compared: &Comparison) -> Vec<Grouped> {
    let mut groups: Vec<(CautionCode, String, Vec<String>)> = Vec::new();
    for workload in &compared.workloads {
        let comparison = &workload.comparison;
        for caution in comparison.cautions.iter().filter(|caution| !words::is_reason(comparison, caution)) {
            let (name, said) = (words::name(workload), sentences::caution(&greatest(compared, caution)));
            match groups.iter_mut().find(|(code, text, _)| *code == caution.code() && *text == said) {
                Some((_, _, names)) => names.push(name),
                None => groups.push((caution.code(), said, vec![name])),
            }
        }
    }
    groups.sort_by_key(|(code, _, _)| *code);
    let all = compared.workloads.len();
    let named = |(code, text, names): (CautionCode, String, Vec<String>)| Grouped {
        code,
        text: one_line(&text),
        names: (names.len() < all).then(|| words::list(&names)),
    };
    groups.into_iter().map(named).collect()
}

/// Others' load and stolen time with the greatest figures of all workloads, so that they are said once; any other caution as it is.
fn greatest(compared: &Comparison, caution: &Caution) -> Caution {
    let most = |figures: fn(&Caution) -> Option<[Option<f64>; 2]>| {
        let cautions = compared.workloads.iter().flat_map(|workload| &workload.comparison.cautions);
        let all = cautions.filter_map(|caution| figures(caution));
        all.fold([None, None], |most: [Option<f64>; 2], these| {
            [0, 1].map(|side| most[side].into_iter().chain(these[side]).reduce(f64::max))
        })
    };
    match caution {
        Caution::Load { .. } => {
            let [a, b] = most(|caution| if let Caution::Load { a, b } = caution { Some([*a, *b]) } else { None });
            Caution::Load { a, b }
        }
        Caution::Steal { .. } => {
            let [a, b] = most(|caution| if let Caution::Steal { a, b } = caution { Some([*a, *b]) } else { None });
            Caution::Steal { a, b }
        }
        other => other.clone(),
    }
}
