//! Every setting has a flag, which goes before the environment, and a wrong value is told as everywhere.

use crate::support::{program, run};
use talentdata_core::settings::{Kind, PROFILE, SETTINGS, Setting};

/// A wrong value, and what is said of it.
fn wrong(setting: &Setting) -> (&'static str, String) {
    let name = setting.name;
    match (setting.kind, setting.bounds()) {
        (Kind::Boolean(_), _) => ("-1", format!("{name} must be true or false (got \"-1\")")),
        (_, Some(_)) => ("-1", setting.out_of_range(-1.0)),
        (Kind::Secret, None) => ("/nonexistent", "there is no file for the secret".into()),
        (_, None) => (
            " x",
            format!("{name} must not begin or end with white space"),
        ),
    }
}

/// Something that may be used, of which nothing is heard.
fn good(setting: &Setting) -> String {
    match (setting.kind, setting.bounds()) {
        (Kind::Boolean(default), _) => default.to_string(),
        (_, Some(bounds)) => bounds.default.to_string(),
        (Kind::BaseUrl, None) => "http://127.0.0.1:1".into(),
        (Kind::Proxy, None) => "none".into(),
        (Kind::Budget, None) => "process".into(),
        (Kind::Choice(names), None) => names[0].to_owned(),
        (Kind::Text | Kind::Secret, None) => "any-text".into(),
        (Kind::Duration(_) | Kind::Integer(_) | Kind::Number(_), None) => String::new(),
    }
}

#[test]
fn a_wrong_value_is_told_by_its_name_from_flag_and_environment() {
    for setting in SETTINGS {
        let (value, said) = wrong(setting);
        let mut flag = program(&["version", &format!("--{}", setting.flag()), value]);
        // A flag goes before the environment, where nothing is wrong.
        flag.env(setting.variable(), good(setting));
        let mut variable = program(&["version"]);
        variable.env(setting.variable(), value);
        let both = match setting.kind {
            // What is wrong with the file of a secret is not what is wrong with a secret.
            Kind::Secret => vec![flag],
            _ => vec![flag, variable],
        };
        for mut command in both {
            // A variable that goes before the profile would be noted.
            if !["base_url", PROFILE].contains(&setting.name) {
                command.env("TALENTDATA_BASE_URL", "http://127.0.0.1:1");
            }
            let ended = run(&mut command);
            assert!(ended.error(2).contains(&said), "{said}: {ended:?}");
        }
    }
}

#[test]
fn a_password_of_a_proxy_is_refused_as_an_argument_without_an_echo() {
    let ended = run(&mut program(&[
        "version",
        "--proxy=http://user:CANARY@proxy.example:3128",
    ]));
    let said = ended.error(2);
    assert!(
        said.contains("TALENTDATA_PROXY") && !said.contains("CANARY"),
        "{said}"
    );
}
