//! The driver through its traits, against a sandbox: rows, columns, completeness, cancellation and metadata.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use adbc_core::error::Status;
use adbc_core::options::{InfoCode, ObjectDepth, OptionDatabase, OptionValue};
use adbc_core::{Connection, Database, Driver, Optionable, Statement};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int16Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader, UnionArray};
use arrow_schema::ArrowError;
use std::path::Path;
use talentdata_adbc::{TalentdataConnection, TalentdataDriver};
use talentdata_core::blocking::Client;
use talentdata_core::types::ListName;
use talentdata_mirror::Sync;
use talentdata_sandbox::{ListOrder, Options, Sandbox, limit::Policy};

fn sandbox(order: ListOrder) -> Sandbox {
    let options = Options {
        records: [("contacts".to_owned(), 1200), ("pools".to_owned(), 3)].into(),
        policy: Policy::Unlimited,
        order,
        faults: true,
        ..Options::default()
    };
    Sandbox::start(options).unwrap()
}

/// Returns the settings of a client of the sandbox.
fn settings(sandbox: &Sandbox) -> Vec<(&'static str, String)> {
    vec![
        ("base_url", sandbox.base_url().to_string()),
        ("username", sandbox.client_id().to_string()),
        ("password", sandbox.client_secret().to_string()),
        ("environment", "false".to_owned()),
        ("budget", "process".to_owned()),
        ("paced", "false".to_owned()),
    ]
}

fn connect(given: &[(&str, String)]) -> adbc_core::error::Result<TalentdataConnection> {
    let option = |(name, value): &(&str, String)| {
        (
            OptionDatabase::from(*name),
            OptionValue::from(value.as_str()),
        )
    };
    let database = TalentdataDriver.new_database_with_opts(given.iter().map(option))?;
    database.new_connection()
}

type Rows = Result<Vec<RecordBatch>, ArrowError>;

fn query(
    connection: &mut TalentdataConnection,
    sql: &str,
) -> adbc_core::error::Result<(Vec<String>, Rows)> {
    let mut statement = connection.new_statement()?;
    statement.set_sql_query(sql)?;
    let reader = statement.execute()?;
    let names = reader
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    Ok((names, reader.collect()))
}

fn count(rows: Rows) -> usize {
    rows.unwrap().iter().map(RecordBatch::num_rows).sum()
}

/// Returns the number of requests for contacts that the sandbox answered.
fn requests(sandbox: &Sandbox) -> u64 {
    let stats = sandbox.stats();
    stats
        .requests_by_path
        .get("/v1/contacts")
        .copied()
        .unwrap_or(0)
}

#[test]
fn a_query_has_the_columns_that_it_names_in_their_order() {
    let sandbox = sandbox(ListOrder::Stable);
    let mut connection = connect(&settings(&sandbox)).unwrap();
    let (names, rows) = query(&mut connection, "SELECT * FROM contacts").unwrap();
    assert_eq!(names[..4], ["id", "firstName", "lastName", "email"]);
    assert_eq!(
        (names.last().map(String::as_str), count(rows)),
        (Some("_extra"), 1200)
    );
    let (names, rows) = query(&mut connection, "SELECT email, id FROM contacts LIMIT 7").unwrap();
    assert_eq!(
        (names, count(rows)),
        (vec!["email".to_owned(), "id".to_owned()], 7)
    );
    let error = query(&mut connection, "SELECT shoeSize FROM contacts").unwrap_err();
    assert_eq!(error.status, Status::InvalidArguments);
    assert!(
        error
            .message
            .contains("contacts has no column \"shoeSize\""),
        "{error}"
    );
}

#[test]
fn options_decide_which_fields_there_are() {
    let sandbox = sandbox(ListOrder::Stable);
    let mut given = settings(&sandbox);
    let (names, _) = query(
        &mut connect(&given).unwrap(),
        "SELECT _extra, id FROM contacts LIMIT 1",
    )
    .unwrap();
    assert_eq!(names, ["_extra", "id"]);
    given.push(("drop", "email,lastName".to_owned()));
    let (names, _) = query(
        &mut connect(&given).unwrap(),
        "SELECT * FROM contacts LIMIT 1",
    )
    .unwrap();
    assert!(!names.contains(&"email".to_owned()) && names.contains(&"firstName".to_owned()));
}

#[test]
fn columns_are_requested_once() {
    let sandbox = sandbox(ListOrder::Stable);
    let mut connection = connect(&settings(&sandbox)).unwrap();
    let schema = connection.get_table_schema(None, None, "contacts").unwrap();
    let first = requests(&sandbox);
    assert!(first > 0);
    let mut statement = connection.new_statement().unwrap();
    statement.set_sql_query("SELECT * FROM contacts").unwrap();
    assert_eq!(statement.execute_schema().unwrap(), schema);
    assert_eq!(
        connection.get_table_schema(None, None, "contacts").unwrap(),
        schema
    );
    assert_eq!(requests(&sandbox), first);
    assert_eq!(*statement.execute().unwrap().schema(), schema);
    let unknown = connection
        .get_table_schema(None, None, "kontakte")
        .unwrap_err();
    assert_eq!(unknown.status, Status::NotFound);
}

#[test]
fn an_unproven_list_ends_with_an_error_unless_it_is_accepted() {
    let sandbox = sandbox(ListOrder::Random);
    let mut connection = connect(&settings(&sandbox)).unwrap();
    let (_, rows) = query(&mut connection, "SELECT id FROM contacts").unwrap();
    let error = rows.unwrap_err().to_string();
    assert!(
        error.contains("it is not proven that they are all"),
        "{error}"
    );
    let mut statement = connection.new_statement().unwrap();
    statement
        .set_option("unproven".into(), "accept".into())
        .unwrap();
    statement.set_sql_query("SELECT id FROM contacts").unwrap();
    assert!(count(statement.execute().unwrap().collect()) > 0);
    let (_, rows) = query(&mut connection, "SELECT id FROM contacts LIMIT 50").unwrap();
    assert_eq!(count(rows), 50);
}

#[test]
fn another_thread_cancels_a_result() {
    let sandbox = sandbox(ListOrder::Stable);
    let mut given = settings(&sandbox);
    given.push(("page_size", "2".to_owned()));
    let mut connection = connect(&given).unwrap();
    connection.get_table_schema(None, None, "contacts").unwrap();
    let mut statement = connection.new_statement().unwrap();
    let cancel = statement.get_cancel_handle();
    statement.set_sql_query("SELECT * FROM contacts").unwrap();
    let rows = statement.execute().unwrap();
    std::thread::spawn(move || cancel.try_cancel().unwrap())
        .join()
        .unwrap();
    let error = rows.collect::<Rows>().unwrap_err().to_string();
    assert!(error.contains("the scan was stopped"), "{error}");
    statement.set_sql_query("SELECT * FROM pools").unwrap();
    assert_eq!(count(statement.execute().unwrap().collect()), 3);
}

#[test]
fn a_mirror_is_read_without_a_service() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mirror.db");
    let sandbox = sandbox(ListOrder::Stable);
    sync(&sandbox, &path);
    drop(sandbox);
    let given = [("mirror", path.display().to_string())];
    let mut connection = connect(&given).unwrap();
    let (names, rows) = query(&mut connection, "SELECT email FROM main.contacts").unwrap();
    assert_eq!((names, count(rows)), (vec!["email".to_owned()], 1200));
    assert_eq!(
        count(
            query(&mut connection, "SELECT * FROM contacts LIMIT 9")
                .unwrap()
                .1
        ),
        9
    );
    let error = query(&mut connection, "SELECT * FROM vacancies").unwrap_err();
    assert!(error.message.contains("vacancies"), "{error}");
    let tables = objects(&connection, ObjectDepth::Tables, None);
    assert_eq!(tables, ["contacts"]);
    let filtered = connect(&[given[0].clone(), ("drop", "email".to_owned())]);
    let error = query(&mut filtered.unwrap(), "SELECT * FROM contacts").unwrap_err();
    assert!(
        error.message.contains("drop: a mirror has no such option"),
        "{error}"
    );
}

fn sync(sandbox: &Sandbox, path: &Path) {
    let mut builder = Client::builder();
    builder
        .base_url(sandbox.base_url())
        .client_id(sandbox.client_id());
    builder
        .client_secret(sandbox.client_secret())
        .budget("process")
        .paced(false);
    let client = Client::new(&builder).unwrap();
    Sync::new(ListName::Contacts, path)
        .job(&client)
        .unwrap()
        .run()
        .unwrap();
}

/// Returns the names of the tables that a connection reports.
fn objects(
    connection: &TalentdataConnection,
    depth: ObjectDepth,
    table: Option<&str>,
) -> Vec<String> {
    let mut reader = connection
        .get_objects(depth, None, None, table, None, None)
        .unwrap();
    let batch = reader.next().unwrap().unwrap();
    let schemas = batch.column(1).as_list::<i32>().value(0);
    let tables = schemas.as_struct().column(1).as_list::<i32>().value(0);
    let names = tables.as_struct().column(0).as_string::<i32>();
    names.iter().flatten().map(str::to_owned).collect()
}

#[test]
fn programs_find_the_lists_and_their_columns() {
    let sandbox = sandbox(ListOrder::Stable);
    let connection = connect(&settings(&sandbox)).unwrap();
    assert_eq!(
        objects(&connection, ObjectDepth::Tables, None),
        ListName::ALL.map(ListName::name)
    );
    assert_eq!(requests(&sandbox), 0);
    assert_eq!(
        objects(&connection, ObjectDepth::Columns, Some("con%t_")),
        ["contacts"]
    );
    let wanted = |depth, catalog| {
        connection.get_objects(depth, catalog, None, Some("pools"), None, Some("id"))
    };
    let batch = wanted(ObjectDepth::All, Some("talentdata"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let schemas = batch.column(1).as_list::<i32>().value(0);
    let tables = schemas.as_struct().column(1).as_list::<i32>().value(0);
    let columns = tables.as_struct().column(2).as_list::<i32>().value(0);
    assert_eq!(
        columns.as_struct().column(0).as_string::<i32>().value(0),
        "id"
    );
    assert_eq!(columns.len(), 1);
    for depth in [
        ObjectDepth::Catalogs,
        ObjectDepth::Schemas,
        ObjectDepth::All,
    ] {
        let rows = |catalog| {
            wanted(depth, catalog)
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .num_rows()
        };
        assert_eq!((rows(None), rows(Some("other"))), (1, 0));
    }
    let types = connection
        .get_table_types()
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(types.column(0).as_string::<i32>().value(0), "TABLE");
    let facts = |codes| {
        connection
            .get_info(codes)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .num_rows()
    };
    assert_eq!(
        (facts(None), facts(Some([InfoCode::DriverName].into()))),
        (6, 1)
    );
}

#[test]
fn wrong_options_are_named_and_secrets_are_not_shown() {
    let error = connect(&[("shoe_size", "43".to_owned())]).unwrap_err();
    assert!(
        error.message.contains("there is no option \"shoe_size\""),
        "{error}"
    );
    let error = connect(&[("environment", "false".to_owned())]).unwrap_err();
    assert_eq!(error.status, Status::InvalidArguments);
    assert!(error.message.contains("base_url"), "{error}");
    let error = connect(&[("unproven", "never".to_owned())]).unwrap_err();
    assert!(error.message.contains("unproven"), "{error}");
    let sandbox = sandbox(ListOrder::Stable);
    let mut connection = connect(&settings(&sandbox)).unwrap();
    for name in ["client_secret", "password"] {
        let error = connection.get_option_string(name.into()).unwrap_err();
        assert_eq!(error.status, Status::NotFound);
    }
    let error = connection
        .set_option("adbc.connection.autocommit".into(), "false".into())
        .unwrap_err();
    assert_eq!(error.status, Status::NotImplemented);
    connection
        .set_option("adbc.connection.autocommit".into(), "true".into())
        .unwrap();
    let error = connection
        .set_option("base_url".into(), "http://x".into())
        .unwrap_err();
    assert!(error.message.contains("base_url"), "{error}");
}

#[test]
fn statistics_have_the_number_of_rows_of_each_table() {
    let sandbox = sandbox(ListOrder::Stable);
    let connection = connect(&settings(&sandbox)).unwrap();
    let counts = |table: Option<&str>| -> Vec<(String, f64)> {
        let statistics = connection.get_statistics(None, None, table, true).unwrap();
        let mut counts = Vec::new();
        for batch in statistics {
            let schemas = batch.unwrap().column(1).as_list::<i32>().values().clone();
            let rows = schemas
                .as_struct()
                .column(1)
                .as_list::<i32>()
                .values()
                .clone();
            let rows = rows.as_struct();
            let values = rows
                .column(3)
                .as_any()
                .downcast_ref::<UnionArray>()
                .unwrap();
            for row in 0..rows.len() {
                let value = values.value(row);
                let count = value.as_primitive::<Float64Type>().value(0);
                counts.push((
                    rows.column(0).as_string::<i32>().value(row).to_owned(),
                    count,
                ));
                assert_eq!(rows.column(2).as_primitive::<Int16Type>().value(row), 6);
                assert!(rows.column(4).as_boolean().value(row));
            }
        }
        counts
    };
    assert_eq!(counts(Some("contacts")), [("contacts".to_owned(), 1200.0)]);
    assert_eq!(counts(Some("p%ls")), [("pools".to_owned(), 3.0)]);
    assert!(counts(Some("people")).is_empty());
    let names = connection.get_statistic_names().unwrap();
    assert_eq!(count(names.collect()), 0);
}
