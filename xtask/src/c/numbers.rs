//! The numbers of enum values: programs are compiled with them, so one that was given once stays for ever.
//!
//! `bindings/c/symbols.txt` is where they are written down, and read from when the next ones are given.

use crate::names;
use std::collections::BTreeMap;
use std::path::Path;

const LEDGER: &str = "bindings/c/symbols.txt";

/// The numbers given so far, by the name of the constant.
pub(crate) struct Numbers(BTreeMap<String, u32>);

impl Numbers {
    /// Those that are committed.
    pub(crate) fn given(root: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(root.join(LEDGER)).map_err(|error| {
            format!("{LEDGER}, which holds the numbers given so far: {error}; get it back from git")
        })?;
        let lines = text.lines().filter_map(|line| line.split_once(" = "));
        let pairs = lines.map(|(name, number)| {
            let number = number
                .parse()
                .map_err(|_| format!("{LEDGER}: {name} has no number"))?;
            Ok((name.to_owned(), number))
        });
        Ok(Numbers(pairs.collect::<Result<_, String>>()?))
    }

    /// The names of all lists that were ever given a number.
    pub(crate) fn lists(&self) -> impl Iterator<Item = String> {
        let names = self.0.keys();
        let names = names.filter_map(|name| name.strip_prefix("TALENTDATA_RESOURCE_"));
        names.map(str::to_lowercase)
    }

    /// The number of each variant of an enum; a new one comes after all that were given.
    pub(crate) fn of(&self, name: &str, variants: &[String]) -> Vec<u32> {
        let prefix = format!("TALENTDATA_{}_", names::constant(name));
        let given = self.0.iter().filter(|(name, _)| name.starts_with(&prefix));
        let last = given.map(|(_, number)| *number).max().unwrap_or(0);
        let mut new = last + 1..;
        let mut number = |variant: &String| {
            let known = self.0.get(&format!("{prefix}{}", names::constant(variant)));
            known.copied().or_else(|| new.next()).unwrap_or(u32::MAX)
        };
        variants.iter().map(&mut number).collect()
    }

    /// Those given before for what `constants` does not hold any more.
    ///
    /// # Errors
    /// When one of them has another number now.
    pub(super) fn retired(self, constants: &[(String, u32)]) -> Result<Vec<(String, u32)>, String> {
        let mut before = self.0;
        for (name, number) in constants {
            if before.remove(name).is_some_and(|given| given != *number) {
                return Err(format!(
                    "{name} was another number before, and programs are compiled with it; {LEDGER} tells which"
                ));
            }
        }
        Ok(before.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(pairs: &[(&str, u32)]) -> Numbers {
        let pairs = pairs.iter();
        Numbers(pairs.map(|(name, one)| ((*name).into(), *one)).collect())
    }

    #[test]
    fn a_number_is_never_given_twice() {
        let given = numbers(&[("TALENTDATA_STATE_OPEN", 1), ("TALENTDATA_STATE_GONE", 2)]);
        let values = ["First", "Open", "Between"].map(str::to_owned);
        assert_eq!(given.of("State", &values), [3, 1, 4]);
        assert_eq!(given.of("Other", &values), [1, 2, 3]);
    }

    #[test]
    fn what_is_gone_keeps_its_number_and_no_number_changes() {
        let given = || numbers(&[("TALENTDATA_A_X", 1), ("TALENTDATA_A_Y", 2)]);
        let now = |number| [("TALENTDATA_A_Y".to_owned(), number)];
        let gone = given().retired(&now(2)).unwrap();
        assert_eq!(gone, [("TALENTDATA_A_X".to_owned(), 1)]);
        assert!(given().retired(&now(1)).unwrap_err().contains("_A_Y"));
    }
}
