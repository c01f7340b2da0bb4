//! `doctor` and `help NAME`: the checks, their failures, and the help pages.

use crate::support::{code, program, run};
use serde_json::Value;
use talentdata_core::ErrorKind;

#[test]
fn the_sandbox_is_healthy_and_the_report_shows_no_secret() {
    let ended = run(&mut program("doctor --sandbox"));
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{ended:?}");
    assert!(
        ended
            .stdout
            .contains("client_secret        (hidden) (given)")
    );
    assert!(!ended.stdout.contains("FAILED"), "{ended:?}");
    let ended = run(&mut program("doctor --sandbox --json"));
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["healthy"], true, "{report}");
}

#[test]
fn the_exit_code_is_that_of_the_first_failure() {
    let mut command =
        program("doctor --base-url http://127.0.0.1:1 --client-id me --budget process");
    let ended = run(command.env("TALENTDATA_CLIENT_SECRET", "CANARY-1234"));
    assert_eq!(ended.code, Some(13), "{ended:?}");
    for words in ["connection           FAILED", "see talentdata help Connect"] {
        assert!(ended.stdout.contains(words), "{ended:?}");
    }
    assert!(!format!("{ended:?}").contains("CANARY"), "{ended:?}");
}

#[test]
fn an_error_names_its_page_and_the_page_exists() {
    let ended = run(&mut program("permissions"));
    let line = ended.error(2, "client_secret are not set");
    assert!(
        line.trim_end().ends_with("; see talentdata help Config"),
        "{line}"
    );
    let page = run(&mut program("help tls")).stdout;
    assert!(page.starts_with("Tls: TLS handshake failed\n"), "{page}");
    assert!(
        page.contains("the TLS handshake fails\n    final, because"),
        "{page}"
    );
    for name in ["Tls", "TlsError", &code(ErrorKind::Tls).to_string()] {
        assert_eq!(run(&mut program(&format!("help {name}"))).stdout, page);
    }
    let help = run(&mut program("help export")).stdout;
    assert!(help.contains("talentdata export"), "{help}");
}
