//! Records of the taxonomy: skills and roles with labels in several languages; their fields are the sandbox's choice.

use super::Record;
use super::crm::TAGS;
use super::json::{Object, padded, string};
use super::related::Related;

const LABELS: &[(&str, &str)] = &[
    ("en", "welding"),
    ("de", "Schweißen"),
    ("fr", "soudage à l'arc"),
    ("ru", "сварка"),
    ("el", "συγκόλληση"),
    ("ar", "لحام"),
    ("hi", "वेल्डिंग"),
    ("ja", "溶接"),
    ("ko", "용접"),
];

pub(super) fn item(object: &mut Object<'_>, record: &mut Record) {
    let Record {
        list,
        seed,
        number,
        late,
        rng,
    } = record;
    object.value("code", |out| {
        out.extend_from_slice(b"\"S-");
        padded(out, *number, 8);
        out.push(b'"');
    });
    // Members that come and go: the label in a language that is not there is not null, it is missing.
    let languages = 1 + rng.below(LABELS.len() as u64) as usize;
    object.object("labels", |labels| {
        for (language, label) in &LABELS[..languages] {
            labels.text(language, label);
        }
    });
    object.array("synonyms", rng.below(4), |out, _| {
        string(out, rng.pick(TAGS))
    });
    if *number == 0 || rng.one_in(4) {
        object.literal("broader", "null");
    } else {
        let broader = Related::at(list, *seed, rng.below(*number));
        if let Some(broader) = broader {
            object.value("broader", |out| broader.write_id(out));
        }
    }
    object.fraction("frequency", rng);
    if *late {
        object.object("replaces", |replaces| replaces.time("since", rng));
    }
}
