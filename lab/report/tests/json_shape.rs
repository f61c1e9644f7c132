//! The shape of every JSON output, as TypeScript declarations derived from the types:
//! `page/src/model.ts`.
//!
//! `INSTA_UPDATE=always cargo test -p faultline-report json_shape` writes the file.

use faultline_record::cell::Case;
use faultline_record::describe::WorkloadInfo;
use faultline_record::lens::calibration::Calibration;
use faultline_record::record::RunLine;
use faultline_stats::comparison::{Comparison, Fitness};
use faultline_stats::lens::comparison::LensComparison;
use faultline_stats::lens::gate::GateReport;
use faultline_stats::lens::types::LensTypes;
use faultline_stats::summary::RunSummary;
use faultline_stats::timeline::{Beside, StepsFound, Timeline};
use std::collections::BTreeMap;
use std::{env, fs};
use ts_rs::{Config, TS, TypeVisitor};

const HEAD: &str = "// The shape of the JSON that report and the API write; lab/record and lab/stats document it.\n\
                    // Generated: INSTA_UPDATE=always cargo test -p faultline-report json_shape\n";

/// Maximum line length of the file.
const WIDTH: usize = 160;

/// Declarations by name.
struct Declarations<'a> {
    config: &'a Config,
    found: BTreeMap<String, String>,
}

impl TypeVisitor for Declarations<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        // Numbers, arrays and maps have no declaration.
        if T::output_path().is_none() {
            return;
        }
        let name = T::ident(self.config);
        let declaration = wrapped(&format!("export {}", T::decl(self.config)));
        match self.found.insert(name.clone(), declaration.clone()) {
            Some(known) => assert_eq!(known, declaration, "two types are called {name}"),
            None => {
                T::visit_dependencies(self);
                T::visit_generics(self);
            }
        }
    }
}

/// A declaration without comments, in lines of at most [`WIDTH`] characters.
fn wrapped(declaration: &str) -> String {
    let mut parts = declaration.split("/**");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| text + part.split_once("*/").map_or("", |(_, rest)| rest));
    let options = textwrap::Options::new(WIDTH)
        .subsequent_indent("  ")
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(&text.split_whitespace().collect::<Vec<_>>().join(" "), options)
}

#[test]
fn the_json_has_the_shape_of_the_types() {
    let config = Config::new().with_large_int("number");
    let mut declarations = Declarations { config: &config, found: BTreeMap::new() };
    declarations.visit::<RunSummary>();
    declarations.visit::<Comparison>();
    declarations.visit::<Fitness>();
    declarations.visit::<LensComparison>();
    declarations.visit::<GateReport>();
    declarations.visit::<LensTypes>();
    declarations.visit::<Calibration>();
    declarations.visit::<RunLine>();
    declarations.visit::<WorkloadInfo>();
    declarations.visit::<Timeline>();
    declarations.visit::<Beside>();
    declarations.visit::<StepsFound>();
    declarations.visit::<Case>();
    let all: String = declarations.found.into_values().map(|declaration| declaration + "\n").collect();
    let shape = format!("{HEAD}\n{all}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/page/src/model.ts");
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(path, &shape).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == shape,
        "page/src/model.ts differs from the types. If the change is intended, write it: \
         INSTA_UPDATE=always cargo test -p faultline-report json_shape"
    );
}
