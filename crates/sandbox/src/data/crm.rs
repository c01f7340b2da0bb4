//! Records of the core CRM: contacts, vacancies and talent pools.
//!
//! The document names four fields of a contact and none of the others (section 2); all else is the sandbox's choice.

use super::Record;
use super::json::{Object, integer, padded, string};
use super::moment::Moment;
use super::names::Person;
use super::related::{self, Related};

const TITLES: &[&str] = &[
    "Data Engineer",
    "Nurse",
    "Électricienne",
    "C++ Developer",
    "UX / UI Designer",
    "Welder (TIG \\u0026 MIG)",
    "Buchhalter",
    "営業担当",
];

pub(super) const TAGS: &[&str] = &[
    "remote",
    "🌱 junior",
    "senior",
    "part-time",
    "éligible",
    "👩🏽‍🔬 research",
    "\\\"hot\\\" lead",
    "q1\\/q2",
];

const NOTES: &[&str] = &[
    "Said: \\\"call me after five\\\"\\nThen hung up. 📞",
    "Line one\\r\\nline two\\twith a tab",
    "C:\\\\Users\\\\sample\\\\cv.pdf",
    "Prefers العربية and עברית ; naïve café ½",
    "Escaped: \\u00e9\\ud83d\\ude80 \\u2028 end",
    "",
];

pub(super) fn contact(object: &mut Object<'_>, record: &mut Record) {
    let Record {
        number, late, rng, ..
    } = record;
    let person = Person::random(rng);
    object.text("firstName", person.first_name());
    object.text("lastName", person.last_name());
    object.value("email", |out| person.write_email(*number, out));
    if rng.one_in(4) {
        object.literal("phone", "null");
    } else {
        object.value("phone", |out| {
            out.extend_from_slice(b"\"+00 555 ");
            padded(out, rng.below(10_000_000), 7);
            out.push(b'"');
        });
    }
    object.text("jobTitle", rng.pick(TITLES));
    object.object("location", |location| {
        location.text("city", person.culture.city);
        location.text("country", person.culture.country);
        location.literal("coordinates", person.culture.coordinates);
    });
    let count = rng.below(4);
    object.array("tags", count, |out, _| string(out, rng.pick(TAGS)));
    object.array("languages", 1 + *number % 2, |out, at| {
        let mut language = Object::new(out);
        let native = at == 0;
        let code = if native {
            person.culture.language
        } else {
            "en"
        };
        language.text("code", code);
        language.text("level", if native { "native" } else { "B2" });
        language.end();
    });
    let created = Moment::random(rng);
    object.value("createdAt", |out| created.write(out));
    if rng.one_in(3) {
        object.literal("updatedAt", "null");
    } else {
        let updated = created.later(360, rng);
        object.value("updatedAt", |out| updated.write(out));
    }
    object.fraction("matchScore", rng);
    if rng.one_in(8) {
        // Beyond 2^53 always, beyond 2^63 sometimes.
        object.number("externalRef", (1 << 53) + rng.below(u64::MAX - (1 << 53)));
    }
    if rng.one_in(5) {
        object.text("note", rng.pick(NOTES));
    }
    if *late {
        object.array("mergedFrom", 1 + rng.below(2), |out, _| {
            integer(out, rng.below(1_000_000));
        });
    }
}

pub(super) fn vacancy(object: &mut Object<'_>, record: &mut Record) {
    let Record {
        seed,
        number,
        late,
        rng,
        ..
    } = record;
    let contact = Person::random(rng);
    object.text("title", rng.pick(TITLES));
    object.text("status", rng.pick(&["open", "closed", "on hold"]));
    object.number("openings", 1 + rng.below(5));
    if rng.one_in(3) {
        object.literal("salary", "null");
    } else {
        object.object("salary", |salary| {
            let least = 20 + rng.below(60);
            salary.number("min", least * 1000);
            salary.value("max", |out| {
                integer(out, least * 1000 + rng.below(30_000));
                out.extend_from_slice(b".50");
            });
            salary.text("currency", rng.pick(&["EUR", "USD", "JPY", "PLN"]));
        });
    }
    let role = Related::random("ja_roles", *seed, rng);
    if let Some(role) = role {
        object.value("roleId", |out| role.write_id(out));
    }
    let count = 1 + rng.below(4);
    let skills = related::several("ja_skills", *seed, count, rng);
    object.array("requiredSkills", skills.len() as u64, |out, at| {
        let mut skill = Object::new(out);
        skills[at as usize].write_members(&mut skill);
        skill.fraction("weight", rng);
        skill.end();
    });
    object.object("contact", |object| {
        object.value("name", |out| contact.write_full_name(out));
        object.value("email", |out| contact.write_email(*number, out));
    });
    object.text("description", rng.pick(NOTES));
    let published = Moment::random(rng);
    object.value("publishedAt", |out| published.write(out));
    let closes = published.later(90, rng);
    if rng.one_in(2) {
        object.value("closesAt", |out| closes.write(out));
    }
    let starts = closes.later(180, rng);
    object.value("startDate", |out| starts.write_date(out));
    if *late {
        object.literal("internal", "true");
    }
}

pub(super) fn pool(object: &mut Object<'_>, record: &mut Record) {
    let Record {
        number, late, rng, ..
    } = record;
    let owner = Person::random(rng);
    object.value("name", |out| {
        string(out, rng.pick(TAGS));
        out.pop();
        out.extend_from_slice(b" pool ");
        integer(out, *number);
        out.push(b'"');
    });
    if rng.one_in(2) {
        object.literal("description", "null");
    } else {
        object.text("description", rng.pick(NOTES));
    }
    object.object("owner", |object| {
        object.value("name", |out| owner.write_full_name(out));
        object.value("email", |out| owner.write_email(*number, out));
    });
    object.number("memberCount", rng.below(5000));
    object.literal("archived", rng.pick(&["true", "false"]));
    object.time("createdAt", rng);
    if *late {
        object.object("retention", |retention| {
            retention.literal("months", "24.0");
            retention.literal("reviewedBy", "null");
        });
    }
}
