//! The ages of syncs, which are counted from sync to sync so that a wrong clock removes no history.

use chrono::DateTime;
use std::time::Duration;

/// Returns a time that a sync wrote, in microseconds.
pub(crate) fn micros(time: &str) -> i64 {
    DateTime::parse_from_rfc3339(time).map_or(0, |time| time.timestamp_micros())
}

/// Returns the number of syncs that are older than `keep`. `ends` are the ends of all syncs in microseconds, oldest
/// first.
/// The age of a sync is the sum of the steps from its end to the end of the newest sync. A step is the time between two
/// consecutive syncs. A long step may be a pause or a wrong clock, so it counts at most a tenth of `keep`, or the usual
/// step (the median of the positive steps) if that is longer. The newest step counts at most the usual step, because no
/// later sync confirms it. A negative step is limited in the same way, so a clock that goes wrong and is set right adds
/// nothing. A sync is old only if all earlier ones are old. The newest sync is never old.
pub(crate) fn old(ends: &[i64], keep: Duration) -> usize {
    let keep = i64::try_from(keep.as_micros()).unwrap_or(i64::MAX);
    let steps = ends.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let steps: Vec<i64> = steps.collect();
    let mut ahead: Vec<i64> = steps.iter().copied().filter(|step| *step > 0).collect();
    ahead.sort_unstable();
    let usual = ahead.get(ahead.len().saturating_sub(1) / 2).copied();
    let usual = usual.unwrap_or_default();
    let longest = usual.max(keep / 10);
    let (mut ages, mut age) = (Vec::with_capacity(steps.len()), 0_i64);
    for (back, step) in steps.into_iter().rev().enumerate() {
        let most = if back == 0 { usual } else { longest };
        age = age.saturating_add(step.clamp(-longest, most));
        ages.push(age);
    }
    ages.iter().rev().take_while(|age| **age >= keep).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000;

    /// Returns the numbers of syncs that are kept after each of `days` syncs, one per day at the reading `clock(day)`.
    /// Each removes the old history, as a sync does.
    fn kept(days: i64, keep: i64, clock: impl Fn(i64) -> i64) -> Vec<usize> {
        let keep = Duration::from_micros((keep * DAY).unsigned_abs());
        let (mut ends, mut left) = (Vec::new(), Vec::new());
        for day in 0..days {
            ends.push(clock(day) * DAY);
            // The last old sync is the first one that can still be read.
            ends.drain(..old(&ends, keep).saturating_sub(1));
            left.push(ends.len());
        }
        left
    }

    #[test]
    fn usual_syncs_have_the_age_of_the_clock() {
        assert_eq!(kept(200, 90, |day| 1_000 + day)[199], 91);
        assert_eq!(kept(50, 30, |week| week * 7)[49], 6);
        assert_eq!(kept(9, 0, |day| day)[8], 2);
        let half = Duration::from_micros((DAY / 2).unsigned_abs());
        assert_eq!(old(&[0, DAY, 2 * DAY], half), 2);
        assert_eq!((old(&[], half), old(&[0], half)), (0, 0));
    }

    #[test]
    fn a_wrong_reading_of_the_clock_removes_no_history() {
        let right = kept(200, 90, |day| day);
        for wrong in [400, 30, 8, -8, -30, -400, -20_000, 3_000_000] {
            for days in [1, 2, 5, 30] {
                let clock = |day: i64| {
                    if (120..120 + days).contains(&day) {
                        day + wrong
                    } else {
                        day
                    }
                };
                let left = kept(200, 90, clock);
                let lost = right.iter().zip(&left);
                let lost = lost.map(|(right, left)| right.saturating_sub(*left));
                let most = lost.max().unwrap();
                // While the clock is wrong, at most a tenth of the age is lost early.
                assert!(
                    most <= if days == 1 { 1 } else { 9 },
                    "{wrong} {days}: {most}"
                );
                assert!(
                    left[199] < 91 + 2 * 11 + 30,
                    "{wrong} {days}: {}",
                    left[199]
                );
            }
        }
    }

    #[test]
    fn history_is_also_removed_after_a_pause() {
        let clock = |day: i64| if day < 100 { day } else { day + 300 };
        let left = kept(300, 90, clock);
        assert!(
            left[100] >= 91 && left[299] == 91,
            "{} {}",
            left[100],
            left[299]
        );
    }

    #[test]
    fn a_time_that_cannot_be_read_is_no_later_than_others() {
        assert_eq!(micros("1970-01-01T00:00:01.000002Z"), 1_000_002);
        assert_eq!(micros("noon"), 0);
    }
}
