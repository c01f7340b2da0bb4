//! Metadata for programs: the tables of the database, their columns, and facts about the driver.

use adbc_core::error::Result;
use adbc_core::options::{InfoCode, ObjectDepth, Statistics};
use adbc_core::schemas::{
    COLUMN_SCHEMA, GET_INFO_SCHEMA, GET_OBJECTS_SCHEMA, GET_STATISTIC_NAMES_SCHEMA,
    GET_STATISTICS_SCHEMA, GET_TABLE_TYPES_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA,
    STATISTIC_VALUE_SCHEMA, STATISTICS_DB_SCHEMA_SCHEMA, STATISTICS_SCHEMA, TABLE_SCHEMA,
};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int16Array, Int32Array, Int64Array, ListArray,
    RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray, StructArray, UInt32Array,
    UnionArray, new_empty_array, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use std::collections::HashSet;
use std::sync::Arc;
use talentdata_core::types::ListName;

/// The name of the only catalogue.
pub(crate) const CATALOG_NAME: &str = "talentdata";
/// The name of the only schema, in the database sense.
pub(crate) const SCHEMA_NAME: &str = "main";
/// The type of every list.
const TABLE: &str = "TABLE";
/// The ADBC version, as the standard encodes it for `get_info`.
const ADBC_VERSION: i64 = 1_001_000;
/// The standard's number for the type of an approximate statistic, which is a floating point number.
const APPROXIMATE: i8 = 2;

pub(crate) type AnswerReader = Box<dyn RecordBatchReader + Send>;

/// The objects that a caller asks for. The names are patterns of SQL's LIKE.
pub(crate) struct WantedObjects<'a> {
    pub(crate) depth: ObjectDepth,
    pub(crate) catalog: Option<&'a str>,
    pub(crate) schema: Option<&'a str>,
    pub(crate) table: Option<&'a str>,
    pub(crate) types: Option<Vec<&'a str>>,
    pub(crate) column: Option<&'a str>,
}

impl WantedObjects<'_> {
    /// Returns whether the answer contains this list as a table.
    pub(crate) fn has(&self, list: ListName) -> bool {
        let types = self.types.as_ref();
        !matches!(self.depth, ObjectDepth::Catalogs | ObjectDepth::Schemas)
            && matches(self.catalog, CATALOG_NAME)
            && matches(self.schema, SCHEMA_NAME)
            && matches(self.table, list.name())
            && types.is_none_or(|types| types.contains(&TABLE))
    }

    /// Returns whether the answer contains columns.
    pub(crate) fn has_columns(&self) -> bool {
        matches!(self.depth, ObjectDepth::All | ObjectDepth::Columns)
    }
}

/// Returns the catalogue with its schema and these tables. The columns of a table are `None` if the answer does not
/// contain columns.
pub(crate) fn objects(
    wanted: &WantedObjects<'_>,
    tables: &[(ListName, Option<SchemaRef>)],
) -> Result<AnswerReader> {
    let mut names: Vec<&str> = Vec::new();
    let mut places: Vec<i32> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    for (_, schema) in tables {
        let before = names.len();
        let fields = schema.iter().flat_map(|schema| schema.fields());
        for (place, field) in (1..).zip(fields) {
            if matches(wanted.column, field.name()) {
                names.push(field.name());
                places.push(place);
            }
        }
        counts.push(names.len() - before);
    }
    let columns = vec![
        text(names.clone()),
        Arc::new(Int32Array::from(places)) as ArrayRef,
    ];
    let columns = structs(&COLUMN_SCHEMA, columns, names.len())?;
    let count = tables.len();
    let columns = lists(&TABLE_SCHEMA, 2, wanted.has_columns(), counts, columns)?;
    let tables = tables.iter().map(|(list, _)| list.name()).collect();
    let tables = vec![text(tables), text(vec![TABLE; count]), columns];
    let tables = structs(&TABLE_SCHEMA, tables, count)?;

    let is_schema =
        matches(wanted.schema, SCHEMA_NAME) && !matches!(wanted.depth, ObjectDepth::Catalogs);
    let schemas = usize::from(is_schema && matches(wanted.catalog, CATALOG_NAME));
    let has_tables = !matches!(wanted.depth, ObjectDepth::Catalogs | ObjectDepth::Schemas);
    let tables = lists(
        &OBJECTS_DB_SCHEMA_SCHEMA,
        1,
        has_tables,
        vec![count; schemas],
        tables,
    )?;
    let of_schema = vec![text(vec![SCHEMA_NAME; schemas]), tables];
    let of_schema = structs(&OBJECTS_DB_SCHEMA_SCHEMA, of_schema, schemas)?;

    let catalogs = usize::from(matches(wanted.catalog, CATALOG_NAME));
    let has_schemas = !matches!(wanted.depth, ObjectDepth::Catalogs);
    let all = DataType::Struct(GET_OBJECTS_SCHEMA.fields().clone());
    let of_schema = lists(&all, 1, has_schemas, vec![schemas; catalogs], of_schema)?;
    reader(
        &GET_OBJECTS_SCHEMA,
        vec![text(vec![CATALOG_NAME; catalogs]), of_schema],
    )
}

/// Returns the statistics that only this driver has: none.
pub(crate) fn statistic_names() -> Result<AnswerReader> {
    let fields = GET_STATISTIC_NAMES_SCHEMA.fields().iter();
    let columns = fields.map(|field| new_empty_array(field.data_type()));
    reader(&GET_STATISTIC_NAMES_SCHEMA, columns.collect())
}

/// Returns the number of rows of each of these tables, marked as approximate.
pub(crate) fn statistics(counts: &[(ListName, u64)]) -> Result<AnswerReader> {
    let DataType::Union(fields, _) = &*STATISTIC_VALUE_SCHEMA else {
        return Err(ArrowError::SchemaError("the values are not a union".into()).into());
    };
    let numbers = counts.iter().map(|(_, count)| *count as f64);
    let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values(numbers));
    let members = fields.iter().map(|(kind, field)| match kind {
        APPROXIMATE => Arc::clone(&numbers),
        _ => new_empty_array(field.data_type()),
    });
    let places = (0..).take(counts.len()).collect();
    let values = UnionArray::try_new(
        fields.clone(),
        vec![APPROXIMATE; counts.len()].into(),
        Some(places),
        members.collect(),
    )?;
    let count = counts.len();
    let rows = vec![
        text(counts.iter().map(|(list, _)| list.name()).collect()),
        new_null_array(&DataType::Utf8, count),
        Arc::new(Int16Array::from(vec![
            i16::from(Statistics::RowCount);
            count
        ])),
        Arc::new(values),
        Arc::new(BooleanArray::from(vec![true; count])),
    ];
    let rows = structs(&STATISTICS_SCHEMA, rows, count)?;
    let is_known = usize::from(count > 0);
    let of_schema = &*STATISTICS_DB_SCHEMA_SCHEMA;
    let rows = lists(of_schema, 1, true, vec![count; is_known], rows)?;
    let schemas = vec![text(vec![SCHEMA_NAME; is_known]), rows];
    let schemas = structs(of_schema, schemas, is_known)?;
    let all = DataType::Struct(GET_STATISTICS_SCHEMA.fields().clone());
    let schemas = lists(&all, 1, true, vec![is_known; is_known], schemas)?;
    let catalogs = text(vec![CATALOG_NAME; is_known]);
    reader(&GET_STATISTICS_SCHEMA, vec![catalogs, schemas])
}

/// Returns the types of tables.
pub(crate) fn table_types() -> Result<AnswerReader> {
    reader(&GET_TABLE_TYPES_SCHEMA, vec![text(vec![TABLE])])
}

/// Returns the facts about the driver that have these codes, or all facts.
pub(crate) fn info(codes: Option<&HashSet<InfoCode>>) -> Result<AnswerReader> {
    let is_wanted = |code: &InfoCode| codes.is_none_or(|codes| codes.contains(code));
    let (mut names, mut kinds, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let (mut strings, mut flags, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (code, fact) in [
        (InfoCode::VendorName, Fact::Text("talentdata")),
        (InfoCode::VendorSql, Fact::Flag(true)),
        (InfoCode::VendorSubstrait, Fact::Flag(false)),
        (
            InfoCode::DriverName,
            Fact::Text("ADBC driver of talentdata"),
        ),
        (
            InfoCode::DriverVersion,
            Fact::Text(env!("CARGO_PKG_VERSION")),
        ),
        (InfoCode::DriverAdbcVersion, Fact::Number(ADBC_VERSION)),
    ] {
        if !is_wanted(&code) {
            continue;
        }
        names.push(u32::from(&code));
        // These are the standard's numbers for the types of values.
        let (kind, place) = match fact {
            Fact::Text(text) => (0_i8, push(&mut strings, text)),
            Fact::Flag(flag) => (1, push(&mut flags, flag)),
            Fact::Number(number) => (2, push(&mut numbers, number)),
        };
        kinds.push(kind);
        places.push(place);
    }
    let DataType::Union(fields, _) = GET_INFO_SCHEMA.field(1).data_type() else {
        return Err(ArrowError::SchemaError("the values are not a union".into()).into());
    };
    let mut children: Vec<ArrayRef> = vec![
        text(strings),
        Arc::new(BooleanArray::from(flags)),
        Arc::new(Int64Array::from(numbers)),
    ];
    let empty = fields.iter().skip(children.len());
    children.extend(empty.map(|(_, field)| new_empty_array(field.data_type())));
    let values = UnionArray::try_new(fields.clone(), kinds.into(), Some(places.into()), children)?;
    let names: ArrayRef = Arc::new(UInt32Array::from(names));
    reader(&GET_INFO_SCHEMA, vec![names, Arc::new(values)])
}

/// A fact about the driver.
enum Fact {
    Text(&'static str),
    Flag(bool),
    Number(i64),
}

/// Adds a value and returns its place.
fn push<T>(values: &mut Vec<T>, value: T) -> i32 {
    values.push(value);
    i32::try_from(values.len() - 1).unwrap_or(i32::MAX)
}

/// Returns whether a name fits a pattern, in which `%` stands for any characters and `_` for one. `None` matches every
/// name.
fn matches(pattern: Option<&str>, name: &str) -> bool {
    fn fits(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], name) => name.is_empty(),
            (['%', rest @ ..], _) => (0..=name.len()).any(|skipped| fits(rest, &name[skipped..])),
            (['_', rest @ ..], [_, name @ ..]) => fits(rest, name),
            ([one, rest @ ..], [other, name @ ..]) => one == other && fits(rest, name),
            (_, []) => false,
        }
    }
    let Some(pattern) = pattern else { return true };
    let mut pattern: Vec<char> = pattern.chars().collect();
    // Consecutive `%` mean the same as one, and would only take time.
    pattern.dedup_by(|one, before| *one == '%' && *before == '%');
    fits(&pattern, &name.chars().collect::<Vec<_>>())
}

fn text(values: Vec<&str>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

/// Returns an array of structs with these first fields. The other fields are null.
fn structs(data_type: &DataType, given: Vec<ArrayRef>, length: usize) -> Result<StructArray> {
    let DataType::Struct(fields) = data_type else {
        return Err(ArrowError::SchemaError(format!("{data_type} is not a struct")).into());
    };
    let rest = fields.iter().skip(given.len());
    let rest = rest.map(|field| new_null_array(field.data_type(), length));
    let members = given.iter().cloned().chain(rest).collect();
    Ok(StructArray::try_new(fields.clone(), members, None)?)
}

/// Returns the values of a field of a struct: lists of these lengths, or nulls if the answer is not that deep.
fn lists(
    parent: &DataType,
    member: usize,
    is_given: bool,
    lengths: Vec<usize>,
    values: StructArray,
) -> Result<ArrayRef> {
    let fields = match parent {
        DataType::Struct(fields) => fields.get(member),
        _ => None,
    };
    let Some(DataType::List(item)) = fields.map(|field| field.data_type()) else {
        return Err(ArrowError::SchemaError(format!("{parent} has no list")).into());
    };
    if !is_given {
        return Ok(new_null_array(
            &DataType::List(Arc::clone(item)),
            lengths.len(),
        ));
    }
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        Arc::clone(item),
        offsets,
        Arc::new(values),
        None,
    )?))
}

/// Returns a reader of one batch.
fn reader(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<AnswerReader> {
    let batch = RecordBatch::try_new(Arc::clone(schema), columns)?;
    Ok(Box::new(RecordBatchIterator::new(
        [Ok(batch)],
        Arc::clone(schema),
    )))
}
