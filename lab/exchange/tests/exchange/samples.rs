//! The values read from files of the real tools, which writing preserves.

use faultline_exchange::{FORMATS, Files, Format, Written, read, sniff, write};
use faultline_record::dataset::{Dataset, Measured, Series, Summed};
use faultline_record::direction::Direction::{Higher, Lower};
use faultline_record::time::UnixMillis;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The format with this name.
pub fn named(name: &str) -> Format {
    name.parse().unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples")
}

fn collect(directory: &Path, below: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, below, files);
        } else {
            let name = path.strip_prefix(below).unwrap().to_str().unwrap().to_owned();
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
}

/// Every sample: one per directory format, one per file for others.
pub fn all() -> Vec<(Format, Files)> {
    let mut samples = Vec::new();
    for format in FORMATS.iter().copied().filter(|format| *format != named("faultline")) {
        let directory = root().join(format.name());
        let mut files = Vec::new();
        collect(&directory, &directory, &mut files);
        assert!(!files.is_empty(), "no sample of {format}");
        if format.is_directory() {
            samples.push((format, Files::directory(format.name(), files)));
        } else {
            samples.extend(files.into_iter().map(|(name, bytes)| (format, Files::one(name, bytes))));
        }
    }
    samples
}

pub fn sample(format: Format, name: &str) -> Files {
    let found = all().into_iter().find(|(of, files)| *of == format && (format.is_directory() || files.given() == name));
    found.expect("the sample is there").1
}

pub fn dataset(format: Format, name: &str) -> Dataset {
    read(&sample(format, name), Some(format)).unwrap()
}

/// The written files as input.
pub fn files_of(format: Format, written: &Written) -> Files {
    match &written.files[..] {
        [(name, text)] if !format.is_directory() => Files::one(name.clone(), text.clone().into_bytes()),
        files => {
            Files::directory("written", files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes())))
        }
    }
}

pub fn series<'a>(dataset: &'a Dataset, name: &str) -> &'a Series {
    dataset.series.iter().find(|series| series.to_string() == name).unwrap_or_else(|| {
        panic!("no {name} among {:?}", dataset.series.iter().map(Series::to_string).collect::<Vec<_>>())
    })
}

pub fn values(dataset: &Dataset, name: &str) -> Vec<f64> {
    series(dataset, name).points.iter().flat_map(|point| point.measured.values()).copied().collect()
}

#[test]
fn every_sample_is_recognised() {
    for (format, files) in all() {
        assert_eq!(sniff(&files), Some(format), "{}", files.given());
    }
}

#[test]
fn every_sample_is_written_and_read_again() {
    let both_ways = |format: Format| format.is_written() && !format.holds_changes();
    for (format, files) in all().into_iter().filter(|(format, _)| both_ways(format)) {
        let dataset = read(&files, None).unwrap();
        let written = write(&dataset, format).unwrap();
        let again = files_of(format, &written);
        assert_eq!(sniff(&again), Some(format), "{}", files.given());
        assert_eq!(read(&again, None).unwrap(), written.held, "{}", files.given());
        assert_eq!((&written.held, &written.losses[..]), (&dataset, &[] as &[String]), "{format} {}", files.given());
    }
}

#[test]
fn every_sample_can_be_had_as_our_own_json() {
    for (_, files) in all().into_iter().filter(|(format, _)| !format.holds_changes()) {
        let dataset = read(&files, None).unwrap();
        let written = write(&dataset, named("faultline")).unwrap();
        assert_eq!(read(&files_of(named("faultline"), &written), None).unwrap(), dataset);
        assert!(written.losses.is_empty());
    }
}

#[test]
fn will_it_scale() {
    let dataset = dataset(named("will-it-scale"), "page_fault1.csv");
    assert_eq!(dataset.series.len(), 8);
    let processes = series(&dataset, "page_fault1 processes×2");
    assert_eq!((processes.unit.as_str(), processes.direction), ("ops/s", Some(Higher)));
    assert_eq!(values(&dataset, "page_fault1 processes×2"), [525615.0]);
    assert_eq!(values(&dataset, "page_fault1 threads_idle×1"), [12.83]);
}

#[test]
fn the_openbsd_labs_test_result() {
    let dataset = dataset(named("openbsd-result"), "test.result");
    let real = series(&dataset, "time_-lp_make_-s_-j16 real");
    assert_eq!((real.unit.as_str(), real.direction), ("sec", Some(Lower)));
    assert_eq!(values(&dataset, "time_-lp_make_-s_-j16 real"), [107.93]);
    assert_eq!(series(&dataset, "iperf3_-c10.0.0.2_-w1m_-t10 receiver").direction, Some(Higher));
    let hung = series(&dataset, "tcpbench_-t10_10.0.0.2");
    assert_eq!(hung.points[0].measured, Measured::Missing("NOTERM Test running too long, aborted.".to_owned()));
    // It printed a value before it failed.
    let failed = series(&dataset, "udpbench_-l36_-t10_send_10.0.0.2");
    let why = "NOEXIT Command 'udpbench -l36 -t10 send 10.0.0.2' failed: 256";
    assert_eq!(failed.points[0].measured, Measured::Missing(why.to_owned()));
}

#[test]
fn the_openbsd_labs_test_data() {
    let dataset = dataset(named("openbsd-data"), "test.data");
    assert_eq!(dataset.facts.get_text("host.name"), Some("host-1"));
    let real = series(&dataset, "time_-lp_make_-s_-j16 real");
    assert_eq!(real.points.len(), 12);
    assert_eq!(real.points[3].time, Some(UnixMillis(1_717_986_400_000)));
    assert_eq!(real.points[3].boot.as_deref(), Some("1718000000/1717986400"));
    assert_eq!(series(&dataset, "time_-lp_make_-s_-j16").measure, None);
}

#[test]
fn asv() {
    let dataset = dataset(named("asv"), "asv");
    assert_eq!(dataset.facts.get_text("host.name"), Some("bench-1"));
    assert_eq!(dataset.facts.get_text("cpu.model"), Some("Example CPU"));
    let sampled = series(&dataset, "benchmarks.Suite.time_work(1000, \"it's, odd\")");
    assert_eq!((sampled.points.len(), sampled.unit.as_str(), sampled.direction), (3, "seconds", Some(Lower)));
    assert!(sampled.points.iter().all(|point| point.measured.values().len() == 6));
    let times: Vec<_> = sampled.points.iter().map(|point| point.time.unwrap().0).collect();
    assert_eq!(times, [1_704_110_400_000, 1_704_196_800_000, 1_704_283_200_000]);
    assert!(sampled.points.iter().all(|point| point.commit.as_ref().is_some_and(|hash| hash.len() == 40)));
    let why = |name: &str| series(&dataset, name).points[0].measured.clone();
    assert_eq!(why("benchmarks.Suite.time_work(10, \"it's, odd\")"), Measured::Missing("skipped".to_owned()));
    assert_eq!(why("benchmarks.Skipped.time_never"), Measured::Missing("skipped".to_owned()));
    assert_eq!(why("benchmarks.time_fails"), Measured::Missing("failed".to_owned()));
    assert_eq!(values(&dataset, "benchmarks.Suite.track_sum(10, 'plain')"), [45.0; 3]);
    assert_eq!(series(&dataset, "benchmarks.Suite.track_sum(10, 'plain')").direction, None);
    assert_eq!(series(&dataset, "benchmarks.peakmem_list").direction, Some(Lower));
}

#[test]
fn bencher() {
    let dataset = dataset(named("bencher"), "documentation.json");
    let latency = series(&dataset, "benchmark_name latency");
    assert_eq!((latency.unit.as_str(), latency.direction), ("ns", Some(Lower)));
    let bounds = Summed { value: 88.0, low: Some(87.42), high: Some(88.88), deviation: None, n: None };
    assert_eq!(latency.points[0].measured, Measured::Summary(bounds));
    assert_eq!(series(&dataset, "benchmark_name throughput").direction, Some(Higher));
    assert_eq!(values(&dataset, "my_binary file-size"), [42.0]);
}

#[test]
fn hyperfine() {
    let dataset = dataset(named("hyperfine"), "sleep.json");
    assert_eq!(series(&dataset, "sleep 0.01").direction, Some(Lower));
    assert_eq!(values(&dataset, "sleep 0.01")[..2], [0.011307101, 0.011310265]);
    let user = Summed { value: 0.0011185, low: None, high: None, deviation: None, n: Some(8) };
    assert_eq!(series(&dataset, "sleep 0.01 user").points[0].measured, Measured::Summary(user));
}

/// Points with a value, as a comparison counts them.
#[test]
fn each_time_of_hyperfine_and_each_line_of_go_is_a_run() {
    for name in ["sleep.json", "shell.json"] {
        let files = sample(named("hyperfine"), name);
        let report: Value = serde_json::from_slice(files.contents().next().unwrap().1).unwrap();
        let dataset = read(&files, None).unwrap();
        for result in report["results"].as_array().unwrap() {
            let command = series(&dataset, result["command"].as_str().unwrap());
            assert_eq!(command.points.len(), result["times"].as_array().unwrap().len(), "{command}");
            assert!(command.points.iter().all(|point| point.measured.values().len() == 1));
        }
    }
    let dataset = dataset(named("go-bench"), "count.txt");
    for series in dataset.series.iter().filter(|series| series.name != "Failed") {
        assert_eq!(series.points.len(), 4, "{series}");
    }
}

#[test]
fn a_command_given_twice_to_hyperfine() {
    let text = r#"{"results": [
        {"command": "a", "mean": 1.5, "times": [1, 2], "user": 0.5, "memory_usage_byte": [10, 20]},
        {"command": "a", "mean": 4, "stddev": 1},
        {"command": "a", "mean": 3, "times": [3], "user": 1.5, "memory_usage_byte": [30]}]}"#;
    let dataset = read(&Files::one("a.json", text.as_bytes().to_vec()), None).unwrap();
    assert_eq!(values(&dataset, "a"), [1.0, 2.0, 4.0, 3.0]);
    assert_eq!(series(&dataset, "a memory").direction, Some(Lower));
    let written = write(&dataset, named("hyperfine")).unwrap();
    assert_eq!(
        written.losses,
        [
            "user, system and memory figures beyond those that hyperfine has (1 benchmark)",
            "the order of benchmarks or runs"
        ]
    );
    let report: Value = serde_json::from_str(&written.files[0].1).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["times"], &results[0]["mean"]), (&json!([1.0, 2.0, 3.0]), &json!(2.0)));
    assert_eq!((&results[0]["user"], &results[1]["mean"]), (&json!(1.0), &json!(4.0)));
    assert_eq!(results[0]["memory_usage_byte"], json!([10.0, 20.0, 30.0]));
}

#[test]
fn go() {
    let dataset = dataset(named("go-bench"), "count.txt");
    assert_eq!(dataset.facts.get_text("go.pkg"), Some("example.org/sums/sums"));
    assert_eq!(dataset.facts.get_text("cpu.model"), Some("Example CPU"));
    let sum = series(&dataset, "Sum/n=1000×2");
    let runs: Vec<_> = sum.points.iter().map(|point| point.measured.clone()).collect();
    assert_eq!(runs, [287.5, 288.8, 286.9, 286.3].map(|value| Measured::Values(vec![value])));
    assert_eq!((sum.unit.as_str(), sum.direction), ("ns/op", Some(Lower)));
    assert_eq!(series(&dataset, "Sum/n=1000 MB/s×2").direction, Some(Higher));
    assert_eq!(values(&dataset, "Allocate allocs/op×2"), [1.0; 4]);
    assert_eq!(series(&dataset, "Allocate kept/op×2").direction, None);
    assert_eq!(series(&dataset, "Failed").points[0].measured, Measured::Missing("failed".to_owned()));
    let verbose = self::dataset(named("go-bench"), "verbose.txt");
    assert_eq!(series(&verbose, "Skipped").points[0].measured, Measured::Missing("skipped".to_owned()));
}

#[test]
fn go_as_json() {
    let dataset = dataset(named("go-test-json"), "events.json");
    assert_eq!(dataset.facts.get_text("cpu.model"), Some("Example CPU"));
    let sum = series(&dataset, "example.org/sums.Sum/n=10×2");
    let runs: Vec<_> = sum.points.iter().map(|point| point.measured.clone()).collect();
    assert_eq!(runs, [10.82, 10.93, 9.474].map(|value| Measured::Values(vec![value])));
    assert_eq!((sum.unit.as_str(), sum.direction), ("ns/op", Some(Lower)));
    assert_eq!(values(&dataset, "example.org/sums/more.Add"), [0.7873, 1.796, 1.464]);
    assert_eq!(values(&dataset, "example.org/sums.Allocate allocs/op×2"), [1.0; 3]);
    let why = |name: &str| series(&dataset, name).points[0].measured.clone();
    assert_eq!(why("example.org/sums.Failed"), Measured::Missing("failed".to_owned()));
    assert_eq!(why("example.org/sums.Skipped"), Measured::Missing("skipped".to_owned()));
}

fn summary(dataset: &Dataset, name: &str) -> Summed {
    let Measured::Summary(summed) = series(dataset, name).points[0].measured else { panic!("{name} is no summary") };
    summed
}

#[test]
fn hyperfine_csv_holds_summaries_alone() {
    let dataset = dataset(named("hyperfine-csv"), "sleep.csv");
    assert_eq!(series(&dataset, "sleep 0.01").direction, Some(Lower));
    let time = summary(&dataset, "sleep 0.01");
    assert_eq!((time.value, time.deviation), (0.015589687875, Some(0.0013500501920538717)));
    assert_eq!((time.low, time.high, time.n), (Some(0.013920153000000001), Some(0.017658408), None));
    assert_eq!(summary(&dataset, "sleep 0.02 system").value, 0.000156125);
    let shell = self::dataset(named("hyperfine-csv"), "shell.csv");
    assert_eq!(summary(&shell, "echo \"a, b\" user").value, 0.00001486666666666663);
    let points = shell.series.iter().flat_map(|series| &series.points);
    assert!(points.clone().count() == 9 && points.clone().all(|point| matches!(point.measured, Measured::Summary(_))));
}

#[test]
fn google_benchmark() {
    let counters = dataset(named("google-benchmark"), "counters.json");
    assert_eq!(counters.facts.get_text("host.name"), Some("bench-1"));
    let total = series(&counters, "total/10");
    assert_eq!((total.unit.as_str(), total.direction), ("us", Some(Lower)));
    assert_eq!(values(&counters, "total/10"), [0.18346027562572048]);
    assert_eq!(values(&counters, "total/10 cpu_time"), [0.093_970_038_280_329_79]);
    let items = series(&counters, "total/10 items_per_second");
    assert_eq!((items.unit.as_str(), items.direction), ("items/s", Some(Higher)));
    assert_eq!(series(&counters, "ordered/8 bytes_per_second").unit, "B/s");
    assert_eq!((values(&counters, "ordered/8 kept"), series(&counters, "ordered/8 kept").direction), (vec![3.0], None));
    assert_eq!(series(&counters, "fails").points[0].measured, Measured::Missing("it fails".to_owned()));
    assert!(counters.series.iter().all(|series| !series.name.contains("BigO") && !series.name.contains("RMS")));
}

#[test]
fn repetitions_of_google_benchmark_are_runs_and_aggregates_only_stand_in_for_them() {
    let repetitions = dataset(named("google-benchmark"), "repetitions.json");
    assert_eq!(values(&repetitions, "total/10"), [0.30564685493191257, 0.24255296829163453, 0.21662052869532447]);
    let points = repetitions.series.iter().flat_map(|series| &series.points);
    assert!(points.clone().all(|point| !matches!(point.measured, Measured::Summary(_))));
    assert!(repetitions.series.iter().all(|series| series.points.len() == 3), "{:?}", repetitions.series);
    let aggregates = dataset(named("google-benchmark"), "aggregates.json");
    let total = summary(&aggregates, "total/1000");
    assert!(total.n == Some(3) && total.deviation.is_some_and(|deviation| deviation > 0.0), "{total:?}");
    assert!(aggregates.series.iter().all(|series| series.points.len() == 1));
}

#[test]
fn iperf3() {
    let tcp = dataset(named("iperf3"), "tcp.json");
    let sent = series(&tcp, "TCP send (131072 B)×2");
    assert_eq!(
        (sent.unit.as_str(), sent.direction, sent.tasks, sent.points.len()),
        ("bit/s", Some(Higher), Some(2), 1)
    );
    let seconds = [3_626_702_020.732_395, 4_707_621_369.940_077, 4_814_952_418.158_94];
    assert_eq!(values(&tcp, "TCP send (131072 B)×2"), seconds);
    assert_eq!(sent.points[0].time, Some(UnixMillis(1_795_696_401_000)));
    assert_eq!(values(&tcp, "TCP send (131072 B) received×2"), [4_365_314_460.133_23]);
    assert_eq!(values(&tcp, "TCP send (131072 B) retransmits×2"), [0.0]);
    assert!(tcp.series.iter().all(|series| series.measure.as_deref() != Some("lost")));

    let udp = dataset(named("iperf3"), "udp.json");
    assert_eq!(values(&udp, "UDP send (32768 B) lost×1"), [26.334_208_223_972]);
    assert_eq!(series(&udp, "UDP send (32768 B) lost×1").direction, Some(Lower));
    assert_eq!(values(&udp, "UDP send (32768 B) received×1"), [73_450_681.695_435_17]);
    assert!(udp.series.iter().all(|series| series.measure.as_deref() != Some("retransmits")));
}

#[test]
fn iperf3_in_both_directions_leaves_omitted_intervals_out() {
    let both = dataset(named("iperf3"), "both.json");
    assert_eq!(values(&both, "TCP send (131072 B)×1"), [3_649_048_177.503_746_5, 3_909_065_863.827_003]);
    assert_eq!(values(&both, "TCP receive (131072 B)×1").len(), 2);
    assert_eq!(series(&both, "TCP receive (131072 B) received×1").direction, Some(Higher));
}

#[test]
fn tcpbench() {
    let client = dataset(named("tcpbench"), "client.txt");
    let sent = series(&client, "TCP×3");
    assert_eq!((sent.unit.as_str(), sent.direction, sent.tasks), ("bit/s", Some(Higher), Some(3)));
    assert_eq!(values(&client, "TCP×3"), [20_082_647_000.0, 17_179_238_000.0, 16_963_863_000.0]);
    // After the test there is no connection.
    assert_eq!(values(&dataset(named("tcpbench"), "server.txt"), "TCP×3").len(), 4);
    let udp = dataset(named("tcpbench"), "udp-client.txt");
    assert_eq!(values(&udp, "UDP send packets"), [418_526.0, 432_462.0, 418_956.0]);
    let server = dataset(named("tcpbench"), "udp-server.txt");
    assert_eq!(values(&server, "UDP receive packets"), [136_447.0, 227_251.0, 233_478.0, 229_741.0]);
    assert_eq!(series(&server, "UDP receive packets").direction, Some(Higher));
    // The end in newer versions, after `src/usr.bin/tcpbench/tcpbench.c`.
    let newer = dataset(named("tcpbench"), "newer.txt");
    assert_eq!(values(&newer, "TCP whole test×1"), [8000.0]);
}

#[test]
fn fio() {
    let clones = dataset(named("fio"), "clones.json");
    let write = series(&clones, "append write×2");
    assert_eq!((write.unit.as_str(), write.direction, write.tasks), ("op/s", Some(Higher), Some(2)));
    assert_eq!(values(&clones, "append write×2"), [32_000.0 + 46_545.454_545]);
    assert_eq!(values(&clones, "append write bytes×2"), [131_072_000.0 + 190_650_181.0]);
    let latency = summary(&clones, "append write latency×2");
    assert_eq!(
        (latency.low, latency.high, latency.n, latency.deviation),
        (Some(2394.0), Some(17_982_989.0), Some(2048), None)
    );
    assert!((latency.value - (30_141.390_625 + 20_883.537_109) / 2.0).abs() < 1e-6, "{latency:?}");
    let percentiles = |dataset: &Dataset| -> Vec<_> {
        let names = dataset.series.iter().filter_map(|series| series.measure.as_deref());
        names.filter(|name| name.contains(" p")).map(str::to_owned).collect()
    };
    assert_eq!(percentiles(&clones), Vec::<String>::new(), "those of clones cannot be added up");
    assert!(clones.series.iter().all(|series| !series.name.contains("read")), "nothing was read");

    let group = dataset(named("fio"), "group.json");
    assert_eq!(series(&group, "mixed read×2").tasks, Some(2));
    assert_eq!(values(&group, "mixed write latency p99.9×2"), [29_056.0]);
    assert_eq!(percentiles(&group), ["latency p50", "latency p99.9"].repeat(2));
    assert!(summary(&group, "mixed write latency×2").deviation.is_some());
}

#[test]
fn pytest_benchmark() {
    let dataset = dataset(named("pytest-benchmark"), "rounds.json");
    assert_eq!(dataset.facts.get_text("cpu.model"), Some("Example CPU"));
    let sum = series(&dataset, "test_sums.py::test_sum[10]");
    assert_eq!((sum.unit.as_str(), sum.direction, sum.points.len()), ("s", Some(Lower), 1));
    let rounds = values(&dataset, "test_sums.py::test_sum[10]");
    assert_eq!((rounds.len(), rounds[0]), (8, 1.942999972470716e-07));
    assert!(sum.points[0].commit.is_none() && sum.points[0].time.is_some());
    let summaries = self::dataset(named("pytest-benchmark"), "summaries.json");
    let sorted = summary(&summaries, "test_sums.py::test_sorted");
    assert!(sorted.n == Some(8) && sorted.low < Some(sorted.value) && sorted.deviation.is_some(), "{sorted:?}");
}

#[test]
fn jmh() {
    let dataset = dataset(named("jmh"), "modes.json");
    let unit = |name: &str| (series(&dataset, name).unit.clone(), series(&dataset, name).direction);
    assert_eq!(unit("org.example.Sums.sum (n=10) thrpt×2"), ("ops/us".to_owned(), Some(Higher)));
    assert_eq!(unit("org.example.Sums.sum (n=10) avgt×2"), ("us/op".to_owned(), Some(Lower)));
    assert_eq!(unit("org.example.Sums.sum (n=10) ss gc.alloc.rate×2"), ("MB/sec".to_owned(), None));
    assert_eq!(
        values(&dataset, "org.example.Sums.sum (n=10) ss gc.alloc.rate.norm×2"),
        [3332.0, 3292.0, 3332.0, 3292.0]
    );
    for series in &dataset.series {
        let values: Vec<_> = series.points.iter().map(|point| point.measured.values().len()).collect();
        assert_eq!(values, [2, 2], "{series}: two forks of two iterations");
    }
    let sample = self::dataset(named("jmh"), "sample.json");
    assert_eq!(series(&sample, "org.example.Sums.sum (n=1000) sample p0.99×1").direction, Some(Lower));
    let score: Value = serde_json::from_slice(sample_bytes("sample.json").as_slice()).unwrap();
    let score = score[0]["primaryMetric"]["score"].as_f64().unwrap();
    let means = values(&sample, "org.example.Sums.sum (n=1000) sample×1");
    let (least, most) =
        means.iter().fold((f64::MAX, 0.0f64), |(least, most), mean| (least.min(*mean), most.max(*mean)));
    assert!(means.len() == 4 && least <= score && score <= most, "{means:?} {score}");
}

fn sample_bytes(name: &str) -> Vec<u8> {
    sample(named("jmh"), name).contents().next().unwrap().1.to_vec()
}

#[test]
fn github_action_benchmark() {
    let dataset = dataset(named("github-action-benchmark"), "data.js");
    let ten = series(&dataset, "Rust/sum_of_ten");
    assert_eq!((ten.unit.as_str(), ten.direction), ("ns/iter", Some(Lower)));
    assert_eq!(values(&dataset, "Rust/sum_of_ten"), [135.0, 140.0, 145.0]);
    assert_eq!(ten.points[1].commit.as_deref(), Some("02".repeat(20).as_str()));
    assert_eq!(
        (ten.points[0].time, ten.points[0].order),
        (Some(UnixMillis(1_767_610_800_000)), Some(1_767_610_800_000))
    );
    let range = summary(&dataset, "Rust/sum_of_ten");
    assert_eq!((range.low, range.high, range.n), (Some(111.0), Some(159.0), None));
    assert_eq!(series(&dataset, "Sizes/program").direction, Some(Lower));
    assert_eq!(series(&dataset, "Sizes/program").points[0].measured, Measured::Values(vec![41.0]));
    let one = self::dataset(named("github-action-benchmark"), "data.json");
    assert_eq!(series(&one, "sum_of_ten").points, ten.points);
    let custom = self::dataset(named("github-action-benchmark"), "custom.json");
    assert_eq!((series(&custom, "start").direction, summary(&custom, "start").deviation), (Some(Lower), Some(0.25)));
    assert_eq!((values(&custom, "requests"), series(&custom, "requests").direction), (vec![1200.0], Some(Higher)));
    assert_eq!(series(&custom, "score").direction, None);
}

#[test]
fn criterion() {
    let dataset = dataset(named("criterion"), "criterion");
    assert_eq!(dataset.series.len(), 3);
    let sum = series(&dataset, "sum/of words/loop/16");
    assert_eq!((sum.unit.as_str(), sum.direction), ("ns", Some(Lower)));
    assert_eq!(sum.points[0].measured.values()[0], 19196227.0 / 1940407.0);
    assert_eq!(values(&dataset, "add").len(), 10);
}

#[test]
fn a_lone_file_of_criterion() {
    let whole = sample(named("criterion"), "criterion");
    let inside = "sum_of words/loop/16/new";
    let lone = |name: &str| {
        let path = format!("{inside}/{name}");
        let (_, bytes) = whole.contents().find(|(other, _)| *other == path).unwrap();
        let files = Files::one(format!("target/criterion/{path}"), bytes.to_vec());
        assert_eq!(sniff(&files), Some(named("criterion")), "{name}");
        read(&files, None)
    };
    let all = read(&whole, None).unwrap();
    let from_all = series(&all, "sum/of words/loop/16");
    let samples = lone("sample.json").unwrap();
    let from_samples = series(&samples, "sum_of words/loop/16");
    assert_eq!((&from_samples.points, from_samples.direction), (&from_all.points, Some(Lower)));
    assert_eq!(summary(&lone("estimates.json").unwrap(), "sum_of words/loop/16").value, 10.529448409534702);
    assert!(lone("benchmark.json").unwrap_err().to_string().contains("without figures"));
}

#[test]
fn criterion_without_its_samples() {
    let mut files = Vec::new();
    let directory = root().join("criterion");
    collect(&directory, &directory, &mut files);
    files.retain(|(name, _)| !name.ends_with("sample.json"));
    let dataset = read(&Files::directory("criterion", files), None).unwrap();
    let Measured::Summary(flat) = series(&dataset, "sum/of words/loop/16").points[0].measured else { panic!() };
    assert_eq!((flat.value, flat.low), (10.529448409534702, Some(9.796254543505563)));
    // Linear samples have a slope.
    let Measured::Summary(linear) = series(&dataset, "add").points[0].measured else { panic!() };
    assert_eq!((linear.value, linear.deviation), (0.8255110117157204, Some(0.00738632486923903)));
    let written = write(&dataset, named("criterion")).unwrap();
    assert_eq!(read(&files_of(named("criterion"), &written), None).unwrap(), written.held);
    assert_eq!(written.held.series[0].points, dataset.series[0].points);
}

#[test]
fn lkp() {
    let dataset = dataset(named("lkp"), "matrix.json");
    assert_eq!(values(&dataset, "will-it-scale.per_process_ops"), [348230.0, 364416.0, 445139.0]);
    assert!(dataset.series.iter().all(|series| series.name != "stats_source" && series.points.len() == 3));
}
