//! Pages of a list: the parameters, the records and the pagination object (sections 2, 4 and 8).

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::json;

use crate::answer::Answer;
use crate::inspect::invalid_parameter;
use crate::name::named;
use crate::options::Options;
use crate::records::Records;
use crate::request::Received;
use crate::samples::{Object, array, put};
use crate::spec::Success;

/// Where a page starts and how many records it may hold, as asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

impl Asked {
    /// Reads `limit` and `offset`. The sandbox's choices: what is no integer, a negative number and a limit of 0 are
    /// answered 400; a limit above the most is cut to it without a word (section 8: not shown).
    pub(crate) fn read(request: &Received, records: &Records) -> Result<Self, Answer> {
        let limit = integer(request, "limit", records.list.default_limit, 1)?;
        Ok(Self {
            offset: integer(request, "offset", 0, 0)?,
            limit: limit.min(records.max_limit),
        })
    }
}

fn integer(request: &Received, name: &str, default: u64, least: u64) -> Result<u64, Answer> {
    let Some(text) = request.parameter(name) else {
        return Ok(default);
    };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text
        .parse()
        .ok()
        .filter(|number| digits && *number >= least);
    number.ok_or_else(|| {
        let expected = format!("an integer of at least {least}");
        invalid_parameter("query", name, "", &expected)
    })
}

/// The records of a page, by number, and how many records the list holds at that moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) total: u64,
    pub(crate) numbers: Vec<Range<u64>>,
    /// How often records of the page have been updated, by number.
    pub(crate) versions: BTreeMap<u64, u32>,
    /// Page requests that the list had before this one.
    pub(crate) read: u64,
}

impl Slice {
    fn version(&self, number: u64) -> u32 {
        self.versions.get(&number).copied().unwrap_or_default()
    }
}

/// What the pagination object says of the length of the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Total {
    /// How many records there are, and whether more follow.
    #[default]
    Exact,
    /// A `total` of 0; `hasMore` is right.
    Zero,
    /// A `total` of 0, and `hasMore` is always true, even beyond the end.
    Unknown,
}

named!(Total {
    Exact = "exact",
    Zero = "zero",
    Unknown = "unknown",
});

/// Enough for most records, so that the buffer seldom grows.
const USUAL_RECORD_BYTES: usize = 600;

/// The page as the document shows it. `limit` is the number of records in the response (section 2), not the number asked for.
pub(crate) fn page(options: &Options, records: &Records, asked: Asked, slice: &Slice) -> Answer {
    let list = records.list;
    let lengths = slice.numbers.iter().map(|range| range.end - range.start);
    let count: u64 = lengths.sum();
    let mut out = Vec::with_capacity(200 + count as usize * USUAL_RECORD_BYTES);
    let mut object = Object::new(&mut out);
    for (name, value) in &records.members {
        object.json(name, value);
    }
    object.member(list.served_key(), |out| {
        let numbers = slice.numbers.iter().cloned().flatten();
        array(out, numbers, |out, number| {
            records.write(number, slice.version(number), slice.read, out);
        });
    });
    let warned = options.warnings && count == 0 && list.record_key.is_none();
    if warned {
        let message = "There are no records at this place.";
        let warning = json!([{"code": "no_records", "message": message}]);
        object.json("warnings", &warning);
    }
    let end = asked.offset.saturating_add(count);
    let (total, has_more) = match options.total {
        Total::Exact => (slice.total, end < slice.total),
        Total::Zero => (0, end < slice.total),
        Total::Unknown => (0, true),
    };
    object.member("pagination", |out| {
        let mut pagination = Object::new(out);
        let limit = if warned { asked.limit } else { count };
        for (name, number) in [("total", total), ("limit", limit), ("offset", asked.offset)] {
            pagination.member(name, |out| put(out, number));
        }
        pagination.member("hasMore", |out| put(out, has_more));
        for (name, value) in &records.pagination {
            pagination.json(name, value);
        }
        pagination.end();
    });
    object.end();
    let Success {
        status,
        content_type,
        ..
    } = &list.success;
    let content_type = content_type.as_deref().unwrap_or("application/json");
    Answer::written(*status, content_type, out)
}
