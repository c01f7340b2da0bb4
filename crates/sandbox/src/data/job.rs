//! Records of the job architecture: skills, roles, tasks and departments; their fields are the sandbox's choice.

use super::Record;
use super::json::{Object, integer, string};
use super::related::{self, Related};

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

/// What the names of this list begin with.
pub(super) fn texts(list: &str) -> &'static [&'static str] {
    match list {
        "ja_skills" => SKILLS,
        "ja_roles" => ROLES,
        "ja_tasks" => TASKS,
        _ => DEPARTMENTS,
    }
}

pub(super) fn skill(object: &mut Object<'_>, record: &mut Record) {
    let Record {
        number, late, rng, ..
    } = record;
    numbered(object, "name", rng.pick(SKILLS), *number);
    object.text("kind", rng.pick(&["hard", "soft", "language"]));
    object.fraction("importance", rng);
    object.array("levels", 1 + rng.below(5), |out, level| {
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
    let Record {
        seed,
        number,
        late,
        rng,
        ..
    } = record;
    numbered(object, "title", rng.pick(ROLES), *number);
    let department = Related::random("ja_departments", *seed, rng);
    if let Some(department) = department {
        object.object("department", |object| department.write_members(object));
    }
    if rng.one_in(3) {
        object.literal("grade", "null");
    } else {
        object.number("grade", 1 + rng.below(15));
    }
    let count = rng.below(5);
    let skills = related::several("ja_skills", *seed, count, rng);
    object.array("skills", skills.len() as u64, |out, at| {
        let mut skill = Object::new(out);
        skills[at as usize].write_members(&mut skill);
        skill.end();
    });
    object.object("demand", |demand| {
        demand.fraction("score", rng);
        demand.literal("trend", rng.pick(&["-1.50E-3", "0", "2.5e+1", "-0.0"]));
    });
    if *late {
        object.time("reviewedAt", rng);
    }
}

pub(super) fn task(object: &mut Object<'_>, record: &mut Record) {
    let Record {
        seed,
        number,
        late,
        rng,
        ..
    } = record;
    numbered(object, "name", rng.pick(TASKS), *number);
    object.text("frequency", rng.pick(&["daily", "weekly", "yearly"]));
    object.fraction("automatable", rng);
    object.number("minutes", rng.below(480));
    let role = Related::random("ja_roles", *seed, rng);
    if let Some(role) = role {
        object.value("roleId", |out| role.write_id(out));
    }
    if *number > 0 && rng.one_in(2) {
        let before = Related::at("ja_tasks", *seed, rng.below(*number));
        if let Some(before) = before {
            object.value("precededBy", |out| before.write_id(out));
        }
    }
    if *late {
        object.array("shifts", 2, integer);
    }
}

pub(super) fn department(object: &mut Object<'_>, record: &mut Record) {
    let Record {
        seed,
        number,
        late,
        rng,
        ..
    } = record;
    numbered(object, "name", rng.pick(DEPARTMENTS), *number);
    if *number == 0 {
        object.literal("parent", "null");
    } else {
        let parent = Related::at("ja_departments", *seed, rng.below(*number));
        if let Some(parent) = parent {
            object.object("parent", |object| parent.write_members(object));
        }
    }
    let head = Related::random("ja_roles", *seed, rng);
    if let Some(head) = head {
        object.value("headRoleId", |out| head.write_id(out));
    }
    object.number("headcount", rng.below(900));
    object.literal(
        "budget",
        rng.pick(&["1000000.10", "123456789012345678901234567890", "0.1"]),
    );
    if *late {
        object.time("closedAt", rng);
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
