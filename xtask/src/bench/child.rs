//! Runs a child process to its end, and tells what it has used.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use wait4::Wait4;

/// How often to look whether the child has ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What a child has used.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    /// Its largest resident memory, in MiB.
    pub(crate) peak: f64,
}

/// Runs it to its end, for `most` at most.
///
/// # Errors
/// When it does not start, does not succeed, or takes longer; then it is killed.
pub(crate) fn run(command: &mut Command, most: Duration) -> Result<Usage, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let started = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    let mut peak = None;
    loop {
        peak = high_water_mark(child.id()).or(peak);
        if let Some(used) = child.try_wait4().map_err(failed)? {
            if !used.status.success() {
                return Err(format!("{command:?} ended with {}", used.status));
            }
            return Ok(Usage {
                peak: peak.unwrap_or(used.rusage.maxrss as f64 / f64::from(1 << 20)),
            });
        }
        if started.elapsed() > most {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Err(format!("{command:?} took longer than {} s", most.as_secs()));
        }
        sleep(LOOK_EVERY);
    }
}

/// The largest resident memory of a process until now, in MiB, where the system tells it while the process runs.
///
/// What it tells at the end is never less than the memory of the parent process, and that is of the size measured here.
fn high_water_mark(id: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib / 1024.0)
}
