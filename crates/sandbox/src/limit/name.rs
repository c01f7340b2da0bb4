//! The names of policies and roundings, as written on a command line or in a test case.

use std::fmt;
use std::str::FromStr;

use super::{Policy, ResetRounding};

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    given: String,
    known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.join(", ");
        write!(f, "`{}` is not one of: {known}", self.given)
    }
}

impl std::error::Error for UnknownName {}

impl Policy {
    /// Every policy.
    pub const ALL: [Self; 7] = [
        Self::ClockWindow,
        Self::FirstRequestWindow,
        Self::SlidingLog,
        Self::SlidingCounter,
        Self::TokenBucket,
        Self::Gcra,
        Self::Unlimited,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::ClockWindow => "clock-window",
            Self::FirstRequestWindow => "first-request-window",
            Self::SlidingLog => "sliding-log",
            Self::SlidingCounter => "sliding-counter",
            Self::TokenBucket => "token-bucket",
            Self::Gcra => "gcra",
            Self::Unlimited => "unlimited",
        }
    }
}

impl ResetRounding {
    /// Every rounding.
    pub const ALL: [Self; 3] = [Self::Up, Self::Down, Self::Fractional];

    fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Fractional => "fractional",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for ResetRounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Policy {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Self, UnknownName> {
        find(given, &Self::ALL, Self::name)
    }
}

impl FromStr for ResetRounding {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Self, UnknownName> {
        find(given, &Self::ALL, Self::name)
    }
}

fn find<T: Copy>(given: &str, all: &[T], name: fn(T) -> &'static str) -> Result<T, UnknownName> {
    let found = all.iter().copied().find(|item| name(*item) == given);
    found.ok_or_else(|| UnknownName {
        given: given.to_owned(),
        known: all.iter().copied().map(name).collect(),
    })
}
