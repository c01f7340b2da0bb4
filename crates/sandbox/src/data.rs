//! Sample records, computed from (seed, list, number) and never stored.

mod crm;
mod generic;
mod id;
mod job;
pub(crate) mod json;
mod moment;
mod names;
mod related;
mod rng;
mod taxonomy;

pub(crate) use id::{IdForm, uuid};
use json::Object;
pub(crate) use moment::moment_text;
pub(crate) use rng::{Rng, hash, scramble, unscramble};

// Also from here, where the generated table looks for it.
pub(crate) use crate::list::List;

impl List {
    /// Writes the members of record `number` after so many updates, all but its identity; the same ones for the same
    /// seed, whatever the size of the list.
    pub(crate) fn write_members(
        &self,
        seed: u64,
        number: u64,
        version: u32,
        object: &mut Object<'_>,
    ) {
        let mut record = Record {
            list: self.name,
            seed,
            number,
            late: number >= self.default_size() / 10 * 9,
            rng: self.rng(seed, number, version),
        };
        match self.writer() {
            Some(write) => write(object, &mut record),
            None => generic::record(object, &mut record, self.noun),
        }
    }

    /// Whether there are sample records made for this very list.
    pub(crate) fn has_samples(&self) -> bool {
        self.writer().is_some()
    }

    fn writer(&self) -> Option<fn(&mut Object<'_>, &mut Record)> {
        Some(match self.name {
            "contacts" => crm::contact,
            "vacancies" => crm::vacancy,
            "pools" => crm::pool,
            "ja_skills" => job::skill,
            "ja_roles" => job::role,
            "ja_tasks" => job::task,
            "ja_departments" => job::department,
            "taxonomy_skills" | "taxonomy_roles" => taxonomy::item,
            _ => return None,
        })
    }

    /// The form of ids, unless the document asks for another one.
    ///
    /// Tasks have integers beyond 2^53, which collide when they are read as floating point; all others have strings.
    pub(crate) fn id_form(&self) -> IdForm {
        match self.name {
            "ja_tasks" => IdForm::Integer((1 << 53) + 1),
            _ => IdForm::Hexadecimal,
        }
    }

    /// The rng of a record, another one for each version of it.
    fn rng(&self, seed: u64, number: u64, version: u32) -> Rng {
        Rng::new(self.key(seed) ^ scramble(number) ^ u64::from(version))
    }

    /// What makes the records of one list differ from those of another, and of another seed.
    pub(crate) fn key(&self, seed: u64) -> u64 {
        seed ^ hash(self.name)
    }
}

/// What the writers of the single lists need to know about the record at hand.
struct Record {
    list: &'static str,
    seed: u64,
    number: u64,
    /// Whether the record belongs to the last tenth of a list of default size: some members appear only there.
    late: bool,
    rng: Rng,
}

#[cfg(test)]
mod tests;
