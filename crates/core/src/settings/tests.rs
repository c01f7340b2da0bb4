//! Tests of settings: every row of the table is read from every source, in order of precedence, and a wrong value has
//! the same message everywhere. Files with settings must be private.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by cfg(test) alone")]

use super::profile::load;
use super::table::SECRET_SOURCES;
use super::table::{Bounds, ENVIRONMENT, PROFILE, SETTINGS, Setting, SettingKind};
use super::{Builder, Config};
use crate::error::{Error, ErrorKind, Result};
use crate::private_file::{check_mode, check_owner, read_secret_file};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use talentdata_types::{ListName, Secret};

/// Returns a configuration directory with this text as the profile file.
fn directory(text: &str, mode: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("talentdata").join("profiles.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    directory
}

/// Reads settings from these values, these variables, and this line in the default section of the profile file. Adds an
/// address unless one is given. Checks that neither the settings nor the error show a secret.
fn config(values: &[(&str, &str)], variables: &[(&str, &str)], line: &str) -> Result<Config> {
    let directory = directory(&format!("[default]\n{line}\n"), 0o600);
    let mut builder = Builder::default();
    let names = values.iter().chain(variables).map(|(name, _)| *name);
    if !names.chain([line]).any(|name| name.starts_with("base_url")) {
        builder.base_url("https://talent.example");
    }
    for (name, value) in values {
        builder.set(name, value);
    }
    let found = builder.found(|variable| {
        let is_it = |name: &str| variable == format!("TALENTDATA_{}", name.to_uppercase());
        let found = variables.iter().find(|(name, _)| is_it(name));
        let home = || directory.path().to_string_lossy().into_owned();
        found
            .map(|(_, value)| (*value).to_owned())
            .or_else(|| (variable == "XDG_CONFIG_HOME").then(home))
    });
    let config = found.and_then(|found| Config::read(&found.with_credential()?));
    let shown = format!("{builder:?} {config:?}");
    assert!(!shown.contains("CANARY"), "{shown}");
    config
}

/// Returns the whole content of a configuration as text.
fn content(config: Result<Config>) -> String {
    let config = config.unwrap();
    let secret = config.client_secret.as_ref().map(|it| it.current());
    let secret = secret.as_ref().map(Secret::expose);
    let key = config.hash_key.as_ref().map(Secret::expose);
    format!("{config:?} {secret:?} {key:?}")
}

/// Returns some valid values of a setting, as text.
fn good(setting: &Setting) -> [String; 3] {
    match setting.kind {
        SettingKind::Integer(Bounds { min, max, .. }) => {
            [min, max, max - 1.0].map(|one| one.to_string())
        }
        SettingKind::Duration(Bounds { min, max, .. })
        | SettingKind::Number(Bounds { min, max, .. }) => {
            [min, max, (min + max) / 2.0].map(|one| one.to_string())
        }
        SettingKind::Boolean(default) => [!default, default, !default].map(|one| one.to_string()),
        SettingKind::BaseUrl | SettingKind::Proxy => {
            ["a", "b", "c"].map(|one| format!("https://{one}.example"))
        }
        SettingKind::ListPolicies => {
            ["a", "b", "c"].map(|one| format!("{{\"contacts\":{{\"drop\":[\"{one}\"]}}}}"))
        }
        SettingKind::Budget => ["a", "b", "c"].map(|one| format!("redis://{one}.example")),
        SettingKind::Choice(names) => [1, 0, names.len() - 1].map(|index| names[index].to_owned()),
        SettingKind::File => ["a", "b", "c"].map(|one| format!("/{one}.pem")),
        SettingKind::Command => ["a", "b", "c"].map(|one| format!("echo {one}")),
        SettingKind::Text | SettingKind::Secret => ["a", "b", "c"].map(|one| one.repeat(12)),
    }
}

/// Returns a line that sets a setting in TOML.
fn toml(setting: &Setting, text: &str) -> String {
    if setting.bounds().is_some() || matches!(setting.kind, SettingKind::Boolean(_)) {
        format!("{} = {text}", setting.name)
    } else {
        format!("{} = {text:?}", setting.name)
    }
}

#[test]
fn an_explicit_value_goes_before_the_environment_and_that_before_the_profile() {
    // Files with secrets have a test of their own.
    let selecting = [PROFILE, ENVIRONMENT, SECRET_SOURCES[1]];
    for setting in SETTINGS.iter().filter(|row| !selecting.contains(&row.name)) {
        let name = setting.name;
        let good = good(setting);
        let [first, second, third] = good.each_ref().map(String::as_str);
        let given = |text| content(config(&[(name, text)], &[], ""));
        let [one, two, three] = [first, second, third].map(given);
        assert!(one != two && two != three, "{name}");
        let (line, variable) = (toml(setting, third), [(name, second)]);
        assert_eq!(content(config(&[], &[], &line)), three, "{name}");
        assert_eq!(content(config(&[], &variable, &line)), two, "{name}");
        let all = config(&[(name, first)], &variable, &line);
        assert_eq!(content(all), one, "{name}");
        // The documented default is the one that applies.
        if let Some(default) = setting.default() {
            let default = given(default.trim_end_matches(" s"));
            assert_eq!(default, content(config(&[], &[], "")));
        }
    }
}

#[test]
fn a_wrong_value_ends_in_the_same_error_from_every_source() {
    for setting in SETTINGS {
        let name = setting.name;
        let (text, wanted) = match (setting.kind, setting.bounds()) {
            (SettingKind::Boolean(_), _) => ("-1", format!("{name} must be true or false (got ")),
            (_, Some(_)) => ("-1", setting.out_of_range_message(-1.0)),
            (_, None) => (
                " CANARY-123",
                format!("{name} must not begin or end with white space"),
            ),
        };
        let given = [(name, text)];
        let mut errors = vec![config(&given, &[], ""), config(&[], &given, "")];
        if ![PROFILE, ENVIRONMENT].contains(&name) {
            errors.push(config(&[], &[], &toml(setting, text)));
        }
        for error in errors.into_iter().map(Result::unwrap_err) {
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().starts_with(&wanted), "{name}: {error}");
        }
    }
}

/// A setting, a wrong value, and the message.
const WRONG: &str = r#"
timeout | soon | timeout must be a time between 0.001 and 86,400 s (got "soon")
timeout | NaN | timeout must be between 0.001 and 86,400 s (got NaN)
timeout | 1e300 | timeout must be between 0.001 and 86,400 s (got 1e300)
connect_timeout | 0 | connect_timeout must be between 0.001 and 86,400 s (got 0)
max_attempts | 1.5 | max_attempts must be a whole number between 1 and 20 (got 1.5)
share |  | share must be a number between 0.025 and 1 (got "")
paced | no | paced must be true or false (got "no")
client_id |  | client_id must not be empty
lists | {"contact":{}} | lists: no list is named "contact"
lists | {"contacts":{"dorp":["a"]}} | lists must be an object of lists
priority | high | priority must be normal, foreground, or background (got "high")
proxy | ftp://CANARY@a.example | proxy must be none or an http or https URL, such as
proxy | http://a.example/CANARY | proxy must be none or
tiemout | 1 | there is no setting "tiemout"; the settings are base_url,
"#;

#[test]
fn wrong_values_and_unknown_settings_are_named() {
    let rows = WRONG.lines().filter_map(|line| line.split_once(" | "));
    let rows = rows.map(|(name, rest)| {
        let (value, wanted) = rest.split_once("| ").unwrap();
        (name, value.trim(), wanted)
    });
    let long = "x".repeat(20_000);
    let texts = [
        ("client_id", "a\0b", "client_id must not contain control"),
        (
            "client_id",
            &long,
            "client_id must not be longer than 16 KiB",
        ),
    ];
    for (name, value, wanted) in rows.chain(texts) {
        let error = config(&[(name, value)], &[], "").unwrap_err();
        assert!(error.message().starts_with(wanted), "{error}");
    }
    let missing = Config::read(&Builder::default().found(|_| None).unwrap()).unwrap_err();
    let words = [
        "base_url, client_id, client_secret are not set; ",
        "TALENTDATA_BASE_URL, TALENTDATA_CLIENT_ID, TALENTDATA_CLIENT_SECRET",
        "profiles.toml",
    ];
    assert!(
        words.iter().all(|words| missing.message().contains(words)),
        "{missing}"
    );
}

/// Settings that were all given, next to hostile variables and a profile file that everybody can write.
#[test]
fn a_client_that_was_given_everything_depends_on_nothing_outside() {
    let given = [
        ("base_url", "https://talent.example"),
        ("client_id", "me"),
        ("client_secret", "CANARY-1234"),
    ];
    let hostile = directory("[default]\ntimeout = 9\nno = no", 0o777);
    let variable = |name: &str| match name {
        "XDG_CONFIG_HOME" => Some(hostile.path().to_string_lossy().into_owned()),
        _ => Some("hostile".to_owned()),
    };
    let found = |values: &[(&str, &str)], variable: &dyn Fn(&str) -> Option<String>| {
        let mut builder = Builder::default();
        for (name, value) in values {
            builder.set(name, value);
        }
        builder
            .found(variable)
            .and_then(|found| Config::read(&found.with_credential()?))
    };
    let alone = [&given[..], &[(ENVIRONMENT, "false")]].concat();
    let config = found(&alone, &variable);
    assert!(matches!(config.as_ref().unwrap().proxy, super::Proxy::None));
    assert_eq!(content(config), content(found(&alone, &|_| None)));
    // A profile that is not needed stops nobody. One that is needed does.
    let home = |name: &str| variable(name).filter(|_| name == "XDG_CONFIG_HOME");
    let timeout = found(&given, &home).unwrap().timeout;
    assert_eq!(timeout, found(&given, &|_| None).unwrap().timeout);
    let refused = |values: &[(&str, &str)], variable: &dyn Fn(&str) -> Option<String>| {
        found(values, variable).unwrap_err().message().to_owned()
    };
    assert!(refused(&given[..2], &home).contains("other users can reach it"));
    let both = [&alone[..], &[(PROFILE, "default")]].concat();
    assert!(refused(&both, &home).starts_with("profile selects a section"));
    let missing = refused(&alone[3..], &home);
    assert_eq!(
        missing,
        "base_url, client_id, client_secret are not set, and environment is false; set them; to try this without an account, use the sandbox"
    );
}

/// A policy in a profile file that is not needed for anything else must not vanish silently.
#[test]
fn the_lists_of_a_profile_that_others_can_read_still_apply_with_a_warning() {
    let given = |text: &str, mode: u32| {
        let directory = directory(text, mode);
        let home = |name: &str| {
            (name == "XDG_CONFIG_HOME").then(|| directory.path().to_string_lossy().into_owned())
        };
        let mut builder = Builder::default();
        builder.base_url("https://talent.example");
        builder.client_id("me").client_secret("CANARY-1234");
        Config::read(&builder.found(home).unwrap().with_credential().unwrap()).unwrap()
    };
    let lists = "[default.lists.contacts]\ndrop = [\"email\"]\n";
    let all = format!("[default]\ntimeout = 9\n{lists}");
    let drops = |config: &Config| {
        let fields = config.fields_of(ListName::Contacts);
        fields.is_some_and(|fields| fields.drop == ["email"])
    };
    let private = given(&all, 0o600);
    assert!(drops(&private) && private.profile_warning().is_none());
    for mode in [0o640, 0o644, 0o777] {
        let config = given(&all, mode);
        assert!(drops(&config), "{mode:o}");
        assert_ne!(config.timeout, private.timeout);
        let warning = config.profile_warning().unwrap();
        let begin = "the profile file is not used, except its setting lists: ";
        assert!(warning.starts_with(begin), "{warning}");
        assert!(warning.contains("chmod 600"), "{warning}");
    }
    let broken = given(&format!("{all}no"), 0o640);
    let warning = broken.profile_warning().unwrap();
    assert!(
        warning.starts_with("the profile file is not used: "),
        "{warning}"
    );
}

#[test]
fn no_password_is_shown_with_the_settings() {
    let proxy = "http://user:CANARY@proxy.example:3128";
    let secret = ("client_secret", "CANARY-1234");
    let values = [secret, ("proxy", proxy)];
    let config = config(&values, &[], "").unwrap();
    let missing = config.require_credentials().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Config);
    let shown = format!("{config:?}");
    assert!(shown.contains("proxy.example:3128"), "{shown}");
}

const PROFILES: &str = "[default]\nclient_id = \"me\"\nclient_secret = \"CANARY\"\n[other]\nbase_url = \"https://b.example\"\n";

/// A file, whose lines are separated by semicolons, and the message.
const MALFORMED: &str = r#"
[default]; client_secret = CANARY | line 2
client_secret = "CANARY" | line 1: not a section
[default]; client_sceret = "CANARY" | [default]: there is no setting "client_sceret"
[default]; profile = "CANARY" | no setting "profile"
[default]; client_secret = ["CANARY"] | must be a string (got array)
[default]; client_id = 12 | must be a string (got integer)
"#;

/// Returns the names of the settings in a section of a profile file.
fn section(directory: &tempfile::TempDir, name: Option<&str>) -> Result<Vec<String>> {
    let home = directory.path().to_string_lossy().into_owned();
    let found = load(name, true, move |variable| {
        (variable == "XDG_CONFIG_HOME").then(|| home.clone())
    });
    Ok(found?.values.into_iter().map(|(name, _)| name).collect())
}

#[test]
fn a_section_is_read_by_its_name_and_a_malformed_file_is_refused_without_a_quote() {
    let directory_of = |text: &str| directory(text, 0o600);
    let profiles = directory_of(PROFILES);
    assert_eq!(
        section(&profiles, None).unwrap(),
        ["client_id", "client_secret"]
    );
    assert_eq!(section(&profiles, Some("other")).unwrap(), ["base_url"]);
    let empty = tempfile::tempdir().unwrap();
    assert!(section(&empty, None).unwrap().is_empty());
    assert!(section(&empty, Some("default")).is_err());
    let rows = MALFORMED.lines().filter_map(|row| row.split_once(" | "));
    let rows = rows.map(|(text, says)| (text.replace("; ", "\n"), None, says));
    let third = "no section [third]; it has: default, other";
    for (text, name, says) in rows.chain([(PROFILES.to_owned(), Some("third"), third)]) {
        let error: Error = section(&directory_of(&text), name).unwrap_err();
        assert!(error.message().contains(says), "{error}");
        assert!(!format!("{error:?}").contains("CANARY"), "{error}");
    }
}

/// Each row has the owner, the user, the mode, and whether the file is accepted.
#[test]
fn the_administrator_decides_about_files_that_only_root_can_change() {
    let path = Path::new("secret");
    for (owner, user, mode, taken) in [
        (7, 7, 0o600, true),
        (7, 7, 0o400, true),
        (7, 7, 0o640, false),
        (7, 7, 0o644, false),
        (0, 0, 0o644, false),
        // As Kubernetes mounts secrets, without and with fsGroup, and as Docker does.
        (0, 7, 0o644, true),
        (0, 7, 0o440, true),
        (0, 7, 0o444, true),
        (0, 7, 0o640, true),
        // A file that everybody can write is never accepted.
        (0, 7, 0o666, false),
        (0, 7, 0o777, false),
        (8, 7, 0o600, false),
    ] {
        let outcome = check_mode(path, (owner, user), mode);
        assert_eq!(
            outcome.is_ok(),
            taken,
            "{owner} {user} {mode:o}: {outcome:?}"
        );
        // The advice is never to change another user's file.
        let advice = outcome
            .err()
            .map_or(String::new(), |error| error.message().to_owned());
        assert!(!advice.contains("chmod") || owner == user, "{advice}");
    }
}

/// Each row has the content of the file and the secret in it; `None` if the file is refused.
#[test]
fn a_secret_is_read_as_editors_shells_and_mounts_store_it() {
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().join("..2026_11_27");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink("..2026_11_27", directory.path().join("..data")).unwrap();
    // As Kubernetes mounts a secret: a link to a file below a link that is replaced.
    let link = directory.path().join("secret");
    std::os::unix::fs::symlink("..data/secret", &link).unwrap();
    let utf_16 = |text: &str, begin: &[u8]| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        begin.iter().copied().chain(units).collect::<Vec<u8>>()
    };
    for (bytes, secret) in [
        (b"s3cret".to_vec(), Some("s3cret")),
        (b"s3cret\n".to_vec(), Some("s3cret")),
        (b"s3cret\r\n".to_vec(), Some("s3cret")),
        (b"s3cret\n\n".to_vec(), Some("s3cret")),
        (b"\xef\xbb\xbfs3cret\r\n".to_vec(), Some("s3cret")),
        (utf_16("s3cret\r\n", b"\xff\xfe"), None),
        (utf_16("s3cret", b""), None),
        (b"s3cr\xe4t".to_vec(), None),
    ] {
        let file = real.join("secret");
        std::fs::write(&file, &bytes).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let read = read_secret_file(&link);
        let read = read.as_ref().map(Secret::expose).map_err(Error::message);
        assert_eq!(read.ok(), secret, "{bytes:?}");
        assert!(
            read.err()
                .is_none_or(|why| why.contains("save it as UTF-8")),
            "{read:?}"
        );
    }
}

#[test]
fn a_file_that_others_can_read_or_own_is_refused_with_advice() {
    let error = section(&directory(PROFILES, 0o644), None).unwrap_err();
    assert!(error.message().contains("chmod 600"), "{error}");
    let path = Path::new("profiles.toml");
    for (owner, user, taken) in [(7, 7, true), (0, 7, true), (7, 8, false), (7, 0, false)] {
        assert_eq!(
            check_owner(path, owner, user).is_ok(),
            taken,
            "{owner} {user}"
        );
    }
    let directory = directory(PROFILES, 0o600);
    let file = directory.path().join("talentdata").join("profiles.toml");
    // Only the administrator can change the owner of a file.
    if std::os::unix::fs::chown(&file, Some(12345), None).is_ok() {
        let error = section(&directory, None).unwrap_err();
        assert!(error.message().contains("12345"), "{error}");
        assert!(error.message().contains("chown 0 "), "{error}");
    }
}
