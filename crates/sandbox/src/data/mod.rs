//! Sample records, computed from (seed, list, number) and never stored.

mod crm;
mod dice;
mod generic;
mod job;
pub(crate) mod json;
mod names;
mod taxonomy;

pub(crate) use dice::{Dice, hash, scramble};
use json::Object;

// Also from here, where the generated table looks for it.
pub(crate) use crate::list::List;

impl List {
    /// Writes the members of record `number`, all but its identity; the same ones for the same seed, whatever the size
    /// of the list.
    pub(crate) fn write_members(&self, seed: u64, number: u64, object: &mut Object<'_>) {
        let key = seed ^ hash(self.name);
        let mut record = Record {
            number,
            late: number >= self.default_size() / 10 * 9,
            dice: Dice::new(key ^ scramble(number)),
        };
        match self.name {
            "contacts" => crm::contact(object, &mut record),
            "vacancies" => crm::vacancy(object, &mut record),
            "pools" => crm::pool(object, &mut record),
            "ja_skills" => job::skill(object, &mut record),
            "ja_roles" => job::role(object, &mut record),
            "ja_tasks" => job::task(object, &mut record),
            "ja_departments" => job::department(object, &mut record),
            "taxonomy_skills" | "taxonomy_roles" => taxonomy::item(object, &mut record),
            _ => generic::record(object, &mut record, self.noun),
        }
    }

    /// Writes the id of record `number`, a JSON value that no other record of the list has.
    ///
    /// Tasks have integers beyond 2^53, which collide when they are read as floating point; all others have strings.
    pub(crate) fn write_id(&self, seed: u64, number: u64, out: &mut Vec<u8>) {
        if self.name == "ja_tasks" {
            json::integer(out, (1 << 53) + 1 + number);
        } else {
            // Scrambling is one-to-one, so different numbers cannot meet.
            let id = scramble(number.wrapping_add(seed ^ hash(self.name)));
            out.push(b'"');
            json::hexadecimal(out, id);
            out.push(b'"');
        }
    }
}

/// What the writers of the single lists need to know about the record at hand.
struct Record {
    number: u64,
    /// Whether the record belongs to the last tenth of a list of default size: some members appear only there.
    late: bool,
    dice: Dice,
}

#[cfg(test)]
mod tests;
