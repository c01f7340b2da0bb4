//! Settings with a few possible values: a name in most languages, and a number in C.

/// Defines the names of an enum's values, and reads a value from its name or its number.
#[doc(hidden)]
#[macro_export]
macro_rules! choice {
    ($type:ident, $setting:literal, { $($variant:ident => $name:literal),+ $(,)? }) => {
        impl $type {
            /// All choices.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name of the choice.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// Returns the choice with this number.
            ///
            /// # Errors
            /// `InvalidArgument` for any other number.
            pub fn of_number(number: u32) -> $crate::Result<Self> {
                let found = Self::ALL.into_iter().find(|choice| *choice as u32 == number);
                found.ok_or_else(|| {
                    let message = format!("{}: {number} is not a known choice", $setting);
                    $crate::Error::new($crate::ErrorKind::InvalidArgument, message)
                })
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                let found = Self::ALL.into_iter().find(|choice| choice.name() == text);
                found.ok_or_else(|| {
                    let names = Self::ALL.map(Self::name).join(", ");
                    let message = format!("{}: {text:?} is not one of {names}", $setting);
                    $crate::Error::new($crate::ErrorKind::InvalidArgument, message)
                })
            }
        }
    };
}
