//! Texts of documented formats and lengths.

use serde_json::Value;

use super::Shape;
use crate::data::{Rng, uuid};

/// Beginnings of texts without a format, some of them outside ASCII.
const WORDS: [&str; 6] = ["sample", "Übung", "пример", "例", "échantillon", "δείγμα"];

/// A text that the schema allows, apart from its `pattern`.
pub(super) fn text(shape: &Shape<'_>, rng: &mut Rng) -> Value {
    let mut text = of_format(shape.format().unwrap_or_default(), rng);
    let bound = |key| shape.values(key).filter_map(Value::as_u64);
    let least = bound("minLength").max().unwrap_or_default();
    let most = bound("maxLength").min().unwrap_or(u64::MAX);
    let count = text.chars().count() as u64;
    if count > most {
        // The end differs most.
        text = text.chars().skip((count - most) as usize).collect();
    }
    for _ in count..least.min(most).min(MOST_PADDING) {
        text.push('x');
    }
    text.into()
}

/// A longer text is of no use to anybody.
const MOST_PADDING: u64 = 1 << 20;

fn of_format(format: &str, rng: &mut Rng) -> String {
    let number = rng.below(100_000);
    match format {
        "date-time" => format!("{}T{}Z", date(rng), time(rng)),
        "date" => date(rng),
        "time" => format!("{}Z", time(rng)),
        "duration" => format!("P{}D", 1 + number % 90),
        "uuid" => uuid(rng.next()),
        "email" | "idn-email" => format!("person{number}@example.com"),
        "uri" | "url" | "iri" | "uri-reference" | "iri-reference" => {
            format!("https://example.com/{number}")
        }
        "uri-template" => format!("https://example.com/{number}/{{id}}"),
        "hostname" | "idn-hostname" => format!("host{number}.example.com"),
        "ipv4" => format!("192.0.2.{}", number % 256),
        "ipv6" => format!("2001:db8::{:x}", number % 0xffff),
        "byte" => "c2FtcGxl".to_owned(),
        "json-pointer" => format!("/{number}"),
        "regex" => "^sample".to_owned(),
        _ => format!("{} {number}", rng.pick(&WORDS)),
    }
}

fn date(rng: &mut Rng) -> String {
    let [year, month, day] = [7, 12, 28].map(|count| rng.below(count));
    format!("{}-{:02}-{:02}", 2019 + year, 1 + month, 1 + day)
}

fn time(rng: &mut Rng) -> String {
    let [hour, minute, second] = [24, 60, 60].map(|count| rng.below(count));
    format!("{hour:02}:{minute:02}:{second:02}")
}
