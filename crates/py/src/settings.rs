//! The settings of a client, from what Python gives by name; their values are checked by core.

use crate::arguments::Arguments;
use crate::errors::error;
use pyo3::prelude::*;
use talentdata_core::settings::{Kind, SETTINGS, Setting, Value};
use talentdata_core::{Builder, ErrorKind};

/// Sets what is given; what is absent or `None` stays as it is.
pub(crate) fn set<'py>(builder: &mut Builder, given: &mut Arguments<'py>) -> PyResult<()> {
    for setting in SETTINGS {
        if let Some(value) = given.take_any(setting.name)? {
            builder.set(setting.name, read(setting, &value)?);
        }
    }
    Ok(())
}

/// The value of a setting; one of the wrong type may be a secret, and is not shown.
fn read(setting: &Setting, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let read = match setting.kind {
        Kind::BaseUrl
        | Kind::Text
        | Kind::Secret
        | Kind::Proxy
        | Kind::Budget
        | Kind::Choice(_) => value.extract::<String>().map(Value::from),
        Kind::Duration(_) | Kind::Integer(_) | Kind::Number(_) => {
            value.extract::<f64>().map(Value::from)
        }
        Kind::Boolean(_) => value.extract::<bool>().map(Value::from),
    };
    read.or_else(|_| {
        let class = value.get_type().name()?;
        let message = setting.wrong_type(&class.to_string());
        Err(error(value.py(), ErrorKind::Config, message))
    })
}
