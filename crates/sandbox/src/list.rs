//! The pages of the paginated lists (sections 2, 4 and 8).

use crate::http::{Answer, Received, failure};
use crate::inspect::{invalid_parameter, with_body};
use crate::options::{LargeLimits, Options, Pages, Total};
use crate::records::ListRecords;
use crate::samples::{array, object};
use serde_json::{Value, json};

impl ListRecords {
    /// Answers a request for a page. The sandbox's choices: values that are not an integer, negative numbers and a
    /// limit of 0 get the status 400. The response to a limit above the maximum is an option (section 8: not shown).
    /// The `limit` in the page is the number of records in the response (section 2), not the requested number.
    pub(crate) fn page(&self, options: &Options, request: &Received) -> Result<Answer, Answer> {
        let list = self.list;
        let limit = integer(request, "limit", list.default_limit, 1)?;
        let most = options.max_limit.unwrap_or(list.max_limit);
        if limit > most {
            match options.large_limits {
                LargeLimits::Reduced => {}
                LargeLimits::Refused => {
                    let wrong = format!(": expected at most {most}");
                    return Err(invalid_parameter("query", "limit", &wrong));
                }
                LargeLimits::RefusedBlindly => {
                    return Err(failure(400, "invalid_request", "the request is not valid"));
                }
                LargeLimits::TimedOut => {
                    return Err(failure(504, "timeout", "no response in time"));
                }
            }
        }
        let limit = limit.min(most);
        let asked = integer(request, "offset", 0, 0)?;
        let limit = match options.pages {
            Pages::Fixed => most,
            _ => limit,
        };
        let offset = match options.pages {
            Pages::Any => asked,
            _ => asked - asked % limit,
        };
        if options.pages == Pages::Refused && offset != asked {
            let wrong = format!(": expected a multiple of {limit}");
            return Err(invalid_parameter("query", "offset", &wrong));
        }
        let slice = self.state().page(offset, limit);
        let count = slice.records.len() as u64;
        let mut out = Vec::with_capacity(200 + slice.records.len() * USUAL_RECORD_BYTES);
        let warned = options.warnings && count == 0 && list.record_key.is_none();
        let (total, has_more) = match options.total {
            Total::Exact | Total::Text | Total::Null | Total::Absent | Total::Nothing => {
                (slice.total, offset.saturating_add(count) < slice.total)
            }
            Total::Zero => (0, offset.saturating_add(count) < slice.total),
            Total::Unknown => (0, true),
        };
        let mut pagination = json!({
            "total": total,
            "limit": if warned { limit } else { count },
            "offset": if options.pages == Pages::Told { offset } else { asked },
            "hasMore": has_more,
        });
        if let Some(members) = pagination.as_object_mut() {
            members.extend(self.pagination.clone());
            match options.total {
                Total::Text => {
                    let texts = members.values_mut().filter(|value| !value.is_string());
                    texts.for_each(|value| *value = value.to_string().into());
                }
                Total::Null => members.extend([("total".to_owned(), Value::Null)]),
                Total::Absent => members.retain(|name, _| name != "total" && name != "hasMore"),
                _ => {}
            }
        }
        object(&mut out, |object| {
            for (name, value) in &self.members {
                object.json(name, value);
            }
            object.member(list.served_key(), |out| {
                array(out, &slice.records, |out, (number, version)| {
                    self.write(*number, *version, slice.read, out);
                });
            });
            if warned {
                let message = "There are no records at this place.";
                let warning = json!([{"code": "no_records", "message": message}]);
                object.json("warnings", &warning);
            }
            if options.total != Total::Nothing {
                object.json("pagination", &pagination);
            }
        });
        Ok(with_body(&list.success, out))
    }
}

fn integer(request: &Received, name: &str, default: u64, least: u64) -> Result<u64, Answer> {
    let Some(text) = request.parameter(name) else {
        return Ok(default);
    };
    // `parse` accepts a plus sign as well.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|one| digits && *one >= least);
    number.ok_or_else(|| {
        let wrong = format!(": expected an integer of at least {least}");
        invalid_parameter("query", name, &wrong)
    })
}

/// The size that is reserved for a record. It is enough for most records, so that the buffer seldom grows.
const USUAL_RECORD_BYTES: usize = 600;
