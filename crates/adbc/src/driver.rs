//! The objects of ADBC: a driver, its databases, their connections and their statements.

use crate::error::{guard, unsupported};
use crate::metadata::{self, AnswerReader, CATALOG_NAME, SCHEMA_NAME, WantedObjects};
use crate::options::{DriverOptions, ScanSettings};
use crate::source::{RowSource, RunningQuery};
use crate::sql::ListQuery;
use adbc_core::error::{Error as AdbcError, Result, Status};
use adbc_core::options::{
    InfoCode, ObjectDepth, OptionConnection, OptionDatabase, OptionStatement, OptionValue,
};
use adbc_core::{
    CancelHandle, Connection, Database, Driver, Optionable, PartitionedResult, Statement,
};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::Schema;
use std::collections::HashSet;
use talentdata_core::Error;
use talentdata_core::types::ListName;

/// The advice in the errors of functions that write.
const READ_ONLY: &str = "the service is only read; change records in the service itself";

/// The driver. It has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct TalentdataDriver;

/// A client of the service, or a mirror, which connections share.
#[derive(Debug)]
pub struct TalentdataDatabase {
    source: RowSource,
    scan: ScanSettings,
}

/// A connection. It has the options of its statements.
#[derive(Debug)]
pub struct TalentdataConnection {
    source: RowSource,
    scan: ScanSettings,
}

/// A statement, whose last result another thread may cancel.
#[derive(Debug)]
pub struct TalentdataStatement {
    source: RowSource,
    scan: ScanSettings,
    query: Option<ListQuery>,
    running: RunningQuery,
}

impl Driver for TalentdataDriver {
    type DatabaseType = TalentdataDatabase;

    fn new_database(&mut self) -> Result<TalentdataDatabase> {
        self.new_database_with_opts([])
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<TalentdataDatabase> {
        guard(|| {
            let mut given = DriverOptions::default();
            for (name, value) in options {
                given.set(name.as_ref(), &value)?;
            }
            Ok(TalentdataDatabase {
                source: RowSource::open(&given)?,
                scan: std::mem::take(given.scan()),
            })
        })
    }
}

impl Database for TalentdataDatabase {
    type ConnectionType = TalentdataConnection;

    fn new_connection(&self) -> Result<TalentdataConnection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<TalentdataConnection> {
        let mut connection = TalentdataConnection {
            source: self.source.clone(),
            scan: self.scan.clone(),
        };
        for (name, value) in options {
            connection.set_option(name, value)?;
        }
        Ok(connection)
    }
}

impl Connection for TalentdataConnection {
    type StatementType = TalentdataStatement;

    fn new_statement(&mut self) -> Result<TalentdataStatement> {
        Ok(TalentdataStatement {
            source: self.source.clone(),
            scan: self.scan.clone(),
            query: None,
            running: RunningQuery::default(),
        })
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<AnswerReader> {
        metadata::info(codes.as_ref())
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<AnswerReader> {
        let wanted = WantedObjects {
            depth,
            catalog,
            schema: db_schema,
            table: table_name,
            types: table_type,
            column: column_name,
        };
        let tables = guard(|| {
            let lists = self.source.lists()?.into_iter();
            let lists = lists.filter(|list| wanted.has(*list));
            let with_columns = |list| {
                let columns = wanted.has_columns();
                let columns = columns.then(|| self.source.schema(list, &self.scan));
                Ok((list, columns.transpose()?))
            };
            lists
                .map(with_columns)
                .collect::<talentdata_core::Result<Vec<_>>>()
        })?;
        metadata::objects(&wanted, &tables)
    }

    fn get_table_schema(
        &self,
        _catalog: Option<&str>,
        _db_schema: Option<&str>,
        table_name: &str,
    ) -> Result<Schema> {
        let list: ListName = table_name.parse().map_err(|why| {
            AdbcError::with_message_and_status(format!("talentdata: {why}"), Status::NotFound)
        })?;
        let schema = guard(|| self.source.schema(list, &self.scan))?;
        Ok(schema.as_ref().clone())
    }

    fn get_table_types(&self) -> Result<AnswerReader> {
        metadata::table_types()
    }

    fn get_statistic_names(&self) -> Result<AnswerReader> {
        metadata::statistic_names()
    }

    fn get_statistics(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        _approximate: bool,
    ) -> Result<AnswerReader> {
        let wanted = WantedObjects {
            depth: ObjectDepth::Tables,
            catalog,
            schema: db_schema,
            table: table_name,
            types: None,
            column: None,
        };
        let counts = guard(|| {
            let lists = self.source.lists()?.into_iter();
            let lists = lists.filter(|list| wanted.has(*list));
            lists
                .map(|list| Ok((list, self.source.count(list)?)))
                .collect::<talentdata_core::Result<Vec<_>>>()
        })?;
        metadata::statistics(&counts)
    }

    fn commit(&mut self) -> Result<()> {
        unsupported("there are no transactions", READ_ONLY)
    }

    fn rollback(&mut self) -> Result<()> {
        self.commit()
    }

    fn read_partition(&self, _partition: impl AsRef<[u8]>) -> Result<AnswerReader> {
        unsupported(
            "a list has no partitions",
            "execute the statement as a whole",
        )
    }
}

impl Statement for TalentdataStatement {
    fn bind(&mut self, _batch: RecordBatch) -> Result<()> {
        unsupported("a statement takes no rows and no parameters", READ_ONLY)
    }

    fn bind_stream(&mut self, _reader: Box<dyn RecordBatchReader + Send>) -> Result<()> {
        unsupported("a statement takes no rows and no parameters", READ_ONLY)
    }

    fn execute(&mut self) -> Result<AnswerReader> {
        guard(|| self.source.read(self.query()?, &self.scan, &self.running))
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        unsupported("a statement changes nothing", READ_ONLY)
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let schema = guard(|| self.source.schema_of(self.query()?, &self.scan))?;
        Ok(schema.as_ref().clone())
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        unsupported(
            "a list has no partitions",
            "execute the statement as a whole",
        )
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        Ok(Schema::empty())
    }

    fn prepare(&mut self) -> Result<()> {
        guard(|| self.query().map(drop))
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.query = Some(guard(|| ListQuery::parse(query.as_ref()))?);
        Ok(())
    }

    fn set_substrait_plan(&mut self, _plan: impl AsRef<[u8]>) -> Result<()> {
        unsupported("Substrait plans are not read", "write SELECT * FROM list")
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(self.running.clone())
    }
}

impl TalentdataStatement {
    fn query(&self) -> talentdata_core::Result<&ListQuery> {
        let query = self.query.as_ref();
        query.ok_or_else(|| Error::invalid("sql: the statement has no query yet"))
    }
}

/// Implements the options of an object. It takes the options of scans, and the listed options of the standard. Values
/// cannot be read back, because they may be secrets.
macro_rules! options {
    ($object:ty, $option:ty, $($known:pat => $answer:expr),* $(,)?) => {
        impl Optionable for $object {
            type Option = $option;

            fn set_option(&mut self, key: $option, value: OptionValue) -> Result<()> {
                match (&key, &value) {
                    $($known => $answer,)*
                    _ => guard(|| self.scan.set(key.as_ref(), &value)),
                }
            }

            fn get_option_string(&self, key: $option) -> Result<String> {
                match key.as_ref() {
                    adbc_core::constants::ADBC_CONNECTION_OPTION_CURRENT_CATALOG => Ok(CATALOG_NAME.into()),
                    adbc_core::constants::ADBC_CONNECTION_OPTION_CURRENT_DB_SCHEMA => Ok(SCHEMA_NAME.into()),
                    name => unreadable_option(name),
                }
            }

            fn get_option_bytes(&self, key: $option) -> Result<Vec<u8>> {
                unreadable_option(key.as_ref())
            }

            fn get_option_int(&self, key: $option) -> Result<i64> {
                unreadable_option(key.as_ref())
            }

            fn get_option_double(&self, key: $option) -> Result<f64> {
                unreadable_option(key.as_ref())
            }
        }
    };
}

options!(TalentdataDatabase, OptionDatabase,);
options!(
    TalentdataConnection,
    OptionConnection,
    (OptionConnection::AutoCommit | OptionConnection::ReadOnly, OptionValue::String(text)) => {
        match text.as_str() {
            "true" => Ok(()),
            _ => unsupported("there are no transactions", READ_ONLY),
        }
    },
);
options!(TalentdataStatement, OptionStatement,);

fn unreadable_option<T>(name: &str) -> Result<T> {
    let message = format!("talentdata: the option {name:?} cannot be read");
    Err(AdbcError::with_message_and_status(
        message,
        Status::NotFound,
    ))
}
