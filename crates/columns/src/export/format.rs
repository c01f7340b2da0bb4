//! Output formats and their names.

use super::encoder::out_of_order;
use crate::arrow::TableSchema;
use crate::format::{CsvSink, IpcSink, JsonlSink, ParquetSink, Sink};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use talentdata_core::Result;
use talentdata_core::choice;

/// The format of an exported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(C)]
pub enum Format {
    /// JSON Lines: a record per line, as the service sent it.
    Jsonl = 1,
    /// CSV with a header.
    Csv = 2,
    /// Parquet. It is resumed behind the last complete row group. The row groups are joined at the
    /// end, which takes the space twice for a moment.
    Parquet = 3,
    /// The Arrow IPC file format. Such an export cannot be resumed.
    Arrow = 4,
}

/// How an unfinished export is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// In one file that grows and can be truncated.
    Growing,
    /// In one file for each row group.
    RowGroups,
    /// In one file that is of no use before it is complete.
    Whole,
}

impl Format {
    /// The format that the extension of a file name stands for, in whatever case; JSON Lines where it stands for none.
    pub fn of_path(path: &Path) -> Self {
        let extension = path.extension().and_then(OsStr::to_str);
        let named = extension.and_then(|text| text.to_lowercase().parse().ok());
        named.unwrap_or(Self::Jsonl)
    }

    /// What writes it to `writer`, which holds `bytes` bytes of it already.
    pub(super) fn sink(
        self,
        writer: impl Write + Send + 'static,
        bytes: u64,
        columns: Option<&TableSchema>,
    ) -> Result<Box<dyn Sink>> {
        let columns = || columns.ok_or_else(out_of_order);
        Ok(match self {
            Self::Jsonl => Box::new(JsonlSink::new(writer, bytes)),
            Self::Csv => Box::new(CsvSink::new(writer, columns()?, bytes)?),
            Self::Parquet => Box::new(ParquetSink::new(writer, columns()?)?),
            Self::Arrow => Box::new(IpcSink::new(writer, columns()?)?),
        })
    }

    pub(super) const fn layout(self) -> Layout {
        match self {
            Self::Jsonl | Self::Csv => Layout::Growing,
            Self::Parquet => Layout::RowGroups,
            Self::Arrow => Layout::Whole,
        }
    }
}

// The names are the file name extensions, without the dot.
choice!(Format, "format", {
    Jsonl => "jsonl",
    Csv => "csv",
    Parquet => "parquet",
    Arrow => "arrow",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_tells_the_format() {
        for (path, format) in [
            ("a/b.parquet", Format::Parquet),
            ("b.CSV", Format::Csv),
            ("b.csv/c", Format::Jsonl),
            ("b.xlsx", Format::Jsonl),
            (".arrow", Format::Jsonl),
        ] {
            assert_eq!(Format::of_path(Path::new(path)), format, "{path}");
        }
    }

    #[test]
    fn names_are_read_back_and_others_refused() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        let error = "xlsx".parse::<Format>().unwrap_err();
        assert!(error.message().contains("jsonl"), "{error}");
    }
}
