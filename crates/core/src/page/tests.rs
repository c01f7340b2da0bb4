//! The form that a page must have, and the choice of the array that holds the records.

use super::*;

const PAGINATION: &str = r#""pagination":{"total":9,"limit":2,"offset":0,"hasMore":true}"#;

fn read(body: impl Into<bytes::Bytes>) -> Result<Page> {
    Page::read(&Response::of_json(body), None, 0, Hides::default())
}

/// Reads a page with these members and a pagination.
fn page(members: &str) -> Result<Page> {
    read(format!("{{{members},{PAGINATION}}}"))
}

fn texts(page: &Page) -> Vec<&str> {
    page.records.iter().map(RawRecord::as_str).collect()
}

#[test]
fn the_array_with_the_reported_number_of_items_holds_the_records() {
    let key = |members: &str, returned: i64, total: i64| {
        let pagination = format!(
            r#""pagination":{{"total":{total},"limit":{returned},"offset":0,"hasMore":true}}"#
        );
        read(format!("{{{members},{pagination}}}")).map(|page| page.key)
    };
    let items = r#""items":[{"id":1},{"id":2}]"#;
    let notes = r#""notes":[{"code":1}]"#;
    let none = r#""items":[]"#;
    for (members, returned, found) in [
        (items.to_owned(), 2, Some("items")),
        // Some services report the requested limit instead.
        (items.to_owned(), 100, Some("items")),
        (format!("{items},{notes}"), 2, Some("items")),
        (format!("{items},{notes}"), 1, Some("notes")),
        (format!("{items},{notes}"), 100, None),
        (format!("{none},{notes}"), 0, Some("items")),
        (format!("{none},{notes}"), 1, Some("notes")),
        (none.to_owned(), 100, Some("items")),
        (r#""items":[1,2]"#.to_owned(), 2, None),
        (r#""items":[{},2]"#.to_owned(), 2, None),
        // The last duplicate of a name wins, regardless of the earlier values.
        (format!("{notes},{items},\"items\":3"), 1, Some("notes")),
        (format!("\"it\\u0065ms\":[1],{items}"), 2, Some("items")),
    ] {
        let key = key(&members, returned, 9);
        let kind = key.as_ref().err().map(Error::kind);
        assert_eq!(key.ok().as_deref(), found, "{members} {returned}");
        assert_eq!(kind, found.is_none().then_some(ErrorKind::Schema));
    }
    // In an empty list, regardless of the limit that the service repeats.
    let empty = key(&format!("{none},{notes}"), 100, 0);
    assert_eq!(empty.unwrap(), "items");
}

#[test]
fn the_last_duplicate_of_a_member_wins() {
    let both = page(r#""rows":[{"id":1}],"rows":[{"id":2},{"id":3}]"#).unwrap();
    assert_eq!(texts(&both), [r#"{"id":2}"#, r#"{"id":3}"#]);
    assert!(page(r#""success":false,"success":true,"rows":[]"#).is_ok());
    let failed = page(r#""success":true,"rows":[],"success":false"#).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Api);
}

#[test]
fn success_and_offset_are_read_like_other_hints() {
    let kind = |success: &str| {
        let outcome = page(&format!(r#""success":{success},"rows":[]"#));
        outcome.err().map(|error| error.kind())
    };
    assert_eq!(["null", r#""true""#, "1"].map(kind), [None; 3]);
    let (api, schema) = (Some(ErrorKind::Api), Some(ErrorKind::Schema));
    assert_eq!([r#""False""#, "0", "2"].map(kind), [api, api, schema]);
    assert!(read(r#"{"rows":[],"pagination":{"offset":-1}}"#).is_ok());
}

#[test]
fn json_is_utf_8_regardless_of_its_charset() {
    for charset in [
        "ISO-8859-1",
        "binary",
        "utf8mb4",
        "windows-1252",
        "us-ascii",
    ] {
        let mut response = Response::of_json(r#"{"rows":[{"a":"ö"}]}"#);
        let kind = format!("application/json;charset={charset}")
            .parse()
            .unwrap();
        response.headers.insert(http::header::CONTENT_TYPE, kind);
        let page = Page::read(&response, None, 0, Hides::default()).unwrap();
        assert_eq!(texts(&page), [r#"{"a":"ö"}"#], "{charset}");
    }
}

#[test]
fn records_are_exactly_as_received() {
    let rows = [
        "{ \"a\" : 1 ,\r\n\t\"b\" : [ 1e400 , -0.0 ] }",
        r#"{"n":123456789012345678901234567890,"x":0.1000000000000000055511151231257827}"#,
        // Half a surrogate pair is not valid text, but it is valid JSON.
        r#"{"half":"\ud800","\udc00":"\\\"{[","😀":"äöü€"}"#,
        r#"{}"#,
    ];
    let body = format!(
        "\u{feff}\n {{\"rows\" : [ {} ] , {PAGINATION} }}\n",
        rows.join(" ,\n")
    );
    assert_eq!(texts(&read(body).unwrap()), rows);
}

#[test]
fn a_response_that_is_not_json_in_utf8_is_refused_with_the_place() {
    for value in [
        "01",
        "NaN",
        "'a'",
        "[1,]",
        "{\"a\":1,}",
        "1 1",
        "\"\n\"",
        "\u{feff}1",
    ] {
        let error = page(&format!("\"rows\":[],\"x\":{value}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode, "{value}");
        assert!(error.message().contains("line "), "{error}");
    }
    let whole = format!("{{\"rows\":[{{\"a\":\"b\"}}],{PAGINATION}}}");
    for behind in ["x", "{}", ",", "\0"] {
        let error = read(format!("{whole}{behind}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode, "{behind}");
    }
    for end in 1..whole.len() {
        let error = read(whole[..end].to_owned()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode, "{end}");
        assert_eq!(error.max_attempts(), u32::MAX);
    }
    let mut bytes = whole.into_bytes();
    bytes[14] = 0xff;
    let mut response = Response::of_json(bytes);
    let gzip = http::HeaderValue::from_static("gzip");
    for coding in [None, Some(gzip)] {
        response
            .headers
            .extend(coding.map(|it| (http::header::CONTENT_ENCODING, it)));
        let error = Page::read(&response, None, 0, Hides::default()).unwrap_err();
        let name = response.header("content-encoding").unwrap_or("none");
        let said = format!("not UTF-8 at byte 14 (Content-Encoding: {name}, ");
        assert_eq!(error.kind(), ErrorKind::Decode);
        assert!(error.message().contains(&said), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused_and_overflows_no_stack() {
    let nested = |open: &str, close: &str, levels| {
        format!("{}1{}", open.repeat(levels), close.repeat(levels))
    };
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"\\\"[\":[", "]}]")] {
        let of_each = open.matches(['[', '{']).count() - open.matches("\\\"[").count();
        let most = (json::MAX_JSON_DEPTH - 1) / of_each;
        let record = |levels| format!("\"rows\":[{{\"a\":{}}}]", nested(open, close, levels));
        assert!(page(&record(most)).is_ok(), "{open}");
        let error = page(&record(most + 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(
            error.message().contains("rows[0] (offset 0) is nested"),
            "{error}"
        );
    }
    // Many values side by side are not deep, and neither is a string.
    let flat = format!(
        "\"rows\":[{{\"a\":[{}[]],\"b\":\"{}\"}}]",
        "[],".repeat(500),
        "[".repeat(500)
    );
    assert!(page(&flat).is_ok());
    for million in [nested("[", "]", 1_000_000), "[".repeat(1_000_000)] {
        assert!(page(&format!("\"rows\":[{{\"a\":{million}}}]")).is_err());
    }
    // Members that nobody reads may have any form.
    let beside = format!("\"rows\":[{{}}],\"x\":{}", nested("[", "]", 1_000_000));
    assert_eq!(page(&beside).unwrap().records.len(), 1);
}

#[test]
fn responses_that_take_much_more_memory_than_their_text_are_refused() {
    let too_large = |members: &str| {
        let error = page(members).err();
        let kind = error.as_ref().map(Error::kind);
        assert!(
            kind.is_none_or(|kind| kind == ErrorKind::TooLarge),
            "{error:?}"
        );
        error.is_some()
    };
    let fields = |count: usize| -> String {
        let fields = (0..count).map(|name| format!("\"{name}\":1"));
        fields.collect::<Vec<_>>().join(",")
    };
    let record = |fields: String| format!("\"rows\":[{{{fields}}}]");
    assert!(!too_large(&record(fields(10_000))));
    assert!(too_large(&record(fields(10_001))));
    // A nested value may have many fields.
    assert!(!too_large(&record(format!(
        "\"x\":{{{}}}",
        fields(100_000)
    ))));
    let rows = |count| format!("\"rows\":[{}]", vec!["{}"; count].join(","));
    assert!(!too_large(&rows(MAX_ITEMS)));
    assert!(too_large(&rows(MAX_ITEMS + 1)));
    // The limit applies to all arrays together.
    let arrays = |count: usize| {
        let arrays = (0..count).map(|name| format!("\"{name}\":[1,2]"));
        format!("{},\"rows\":[{{}}]", arrays.collect::<Vec<_>>().join(","))
    };
    assert!(!too_large(&arrays(MAX_ITEMS / 2 - 1)));
    assert!(too_large(&arrays(MAX_ITEMS / 2)));
    let members = |count| format!("{},\"rows\":[{{}}]", fields(count));
    assert!(!too_large(&members(MAX_ITEMS - 2)));
    assert!(too_large(&members(MAX_ITEMS - 1)));
}
