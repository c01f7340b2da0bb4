//! What is noted of a text takes memory in proportion to it.

use super::super::*;
use super::accepts;

#[test]
fn room_is_made_for_no_more_than_the_text_can_hold() {
    let many = "{\"a\":1,\"b\":2},".repeat(1900);
    let arrays: Vec<String> = (0..50)
        .map(|index| format!("\"n{index}\":[{many}{{}}]"))
        .collect();
    let text = format!("{{{}}}", arrays.join(","));
    let structure = structural_index(&text).unwrap();
    assert_eq!(structure.values.len(), 50 * 3800);
    assert!(structure.values.capacity() <= text.len());
}

#[test]
fn what_would_take_much_more_memory_than_its_text_is_refused() {
    let fields = |count| -> String {
        let fields = (0..count).map(|name| format!("\"{name}\":1"));
        fields.collect::<Vec<_>>().join(",")
    };
    let record = |fields: String| format!("{{\"rows\":[{{{fields}}}]}}");
    assert!(accepts(&record(fields(MOST_FIELDS))));
    assert!(!accepts(&record(fields(MOST_FIELDS + 1))));
    let rows = |count| format!("{{\"rows\":[{}]}}", vec!["{}"; count].join(","));
    assert!(accepts(&rows(MOST_ITEMS)));
    assert!(!accepts(&rows(MOST_ITEMS + 1)));
    // However many arrays they are in.
    let arrays = |count: usize| {
        let arrays = (0..count).map(|name| format!("\"{name}\":[1,2]"));
        format!("{{{}}}", arrays.collect::<Vec<_>>().join(","))
    };
    assert!(accepts(&arrays(MOST_ITEMS / 2)));
    assert!(!accepts(&arrays(MOST_ITEMS / 2 + 1)));
    let members = |count| format!("{{{}}}", fields(count));
    assert!(accepts(&members(MOST_ITEMS)));
    assert!(!accepts(&members(MOST_ITEMS + 1)));
    // Within a value they may be many; from some thousands on they are merely passed over.
    let inside = format!("\"x\":{{{}}},\"y\":{{\"a\":1}}", fields(100_000));
    assert!(accepts(&record(inside.clone())));
    assert!(!accepts(&record(
        inside.replace("\"99999\":1", "\"99999\":")
    )));
}

#[test]
fn many_small_arrays_take_little_memory() {
    for array in ["[1]", "[{}]", "[{\"a\":1}]"] {
        let arrays = (0..40_000).map(|name| format!("\"{name}\":{array}"));
        let text = format!("{{{}}}", arrays.collect::<Vec<_>>().join(","));
        let structure = structural_index(&text).unwrap();
        let items = structure
            .members
            .iter()
            .filter_map(|member| member.items.as_ref());
        let items: usize = items.map(Vec::capacity).sum();
        let taken = items * size_of::<Item>()
            + structure.members.capacity() * size_of::<Member>()
            + structure.values.capacity() * size_of::<Span>()
            + structure.layouts.capacity() * size_of::<Layout>();
        assert!(
            taken < 25 * text.len(),
            "{array}: {taken} for {}",
            text.len()
        );
    }
}
