//! Which operation a path stands for (section 4): four by hand, and one for each list of the table.

use http::Method;

use crate::list::{List, lists};

/// An operation of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Token,
    Permissions,
    Version,
    VersionCheck,
    /// The list with this position in the table.
    List(usize),
}

impl Operation {
    pub(crate) fn at(path: &str) -> Option<Self> {
        let list = || lists().iter().position(|list| list.path == path);
        match path {
            "/v1/oauth/token" => Some(Self::Token),
            "/v1/oauth/token/permissions" => Some(Self::Permissions),
            "/v1/version" => Some(Self::Version),
            "/v1/version/check" => Some(Self::VersionCheck),
            _ => list().map(Self::List),
        }
    }

    pub(crate) fn method(self) -> Method {
        match self {
            Self::Token | Self::VersionCheck => Method::POST,
            Self::Permissions | Self::Version | Self::List(_) => Method::GET,
        }
    }

    pub(crate) fn bearer(self) -> Bearer {
        match self {
            Self::Token | Self::Version => Bearer::Ignored,
            Self::VersionCheck => Bearer::Checked,
            Self::Permissions | Self::List(_) => Bearer::Needed,
        }
    }
}

/// What a token is to an operation (section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bearer {
    Ignored,
    /// May be missing, but a wrong one is refused. The sandbox's choice for the version check (section 5: not shown).
    Checked,
    Needed,
}

/// The list at `position`, as found by [`Operation::at`].
pub(crate) fn list(position: usize) -> &'static List {
    &lists()[position]
}
