//! Nested values that are written in other ways than the columns would write them: what their cells hold.

use super::nested::{batch, extras};
use super::{batches, infer, record};
use crate::arrow::RecordBatch;

/// Every other column than `_extra`.
fn held(sample: &[&str], rows: &[&str]) -> RecordBatch {
    let batch = batch(sample, rows);
    batch.project(&[4]).unwrap()
}

#[test]
fn a_nested_value_with_white_space_is_in_its_column_too() {
    let rows = [
        r#"{"a":[{"b":1,"t":"x"},null,{}],"c":{"d":[[true],[]]}}"#,
        r#"{"a":[],"c":{}}"#,
        r#"{"a":[{"b":2}]}"#,
        "null",
    ];
    let printed = rows.map(|row| {
        let value: serde_json::Value = serde_json::from_str(row).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    });
    let spaced = rows.map(|row| row.replace(',', " , ").replace(':', "\t:\r"));
    for written in [&printed, &spaced] {
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        assert_eq!(held(&rows, &written), held(&rows, &rows));
        assert_eq!(held(&written, &written), held(&rows, &rows));
        assert_eq!(extras(&rows, &written), [true, true, true, false]);
    }
}

#[test]
fn of_a_name_that_occurs_twice_in_a_struct_the_last_value_is_held() {
    let twice = [
        r#"{"a":1,"l":[1],"a":2}"#,
        r#"{"l":[1,2],"s":{"b":true},"l":null,"l":[3],"s":{"b":false,"b":null}}"#,
        "null",
        r#"{"a":7,"a":"x"}"#,
        r#"{"a":5,"l":[4]}"#,
        r#"{"a":6,"s":null,"\u0061":8}"#,
    ];
    let once = [
        r#"{"a":2,"l":[1]}"#,
        r#"{"l":[3],"s":{}}"#,
        "null",
        "{}",
        r#"{"a":5,"l":[4]}"#,
        r#"{"a":8}"#,
    ];
    let sample = [r#"{"a":1,"l":[1],"s":{"b":true}}"#];
    assert_eq!(held(&sample, &twice), held(&sample, &once));
    let noted = [true, true, true, true, false, true];
    assert_eq!(extras(&sample, &twice), noted);
    // Within lists, and in more than one batch.
    let in_list = |row: &&str| record(format!("{{\"x\":[{row},{row}]}}"));
    let (twice, once) = (twice.iter().map(in_list), once.iter().map(in_list));
    let schema = infer(&[in_list(&sample[0])]);
    let (twice, once): (Vec<_>, Vec<_>) = (twice.collect(), once.collect());
    let both = batches(&schema, &twice, 2).into_iter();
    for (twice, once) in both.zip(batches(&schema, &once, 2)) {
        assert_eq!(twice.column(4), once.column(4));
    }
}
