//! `doctor`: checks what a client with these settings can reach, and suggests a solution for each failed check.

use crate::common::Common;
use crate::connect;
use crate::output::{self, Ending};
use talentdata_core::ErrorKind;
use talentdata_core::types::{CheckStatus, Diagnosis};

/// The text below the help of the command.
const EXAMPLES: &str = "\
Sends at most five requests, and shows no secret. The exit code is 0 if no check failed, and otherwise the code of the
first failure.

Examples:
  talentdata doctor
  talentdata doctor --json > report-for-support.json";

/// The form of the output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &DoctorArgs, common: &Common) -> Result<(), Ending> {
    // The embedded service runs until `_sandbox` is dropped.
    let (builder, _sandbox) = connect::settings_of(common)?;
    let diagnosis = builder.diagnose().await;
    if args.json {
        output::json(&diagnosis)?;
    } else {
        output::data(&text(&diagnosis, common.verbose > 0))?;
    }
    let mut failures = diagnosis.checks.iter().filter_map(|check| check.kind);
    match failures.next() {
        None => Ok(()),
        Some(name) => {
            let mut kinds = ErrorKind::ALL.into_iter();
            let kind = kinds.find(|kind| kind.name() == name);
            Err(Ending::AlreadyReported(kind.unwrap_or(ErrorKind::Internal)))
        }
    }
}

/// Returns the report for people. Settings at their defaults are shown only if `all` is true.
fn text(diagnosis: &Diagnosis, all: bool) -> String {
    let mut text = String::new();
    for setting in &diagnosis.settings {
        if !all && ["default", "not set"].contains(&&*setting.source) {
            continue;
        }
        let value = setting.value.as_deref().unwrap_or("-");
        text += &format!("{:<20} {value} ({})\n", setting.name, setting.source);
    }
    text.push('\n');
    for check in &diagnosis.checks {
        let status = match check.status {
            CheckStatus::Ok => "ok",
            CheckStatus::Failed => "FAILED",
            _ => "not tried",
        };
        let more = check
            .kind
            .map(|kind| format!("\n{:31}see talentdata help {kind}", ""));
        let more = more.unwrap_or_default();
        text += &format!("{:<20} {status:<9} {}{more}\n", check.name, check.message);
    }
    text
}
