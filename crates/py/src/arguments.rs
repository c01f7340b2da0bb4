//! Arguments from Python. Each error names the argument and its type.

use crate::errors::{CallResult, invalid};
use crate::record::PyRecord;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyMapping, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use talentdata_columns::arrow::TableSchema;
use talentdata_core::Arguments;
use talentdata_core::types::ListName;
use talentdata_mirror::internal::{JobOption, JobOptions, OptionKind};
use talentdata_sandbox::{Options, SANDBOX_OPTIONS, SandboxValue};

/// Reads the name of a list, in any spelling.
pub(crate) fn list_of(name: &str) -> CallResult<ListName> {
    let parsed = name.parse::<ListName>();
    parsed.map_err(|unknown| invalid(unknown.to_string()))
}

/// Reads the arguments of a call from parameters in a JSON object, and a JSON body.
pub(crate) fn arguments(parameters: Option<&str>, body: Option<String>) -> CallResult<Arguments> {
    let parameters = serde_json::from_str(parameters.unwrap_or("{}"));
    let parameters = parameters.map_err(|_| invalid("parameters: not a JSON object"))?;
    Ok(Arguments::new(parameters, body))
}

/// A list, and the values of its parameters. In Python it is a name and a JSON object.
pub(crate) struct ListArguments {
    pub(crate) name: ListName,
    pub(crate) arguments: Arguments,
}

impl<'py> FromPyObject<'_, 'py> for ListArguments {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (name, parameters) = given.extract::<(String, Option<String>)>()?;
        Ok(ListArguments {
            name: list_of(&name)?,
            arguments: arguments(parameters.as_deref(), None)?,
        })
    }
}

/// Reads the value of an argument.
pub(crate) fn read<'py, T: FromPyObjectOwned<'py>>(
    name: &str,
    value: &Bound<'py, PyAny>,
) -> CallResult<T> {
    value.extract::<T>().map_err(|wrong| {
        let wrong: PyErr = wrong.into();
        invalid(format!("{name}: {}", wrong.value(value.py())))
    })
}

/// Reads the options of a scan, an export, a sync or rows of a mirror, by their names.
pub(crate) fn job_options(
    given: &Bound<'_, PyDict>,
    arguments: Arguments,
) -> CallResult<JobOptions> {
    let mut options = JobOptions::default();
    options.scan.arguments = arguments;
    for (name, value) in given_of(given)? {
        let option = JobOption::find(&name).map_err(invalid)?;
        match (option.kind, value.extract::<Duration>()) {
            (OptionKind::Columns, _) => options.table.schema = Some(Arc::new(schema(&value)?)),
            (OptionKind::Age, Ok(age)) => options.keep = Some(age),
            (OptionKind::Names, _) | (OptionKind::Choice(_), _)
                if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() =>
            {
                // A list of columns means the option `fields`.
                let fields = if option.name == "columns" {
                    JobOption::find("fields").map_err(invalid)?
                } else {
                    option
                };
                let names: Vec<String> = read(option.name, &value)?;
                options.set(fields, &serde_json::json!(names).to_string())?;
            }
            (OptionKind::Names, _) if !value.is_instance_of::<PyString>() => {
                let class = value.get_type().name()?.to_string();
                return Err(invalid(option.wrong_type_message(&class)));
            }
            (OptionKind::Mode, _)
                if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() =>
            {
                options.set(
                    option,
                    &format!("{:04o}", read::<u32>(option.name, &value)?),
                )?;
            }
            (kind, _) => {
                let is_text = !matches!(kind, OptionKind::Count(..) | OptionKind::Flag);
                let wrong = |got: &str| option.wrong_type_message(got);
                options.set(option, &text_of(&value, is_text, wrong)?)?;
            }
        }
    }
    Ok(options)
}

/// Reads the options of a sandbox, by their names.
pub(crate) fn sandbox_options(given: &Bound<'_, PyDict>) -> CallResult<Options> {
    let mut options = Options::default();
    for (name, value) in given_of(given)? {
        let option = SANDBOX_OPTIONS.iter().find(|option| option.name == name);
        let option = option.ok_or_else(|| invalid(format!("{name}: there is no such option")))?;
        let is_text = matches!(option.kind, SandboxValue::Choice(..));
        let wrong = |got: &str| option.wrong_type_message(got);
        let text = text_of(&value, is_text, wrong)?;
        if !text.is_empty() {
            options.set(option, &text).map_err(invalid)?;
        }
    }
    Ok(options)
}

/// Returns the names and values in a dictionary. A value `None` stands for the default and is omitted.
fn given_of<'py>(given: &Bound<'py, PyDict>) -> CallResult<Vec<(String, Bound<'py, PyAny>)>> {
    let given = given.iter().filter(|(_, value)| !value.is_none());
    let given = given.map(|(name, value)| Ok((name.extract()?, value)));
    Ok(given.collect::<PyResult<_>>()?)
}

/// Returns a value in the form that the tables of options read: a number, a boolean, numbers by name (`a=1,b=2`), or a
/// string if the option takes one. `wrong` returns the error for a value of another type.
fn text_of(
    value: &Bound<'_, PyAny>,
    is_text: bool,
    wrong: impl FnOnce(&str) -> String,
) -> CallResult<String> {
    if let Ok(truth) = value.extract::<bool>() {
        return Ok(truth.to_string());
    }
    if let Ok(numbers) = value.cast::<PyMapping>() {
        let pairs = numbers.items()?.iter().map(|pair| {
            let (name, number) = pair.extract::<(String, Bound<'_, PyAny>)>()?;
            Ok(format!("{}={}", name.replace('_', "-"), number.str()?))
        });
        return Ok(pairs.collect::<PyResult<Vec<String>>>()?.join(","));
    }
    let is_taken = if value.is_instance_of::<PyString>() {
        is_text
    } else {
        value.extract::<f64>().is_ok()
    };
    if !is_taken {
        return Err(invalid(wrong(&value.get_type().name()?.to_string())));
    }
    Ok(value.str()?.to_string())
}

/// Reads a schema from the path of a file, the result of `schema()`, or a `pyarrow.Schema`.
fn schema(given: &Bound<'_, PyAny>) -> CallResult<TableSchema> {
    Ok(if let Ok(record) = given.cast::<PyRecord>() {
        TableSchema::from_json(record.get().text())?
    } else if let Ok(path) = given.extract::<PathBuf>() {
        TableSchema::from_file(&path)?
    } else if given.hasattr("serialize")? {
        // The IPC format is read without touching memory that another library owns.
        let message = given
            .call_method0("serialize")?
            .call_method0("to_pybytes")?;
        TableSchema::from_ipc(&message.extract::<Vec<u8>>()?)?
    } else {
        let class = given.get_type().name()?;
        return Err(invalid(format!(
            "schema: this {class} cannot be used; give the path of a schema file, what schema() returned, or a pyarrow.Schema"
        )));
    })
}
