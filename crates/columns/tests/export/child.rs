//! Exports in processes of their own, which can be killed, limited, and run as another user.

use super::service::client;
use super::{Service, in_format, run};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use talentdata_columns::export::{Export, Target};

/// Tells a process that it is a child, and what it needs.
const CHILD: &str = "TALENTDATA_TEST_EXPORT_CHILD";

/// An ordinary user: "nobody" on most systems.
const NOBODY: u32 = 65534;

/// Runs the child's export, if this process is one; prints the receipt or the error.
pub(super) async fn act_as_child() {
    let Ok(settings) = std::env::var(CHILD) else {
        return;
    };
    let [base_url, id, secret, path, format, resume]: [String; 6] =
        serde_json::from_str(&settings).unwrap();
    let mut export = in_format(format.parse().unwrap(), Path::new(&path));
    export.resume = resume == "true";
    let code = match run(&export, &client(&base_url, &id, &secret)).await {
        Ok(receipt) => {
            println!("{}", serde_json::to_string(&receipt).unwrap());
            0
        }
        Err(error) => {
            println!("{error}");
            error.kind().exit_code()
        }
    };
    std::process::exit(code.into());
}

/// A process that runs `test` as a child, after `limits` of the shell.
pub(super) fn child(test: &str, limits: &str, service: &Service, export: &Export) -> Child {
    let program = std::env::current_exe().unwrap();
    command(&program, test, limits, service, export)
        .spawn()
        .unwrap()
}

/// The same with the rights of an ordinary user, who owns `directory` from then on. If this process has
/// the rights of root, it gives them up.
pub(super) fn ordinary_child(
    test: &str,
    limits: &str,
    service: &Service,
    export: &Export,
    directory: &Path,
) -> Child {
    let program = directory.with_extension("program");
    if !program.exists() {
        // The build directory may be closed to the ordinary user.
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    }
    let mut command = command(&program, test, limits, service, export);
    let is_root = std::os::unix::fs::chown(directory, Some(NOBODY), Some(NOBODY)).is_ok();
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir("/").spawn().unwrap()
}

fn command(
    program: &Path,
    test: &str,
    limits: &str,
    service: &Service,
    export: &Export,
) -> Command {
    let sandbox = &service.sandbox;
    let Target::File(path) = &export.target else {
        panic!("no file");
    };
    let settings = [
        sandbox.base_url(),
        sandbox.client_id(),
        sandbox.client_secret(),
        path.to_str().unwrap(),
        export.format.name(),
        if export.resume { "true" } else { "false" },
    ];
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{limits} exec \"$0\" \"$@\"")])
        .arg(program)
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, serde_json::to_string(&settings).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// How a child ended: its exit code, none when it was killed, and what it printed.
pub(super) fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

/// Waits until the child has stopped itself.
#[cfg(target_os = "linux")]
pub(super) fn wait_until_stopped(child: &mut Child) {
    let status = PathBuf::from(format!("/proc/{}/stat", child.id()));
    loop {
        let text = std::fs::read_to_string(&status).unwrap();
        let (_, state) = text.rsplit_once(") ").unwrap();
        if state.starts_with('T') {
            return;
        }
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Lets a stopped child go on.
#[cfg(target_os = "linux")]
pub(super) fn go_on(child: &Child) {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-CONT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}
