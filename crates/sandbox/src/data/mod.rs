//! Sample records, computed from (seed, list, number) and never stored.

mod crm;
mod dice;
mod generic;
mod job;
pub(crate) mod json;
mod names;
mod taxonomy;

use dice::scramble;
pub(crate) use dice::{Dice, hash};
use json::Object;

// Also from here, where the generated table looks for it.
pub(crate) use crate::list::List;

impl List {
    /// Writes record `number` as a JSON object; the same one for the same seed, whatever the size of the list.
    pub(crate) fn write_record(&self, seed: u64, number: u64, out: &mut Vec<u8>) {
        let key = seed ^ hash(self.name);
        let mut record = Record {
            number,
            late: number >= self.default_size() / 10 * 9,
            dice: Dice::new(key ^ scramble(number)),
        };
        let mut object = Object::new(out);
        object.value("id", |out| self.write_id(seed, number, out));
        match self.name {
            "contacts" => crm::contact(&mut object, &mut record),
            "vacancies" => crm::vacancy(&mut object, &mut record),
            "pools" => crm::pool(&mut object, &mut record),
            "ja_skills" => job::skill(&mut object, &mut record),
            "ja_roles" => job::role(&mut object, &mut record),
            "ja_tasks" => job::task(&mut object, &mut record),
            "ja_departments" => job::department(&mut object, &mut record),
            "taxonomy_skills" | "taxonomy_roles" => taxonomy::item(&mut object, &mut record),
            _ => generic::record(&mut object, &mut record, self.noun),
        }
        object.end();
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
