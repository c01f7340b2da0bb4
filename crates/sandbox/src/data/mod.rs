//! The lists and their sample records, computed from (seed, list, number) and never stored.

mod crm;
mod dice;
mod generic;
mod job;
pub(crate) mod json;
mod names;
mod taxonomy;

pub(crate) use dice::Dice;
use dice::{hash, scramble};
use json::Object;

/// A paginated list of the service (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    /// The path after `/v1/`, with `_` for `/` and `-`.
    pub name: &'static str,
    /// The whole path.
    pub path: &'static str,
    /// The member that holds the records, where the document shows it.
    pub record_key: Option<&'static str>,
    /// What the list holds, in words.
    pub noun: &'static str,
}

/// All paginated lists, in the document's order.
#[must_use]
pub fn lists() -> &'static [List] {
    crate::generated::lists::LISTS
}

impl List {
    /// `ja`, `taxonomy`, or `corecrm` for the lists right below `/v1/`.
    #[must_use]
    pub fn group(&self) -> &'static str {
        let below = self.path.trim_start_matches("/v1/");
        below.split_once('/').map_or("corecrm", |(group, _)| group)
    }

    /// Records on a page when `limit` is not given: 20 to 50, another number for most lists (section 8). Which
    /// number, is the sandbox's choice.
    #[must_use]
    pub fn default_limit(&self) -> u64 {
        20 + hash(self.name) % 7 * 5
    }

    /// Records in the list unless [`Options::records`](crate::Options::records) says otherwise.
    #[must_use]
    pub fn default_size(&self) -> u64 {
        match self.name {
            "contacts" => 2500,
            name => 40 + hash(name) % 1161,
        }
    }

    /// The member that holds the records. Where the document does not show it, the sandbox chooses one of three, so
    /// that a client has to find it in the answer.
    pub(crate) fn served_key(&self) -> &'static str {
        let last = self.path.rsplit('/').next().unwrap_or(self.name);
        self.record_key.unwrap_or(match hash(self.name) % 3 {
            0 => last,
            1 => "data",
            _ => "items",
        })
    }

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
