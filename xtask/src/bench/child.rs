//! Runs a child process to its end, and tells what it has used.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use wait4::Wait4;

/// How often to look whether the child has ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What a child has used.
#[derive(Clone, Copy)]
pub(super) struct Usage {
    /// Processor time, user and system, in seconds.
    pub(super) cpu: f64,
    /// From its start to its end, in seconds.
    pub(super) wall: f64,
    /// Its largest resident memory, in MiB. It cannot show less than what this program itself uses.
    pub(super) peak: f64,
}

/// Runs it to its end, for `most` at most.
///
/// # Errors
/// When it does not start, does not succeed, or takes longer; then it is killed.
pub(super) fn run(command: &mut Command, most: Duration) -> Result<Usage, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let started = Instant::now();
    let mut child = command.spawn().map_err(failed)?;
    loop {
        if let Some(used) = child.try_wait4().map_err(failed)? {
            if !used.status.success() {
                return Err(format!("{command:?} ended with {}", used.status));
            }
            return Ok(Usage {
                cpu: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
                wall: started.elapsed().as_secs_f64(),
                peak: used.rusage.maxrss as f64 / f64::from(1 << 20),
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
