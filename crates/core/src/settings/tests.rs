//! Every row of the table is read from every source, in order of precedence, and says the same where it is wrong.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use super::table::{Bounds, Kind, PROFILE, SETTINGS, Setting};
use super::{Builder, Config, Found, Value};
use crate::error::{ErrorKind, Result};
use std::os::unix::fs::PermissionsExt;

/// A configuration directory with this text as the profile file.
pub(super) fn directory(text: &str, mode: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("talentdata").join("profiles.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    directory
}

/// What is found with these variables, and this line in the default section of the profile file.
fn found(builder: &Builder, variables: &[(String, &str)], profile: &str) -> Result<Found> {
    let directory = directory(&format!("[default]\n{profile}\n"), 0o600);
    builder.found(|name| {
        let mut variables = variables.iter();
        let found = variables.find(|(known, _)| known == name);
        let home = || directory.path().to_string_lossy().into_owned();
        found
            .map(|(_, value)| (*value).to_owned())
            .or_else(|| (name == "XDG_CONFIG_HOME").then(home))
    })
}

/// Some values of a setting that may be used, as text.
fn good(setting: &Setting) -> [String; 3] {
    match setting.kind {
        Kind::Integer(Bounds { min, max, .. }) => [min, max, max - 1.0].map(|one| one.to_string()),
        Kind::Duration(Bounds { min, max, .. }) | Kind::Number(Bounds { min, max, .. }) => {
            [min, max, (min + max) / 2.0].map(|one| one.to_string())
        }
        Kind::Boolean(default) => [!default, default, !default].map(|one| one.to_string()),
        Kind::BaseUrl | Kind::Proxy => ["a", "b", "c"].map(|one| format!("https://{one}.example")),
        Kind::Budget => ["a", "b", "c"].map(|one| format!("redis://{one}.example")),
        Kind::Choice(names) => [0, 1, names.len() - 1].map(|index| names[index].to_owned()),
        Kind::Text | Kind::Secret => ["a", "b", "c"].map(|one| one.repeat(12)),
    }
}

/// A value as TOML writes it.
fn toml(setting: &Setting, text: &str) -> String {
    match setting.bounds().is_some() || matches!(setting.kind, Kind::Boolean(_)) {
        true => format!("{} = {text}", setting.name),
        false => format!("{} = {text:?}", setting.name),
    }
}

/// A value as a program passes it.
fn explicit(setting: &Setting, text: &str) -> Value {
    match setting.kind {
        Kind::Boolean(_) => Value::Boolean(text == "true"),
        _ if setting.bounds().is_some() => Value::Number(text.parse().unwrap()),
        _ => text.into(),
    }
}

/// A value as it was read.
fn read(found: &Found, setting: &Setting) -> Option<String> {
    match setting.kind {
        Kind::Boolean(_) => Some(found.boolean(setting.name).unwrap().to_string()),
        _ if setting.bounds().is_some() => Some(found.number(setting.name).unwrap().to_string()),
        Kind::Budget | Kind::Choice(_) => found.text(setting.name).unwrap().or(setting.default()),
        _ => found.text(setting.name).unwrap(),
    }
}

fn row(name: &str) -> &'static Setting {
    SETTINGS.iter().find(|row| row.name == name).unwrap()
}

#[test]
fn an_explicit_value_goes_before_the_environment_and_that_before_the_profile() {
    for setting in SETTINGS.iter().filter(|row| row.name != PROFILE) {
        let [first, second, third] = &good(setting);
        let variables = [(setting.variable(), second.as_str())];
        let line = toml(setting, third);
        let mut builder = Builder::default();
        let value_of = |found: Result<Found>| read(&found.unwrap(), setting);
        let name = setting.name;
        assert_eq!(
            value_of(found(&builder, &[], &line)).as_ref(),
            Some(third),
            "{name}"
        );
        assert_eq!(
            value_of(found(&builder, &variables, &line)).as_ref(),
            Some(second),
            "{name}"
        );
        builder.set(name, explicit(setting, first));
        assert_eq!(
            value_of(found(&builder, &variables, &line)).as_ref(),
            Some(first),
            "{name}"
        );
    }
}

#[test]
fn without_a_value_the_default_applies_which_is_a_good_value() {
    for setting in SETTINGS {
        let found = Found([].into());
        let default = read(&found, setting);
        let told = setting
            .default()
            .map(|text| text.trim_end_matches(" s").to_owned());
        assert_eq!(default, told, "{}", setting.name);
    }
}

#[test]
fn a_wrong_value_ends_in_the_same_error_from_every_source() {
    for setting in SETTINGS {
        let (name, bounds) = (setting.name, setting.bounds());
        let (text, wanted) = match (setting.kind, bounds) {
            (Kind::Boolean(_), _) => ("-1", format!("{name} must be true or false (got ")),
            (_, Some(_)) => ("-1", setting.out_of_range(-1.0)),
            (_, None) => (
                " CANARY-123",
                format!("{name} must not begin or end with white space"),
            ),
        };
        let sources = [
            (
                Some(explicit(setting, text)).filter(|value| !matches!(value, Value::Boolean(_))),
                None,
                String::new(),
            ),
            (Some(text.into()), None, String::new()),
            (None, Some(text), String::new()),
            (None, None, toml(setting, text)),
        ];
        for (index, (value, variable, line)) in sources.into_iter().enumerate() {
            if name == PROFILE && !line.is_empty() {
                continue;
            }
            let mut builder = Builder::default();
            if name != "base_url" {
                builder.base_url("https://talent.example");
            }
            let Some(value) = value.map(Some).or((index > 0).then_some(None)) else {
                continue;
            };
            if let Some(value) = value {
                builder.set(name, value);
            }
            let variables: Vec<_> = variable
                .map(|text| (setting.variable(), text))
                .into_iter()
                .collect();
            let outcome = found(&builder, &variables, &line).and_then(|found| Config::read(&found));
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(
                error.message().starts_with(&wanted),
                "{name} {index}: {error}"
            );
            assert!(
                !format!("{error:?} {builder:?}").contains("CANARY"),
                "{name}"
            );
        }
    }
}

#[test]
fn what_is_no_number_and_no_setting_is_said() {
    for (name, value, wanted) in [
        (
            "timeout",
            Value::from("soon"),
            "timeout must be a time between 0.001 and 86,400 s (got \"soon\")",
        ),
        (
            "timeout",
            f64::NAN.into(),
            "timeout must be between 0.001 and 86,400 s (got NaN)",
        ),
        (
            "timeout",
            1e300.into(),
            "timeout must be between 0.001 and 86,400 s (got 1e300)",
        ),
        (
            "connect_timeout",
            0.0.into(),
            "connect_timeout must be between 0.001 and 86,400 s (got 0)",
        ),
        (
            "max_attempts",
            1.5.into(),
            "max_attempts must be a whole number between 1 and 20 (got 1.5)",
        ),
        (
            "share",
            "".into(),
            "share must be a number between 0.025 and 1 (got \"\")",
        ),
        (
            "paced",
            "no".into(),
            "paced must be true or false (got \"no\")",
        ),
        (
            "client_id",
            true.into(),
            "client_id must be a string (got true)",
        ),
        ("client_id", "".into(), "client_id must not be empty"),
        (
            "client_id",
            "a\0b".into(),
            "client_id must not contain control characters",
        ),
        (
            "client_id",
            "x".repeat(20_000).into(),
            "client_id must not be longer than 16 KiB",
        ),
        (
            "proxy",
            "ftp://CANARY@a.example".into(),
            "proxy must be none or an http or https URL, such as ",
        ),
        (
            "proxy",
            "http://a.example/CANARY".into(),
            "proxy must be none or ",
        ),
        (
            "tiemout",
            1.0.into(),
            "there is no setting \"tiemout\"; the settings are base_url, ",
        ),
    ] {
        let mut builder = Builder::default();
        builder.base_url("https://talent.example").set(name, value);
        let outcome = found(&builder, &[], "").and_then(|found| Config::read(&found));
        let error = outcome.unwrap_err();
        assert!(error.message().starts_with(wanted), "{error}");
        assert!(!error.message().contains("CANARY"), "{error}");
    }
}

#[test]
fn a_missing_base_url_says_how_to_set_it() {
    let error = Config::read(&Found([].into())).unwrap_err();
    for words in [
        "base_url is not set; ",
        "TALENTDATA_BASE_URL",
        "profiles.toml",
    ] {
        assert!(error.message().contains(words), "{error}");
    }
}

#[test]
fn no_password_is_shown_with_the_settings() {
    let mut builder = Builder::default();
    builder
        .base_url("https://talent.example")
        .client_secret("CANARY-1234")
        .proxy("http://user:CANARY@proxy.example:3128");
    let config = Config::read(&found(&builder, &[], "").unwrap()).unwrap();
    assert_eq!(
        config.client_secret.as_ref().unwrap().expose(),
        "CANARY-1234"
    );
    let shown = format!("{config:?} {builder:?}");
    assert!(
        shown.contains("proxy.example:3128") && !shown.contains("CANARY"),
        "{shown}"
    );
}

#[test]
fn names_are_derived_from_one() {
    let names = |name| (row(name).variable(), row(name).flag());
    let wanted = (
        "TALENTDATA_IDLE_TIMEOUT".to_owned(),
        "idle-timeout".to_owned(),
    );
    assert_eq!(names("idle_timeout"), wanted);
    assert_eq!(names("client_secret").1, "client-secret-file");
}
