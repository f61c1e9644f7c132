//! Jobs: from waiting to an end, each taken once.

use crate::place::each;
use faultline_record::direction::Effect;
use faultline_record::job::{Job, JobId, JobState, JobWork};
use faultline_record::named_change::{ChangePlace, SeriesName};
use faultline_record::quantity::Quantity;
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;
use faultline_store::{JobAsked, Store};

const AT: UnixMillis = UnixMillis(5);

fn series() -> SeriesName {
    let [subject, repository, conditions] = ["app \u{1b}'", "/r", "d1"].map(str::to_owned);
    SeriesName { subject, repository, tasks: 4, quantity: Quantity::Time, conditions }
}

fn measure(commit: usize) -> JobWork {
    JobWork::Measure { commit: format!("{commit:040x}") }
}

fn ask(store: &mut Store, work: &JobWork) -> JobAsked {
    store.add_job(&series(), work, "A. Uthor", AT).unwrap()
}

fn new(store: &mut Store, work: &JobWork) -> JobId {
    match ask(store, work) {
        JobAsked::New(id) => id,
        other => panic!("{other:?}"),
    }
}

fn states(store: &Store) -> Vec<(JobId, JobState)> {
    store.jobs(None, 1000).unwrap().iter().map(|job| (job.id, job.state)).collect()
}

#[test]
fn a_job_is_asked_for_once_taken_once_and_ended() {
    each(|place| {
        let (mut store, mut other) = (place.store(), place.store());
        let [earliest, by, latest] = ["a", "b", "c"].map(str::to_owned);
        let change = ChangePlace { earliest, by, latest, effect: Effect::Worse, levels: [1.0, 1.25] };
        let bisect = JobWork::Bisect { place: change };
        let (one, two) = (new(&mut store, &bisect), new(&mut store, &measure(1)));
        assert_eq!(ask(&mut other, &bisect), JobAsked::Known(one));
        let waiting = store.waiting_jobs(JobId(0), 10).unwrap();
        let known = Job {
            id: one,
            series: series(),
            work: bisect.clone(),
            asked_by: "A. Uthor".to_owned(),
            asked: AT,
            state: JobState::Waiting,
            worker: None,
            since: AT,
            run: None,
            problem: None,
        };
        assert_eq!((waiting.len(), &waiting[0]), (2, &known));
        assert!(store.take_job(one, "here", UnixMillis(7)).unwrap());
        assert!(!other.take_job(one, "there", AT).unwrap() && !other.withdraw_job(one, AT).unwrap());
        // Another machine's worker frees nothing; the one that took it does.
        other.free_jobs_of("there", AT).unwrap();
        assert_eq!(states(&store), [(two, JobState::Waiting), (one, JobState::Taken)]);
        store.free_jobs_of("here", AT).unwrap();
        assert_eq!(store.waiting_jobs(JobId(0), 1).unwrap(), [known]);
        assert!(other.take_job(one, "there", AT).unwrap() && store.withdraw_job(two, AT).unwrap());
        other.end_job(one, &Ok(RunId(12)), UnixMillis(9)).unwrap();
        let ended = &store.jobs(None, 10).unwrap()[1];
        assert_eq!((ended.state, ended.run, ended.since), (JobState::Done, Some(RunId(12)), UnixMillis(9)));
        // Work that has ended can be requested again.
        let three = new(&mut store, &bisect);
        assert!(store.take_job(three, "here", AT).unwrap());
        store.end_job(three, &Err("no such step".to_owned()), AT).unwrap();
        assert_eq!(states(&store), [(three, JobState::Failed), (two, JobState::Withdrawn), (one, JobState::Done)]);
        assert_eq!(store.jobs(Some(three), 1).unwrap()[0].id, two);
    });
}

#[test]
fn only_so_many_wait() {
    each(|place| {
        let mut store = place.store();
        let last = (0..100).map(|commit| new(&mut store, &measure(commit))).last().unwrap();
        assert_eq!(ask(&mut store, &measure(100)), JobAsked::TooMany);
        assert!(store.withdraw_job(last, AT).unwrap());
        new(&mut store, &measure(100));
    });
}

#[test]
fn one_worker_at_a_time() {
    each(|place| {
        let (one, other) = (place.store(), place.store());
        let held = one.lock_jobs().unwrap();
        let refused = other.lock_jobs().unwrap_err().to_string();
        assert!(refused.contains("another worker (process"), "{refused}");
        // Measuring has a separate lock.
        other.lock_measuring().unwrap();
        drop((held, one));
        other.lock_jobs().unwrap();
    });
}
