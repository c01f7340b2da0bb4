//! The names of policies and roundings, as written on a command line or in a test case.

use super::{Policy, ResetRounding};
use crate::name::named;

named!(Policy {
    ClockWindow = "clock-window",
    FirstRequestWindow = "first-request-window",
    SlidingLog = "sliding-log",
    SlidingCounter = "sliding-counter",
    TokenBucket = "token-bucket",
    Gcra = "gcra",
    Unlimited = "unlimited",
});

named!(ResetRounding {
    Up = "up",
    Down = "down",
    Fractional = "fractional",
});
