//! The `talentdata` program.

#![deny(unsafe_code)]

use std::process::ExitCode;

/// Runs before Rust's own start, which would open closed standard streams for reading and writing. Then no write to a
/// closed standard output would fail.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[allow(
    unsafe_code,
    reason = "a wrong section would not be called, or prevent the start"
)]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
#[used]
static BEFORE_START: extern "C" fn() = {
    /// Opens closed standard input and output for reading, so that writing fails.
    extern "C" fn open_closed_streams() {
        use std::os::fd::{AsRawFd, IntoRawFd};
        // The system always assigns the smallest free number.
        while let Ok(nothing) = std::fs::File::open("/dev/null")
            && nothing.as_raw_fd() <= 1
        {
            let _ = nothing.into_raw_fd();
        }
    }
    open_closed_streams
};

fn main() -> ExitCode {
    ExitCode::from(talentdata_cli::main(std::env::args_os()))
}
