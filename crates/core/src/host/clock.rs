//! The clock that all processes of a host share: time since it was started, sleep included.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Never goes back while the host runs, and no setting of the wall clock changes it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// The present moment.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(CLOCK);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::from_secs(seconds)
        + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}

/// Which run of the host this is, where it tells: a home directory may be that of several hosts, and outlives a restart.
pub(crate) fn run_of_host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}
