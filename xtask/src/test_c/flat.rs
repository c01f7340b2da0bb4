//! Memory stays flat: a program that streams twenty times as many records needs hardly more of it.

use super::bench::Bench;
use super::tools::pkg_config;
use crate::Outcome;
use crate::bench::child;
use crate::sandbox::Sandbox;
use std::process::Stdio;
use std::time::Duration;

/// Records of the short list; more than a page, and than a scan asks for at first.
const FEW: u64 = 2_000;

/// Records of the long one; more than a scan remembers.
const MANY: u64 = 20 * FEW;

/// How much larger the peak of the long list may be, in MiB: about 110 bytes a record, which is less
/// than one takes as text. Half a MiB has been seen.
const MARGIN: f64 = 4.0;

/// A program that does not end is ended; how long it takes is not judged.
const RUN_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) fn run(bench: &Bench) -> Outcome {
    let flags = pkg_config(&bench.prefix, &["--cflags", "--libs", "talentdata"])?;
    let program = bench.build(
        &bench.tests(),
        &["stream_contacts.c"],
        "c11",
        &[],
        "shared",
        &flags,
    )?;
    let peak = |records: u64| {
        let arguments = [
            "--policy=unlimited".to_owned(),
            format!("--records=contacts={records}"),
        ];
        let sandbox = Sandbox::start(&bench.talentdata, &arguments)?;
        let mut command = bench.command(&program);
        let command = sandbox
            .invite(&mut command)
            .env("CONTACTS", records.to_string())
            .stdin(Stdio::null());
        Ok::<f64, String>(child::run(command, RUN_TIMEOUT)?.peak)
    };
    let (few, many) = (peak(FEW)?, peak(MANY)?);
    println!("peak memory: {few:.1} MiB for {FEW} records, {many:.1} MiB for {MANY}");
    match many <= few + MARGIN {
        true => Ok(()),
        false => Err(format!("that is more than {MARGIN} MiB apart")),
    }
}
