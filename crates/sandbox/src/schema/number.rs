//! Numbers within bounds, however the bounds are written.

use serde_json::{Number, Value};

use super::Shape;
use crate::data::Rng;

/// How far a number goes from its only bound.
const SPAN: i128 = 999;

/// Whether a number is an integer, whatever its size; 1.0 is one.
pub(super) fn is_whole(number: &Number) -> bool {
    let text = number.to_string();
    let digits = !text.contains(['.', 'e', 'E']);
    digits || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// What was expected instead of this number.
pub(super) fn check(part: &Value, number: &Number) -> Option<String> {
    let value = number.as_f64()?;
    let bound = |key: &str| part.get(key).and_then(Value::as_f64);
    let marked = |key: &str| part.get(key) == Some(&Value::Bool(true));
    let (above, below) = (marked("exclusiveMinimum"), marked("exclusiveMaximum"));
    let least = |bound: f64| value > bound || (value == bound && !above);
    let most = |bound: f64| value < bound || (value == bound && !below);
    for (key, fits, word) in [
        (
            "minimum",
            &least as &dyn Fn(f64) -> bool,
            if above { "more than" } else { "at least" },
        ),
        (
            "maximum",
            &most,
            if below { "less than" } else { "at most" },
        ),
        ("exclusiveMinimum", &|bound| value > bound, "more than"),
        ("exclusiveMaximum", &|bound| value < bound, "less than"),
    ] {
        if let Some(bound) = bound(key).filter(|bound| !fits(*bound)) {
            return Some(format!("a number of {word} {bound}"));
        }
    }
    let factor = bound("multipleOf").filter(|factor| *factor > 0.0)?;
    let times = value / factor;
    // Decimal fractions are not exact in a double.
    let fits = (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0);
    (!fits).then(|| format!("a multiple of {factor}"))
}

/// The largest whole number that a schema allows.
pub(crate) fn most(shape: &Shape<'_>) -> Option<i128> {
    let marked = shape
        .values("exclusiveMaximum")
        .any(|one| *one == Value::Bool(true));
    let inclusive = shape
        .values("maximum")
        .filter_map(|one| whole(one, f64::floor));
    let inclusive = inclusive.map(|bound| if marked { bound - 1 } else { bound });
    let exclusive = shape
        .values("exclusiveMaximum")
        .filter_map(|one| whole(one, f64::ceil));
    inclusive.chain(exclusive.map(|bound| bound - 1)).min()
}

/// The smallest whole number that a schema allows.
pub(crate) fn least(shape: &Shape<'_>) -> Option<i128> {
    let marked = shape
        .values("exclusiveMinimum")
        .any(|one| *one == Value::Bool(true));
    let inclusive = shape
        .values("minimum")
        .filter_map(|one| whole(one, f64::ceil));
    let inclusive = inclusive.map(|bound| if marked { bound + 1 } else { bound });
    let exclusive = shape
        .values("exclusiveMinimum")
        .filter_map(|one| whole(one, f64::floor));
    inclusive.chain(exclusive.map(|bound| bound + 1)).max()
}

/// A bound, exact where it is written as an integer.
fn whole(bound: &Value, round: impl Fn(f64) -> f64) -> Option<i128> {
    let exact = bound
        .as_i64()
        .map(i128::from)
        .or(bound.as_u64().map(i128::from));
    // The cast saturates, as a bound should.
    exact.or_else(|| Some(round(bound.as_f64()?) as i128))
}

/// An integer that the schema allows.
pub(super) fn integer(shape: &Shape<'_>, rng: &mut Rng) -> Value {
    let (least, most) = match (least(shape), most(shape)) {
        (Some(least), Some(most)) => (least, most),
        (Some(least), None) => (least, least.saturating_add(SPAN)),
        (None, Some(most)) => (most.saturating_sub(SPAN).max(0.min(most)), most),
        (None, None) => (0, SPAN),
    };
    let factor = shape
        .values("multipleOf")
        .filter_map(|one| whole(one, f64::ceil));
    let factor = factor
        .filter(|factor| *factor > 1)
        .fold(1, least_common_multiple);
    let first = least.div_euclid(factor) + i128::from(least.rem_euclid(factor) > 0);
    let last = most.div_euclid(factor);
    let count = u64::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(u64::MAX);
    let number = first
        .saturating_add(rng.below(count).into())
        .saturating_mul(factor);
    let exact = i64::try_from(number).map(Value::from);
    exact.unwrap_or_else(|_| u64::try_from(number).unwrap_or(u64::MAX).into())
}

/// A number that the schema allows.
pub(super) fn number(shape: &Shape<'_>, rng: &mut Rng) -> Value {
    let factor = shape
        .values("multipleOf")
        .filter_map(Value::as_f64)
        .find(|factor| *factor > 0.0);
    let bounds = |keys: [&'static str; 2]| {
        keys.into_iter()
            .flat_map(|key| shape.values(key))
            .filter_map(Value::as_f64)
    };
    let least = bounds(["minimum", "exclusiveMinimum"]).reduce(f64::max);
    let most = bounds(["maximum", "exclusiveMaximum"]).reduce(f64::min);
    let (least, most) = match (least, most) {
        (Some(least), Some(most)) => (least, most),
        (Some(least), None) => (least, least + 1.0),
        (None, Some(most)) => (most - 1.0, most),
        (None, None) => (0.0, 1.0),
    };
    // Never a bound itself, which may be excluded, unless there is nothing else.
    let between = least + (most - least) * (1 + rng.below(998)) as f64 / 1000.0;
    let number = match factor {
        None => between,
        Some(factor) => {
            let below = (between / factor).floor() * factor;
            if below > least {
                below
            } else {
                (between / factor).ceil() * factor
            }
        }
    };
    Number::from_f64(number).map_or(Value::from(0), Value::Number)
}

fn least_common_multiple(one: i128, other: i128) -> i128 {
    let (mut a, mut b) = (one, other);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    one.saturating_mul(other / a)
}
