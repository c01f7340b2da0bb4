//! Numbers within bounds, however the bounds are written.

use super::Shape;
use crate::samples::Rng;
use serde_json::{Number, Value};

/// How many steps a number goes from its only bound.
const STEPS: f64 = 999.0;

/// A bound, and whether it is excluded itself.
type Bound = (f64, bool);

/// The greatest lower and the least upper bound of several parts.
fn bounds(parts: &[&Value]) -> [Option<Bound>; 2] {
    [
        ("minimum", "exclusiveMinimum", 1.0),
        ("maximum", "exclusiveMaximum", -1.0),
    ]
    .map(|(inclusive, exclusive, sign)| {
        let written = parts.iter().flat_map(|part| {
            let number = |key| part.get(key).and_then(Value::as_f64);
            // OpenAPI 3.0 marks the other bound with `true`.
            let marked = part.get(exclusive) == Some(&Value::Bool(true));
            let one = number(inclusive).map(|bound| (bound, marked));
            let other = number(exclusive).map(|bound| (bound, true));
            one.into_iter().chain(other)
        });
        written.max_by(|one, other| {
            let order = (sign * one.0).total_cmp(&(sign * other.0));
            order.then(one.1.cmp(&other.1))
        })
    })
}

fn factor(part: &Value) -> Option<f64> {
    let factor = part.get("multipleOf")?.as_f64();
    factor.filter(|factor| *factor > 0.0)
}

/// Whether a number is an integer, whatever its size; 1.0 is one.
pub(super) fn is_whole(number: &Number) -> bool {
    let text = number.to_string();
    let digits = !text.contains(['.', 'e', 'E']);
    digits || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// What was expected instead of this number.
pub(super) fn check(part: &Value, number: f64) -> Option<String> {
    let [least, most] = bounds(&[part]);
    match (least, most) {
        (Some((bound, true)), _) if number <= bound => {
            Some(format!("a number of more than {bound}"))
        }
        (Some((bound, _)), _) if number < bound => Some(format!("a number of at least {bound}")),
        (_, Some((bound, true))) if number >= bound => {
            Some(format!("a number of less than {bound}"))
        }
        (_, Some((bound, _))) if number > bound => Some(format!("a number of at most {bound}")),
        _ => {
            let factor = factor(part)?;
            let times = number / factor;
            // Decimal fractions are not exact in a double.
            let fits = (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0);
            (!fits).then(|| format!("a multiple of {factor}"))
        }
    }
}

/// The smallest and the largest whole number that a schema allows.
pub(crate) fn whole(shape: &Shape<'_>) -> [Option<f64>; 2] {
    let [least, most] = bounds(&shape.parts);
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

/// A number that the schema allows, or an integer that it allows; none where none was found.
pub(super) fn number(shape: &Shape<'_>, integer: bool, rng: &mut Rng) -> Option<Value> {
    let limits = match integer {
        true => whole(shape),
        false => bounds(&shape.parts).map(|one| one.map(|(bound, _)| bound)),
    };
    let factor = shape
        .parts
        .iter()
        .filter_map(|part| factor(part))
        .reduce(f64::max);
    let step = match (factor, limits) {
        (Some(factor), _) if integer => factor.ceil(),
        (Some(factor), _) => factor,
        (None, _) if integer => 1.0,
        (None, [Some(least), Some(most)]) => {
            ((most - least) / (STEPS + 1.0)).max(f64::MIN_POSITIVE)
        }
        (None, _) => 1.0 / (STEPS + 1.0),
    };
    let (least, most) = match limits {
        [Some(least), Some(most)] => (least, most),
        [Some(least), None] => (least, least + STEPS * step),
        [None, Some(most)] => ((most - STEPS * step).max(most.min(0.0)), most),
        [None, None] => (0.0, STEPS * step),
    };
    let first = (least / step).ceil();
    let count = ((most / step).floor() - first + 1.0).clamp(0.0, 1e15) as u64;
    let start = rng.below(count);
    // Bounds may be excluded, and another part may ask for multiples of something else.
    let mut numbers = (0..count.min(1000)).map(|n| (first + ((start + n) % count) as f64) * step);
    let number = numbers.find(|number| {
        let mut parts = shape.parts.iter();
        parts.all(|part| check(part, *number).is_none())
    })?;
    match integer {
        true if number < 0.0 => Some((number as i64).into()),
        true => Some((number as u64).into()),
        false => Number::from_f64(number).map(Value::Number),
    }
}
