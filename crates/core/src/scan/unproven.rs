//! What becomes of a list that was read to its end although nothing proves that every record came.

use super::receipt::Receipt;
use crate::choice;
use crate::error::{Error, ErrorKind, Result};

/// What happens at the end of a list whose completeness is not proven.
///
/// A scan that stops at its limit, or that its reader leaves early, is never asked for a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Unproven {
    /// The end is the error `Incomplete`, which names the doubts.
    Fail = 1,
    /// A warning names the doubts, and the end is a usual one.
    Warn = 2,
    /// The end is a usual one. The receipt names the doubts.
    Accept = 3,
}

choice!(Unproven, "unproven", {
    Fail => "fail",
    Warn => "warn",
    Accept => "accept",
});

impl Unproven {
    /// The ways out of the error, in words that every language understands.
    pub const ADVICE: &str =
        "read it again, keep it in a mirror, or set the option unproven to accept";

    /// Ends a list that was read so far. `warn` is called with the text of the warning, where there is one.
    ///
    /// # Errors
    /// `Incomplete`, with the doubts and the advice, where the end of the list was reached without a proof and that is to fail.
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

/// The end of a list whose receipt says this.
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
            let said = "pools: 3 records came, and it is not proven that they are all: the service says that more records \
                        follow, but sends none; several records have the same id and cannot be told apart; wait";
            let said = |wanted| (unproven == wanted).then(|| said.to_owned());
            assert_eq!(
                (failure, warning),
                (said(Unproven::Fail), said(Unproven::Warn))
            );
        }
    }
}
