//! Records of a list that the sandbox has no special records for, so that a new list is served without an edit.

use super::Record;
use super::json::{Object, integer, string};

pub(super) fn record(object: &mut Object<'_>, record: &mut Record, noun: &str) {
    let Record {
        number, late, dice, ..
    } = record;
    object.value("name", |out| {
        string(out, noun);
        out.pop();
        out.push(b' ');
        integer(out, *number);
        out.push(b'"');
    });
    if dice.one_in(3) {
        object.literal("description", "null");
    } else {
        object.text("description", "Sample data ✨ of the \\\"sandbox\\\"");
    }
    object.object("attributes", |attributes| {
        attributes.fraction("weight", dice);
        attributes.array("values", dice.below(3), integer);
    });
    object.time("createdAt", dice);
    if *late {
        object.number("revision", 1 + dice.below(9));
    }
}
