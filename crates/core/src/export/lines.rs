//! JSON Lines: each record as it came, on a line of its own.

use crate::record::RawRecord;
use memchr::memchr2;

/// Appends the records, a line each.
pub(super) fn write_lines(records: &[RawRecord], out: &mut Vec<u8>) {
    for record in records {
        write_line(record.as_bytes(), out);
    }
}

fn write_line(json: &[u8], out: &mut Vec<u8>) {
    match memchr2(b'\n', b'\r', json) {
        None => out.extend_from_slice(json),
        Some(_) => write_compact(json, out),
    }
    out.push(b'\n');
}

/// Without white space between the tokens: line breaks can be nowhere else.
fn write_compact(json: &[u8], out: &mut Vec<u8>) {
    let (mut inside, mut escaped) = (false, false);
    for byte in json {
        if !inside && byte.is_ascii_whitespace() {
            continue;
        }
        out.push(*byte);
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = inside,
            b'"' => inside = !inside,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(json: &str) -> String {
        let mut out = Vec::new();
        write_line(json.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_record_on_one_line_is_left_as_it_is() {
        let json = "{ \"a\" :\t1.50, \"b\": \"\u{2028} \\n\" }";
        assert_eq!(line(json), format!("{json}\n"));
    }

    #[test]
    fn a_record_on_several_lines_keeps_its_strings() {
        let json = "{\r\n  \"a \\\" b\": [ 1,\n 2 ],\n \"c\\\\\": \" \\\\ \"\n}";
        assert_eq!(line(json), "{\"a \\\" b\":[1,2],\"c\\\\\":\" \\\\ \"}\n");
    }
}
