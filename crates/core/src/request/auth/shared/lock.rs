//! Which process renews the token: one at a time, told by a lock on a file.
//!
//! A process that is killed gives its lock back. One that is stopped does not, so whoever holds the lock writes the time
//! into the file again and again; when that stops, the others leave the file to it and go on with another one.

use crate::host::{Identity, SharedFile, clock};
use std::fs::{File, TryLockError};
use std::future::Future;
use std::io::Result;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// The holder tells so often that it is at work.
const BEAT: Duration = Duration::from_millis(100);
/// Who has told nothing for so long, however often it was looked at, has been stopped.
const STOPPED: Duration = Duration::from_secs(2);
const OFTEN: u32 = 50;

/// The lock, by the path of its file.
pub(super) struct RenewalLock {
    file: SharedFile,
}

/// The process that holds the lock, until this is dropped.
pub(super) struct Holder<'a> {
    lock: &'a RenewalLock,
    file: File,
    identity: Identity,
}

/// What another process has seen of a holder.
#[derive(Default)]
pub(super) struct Watch {
    beat: Option<(Identity, [u8; 8])>,
    since: Duration,
    times: u32,
}

impl RenewalLock {
    pub(super) fn new(path: PathBuf) -> Self {
        RenewalLock {
            file: SharedFile::new(path),
        }
    }

    /// Takes the lock; none while another process holds it and is at work, as `watch` remembers from call to call.
    pub(super) fn take(&self, watch: &mut Watch) -> Result<Option<Holder<'_>>> {
        let opened = match self.file.open()? {
            Some(opened) => Some(opened),
            None => self.file.replace_foreign()?,
        };
        let Some((file, identity)) = opened else {
            return Ok(None);
        };
        match file.try_lock() {
            Ok(()) => Ok(self.held(file, identity)),
            Err(TryLockError::Error(error)) => Err(error),
            Err(TryLockError::WouldBlock) => {
                let mut beat = [0; 8];
                let _ = file.read_at(&mut beat, 0);
                match watch.is_stopped(identity, beat, clock::now()) {
                    true => self.replace(identity),
                    false => Ok(None),
                }
            }
        }
    }

    /// Leaves the file to a process that has stopped, and goes on with another one.
    fn replace(&self, stopped: Identity) -> Result<Option<Holder<'_>>> {
        let stale = || Ok(self.file.leads_to(stopped));
        let lock = |new: &File| new.try_lock().map_err(std::io::Error::from);
        let Some((file, identity)) = self.file.replace_if(stale, lock)? else {
            return Ok(None);
        };
        tracing::debug!(
            "the process that renews the shared token has stopped; another one does it"
        );
        Ok(self.held(file, identity))
    }

    /// None where the file was replaced before it was locked.
    fn held(&self, file: File, identity: Identity) -> Option<Holder<'_>> {
        let holder = Holder {
            lock: self,
            file,
            identity,
        };
        if holder.is_replaced() {
            return None;
        }
        holder.beat();
        Some(holder)
    }
}

impl Holder<'_> {
    /// Does something while the others see that this process is at work.
    pub(super) async fn beat_during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut beats = tokio::time::interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = beats.tick() => self.beat(),
            }
        }
    }

    /// Whether another process took this one for stopped.
    pub(super) fn is_replaced(&self) -> bool {
        !self.lock.file.leads_to(self.identity)
    }

    fn beat(&self) {
        let now = clock::now().as_nanos() as u64;
        // Whoever cannot write is taken for stopped.
        let _ = self.file.write_all_at(&now.to_le_bytes(), 0);
    }
}

impl Drop for Holder<'_> {
    fn drop(&mut self) {
        // Closing is not enough while a process that is being forked off has a copy of the file.
        let _ = self.file.unlock();
    }
}

impl Watch {
    /// Whether the holder of this file, whose latest beat is this, has told nothing for too long. That is also counted,
    /// for the process that looks may have been stopped itself.
    fn is_stopped(&mut self, holder: Identity, beat: [u8; 8], now: Duration) -> bool {
        if self.beat != Some((holder, beat)) {
            *self = Watch {
                beat: Some((holder, beat)),
                since: now,
                times: 0,
            };
        }
        self.times += 1;
        self.times >= OFTEN && now >= self.since + STOPPED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::sync::Barrier;

    const MOMENT: Duration = Duration::from_millis(20);

    #[test]
    fn who_tells_nothing_is_taken_for_stopped_and_who_does_is_not() {
        let mut watch = Watch::default();
        let mut now = Duration::ZERO;
        // It tells something now and then, for a minute.
        for beat in 0..3000_u64 {
            now += MOMENT;
            let beat = (beat / 50).to_le_bytes();
            assert!(!watch.is_stopped((1, 1), beat, now), "{now:?}");
        }
        let silent_from = now;
        while !watch.is_stopped((1, 1), [9; 8], now) {
            now += MOMENT;
        }
        assert!(now - silent_from >= STOPPED && now - silent_from < STOPPED + 2 * MOMENT);
        // Another holder begins anew.
        assert!(!watch.is_stopped((1, 2), [9; 8], now));
    }

    #[test]
    fn who_was_stopped_itself_looks_again_before_it_judges() {
        let mut watch = Watch::default();
        assert!(!watch.is_stopped((1, 1), [9; 8], Duration::ZERO));
        let later = 100 * STOPPED;
        let looks = (0..).take_while(|_| !watch.is_stopped((1, 1), [9; 8], later));
        assert_eq!(looks.count() as u32, OFTEN - 2);
    }

    #[test]
    fn a_lock_that_is_never_given_back_is_left_and_a_new_one_excludes_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = RenewalLock::new(path.clone());
        drop(lock.take(&mut Watch::default()).unwrap().unwrap());
        let mut options = OpenOptions::new();
        let stopped = options.read(true).write(true).open(&path).unwrap();
        stopped.lock().unwrap();
        let mut watch = Watch::default();
        assert!(lock.take(&mut watch).unwrap().is_none());
        // As if it had been looked at for long.
        watch.times = OFTEN;
        watch.since = Duration::ZERO;
        let holder = lock.take(&mut watch).unwrap().unwrap();
        assert!(!holder.is_replaced());
        assert!(lock.take(&mut Watch::default()).unwrap().is_none());
        stopped.unlock().unwrap();
        assert!(lock.take(&mut Watch::default()).unwrap().is_none());
        drop(holder);
        assert!(lock.take(&mut Watch::default()).unwrap().is_some());
    }

    #[test]
    fn of_several_that_take_one_for_stopped_at_the_same_moment_one_goes_on() {
        for _ in 0..100 {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("lock");
            let stopped = File::create(&path).unwrap();
            stopped.lock().unwrap();
            let moment = Barrier::new(4);
            let judge = || {
                let lock = RenewalLock::new(path.clone());
                let mut watch = Watch::default();
                assert!(lock.take(&mut watch).unwrap().is_none());
                watch.times = OFTEN;
                watch.since = Duration::ZERO;
                moment.wait();
                let holder = lock.take(&mut watch).unwrap();
                // Until all have tried.
                moment.wait();
                holder.is_some()
            };
            let holders = std::thread::scope(|scope| {
                let judges = [(); 4].map(|()| scope.spawn(judge));
                judges.map(|judge| judge.join().unwrap())
            });
            assert_eq!(holders.iter().filter(|held| **held).count(), 1);
        }
    }
}
