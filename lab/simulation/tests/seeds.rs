//! A thousand experiments and two hundred lens runs, each from a seed, with every kind of trouble.
//! A failing seed is printed with the command that repeats it.

use faultline_simulation::{Account, Difference, LensAccount, Searched, simulate, simulate_lens};
use std::collections::HashSet;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// The first seed of a normal run of this test.
const FIRST_SEED: u64 = 20_270_101;

/// Number of seeds of a normal run.
const SEEDS: u64 = 1000;

/// Number of seeds of lens runs.
const LENS_SEEDS: u64 = 200;

/// Number of kinds of outcomes of a simulated lens run: done, three that need a fault of the
/// execution, not counted, interrupted.
const LENS_OUTCOMES: usize = 6;

/// Number of kinds of outcomes, without those that only the lens records.
const OUTCOMES: usize = 12;

/// The variable with the number of seeds, to replace the default.
const SEEDS_VARIABLE: &str = "FAULTLINE_SEEDS";

/// The variable with the first seed, to replace the default; without a number of seeds, only that
/// one runs.
const SEED_VARIABLE: &str = "FAULTLINE_SEED";

#[test]
fn what_is_saved_and_concluded_holds_whatever_fails() {
    let (first, count) = seeds(SEEDS);
    let began = Instant::now();
    let accounts = without_failures(simulate_all(first, count, simulate));
    println!("{}; {:.1} s", words(first, &accounts), began.elapsed().as_secs_f64());
    check_answers(&accounts);
    check_searches(&accounts);
    check_histories(&accounts);
    if (first, count) == (FIRST_SEED, SEEDS) {
        check_that_much_happened(&accounts);
    }
}

#[test]
fn a_lens_run_has_the_counts_that_were_made_whatever_fails() {
    let (first, count) = seeds(LENS_SEEDS);
    let accounts: Vec<LensAccount> = without_failures(simulate_all(first, count, simulate_lens));
    let sum = |count: fn(&LensAccount) -> u32| accounts.iter().map(count).sum::<u32>();
    let (killed, stopped) = (sum(|account| account.killed), sum(|account| account.stopped));
    let (open, closed) = (sum(|account| account.open_gates), sum(|account| account.closed_gates));
    println!(
        "{} lens runs from {first}: {} lives, {killed} killed, {stopped} stopped; {} attempts at {} items; {open} gates open, {closed} closed",
        accounts.len(),
        sum(|account| account.lives),
        accounts.iter().map(|account| account.attempts).sum::<usize>(),
        accounts.iter().map(|account| account.items).sum::<usize>(),
    );
    if (first, count) == (FIRST_SEED, LENS_SEEDS) {
        assert!(killed >= 20 && stopped >= 20, "only {killed} kills and {stopped} stops");
        assert!(open >= 10 && closed >= 10, "only {open} gates are open and {closed} closed");
        let outcomes: HashSet<_> = accounts.iter().flat_map(|account| &account.outcomes).collect();
        assert_eq!(outcomes.len(), LENS_OUTCOMES, "kinds of outcomes that were recorded");
    }
}

/// Enough histories were measured over several lives, if all seeds ran.
fn check_histories(accounts: &[Account]) {
    let histories: Vec<&Account> = accounts.iter().filter(|account| account.measured_commits.is_some()).collect();
    let commits: u32 = histories.iter().filter_map(|account| account.measured_commits).sum();
    let resumed = histories.iter().filter(|account| account.lives > 1).count();
    println!("{} histories, {resumed} of them over several lives, with {commits} measured commits", histories.len());
    if accounts.len() as u64 >= SEEDS {
        assert!(histories.len() >= 20 && resumed >= 10 && commits >= 100, "too few histories");
    }
}

/// The first seed and the number of seeds. `usual`: the number if none is given.
fn seeds(usual: u64) -> (u64, u64) {
    match (number(SEED_VARIABLE), number(SEEDS_VARIABLE)) {
        (None, count) => (FIRST_SEED, count.unwrap_or(usual)),
        (Some(seed), count) => (seed, count.unwrap_or(1)),
    }
}

/// The accounts of all seeds. Prints the seeds that failed, and panics if there are any.
fn without_failures<A>(came: Vec<(u64, Result<A, String>)>) -> Vec<A> {
    let count = came.len();
    let mut accounts = Vec::new();
    for (seed, came) in came {
        match came {
            Ok(account) => accounts.push(account),
            Err(why) => {
                println!("seed {seed}: {why}\n    repeat: {SEED_VARIABLE}={seed} cargo test -p faultline-simulation")
            }
        }
    }
    assert_eq!(accounts.len(), count, "some seeds failed");
    accounts
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} takes a number, not '{text}'")))
}

/// Simulates all seeds, on as many threads as there are CPUs; returns them in the order of the
/// seeds.
fn simulate_all<A: Send>(
    first: u64,
    count: u64,
    simulate: fn(u64) -> Result<A, String>,
) -> Vec<(u64, Result<A, String>)> {
    let next = AtomicU64::new(first);
    let work = || {
        let mut came = Vec::new();
        loop {
            // Relaxed: it only hands out numbers; nothing else is shared.
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return came;
            }
            came.push((seed, one(seed, simulate)));
        }
    };
    let mut came = thread::scope(|scope| {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..cpus).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a seed's panic is caught")).collect::<Vec<_>>()
    });
    came.sort_unstable_by_key(|(seed, _)| *seed);
    came
}

fn one<A>(seed: u64, simulate: fn(u64) -> Result<A, String>) -> Result<A, String> {
    catch_unwind(|| simulate(seed)).unwrap_or_else(|_| Err("it panicked, as is said above".to_owned()))
}

fn words(first: u64, accounts: &[Account]) -> String {
    let sum = |count: fn(&Account) -> u32| accounts.iter().map(count).sum::<u32>();
    format!(
        "{} seeds from {first}: {} lives, {} killed ({} within a write), {} stopped, {} refused by the database, {} left changed, {} with other tools, {} with full disks; {} attempts at {} items",
        accounts.len(),
        sum(|account| account.lives),
        sum(|account| account.killed),
        sum(|account| account.torn),
        sum(|account| account.stopped),
        sum(|account| account.refused),
        sum(|account| account.left_changed),
        sum(|account| account.other_tools),
        sum(|account| account.full_disks),
        accounts.iter().map(|account| account.attempts).sum::<usize>(),
        accounts.iter().map(|account| account.items).sum::<usize>(),
    )
}

/// Checks that equal sides differ in no more comparisons than the level allows, as far as this
/// number of comparisons can show.
fn check_answers(accounts: &[Account]) {
    let found = |is_equal: bool| {
        let answered = accounts.iter().filter_map(|account| account.answered);
        let these: Vec<bool> = answered
            .filter(|answered| (answered.difference == Difference::None) == is_equal)
            .map(|answered| answered.found)
            .collect();
        (these.iter().filter(|&&found| found).count(), these.len())
    };
    let ((falsely, equal), (rightly, different)) = (found(true), found(false));
    println!(
        "equal sides were told apart in {falsely} of {equal} comparisons, different ones in {rightly} of {different}"
    );
    let expected = 0.05 * equal as f64;
    let allowed = expected + 4.0 * (expected * 0.95).sqrt() + 1.0;
    assert!((falsely as f64) <= allowed, "{falsely} of {equal} comparisons of equal sides found a difference");
}

/// Checks that searches name no more wrong commits than they say that they may, as far as this
/// number of searches can show.
fn check_searches(accounts: &[Account]) {
    let searched: Vec<Searched> = accounts.iter().filter_map(|account| account.searched).collect();
    let sum = |count: fn(&Searched) -> u32| f64::from(searched.iter().map(count).sum::<u32>());
    let (said, wrong, doubt) =
        (sum(|one| one.said), sum(|one| one.wrong), searched.iter().map(|one| one.doubt).sum::<f64>());
    let (planted, found, missed) = (sum(|one| one.planted), sum(|one| one.found), sum(|one| one.missed));
    println!(
        "{} searches found {said} steps, {wrong} of them wrong (they say {doubt:.4}); of {planted} that are there, {found} were found, and {missed} missed without a word",
        searched.len()
    );
    let allowed =
        |probability: f64, cases: f64| probability * cases + 4.0 * (probability * (1.0 - probability) * cases).sqrt();
    let (labelled, mislabelled) = (sum(|one| one.labelled), sum(|one| one.mislabelled));
    println!("{labelled} steps are labelled, {mislabelled} of them wrongly");
    assert!(mislabelled <= allowed(0.02, labelled), "{mislabelled} of {labelled} steps have a wrong label");
    let wrong_searches = searched.iter().filter(|one| one.wrong > 0).count() as f64;
    assert!(wrong_searches <= allowed(0.05, searched.len() as f64), "{wrong_searches} searches name a wrong commit");
    assert!(missed <= allowed(0.2, planted), "{missed} of {planted} steps were missed, though they could be detected");
}

/// A simulation with few events shows little.
fn check_that_much_happened(accounts: &[Account]) {
    let sum = |count: fn(&Account) -> u32| accounts.iter().map(count).sum::<u32>();
    for (what, count) in [
        ("kills", sum(|account| account.killed)),
        ("kills within a write", sum(|account| account.torn)),
        ("stops", sum(|account| account.stopped)),
        ("refusals", sum(|account| account.refused)),
        ("systems left changed", sum(|account| account.left_changed)),
        ("searches", sum(|account| account.searched.is_some().into())),
        ("checks of the machine", sum(|account| account.is_check.into())),
        ("open gates", sum(|account| (account.is_open == Some(true)).into())),
        ("closed gates", sum(|account| (account.is_open == Some(false)).into())),
    ] {
        assert!(count >= 20, "only {count} {what}");
    }
    for (what, count) in [
        ("searches refused with other tools", sum(|account| account.other_tools)),
        ("full disks", sum(|account| account.full_disks)),
    ] {
        assert!(count >= 3, "only {count} {what}");
    }
    let outcomes: HashSet<_> = accounts.iter().flat_map(|account| &account.outcomes).collect();
    assert_eq!(outcomes.len(), OUTCOMES, "kinds of outcomes that were recorded");
    let found = accounts.iter().filter_map(|account| account.answered).any(|answered| answered.found);
    assert!(found, "no difference was found");
}
