//! Records of a list that the sandbox has no special records for, so that a new list is served without an edit.

use super::Record;
use super::json::{Object, integer, string};

pub(super) fn record(object: &mut Object<'_>, record: &mut Record, noun: &str) {
    let Record {
        number, late, rng, ..
    } = record;
    object.value("name", |out| {
        string(out, noun);
        out.pop();
        out.push(b' ');
        integer(out, *number);
        out.push(b'"');
    });
    if rng.one_in(3) {
        object.literal("description", "null");
    } else {
        object.text("description", "Sample data ✨ of the \\\"sandbox\\\"");
    }
    object.object("attributes", |attributes| {
        attributes.fraction("weight", rng);
        attributes.array("values", rng.below(3), integer);
    });
    object.time("createdAt", rng);
    if *late {
        object.number("revision", 1 + rng.below(9));
    }
}
