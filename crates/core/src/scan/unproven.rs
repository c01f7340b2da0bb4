//! The action at the end of a list if it is not proven that every record was received.

use super::receipt::Receipt;
use crate::choice;
use crate::error::{Error, ErrorKind, Result};

/// The action at the end of a list whose completeness is not proven.
///
/// A scan that stops at its limit, or whose reader leaves early, needs no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Unproven {
    /// Fail with the error `Incomplete`, which names the doubts.
    Fail = 1,
    /// End normally, with a warning that names the doubts.
    Warn = 2,
    /// End normally. The receipt names the doubts.
    Accept = 3,
}

choice!(Unproven, "unproven", {
    Fail => "fail",
    Warn => "warn",
    Accept => "accept",
});

impl Unproven {
    /// Advice for the user that applies to every language.
    pub const ADVICE: &str =
        "read it again, keep it in a mirror, or set the option unproven to accept";

    /// Carries out the action for a list with this receipt. Calls `warn` with the text of the warning, if there is one.
    ///
    /// # Errors
    /// `Incomplete`, with the doubts and the advice, if the action is `Fail` and the end of the list was reached
    /// without a proof.
    pub fn conclude(
        self,
        receipt: &Receipt,
        advice: &str,
        warn: impl FnOnce(String),
    ) -> Result<()> {
        let Some(shortfall) = receipt.shortfall() else {
            return Ok(());
        };
        let message = format!("{shortfall}; {advice}");
        match self {
            Unproven::Fail => return Err(Error::new(ErrorKind::Incomplete, message)),
            Unproven::Warn => warn(message),
            Unproven::Accept => {}
        }
        Ok(())
    }
}

/// Receipts at the end of a list.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Completeness, Doubt};

    fn receipt(completeness: Completeness) -> Receipt {
        Receipt {
            resource: "pools".to_owned(),
            records: 3,
            completeness,
            doubts: vec![Doubt::EmptyPage, Doubt::RepeatedId],
            ..Receipt::default()
        }
    }

    #[test]
    fn only_an_end_that_was_reached_and_is_not_proven_fails_or_warns() {
        for unproven in Unproven::ALL {
            for completeness in [
                Completeness::Proven,
                Completeness::Limited,
                Completeness::Unfinished,
            ] {
                let warn = |text| panic!("{text}");
                unproven.conclude(&receipt(completeness), "", warn).unwrap();
            }
            let mut warning = None;
            let not_proven = receipt(Completeness::NotProven);
            let outcome = unproven.conclude(&not_proven, "wait", |text| warning = Some(text));
            let failure = outcome.err().map(|error| error.message().to_owned());
            let said = "pools: 3 records were received, and it is not proven that they are all: the service says that more records \
                        follow, but sends none; several records have the same id and cannot be distinguished; wait";
            let said = |wanted| (unproven == wanted).then(|| said.to_owned());
            assert_eq!(
                (failure, warning),
                (said(Unproven::Fail), said(Unproven::Warn))
            );
        }
    }
}
