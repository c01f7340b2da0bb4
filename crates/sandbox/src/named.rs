//! Enums whose values are set by name.

/// Defines an enum whose values are set by name: it has the list `ALL`, and reads and displays the names.
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $choice:ident {
            $($(#[$each:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $choice {
            $($(#[$each])* $variant,)+
        }

        impl $choice {
            /// All values.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];
            /// The names of all values.
            pub const NAMES: [&str; Self::ALL.len()] = [$($name),+];
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self {
                    $(Self::$variant => $name),+
                })
            }
        }

        impl std::str::FromStr for $choice {
            type Err = String;

            fn from_str(given: &str) -> Result<Self, String> {
                match given {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(format!("`{given}` is not one of: {}", Self::NAMES.join(", "))),
                }
            }
        }
    };
}
pub(crate) use named;
