//! What the receipts of all parts of a list say about the whole of it.

use super::{Basis, Completeness, Doubt, Receipt};
use crate::error::{Error, ErrorKind, Result};

impl Receipt {
    /// The receipt of a whole list, from those of its parts in any order.
    ///
    /// Counts and times are sums. Completeness is proven if each part of the plan is there and proven, and each has as many
    /// records as planned where the total never changed; it is `unfinished` where a part is not there. Its basis is `joined` where
    /// there are several parts: records of two parts that change places leave all counts as they were.
    ///
    /// # Errors
    /// `InvalidArgument` when there are none, or one is not of a part, or of another plan, or when a part is there
    /// twice: only one reading of it counts, that whose records were kept.
    pub fn of_parts(receipts: impl IntoIterator<Item = Receipt>) -> Result<Receipt> {
        let mut parts = Vec::new();
        for receipt in receipts {
            let Some(part) = receipt.part.clone() else {
                return Err(wrong("one of them is not the receipt of a part".into()));
            };
            parts.push((part, receipt));
        }
        parts.sort_by_key(|(part, _)| part.part);
        let Some((first, _)) = parts.first() else {
            return Err(wrong("there are none".into()));
        };
        let (plan, of) = (first.plan.clone(), first.of);
        let resource = parts[0].1.resource.clone();
        for (part, receipt) in &parts {
            if (&part.plan, part.of, &receipt.resource) != (&plan, of, &resource) {
                return Err(wrong("they are of different plans".into()));
            }
        }
        if let Some(pair) = parts
            .windows(2)
            .find(|pair| pair[0].0.part == pair[1].0.part)
        {
            let number = pair[0].0.part;
            return Err(wrong(format!(
                "part {number} is there twice; keep the receipt of the reading whose records were kept"
            )));
        }
        let complete = parts.len() as u64 == of;
        let lowest = parts.iter().map(|(part, _)| part.total_lowest).min();
        let highest = parts.iter().map(|(part, _)| part.total_highest).max();
        let as_planned =
            (parts.iter()).all(|(part, receipt)| receipt.records == part.planned_records);
        let counted = (lowest == highest).then_some(as_planned);
        let completeness = parts.iter().map(|(_, receipt)| receipt.completeness);
        let completeness: Vec<Completeness> = completeness.collect();
        let mut receipts = parts.into_iter().map(|(_, receipt)| receipt);
        let first = receipts.next().unwrap_or_default();
        let resumed = first.resumed;
        let mut whole = receipts.fold(first, |before, receipt| receipt.after(&before));
        whole.resumed = resumed;
        whole.part = None;
        whole.completeness = worst(&completeness, complete);
        whole.weigh(counted, of);
        Ok(whole)
    }

    /// Weighs the counts: whether each part had as many records as planned, where the total never changed.
    fn weigh(&mut self, counted: Option<bool>, of: u64) {
        if self.completeness == Completeness::Proven && counted == Some(false) {
            // Records that moved from one part to another have come twice or not at all.
            self.doubts.push(Doubt::CountDiffers);
            self.completeness = Completeness::NotProven;
        }
        let alone = self.basis.filter(|_| of == 1);
        self.basis = match self.completeness {
            Completeness::Proven => alone.or(Some(Basis::Joined)),
            _ => None,
        };
    }
}

fn worst(parts: &[Completeness], complete: bool) -> Completeness {
    let worst = [
        Completeness::Unfinished,
        Completeness::NotChecked,
        Completeness::NotProven,
    ];
    let found = worst.into_iter().find(|one| parts.contains(one));
    match complete {
        true => found.unwrap_or(Completeness::Proven),
        false => Completeness::Unfinished,
    }
}

fn wrong(message: String) -> Error {
    let message = format!("receipts of parts: {message}");
    Error::new(ErrorKind::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::part::PartRead;

    fn receipt(part: u64, of: u64, records: u64) -> Receipt {
        Receipt {
            completeness: Completeness::Proven,
            basis: Some(Basis::Joined),
            records,
            part: Some(PartRead {
                plan: "p".into(),
                part,
                of,
                total_lowest: 10,
                total_highest: 10,
                planned_records: if part == 1 { 6 } else { 4 },
            }),
            ..Receipt::default()
        }
    }

    #[test]
    fn all_parts_once_are_the_whole_list() {
        let whole = Receipt::of_parts([receipt(2, 2, 4), receipt(1, 2, 6)]).unwrap();
        assert_eq!((whole.records, whole.part, whole.resumed), (10, None, 0));
        assert_eq!(whole.completeness, Completeness::Proven);
        assert_eq!(whole.basis, Some(Basis::Joined));
    }

    #[test]
    fn fewer_or_more_records_than_a_steady_total_are_a_doubt() {
        let whole = Receipt::of_parts([receipt(2, 2, 4), receipt(1, 2, 5)]).unwrap();
        assert_eq!(whole.completeness, Completeness::NotProven);
        assert_eq!(whole.doubts, [Doubt::CountDiffers]);
        let mut moved = receipt(1, 2, 5);
        if let Some(part) = &mut moved.part {
            part.total_lowest = 9;
        }
        let whole = Receipt::of_parts([receipt(2, 2, 4), moved]).unwrap();
        assert_eq!(whole.basis, Some(Basis::Joined));
    }

    #[test]
    fn a_part_that_is_missing_or_unproven_leaves_the_list_so() {
        let whole = Receipt::of_parts([receipt(1, 2, 10)]).unwrap();
        assert_eq!(whole.completeness, Completeness::Unfinished);
        assert_eq!(whole.basis, None);
        let doubted = Receipt {
            completeness: Completeness::NotProven,
            doubts: vec![Doubt::MovedTooFar],
            ..receipt(1, 2, 6)
        };
        let whole = Receipt::of_parts([doubted, receipt(2, 2, 4)]).unwrap();
        assert_eq!(whole.completeness, Completeness::NotProven);
        assert_eq!(whole.doubts, [Doubt::MovedTooFar]);
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        let plain = Receipt::default();
        for (receipts, reason) in [
            (vec![], "there are none"),
            (vec![plain], "not the receipt of a part"),
            (vec![receipt(1, 2, 1), receipt(1, 3, 1)], "different plans"),
            (
                vec![receipt(1, 2, 1), receipt(1, 2, 1)],
                "part 1 is there twice",
            ),
        ] {
            let error = Receipt::of_parts(receipts).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(reason), "{error}");
        }
    }
}
