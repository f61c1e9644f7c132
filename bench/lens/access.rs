//! The cost of an access on the host, in nanoseconds: for hits, the commonest case, and for the
//! other cases. Medians over interleaved samples, so that a disturbance of the host affects all
//! cases equally.
//!
//! `cargo bench -p faultline-coherence`; no arguments.

use faultline_coherence::{Access, Caches, Context, Costs, Cpu, Kind, Machine, Topology};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::hint::black_box;
use std::time::Instant;

const SAMPLES: usize = 31;
const PAGE: u64 = 0x1000;

fn access(address: u64, kind: Kind) -> Access {
    Access { address, size: 8, kind, site: address, context: Context::Kernel, contents: false }
}

/// A case; each call of `sample` returns the nanoseconds per access of one sample.
struct Case {
    name: &'static str,
    sample: Box<dyn FnMut() -> f64>,
}

/// A machine with caches of the default size.
fn machine(cpus: u32) -> &'static Machine {
    machine_with(cpus, Some(Caches::DEFAULT))
}

fn machine_with(cpus: u32, caches: Option<Caches>) -> &'static Machine {
    let topology = Topology::new(cpus, 1, cpus).unwrap();
    // Never freed: cases borrow it until the process ends.
    Box::leak(Box::new(Machine::with(topology, Costs::ONE_EACH, caches).unwrap()))
}

fn per_access(count: usize, run: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    run();
    begin.elapsed().as_nanos() as f64 / count as f64
}

/// One CPU repeats the same accesses `rounds` times.
fn repeated(name: &'static str, accesses: Vec<Access>, rounds: usize) -> Case {
    let mut cpu = machine(2).cpu(0);
    let pass = move |cpu: &mut Cpu<'_>| {
        for access in &accesses {
            black_box(cpu.access(black_box(access)));
        }
        accesses.len()
    };
    let count = pass(&mut cpu);
    pass(&mut cpu);
    let sample = move || {
        per_access(count * rounds, || {
            for _ in 0..rounds {
                pass(&mut cpu);
            }
        })
    };
    Case { name, sample: Box::new(sample) }
}

fn lines(count: u64, kind: Kind) -> Vec<Access> {
    (0..count).map(|line| access(0x10_0000 + line * 64, kind)).collect()
}

/// Accesses in random order, two thirds of them reads, to a few hundred lines of a few dozen pages.
fn mixed() -> Vec<Access> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let lines: Vec<u64> =
        (0..400).map(|_| random.random_range(0..40) * PAGE + random.random_range(0..64) * 64).collect();
    let one = |_| {
        let line = lines[random.random_range(0..lines.len())];
        let kind = if random.random_range(0..3) == 0 { Kind::Write } else { Kind::Read };
        access(0x100_0000 + line + random.random_range(0..8) * 8, kind)
    };
    (0..20_000).map(one).collect()
}

/// First accesses to lines, on a new page for each 64. A bounded cache is full after the first
/// samples.
fn first_touch(name: &'static str, caches: Option<Caches>) -> Case {
    let mut cpu = machine_with(2, caches).cpu(0);
    let mut next = 0x1000_0000;
    let sample = move || {
        per_access(6400, || {
            for _ in 0..6400 {
                black_box(cpu.access(&access(next, Kind::Write)));
                next += 64;
            }
        })
    };
    Case { name, sample: Box::new(sample) }
}

/// Two CPUs alternate on one host thread: every access moves a line.
fn alternating(name: &'static str, first: Kind, second: Kind, lines: u64) -> Case {
    let machine = machine(2);
    let (mut one, mut other) = (machine.cpu(0), machine.cpu(1));
    let mut sample = move || {
        per_access(20_000, || {
            for step in 0..10_000 {
                let address = 0x10_0000 + step % lines * PAGE;
                black_box(one.access(&access(address, first)));
                black_box(other.access(&access(address, second)));
            }
        })
    };
    sample();
    Case { name, sample: Box::new(sample) }
}

/// Eight CPUs fill pages with zeros, a page in each turn, as a kernel does on page faults: first
/// writes to all lines of a page, then one to a line that the CPU keeps. `reuse`: the CPUs take
/// pages of each other after so many pages; otherwise each page is new.
fn zero_fill(name: &'static str, reuse: Option<u64>) -> Case {
    let machine = machine(8);
    let mut cpus: Vec<Cpu<'static>> = (0..8).map(|id| machine.cpu(id)).collect();
    let mut next = 0;
    let sample = move || {
        let turns = 400;
        per_access(turns as usize * 64, || {
            for _ in 0..turns {
                let cpu = &mut cpus[next as usize % 8];
                let page = reuse.map_or(next, |pages| next % pages);
                for line in 0..64 {
                    black_box(cpu.access(&access((page << 12) + (1 << 32) + line * 64, Kind::Write)));
                }
                black_box(cpu.access(&access((1 << 20) + next % 8 * PAGE, Kind::Write)));
                next += 1;
            }
        })
    };
    Case { name, sample: Box::new(sample) }
}

fn main() {
    let mut cases = vec![
        repeated("hit, read, 256 lines", lines(256, Kind::Read), 200),
        repeated("hit, write, 256 lines", lines(256, Kind::Write), 200),
        repeated("hit, mixed, 400 lines of 40 pages", mixed(), 2),
        repeated("read again, 8192 private lines", lines(8192, Kind::Read), 4),
        repeated("write again, 8192 private lines", lines(8192, Kind::Write), 4),
        first_touch("first write to a line", Some(Caches::DEFAULT)),
        first_touch("first write to a line, unbounded cache", None),
        alternating("transfers: write, read; 1 line", Kind::Write, Kind::Read, 1),
        alternating("transfers: write, write; 1 line", Kind::Write, Kind::Write, 1),
        alternating("transfers: write, read; 100 lines", Kind::Write, Kind::Read, 100),
        zero_fill("8 CPUs fill new pages", None),
        // An odd number, so that another CPU takes a page the next time.
        zero_fill("8 CPUs fill pages that others had", Some(8191)),
    ];
    let mut samples = vec![Vec::new(); cases.len()];
    for _ in 0..SAMPLES {
        for (case, samples) in cases.iter_mut().zip(&mut samples) {
            samples.push((case.sample)());
        }
    }
    println!("{:38} {:>8} {:>8} {:>8}  ns per access, {SAMPLES} samples", "", "quarter", "median", "3/4");
    for (case, samples) in cases.iter().zip(&mut samples) {
        samples.sort_by(f64::total_cmp);
        let at = |quarter: usize| samples[SAMPLES * quarter / 4];
        println!("{:38} {:8.2} {:8.2} {:8.2}", case.name, at(1), at(2), at(3));
    }
}
