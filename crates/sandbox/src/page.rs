//! Pages of a list: the parameters, the records and the pagination object (sections 2, 4 and 8).

use std::ops::Range;

use crate::answer::Answer;
use crate::data::json;
use crate::list::List;
use crate::request::Received;

/// Where a page starts and how many records it may hold, as asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) offset: u64,
    pub(crate) limit: u64,
}

impl Asked {
    /// Reads `limit` and `offset`. The sandbox's choices: what is no integer, a negative number and a limit of 0 are
    /// answered 400; a limit above the most is cut to it without a word (section 8: not shown).
    pub(crate) fn read(request: &Received, list: &List, most: u64) -> Result<Self, Answer> {
        let limit = integer(request, "limit", list.default_limit())?;
        if limit == 0 {
            return Err(Answer::error(
                400,
                "invalid_request",
                "limit has to be at least 1",
            ));
        }
        Ok(Self {
            offset: integer(request, "offset", 0)?,
            limit: limit.min(most),
        })
    }
}

fn integer(request: &Received, name: &str, default: u64) -> Result<u64, Answer> {
    let Some(text) = request.parameter(name) else {
        return Ok(default);
    };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| {
        let message = format!("{name} has to be a non-negative integer");
        Answer::error(400, "invalid_request", &message)
    })
}

/// The records of a page, by number, and how many records the list holds at that moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) total: u64,
    pub(crate) numbers: Vec<Range<u64>>,
}

impl Slice {
    /// Of a list that never changes.
    pub(crate) fn of(total: u64, asked: Asked) -> Self {
        let start = asked.offset.min(total);
        let end = asked.offset.saturating_add(asked.limit).min(total);
        Self {
            total,
            numbers: std::iter::once(start..end).collect(),
        }
    }
}

/// Enough for most records, so that the buffer seldom grows.
const USUAL_RECORD_BYTES: usize = 600;

/// The page as the document shows it for contacts; `success` appears in the core CRM only, which is the sandbox's
/// choice. `limit` is the number of records in the answer (section 2), not the number asked for.
pub(crate) fn page(list: &List, seed: u64, asked: Asked, slice: &Slice) -> Answer {
    let count: u64 = slice
        .numbers
        .iter()
        .map(|range| range.end - range.start)
        .sum();
    let mut out = Vec::with_capacity(200 + count as usize * USUAL_RECORD_BYTES);
    let mut object = json::Object::new(&mut out);
    if list.group() == "corecrm" {
        object.literal("success", "true");
    }
    let mut numbers = slice.numbers.iter().cloned().flatten();
    object.array(list.served_key(), count, |out, _| {
        if let Some(number) = numbers.next() {
            list.write_record(seed, number, out);
        }
    });
    object.object("pagination", |pagination| {
        pagination.number("total", slice.total);
        pagination.number("limit", count);
        pagination.number("offset", asked.offset);
        let has_more = asked.offset.saturating_add(count) < slice.total;
        pagination.literal("hasMore", if has_more { "true" } else { "false" });
    });
    object.end();
    Answer::written(200, out)
}
