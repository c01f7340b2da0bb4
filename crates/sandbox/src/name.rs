//! Settings that are chosen by name, on a command line, in Python or in a test case.

use std::fmt;

/// A name that is none of the known ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    pub(crate) given: String,
    pub(crate) known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.join(", ");
        write!(f, "`{}` is not one of: {known}", self.given)
    }
}

impl std::error::Error for UnknownName {}

/// Gives an enum its `ALL`, and reads and writes its values by name.
macro_rules! named {
    ($choice:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $choice {
            /// Every value.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $choice {
            type Err = $crate::name::UnknownName;

            fn from_str(given: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|choice| choice.name() == given);
                found.ok_or_else(|| $crate::name::UnknownName {
                    given: given.to_owned(),
                    known: Self::ALL.map(Self::name).to_vec(),
                })
            }
        }
    };
}
pub(crate) use named;
