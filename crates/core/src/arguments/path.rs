//! Puts the values of parameters into the path.

use super::{blank, wrong};
use crate::error::Result;
use talentdata_types::Parameter;

/// A segment of the path with the values of the parameters that it names. What a value holds is not looked into, so that
/// one with braces names no other parameter.
pub(super) fn filled(segment: &str, values: &[(&Parameter, String)]) -> Result<String> {
    let (mut out, mut rest, mut last) = (String::new(), segment, None);
    while let Some((before, behind)) = rest.split_once('{') {
        let named = behind.split_once('}').and_then(|(name, behind)| {
            let found = values
                .iter()
                .find(|(parameter, _)| parameter.name == name)?;
            Some((found, behind))
        });
        let Some(((parameter, value), behind)) = named else {
            break;
        };
        if value.is_empty() {
            return Err(blank(parameter));
        }
        out += before;
        out += value;
        rest = behind;
        last = Some(parameter);
    }
    out += rest;
    match last {
        // These are steps within a path, also where they are escaped: another address would be called.
        Some(parameter) if out == "." || out == ".." => Err(wrong(
            parameter.argument,
            format_args!("must not be {out:?}, which leads to another address"),
        )),
        _ => Ok(out),
    }
}
