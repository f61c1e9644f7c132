//! Properties for any bytes that a workload may print: nothing panics, and accepted output is
//! consistent.

use faultline_record::cell::{Case, Cell, TaskMode};
use faultline_record::describe::{self, Style};
use faultline_record::protocol::Event;
use faultline_record::transcript::Transcript;

/// Reads `data` as a description, and as the output of a loop and of a workload that runs once.
pub fn hold(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = describe::parse(text);
    }
    read(data, Style::Loop);
    read(data, Style::Once);
}

fn read(data: &[u8], style: Style) {
    let case = Case { workload: "zero_fill".into(), variant: "base".into(), mode: TaskMode::Process };
    let mut transcript = Transcript::new(Cell { case, tasks: 2 }, style);
    let mut seen = Seen::default();
    for line in data.split(|&byte| byte == b'\n') {
        match transcript.line(line) {
            Ok(event) => seen.take(&event),
            Err(_) => return,
        }
    }
    if let Ok(None) = transcript.finish() {
        assert!(seen.done, "ended well without 'done'");
        let enough = if style == Style::Loop { seen.intervals > 0 } else { seen.measures > 0 };
        assert!(enough, "ended well without a figure");
    }
}

#[derive(Default)]
struct Seen {
    last_ns: u64,
    intervals: u32,
    measures: u32,
    done: bool,
}

impl Seen {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Window(interval) | Event::Warmup(interval) => {
                assert!(interval.from_ns >= self.last_ns, "time went back");
                assert!(interval.length_ns() > 0);
                assert!(interval.rate().is_finite() && interval.rate() >= 0.0);
                assert_eq!(interval.operations.len(), 2, "one count per task");
                self.last_ns = interval.to_ns;
                self.intervals += u32::from(matches!(event, Event::Window(_)));
            }
            Event::Measure(measure) => {
                assert!(measure.value.is_finite());
                self.measures += 1;
            }
            Event::Note(key, _) => assert!(!key.is_empty()),
            Event::Tasks(count) => assert_eq!(*count, 2),
            Event::Done => self.done = true,
            _ => {}
        }
    }
}
