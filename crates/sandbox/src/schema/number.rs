//! Numbers within bounds, however the bounds are written.

use super::Shape;
use crate::samples::Rng;
use serde_json::{Number, Value};

/// How far a whole number goes from its only bound.
const SPAN: f64 = 999.0;

/// A bound, and whether it is excluded itself.
type Bound = (f64, bool);

/// The greatest lower and the least upper bound of several parts.
fn bounds<'a>(parts: impl Iterator<Item = &'a Value> + Clone) -> [Option<Bound>; 2] {
    [
        ("minimum", "exclusiveMinimum", 1.0),
        ("maximum", "exclusiveMaximum", -1.0),
    ]
    .map(|(inclusive, exclusive, sign)| {
        let written = parts.clone().flat_map(|part| {
            let number = |key| part.get(key).and_then(Value::as_f64);
            // OpenAPI 3.0 marks the other bound with `true`.
            let marked = part.get(exclusive) == Some(&Value::Bool(true));
            let one = number(inclusive).map(|bound| (bound, marked));
            one.into_iter()
                .chain(number(exclusive).map(|bound| (bound, true)))
        });
        written.max_by(|one, other| {
            let order = (sign * one.0).total_cmp(&(sign * other.0));
            order.then(one.1.cmp(&other.1))
        })
    })
}

fn factors<'a>(parts: impl Iterator<Item = &'a Value>) -> impl Iterator<Item = f64> {
    let factors = parts.filter_map(|part| part.get("multipleOf")?.as_f64());
    factors.filter(|factor| *factor > 0.0)
}

fn within([least, most]: [Option<Bound>; 2], value: f64) -> bool {
    least.is_none_or(|(bound, open)| value > bound || (value == bound && !open))
        && most.is_none_or(|(bound, open)| value < bound || (value == bound && !open))
}

/// Whether a number is an integer, whatever its size; 1.0 is one.
pub(super) fn is_whole(number: &Number) -> bool {
    let text = number.to_string();
    let digits = !text.contains(['.', 'e', 'E']);
    digits || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// What was expected instead of this number.
pub(super) fn check(part: &Value, number: &Number) -> Option<String> {
    let value = number.as_f64()?;
    let parts = std::iter::once(part);
    let [least, most] = bounds(parts.clone());
    for (bound, words) in [
        ([least, None], ["at least", "more than"]),
        ([None, most], ["at most", "less than"]),
    ] {
        if let Some((limit, open)) = bound[0].or(bound[1]).filter(|_| !within(bound, value)) {
            return Some(format!("a number of {} {limit}", words[usize::from(open)]));
        }
    }
    let factor = factors(parts).next()?;
    let times = value / factor;
    // Decimal fractions are not exact in a double.
    let fits = (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0);
    (!fits).then(|| format!("a multiple of {factor}"))
}

/// The smallest and the largest whole number that a schema allows.
pub(crate) fn whole(shape: &Shape<'_>) -> [Option<f64>; 2] {
    let [least, most] = bounds(shape.parts.iter().copied());
    let up = |(bound, open): Bound| {
        if open {
            bound.floor() + 1.0
        } else {
            bound.ceil()
        }
    };
    let down = |(bound, open): Bound| {
        if open {
            bound.ceil() - 1.0
        } else {
            bound.floor()
        }
    };
    [least.map(up), most.map(down)]
}

/// An integer that the schema allows.
pub(super) fn integer(shape: &Shape<'_>, rng: &mut Rng) -> Option<Value> {
    let (least, most) = match whole(shape) {
        [Some(least), Some(most)] => (least, most),
        [Some(least), None] => (least, least + SPAN),
        [None, Some(most)] => ((most - SPAN).max(most.min(0.0)), most),
        [None, None] => (0.0, SPAN),
    };
    // Larger numbers than anyone writes, which add up without an overflow.
    let exact = |number: f64| number.clamp(-1e30, 1e30) as i128;
    let factor = factors(shape.parts.iter().copied()).map(|factor| exact(factor.ceil()));
    let factor = factor.fold(1, least_common_multiple);
    let first = exact(least) + (-exact(least)).rem_euclid(factor);
    let count = exact(most).saturating_sub(first).div_euclid(factor) + 1;
    let count = u64::try_from(count).ok().filter(|count| *count > 0)?;
    let number = first + i128::from(rng.below(count)) * factor;
    let exact = i64::try_from(number).map(Value::from);
    Some(exact.unwrap_or_else(|_| u64::try_from(number).unwrap_or(u64::MAX).into()))
}

/// A number that the schema allows.
pub(super) fn number(shape: &Shape<'_>, rng: &mut Rng) -> Option<Value> {
    let limits = bounds(shape.parts.iter().copied());
    let (least, most) = match limits.map(|one| one.map(|(bound, _)| bound)) {
        [Some(least), Some(most)] => (least, most),
        [Some(least), None] => (least, least + 1.0),
        [None, Some(most)] => (most - 1.0, most),
        [None, None] => (0.0, 1.0),
    };
    // Not a bound itself, which may be excluded, unless there is nothing else.
    let between = least + (most - least) * (1 + rng.below(998)) as f64 / 1000.0;
    let number = match factors(shape.parts.iter().copied()).next() {
        None => Some(between),
        Some(factor) => [(between / factor).floor(), (between / factor).ceil()]
            .map(|times| times * factor)
            .into_iter()
            .find(|multiple| within(limits, *multiple)),
    };
    Number::from_f64(number?).map(Value::Number)
}

fn least_common_multiple(one: i128, other: i128) -> i128 {
    let (mut a, mut b) = (one, other.max(1));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    one.saturating_mul(other.max(1) / a)
}
