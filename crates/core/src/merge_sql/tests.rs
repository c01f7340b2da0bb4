//! What the statements say; the Python tests run them on the databases.

use super::*;

#[test]
fn names_are_quoted_and_nothing_but_names() {
    for (table, shown) in [
        ("contacts", r#""contacts""#),
        ("warehouse.contacts", r#""warehouse"."contacts""#),
        (r#""a.b"."c""d""#, r#""a.b"."c""d""#),
        (r#"x"; DROP TABLE y; --"#, r#""x""; DROP TABLE y; --""#),
    ] {
        for dialect in [Dialect::DuckDb, Dialect::PostgreSql] {
            let statement = merge_sql(dialect, table, &[r#"a"b"#]).unwrap();
            let first = format!("MERGE INTO {shown} AS target\n");
            assert!(statement.starts_with(&first), "{statement}");
            assert!(statement.contains(r#"SET "a""b" = source."a""b""#));
        }
    }
    for table in ["", "a.", ".a", "\"a", "\"a\"b", "a\0"] {
        let error = merge_sql(Dialect::DuckDb, table, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{table:?}");
    }
}

#[test]
fn columns_that_a_database_cannot_tell_apart_are_refused() {
    let long = "x".repeat(63);
    let (one, other) = (format!("{long}a"), format!("{long}b"));
    let cases: [(Dialect, [&str; 2], bool); 6] = [
        (Dialect::DuckDb, ["name", "Name"], false),
        (Dialect::Delta, ["name", "Name"], false),
        (Dialect::PostgreSql, ["name", "Name"], true),
        (Dialect::PostgreSql, [&one, &other], false),
        (Dialect::DuckDb, [&one, &other], true),
        (Dialect::PostgreSql, ["a", ""], false),
    ];
    for (dialect, columns, fits) in cases {
        let statement = merge_sql(dialect, "t", &columns);
        assert_eq!(statement.is_ok(), fits, "{dialect} {columns:?}");
    }
}

#[test]
fn the_columns_of_a_change_are_passed_over() {
    for dialect in Dialect::ALL {
        let all = [&CHANGE_COLUMNS[..], &["id", "_extra", "_record"]].concat();
        let own = merge_sql(dialect, "t", &["id", "_extra", "_record"]).unwrap();
        assert_eq!(merge_sql(dialect, "t", &all).unwrap(), own, "{dialect}");
        assert_eq!(dialect.name().parse::<Dialect>().unwrap(), dialect);
    }
    let none = merge_sql(Dialect::PostgreSql, "t", &[]).unwrap();
    assert!(!none.contains("UPDATE"), "{none}");
    let error = "oracle".parse::<Dialect>().unwrap_err();
    assert!(error.message().contains("postgresql"), "{error}");
}
