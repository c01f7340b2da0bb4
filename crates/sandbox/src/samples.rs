//! Sample records, computed from (seed, list, number) by the templates of `samples.json`. They are never stored.
//!
//! A template is JSON. `{...}` in its strings, which are the content of JSON strings as it is sent, is filled in. An
//! object with a member that begins with `$` is replaced by a generated value:
//!
//! | Template | Generated value |
//! |---|---|
//! | `{"$literal": T}` | the text, filled in, without quotes |
//! | `{"$pick": [T, ...]}`, `{"$pick": NAME}` | one of these, or of the texts of this name |
//! | `{"$nullable": [N, T]}` | null once in N records |
//! | `{"$some": [N, T]}`, `{"$late": T}` | a member of one record in N, or of the last tenth of the records |
//! | `{"$array": [LEAST, COUNT, T]}` | an array of LEAST up to less than LEAST + COUNT elements |
//! | `{"$first": {...}}` | some of the first members of an object |
//! | `{"$time": DAYS}`, `{"$date": DAYS}` | a time, or its day: up to DAYS after the last one, or any for 0 |
//! | `{"$id": LIST}`, `{"$record": LIST}` | the `id` of a record, or an object of its `id` and its name |
//! | `{"$records": [LIST, LEAST, COUNT, {...}]}` | different such objects, with more members |
//! | `{"$earlier": KIND}` | the `id` or the object of an earlier record of the same list; null in the first one |

use chrono::DateTime;
use serde_json::{Map, Value};
use std::io::Write as _;
use std::sync::OnceLock;
use std::time::Duration;

const DAY: u64 = 86_400;
/// The number of days from 1970-01-01 to 2019-01-01.
const FIRST_DAY: u64 = 17_897;
/// The first time in a record is within these six years, so that there is room for later times.
const DAYS: u64 = 6 * 365;
/// The number of records at the beginning of a list to which references point. Most lists have at least that many.
const REFERENCED: u64 = 100;

/// Returns the templates of the lists, the texts and people that they use, the version report and the permissions.
///
/// Names of permissions and numbers of versions are the sandbox's choice within sections 2 and 9: permissions are
/// `<action>:<resource>`, matching has the highest major version, and only AI-powered categories have a model.
pub(crate) fn samples() -> &'static Value {
    static SAMPLES: OnceLock<Value> = OnceLock::new();
    // The file is part of the program, and a test reads it.
    SAMPLES.get_or_init(|| serde_json::from_str(include_str!("samples.json")).unwrap_or_default())
}

/// Returns the members of the sample records of this list, if it has any.
pub(crate) fn members_of(list: &str) -> Option<&'static Map<String, Value>> {
    samples()["lists"].get(list)?.as_object()
}

/// Returns the number of records in a list without a configured size.
pub(crate) fn default_size(list: &str) -> u64 {
    match list {
        "contacts" => 2500,
        name => 40 + hash(name) % 1161,
    }
}

/// Returns a key that makes the records of one list and seed differ from the records of another.
pub(crate) fn key(list: &str, seed: u64) -> u64 {
    seed ^ hash(list)
}

/// Returns the form of ids, unless the API description requires another one.
///
/// Tasks have integers beyond 2^53, which collide when they are read as floating point. All other lists have strings.
pub(crate) fn id_form(list: &str) -> IdForm {
    match list {
        "ja_tasks" => IdForm::Integer((1 << 53) + 1),
        _ => IdForm::Hexadecimal,
    }
}

/// The form of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdForm {
    /// 16 hexadecimal digits.
    Hexadecimal,
    Uuid,
    /// An integer, counted from this one.
    Integer(u64),
}

impl IdForm {
    /// Writes the id of record `number` as a JSON value. Each list has a different `key`.
    pub(crate) fn write(self, key: u64, number: u64, out: &mut Vec<u8>) {
        // Scrambling is one-to-one, so different numbers cannot collide.
        let scrambled = scramble(number.wrapping_add(key));
        match self {
            IdForm::Integer(first) => put(out, first.wrapping_add(number)),
            IdForm::Hexadecimal => put(out, format_args!("\"{}\"", hexadecimal(scrambled))),
            IdForm::Uuid => put(out, format_args!("\"{}\"", uuid(scrambled))),
        }
    }
}

/// Returns 16 hexadecimal digits.
pub(crate) fn hexadecimal(number: u64) -> String {
    format!("{number:016x}")
}

/// Returns a UUID of version 4 that contains all bits of `number`.
pub(crate) fn uuid(number: u64) -> String {
    let digits = hexadecimal(number);
    let (first, rest) = digits.split_at(8);
    let (second, rest) = rest.split_at(4);
    let (third, fourth) = rest.split_at(3);
    let last = scramble(number) >> 16;
    format!("{first}-{second}-4{third}-8{fourth}00-{last:012x}")
}

/// A JSON object that is being written.
pub(crate) struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    comma: bool,
}

impl ObjectWriter<'_> {
    /// Writes a member whose value `write` writes. The name is written without escaping.
    pub(crate) fn member(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        if self.comma {
            self.out.push(b',');
        }
        self.comma = true;
        put(self.out, format_args!("\"{name}\":"));
        write(self.out);
    }

    /// Writes a member with any name and value.
    pub(crate) fn json(&mut self, name: &str, value: &Value) {
        let name = Value::from(name).to_string();
        self.member(&name[1..name.len() - 1], |out| put(out, value));
    }
}

/// Writes an object whose members `write` writes.
pub(crate) fn object(out: &mut Vec<u8>, write: impl FnOnce(&mut ObjectWriter<'_>)) {
    out.push(b'{');
    write(&mut ObjectWriter { out, comma: false });
    out.push(b'}');
}

/// Writes a value as it is displayed.
pub(crate) fn put(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{value}");
}

/// Writes elements with commas in between.
pub(crate) fn array<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// The state of the record that is being written, with the values for its templates.
pub(crate) struct SampleRecord<'a> {
    list: &'a str,
    seed: u64,
    number: u64,
    rng: Rng,
    /// The place in the innermost array.
    index: u64,
    /// The previous time in the record, in seconds since 1970.
    time: u64,
    culture: &'static Value,
    /// A given name and a family name, each in its usual spelling and in the form for addresses.
    names: [&'static Value; 2],
}

impl<'a> SampleRecord<'a> {
    /// Starts record `number` of a list after `version` updates. The same seed gives the same record, regardless of the
    /// size of the list.
    pub(crate) fn new(list: &'a str, seed: u64, number: u64, version: u32) -> Self {
        let mut rng = Rng::new(key(list, seed) ^ scramble(number) ^ u64::from(version));
        let culture = pick(&mut rng, &samples()["people"]);
        let names = ["given", "family"].map(|name| pick(&mut rng, &culture[name]));
        SampleRecord {
            list,
            seed,
            number,
            rng,
            index: 0,
            time: 0,
            culture,
            names,
        }
    }

    /// Writes the members, all except the `id`.
    pub(crate) fn write_members(&mut self, object: &mut ObjectWriter<'_>) {
        if let Some(members) = template(self.list) {
            self.members(members, object);
        }
    }

    fn members(&mut self, members: &'static Map<String, Value>, object: &mut ObjectWriter<'_>) {
        for (name, template) in members {
            let present = match generator(template) {
                Some(("$some", some)) => self.one_in(some).then_some(&some[1]),
                Some(("$late", late)) => {
                    (self.number >= default_size(self.list) / 10 * 9).then_some(late)
                }
                _ => Some(template),
            };
            if let Some(template) = present {
                object.member(name, |out| self.write(template, out));
            }
        }
    }

    fn write(&mut self, template: &'static Value, out: &mut Vec<u8>) {
        match template {
            Value::String(text) => {
                out.push(b'"');
                self.fill(text, out);
                out.push(b'"');
            }
            Value::Array(items) => array(out, items, |out, item| self.write(item, out)),
            Value::Object(members) => match generator(template) {
                Some((kind, of)) => self.generate(kind, of, out),
                None => object(out, |object| self.members(members, object)),
            },
            other => put(out, other),
        }
    }

    fn generate(&mut self, kind: &str, of: &'static Value, out: &mut Vec<u8>) {
        let text = of.as_str().unwrap_or_default();
        match kind {
            "$literal" => self.fill(text, out),
            "$pick" => {
                let named = &samples()["texts"][text];
                let chosen = pick(&mut self.rng, if of.is_array() { of } else { named });
                self.write(chosen, out);
            }
            "$nullable" => {
                if self.one_in(of) {
                    out.extend_from_slice(b"null")
                } else {
                    self.write(&of[1], out)
                }
            }
            "$array" => {
                let count = self.count(&of[0], &of[1]);
                array(out, 0..count, |out, index| {
                    self.index = index;
                    self.write(&of[2], out);
                });
            }
            "$first" => {
                let members = of.as_object().into_iter().flatten();
                let count = 1 + self.rng.below(members.clone().count() as u64);
                object(out, |object| {
                    for (name, template) in members.take(count as usize) {
                        object.member(name, |out| self.write(template, out));
                    }
                });
            }
            "$time" | "$date" => {
                let days = of.as_u64().unwrap_or_default();
                self.time = match days {
                    0 => FIRST_DAY * DAY + self.rng.below(DAYS * DAY),
                    days => self.time + 60 + self.rng.below(days * DAY),
                };
                let mut moment = moment(self.time);
                moment.truncate(if kind == "$date" { 10 } else { moment.len() });
                put(out, format_args!("\"{moment}\""));
            }
            "$records" => {
                let list = of[0].as_str().unwrap_or_default();
                let count = self.count(&of[1], &of[2]);
                let mut numbers: Vec<u64> = (0..count).map(|_| self.referenced(list)).collect();
                numbers.sort_unstable();
                numbers.dedup();
                array(out, numbers, |out, number| {
                    object(out, |object| {
                        self.reference(list, number, object);
                        let more = of[3].as_object().into_iter();
                        more.for_each(|more| self.members(more, object));
                    });
                });
            }
            "$earlier" if self.number == 0 => out.extend_from_slice(b"null"),
            "$earlier" => {
                let number = self.rng.below(self.number);
                self.refer(text, self.list, number, out);
            }
            _ => {
                let number = self.referenced(text);
                self.refer(&kind[1..], text, number, out);
            }
        }
    }

    /// Writes the `id` of a record, or an object of its `id` and name.
    fn refer(&self, kind: &str, list: &str, number: u64, out: &mut Vec<u8>) {
        match kind {
            "id" => id_form(list).write(key(list, self.seed), number, out),
            _ => object(out, |object| self.reference(list, number, object)),
        }
    }

    fn reference(&self, list: &str, number: u64, object: &mut ObjectWriter<'_>) {
        object.member("id", |out| self.refer("id", list, number, out));
        // The first member of a record is its name if others refer to it.
        if let Some(name) = template(list).and_then(|members| members.values().next()) {
            let mut record = SampleRecord::new(list, self.seed, number, 0);
            object.member("name", |out| record.write(name, out));
        }
    }

    fn referenced(&mut self, list: &str) -> u64 {
        self.rng.below(default_size(list).min(REFERENCED))
    }

    fn one_in(&mut self, chance: &Value) -> bool {
        let times = chance[0].as_u64().unwrap_or(1);
        self.rng.one_in(times)
    }

    fn count(&mut self, least: &Value, count: &Value) -> u64 {
        let [least, count] = [least, count].map(|one| one.as_u64().unwrap_or_default());
        least + self.rng.below(count)
    }

    /// Writes a text, with everything in braces filled in.
    fn fill(&mut self, text: &str, out: &mut Vec<u8>) {
        let mut rest = text;
        while let Some((before, (name, after))) = rest
            .split_once('{')
            .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            out.extend_from_slice(before.as_bytes());
            self.named(name, out);
            rest = after;
        }
        out.extend_from_slice(rest.as_bytes());
    }

    fn named(&mut self, name: &str, out: &mut Vec<u8>) {
        let text = |value: &'static Value| value.as_str().unwrap_or_default();
        let [given, family] = self.names;
        match name {
            "number" => put(out, self.number),
            "number8" => put(out, format_args!("{:08}", self.number)),
            "index" => put(out, self.index),
            "list" => put(out, self.list),
            "given" => put(out, text(&given[0])),
            "family" => put(out, text(&family[0])),
            // The address cannot belong to anybody, because the example domains are reserved.
            "email" => {
                let domain = ["com", "org", "net"][(self.number % 3) as usize];
                let (given, family, number) = (text(&given[1]), text(&family[1]), self.number);
                let address = format!("{given}.{family}.{number}@example.{domain}");
                put(out, address);
            }
            // Mostly four digits, now and then 17, which is more than a double can represent.
            "fraction" => match self.rng.below(100_000_000_000_000_000) {
                digits if digits.is_multiple_of(50) => put(out, format_args!("0.{digits:017}")),
                digits => put(
                    out,
                    format_args!("0.{:03}{}", digits / 9 % 1000, 1 + digits % 9),
                ),
            },
            name => match name.split_once("..") {
                Some((from, to)) => {
                    let [from, to] = [from, to].map(|one| one.parse::<u64>().unwrap_or_default());
                    put(out, from + self.rng.below(to.saturating_sub(from)));
                }
                None => put(out, text(&self.culture[name])),
            },
        }
    }
}

/// Returns the kind and the argument of a template that generates a value.
fn generator(template: &'static Value) -> Option<(&'static str, &'static Value)> {
    let (kind, of) = template.as_object()?.iter().next()?;
    kind.starts_with('$').then_some((kind, of))
}

/// Returns the members of a list's records. Lists without samples of their own use the empty name.
fn template(list: &str) -> Option<&'static Map<String, Value>> {
    members_of(list).or_else(|| members_of(""))
}

fn pick(rng: &mut Rng, all: &'static Value) -> &'static Value {
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    all.get(rng.below(all.len() as u64) as usize)
        .unwrap_or(&Value::Null)
}

/// Returns seconds since 1970 as a date-time of RFC 3339 in UTC.
fn moment(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    format!("{time:?}")
}

/// Returns a time since 1970 as a date-time of RFC 3339 in UTC, with microseconds.
pub(crate) fn moment_text(since: Duration) -> String {
    let seconds = moment(since.as_secs());
    let micros = since.subsec_micros();
    format!("{}.{micros:06}Z", seconds.trim_end_matches('Z'))
}

/// A SplitMix64 generator.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.0)
    }

    /// Returns a number less than `bound`; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Puts `items` in a random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Returns one of `items`, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// Maps 64-bit numbers one-to-one with SplitMix64's finaliser.
pub(crate) const fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Returns the FNV-1a hash of a name.
pub(crate) fn hash(name: &str) -> u64 {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests;
