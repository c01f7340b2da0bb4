//! Records of the job architecture: skills, roles, tasks and departments; their fields are the sandbox's choice.

use super::Record;
use super::json::{Object, integer, string};

const SKILLS: &[&str] = &[
    "Negotiation",
    "Werkstoffkunde",
    "データ分析",
    "Gestión de equipos",
    "Анализ рисков",
    "First aid",
    "Cost \\u0026 benefit",
];
const ROLES: &[&str] = &[
    "Analyst",
    "Chef d'équipe",
    "Technician",
    "Руководитель",
    "研究員",
    "Manager, \\\"acting\\\"",
];
const TASKS: &[&str] = &[
    "Check the invoice",
    "Calibrer l'appareil",
    "Plan the shift\\n(every week)",
    "在庫を数える",
    "Führen",
];
const DEPARTMENTS: &[&str] = &[
    "Finance",
    "Qualitätssicherung",
    "人事部",
    "Logistique",
    "R&D 🔬",
    "Λογιστήριο",
];

pub(super) fn skill(object: &mut Object<'_>, record: &mut Record) {
    let Record { number, late, dice } = record;
    numbered(object, "name", dice.pick(SKILLS), *number);
    object.text("kind", dice.pick(&["hard", "soft", "language"]));
    object.fraction("importance", dice);
    object.array("levels", 1 + dice.below(5), |out, level| {
        let mut object = Object::new(out);
        object.number("level", level + 1);
        object.literal("description", "null");
        object.end();
    });
    if *late {
        object.literal("deprecated", "false");
    }
}

pub(super) fn role(object: &mut Object<'_>, record: &mut Record) {
    let Record { number, late, dice } = record;
    numbered(object, "title", dice.pick(ROLES), *number);
    object.text("family", dice.pick(DEPARTMENTS));
    if dice.one_in(3) {
        object.literal("grade", "null");
    } else {
        object.number("grade", 1 + dice.below(15));
    }
    object.array("skills", dice.below(5), |out, _| {
        string(out, dice.pick(SKILLS))
    });
    object.object("demand", |demand| {
        demand.fraction("score", dice);
        demand.literal("trend", dice.pick(&["-1.50E-3", "0", "2.5e+1", "-0.0"]));
    });
    if *late {
        object.time("reviewedAt", dice);
    }
}

pub(super) fn task(object: &mut Object<'_>, record: &mut Record) {
    let Record { number, late, dice } = record;
    numbered(object, "name", dice.pick(TASKS), *number);
    object.text("frequency", dice.pick(&["daily", "weekly", "yearly"]));
    object.fraction("automatable", dice);
    object.number("minutes", dice.below(480));
    if dice.one_in(2) {
        object.number("precededBy", (1 << 53) + 1 + dice.below(*number + 1));
    }
    if *late {
        object.array("shifts", 2, integer);
    }
}

pub(super) fn department(object: &mut Object<'_>, record: &mut Record) {
    let Record { number, late, dice } = record;
    numbered(object, "name", dice.pick(DEPARTMENTS), *number);
    if *number == 0 {
        object.literal("parent", "null");
    } else {
        object.object("parent", |parent| {
            numbered(parent, "name", dice.pick(DEPARTMENTS), dice.below(*number));
        });
    }
    object.number("headcount", dice.below(900));
    object.literal(
        "budget",
        dice.pick(&["1000000.10", "123456789012345678901234567890", "0.1"]),
    );
    if *late {
        object.time("closedAt", dice);
    }
}

/// A text made different for each record.
fn numbered(object: &mut Object<'_>, key: &str, text: &str, number: u64) {
    object.value(key, |out| {
        string(out, text);
        out.pop();
        out.push(b' ');
        integer(out, number);
        out.push(b'"');
    });
}
