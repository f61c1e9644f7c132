//! Measures the cost of a transfer between this machine's CPUs.

use crate::error::Error;
use crate::places::Places;
use crate::target::or_stopped;
use faultline_coherence::CostTable;
use faultline_model::lens::calibration::{Calibration, Delays, Nearness, Probe};
use faultline_model::lens::settings::{CostTimes, DelaySettings};
use faultline_targets::host::ping_pong::{Rounds, hand_over_ns, probe};
use faultline_targets::{StopFlag, Target};

/// Measures every pair of this machine's CPUs. Fails with fewer than two usable CPUs, at the time limit, and on a stop.
pub fn calibrate(places: &Places, stop: &StopFlag) -> Result<Calibration, Error> {
    let host = places.bare_host();
    let measured = probe(host.cpus(), Rounds::default(), stop).map_err(|error| or_stopped(error, stop))?;
    let machine = host.facts().0.get("host.name").map_or_else(String::new, ToString::to_string);
    Ok(Calibration { machine, costs: costs(&measured), measured })
}

/// The times for the model. A distance that this machine does not have costs as much as the next closer one. Memory is not
/// measured; its time comes from the default table.
///
/// Of a hand-over, a request passes until the line is taken from the one that waits. That one requests it again at once, so a transfer follows.
fn costs(probe: &Probe) -> CostTimes {
    let default = CostTable::default();
    let measured = |nearness| Some(hand_over_ns(probe, nearness)? / (1.0 + request_share(&probe.delays)));
    let near = measured(Nearness::SameCache).or(measured(Nearness::SameCore)).or(measured(Nearness::Unknown));
    let socket = measured(Nearness::SameSocket);
    let other = measured(Nearness::OtherSocket);
    let same_cache = near.or(socket).or(other).unwrap_or(f64::from(default.same_cache_ns));
    let same_socket = socket.unwrap_or(same_cache).max(same_cache);
    let other_socket = other.unwrap_or(same_socket).max(same_socket);
    let whole = |value: f64| value.round().clamp(1.0, 1e6) as u32;
    CostTimes {
        instruction_ps: whole(probe.instruction_ps),
        same_cache_ns: whole(same_cache),
        same_socket_ns: whole(same_socket),
        other_socket_ns: whole(other_socket),
        memory_ns: default.memory_ns.max(whole(same_cache)),
        delays: Some(delays(&probe.delays, probe.instruction_ps)),
    }
}

/// Instructions of the call of the kernel that was measured, about.
const CALL_INSTRUCTIONS: f64 = 100.0;

/// How much of a transfer passes until its request reaches the CPU that has the line: 0.5 to 1.
///
/// A transfer takes t: the request r, and the line t − r. Of two CPUs that want one line all the time, each requests it when it has left, and so
/// loses it r after the other one did. It has it for r − (t − r) of every r. So an atomic operation, which takes a alone, takes c = a·r/(2r − t), and r/t = c/(2c − a).
fn request_share(measured: &Delays) -> f64 {
    let alone = measured.atomic.median_ns;
    let together = measured.contended.median_ns.max(alone);
    together / (2.0 * together - alone)
}

fn delays(measured: &Delays, instruction_ps: f64) -> DelaySettings {
    let Delays { atomic, wake, interrupt, call, .. } = measured;
    let whole = |value: f64| value.round().clamp(0.0, 1e9) as u32;
    DelaySettings {
        is_measured: true,
        atomic_ps: whole(atomic.median_ns * 1000.0 - instruction_ps),
        request_percent: whole(100.0 * request_share(measured)).clamp(1, 100),
        wake_ns: whole(wake.median_ns),
        interrupt_ns: whole(interrupt.median_ns),
        entry_ns: whole(call.median_ns - CALL_INSTRUCTIONS * instruction_ps / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::lens::calibration::{Pair, Time};

    fn measured(atomic_ns: f64, contended_ns: f64) -> Delays {
        let time = |median_ns| Time { median_ns, quartiles_ns: (median_ns, median_ns) };
        Delays {
            atomic: time(atomic_ns),
            contended: time(contended_ns),
            wake: time(4e4),
            interrupt: time(1500.0),
            call: time(100.0),
        }
    }

    #[test]
    fn how_long_a_request_takes_follows_from_contended_operations() {
        // Of a transfer of 100 ns, 75 are the request. The line is used for 50 of every 75: ten operations in 75 ns.
        let times = delays(&measured(5.0, 7.5), 250.0);
        assert_eq!(times.request_percent, 75);
        assert_eq!((times.atomic_ps, times.wake_ns, times.interrupt_ns, times.entry_ns), (4750, 40_000, 1500, 75));
        let of = |contended_ns| delays(&measured(5.0, contended_ns), 250.0).request_percent;
        assert_eq!((of(4.0), of(5.0)), (100, 100), "as fast as alone");
        assert_eq!(of(1e6), 50, "one operation for each transfer");
    }

    #[test]
    fn a_hand_over_is_a_request_and_a_transfer() {
        let hand_over = Time { median_ns: 35.0, quartiles_ns: (30.0, 40.0) };
        let pair = Pair { one: 0, other: 1, nearness: Nearness::SameCache, hand_over };
        let probe = Probe { instruction_ps: 250.0, pairs: vec![pair], delays: measured(5.0, 7.5) };
        let costs = costs(&probe);
        assert_eq!((costs.same_cache_ns, costs.same_socket_ns, costs.other_socket_ns), (20, 20, 20));
        assert_eq!(costs.delays.map(|delays| delays.request_percent), Some(75));
    }
}
