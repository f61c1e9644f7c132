//! Time linear in the input: files of some megabytes in shapes that provoke quadratic code.

use crate::samples::named;
use faultline_exchange::{Files, Format, read, write};
use std::time::{Duration, Instant};

/// Time limit per file, without optimisation. Quadratic code would take hours.
const LIMIT: Duration = Duration::from_secs(60);

fn check(format: Format, name: &str, text: String) {
    let begin = Instant::now();
    let dataset = read(&Files::one(name, text.into_bytes()), Some(format)).unwrap();
    if format.is_written() {
        write(&dataset, format).unwrap();
    }
    assert!(begin.elapsed() < LIMIT, "{format}: {:?}", begin.elapsed());
}

#[test]
fn many_lines_of_one_benchmark() {
    let lines = 0..60_000;
    let header = "tasks,processes,processes_idle,threads,threads_idle,linear\n";
    let rows: String = lines.clone().map(|n| format!("2,{n},0.5,{n},0.5,{n}\n")).collect();
    check(named("will-it-scale"), "a.csv", format!("{header}{rows}"));
    check(
        named("openbsd-result"),
        "a",
        lines.clone().map(|n| format!("VALUE {n} sec real\nPASS\tmake\tok\n")).collect(),
    );
    check(named("openbsd-data"), "a", lines.clone().map(|n| format!("a b 1 2 {n} {n} sec h\n")).collect());
    let rows: String = lines.clone().map(|n| format!("{},c{n},{n},{n}\n", 1_700_000_000 + n)).collect();
    check(named("otava-csv"), "a", format!("time,commit,a,b\n{rows}"));
    check(named("go-bench"), "a", lines.clone().map(|n| format!("BenchmarkA-8 1 {n} ns/op 1 B/op\n")).collect());
    let numbers: Vec<String> = lines.map(|n| n.to_string()).collect();
    check(named("lkp"), "a", format!("{{\"a\": [{}]}}", numbers.join(",")));
    check(
        named("hyperfine"),
        "a",
        format!("{{\"results\": [{{\"command\": \"a\", \"times\": [{}]}}]}}", numbers.join(",")),
    );
}

#[test]
fn many_benchmarks_with_one_value() {
    let names = 0..30_000;
    check(
        named("openbsd-result"),
        "a",
        names.clone().map(|n| format!("VALUE {n} sec m{n}\nPASS\tmake\tok\n")).collect(),
    );
    check(named("openbsd-data"), "a", names.clone().map(|n| format!("a b{n} 1 2 0 {n} sec h\n")).collect());
    check(named("go-bench"), "a", names.clone().map(|n| format!("BenchmarkA{n}-8 1 {n} ns/op\n")).collect());
    check(named("go-bench"), "a", names.clone().map(|n| format!("BenchmarkA 1 {n} u{n}/op\n")).collect());
    let stats: Vec<_> = names.clone().map(|n| format!("\"a{n}\": [{n}]")).collect();
    check(named("lkp"), "a", format!("{{{}}}", stats.join(",")));
    let benchmarks: Vec<_> = names.clone().map(|n| format!("\"a{n}\": {{\"latency\": {{\"value\": {n}}}}}")).collect();
    check(named("bencher"), "a", format!("{{{}}}", benchmarks.join(",")));
    let event =
        |n| format!("{{\"Action\":\"output\",\"Package\":\"p{n}\",\"Output\":\"BenchmarkA{n} 1 {n} ns/op\\n\"}}\n");
    check(named("go-test-json"), "a", names.clone().map(event).collect());
    let times: Vec<_> =
        names.clone().map(|n| format!("{{\"name\": \"a{n}\", \"real_time\": {n}, \"time_unit\": \"ns\"}}")).collect();
    check(named("google-benchmark"), "a", format!("{{\"benchmarks\": [{}]}}", times.join(",")));
    let tests: Vec<_> =
        names.clone().map(|n| format!("{{\"name\": \"a{n}\", \"stats\": {{\"data\": [{n}]}}}}")).collect();
    check(named("pytest-benchmark"), "a", format!("{{\"benchmarks\": [{}]}}", tests.join(",")));
    let metric = |n| format!("{{\"score\": {n}, \"scoreUnit\": \"us/op\", \"rawData\": [[{n}]]}}");
    let entry = |n| format!("{{\"benchmark\": \"a{n}\", \"mode\": \"avgt\", \"primaryMetric\": {}}}", metric(n));
    check(named("jmh"), "a", format!("[{}]", names.clone().map(entry).collect::<Vec<_>>().join(",")));
    let result = |n| format!("{{\"name\": \"a{n}\", \"unit\": \"ms\", \"value\": {n}}}");
    let results = names.clone().map(result).collect::<Vec<_>>().join(",");
    check(named("github-action-benchmark"), "a", format!("[{results}]"));
    let rows: String = names.clone().map(|n| format!("a{n},{n},0,{n},0,0,{n},{n}\n")).collect();
    check(named("hyperfine-csv"), "a", format!("command,mean,stddev,median,user,system,min,max\n{rows}"));
    let commands: Vec<_> = names.map(|n| format!("{{\"command\": \"a{n}\", \"mean\": {n}}}")).collect();
    check(named("hyperfine"), "a", format!("{{\"results\": [{}]}}", commands.join(",")));
}

#[test]
fn thousands_of_columns() {
    let columns = 0..5_000;
    let header: String = columns.clone().map(|n| format!(",m{n}")).collect();
    let cells: String = columns.map(|n| format!(",{n}.5")).collect();
    let rows: String = (0..20).map(|n| format!("{}{cells}\n", 1_700_000_000 + n)).collect();
    check(named("otava-csv"), "a", format!("time{header}\n{rows}"));
}

#[test]
fn names_that_become_one_path() {
    let names: String = (0..20_000).map(|n| format!("{}", char::from_u32(0x4e00 + n).unwrap())).collect();
    let series: Vec<_> = names
        .chars()
        .map(|c| {
            format!(r#"{{"name":"{c}","unit":"ns","direction":null,"points":[{{"measured":{{"values":[1.0]}}}}]}}"#)
        })
        .collect();
    let text = format!(r#"{{"format":"faultline-dataset/1","series":[{}]}}"#, series.join(","));
    let dataset = read(&Files::one("a", text.into_bytes()), None).unwrap();
    let begin = Instant::now();
    let written = write(&dataset, named("criterion")).unwrap();
    assert_eq!(written.files.len(), 60_000);
    assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
}
