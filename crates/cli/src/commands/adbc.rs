//! `adbc install`: writes a manifest with which ADBC driver managers find the driver by the name `talentdata`.

use crate::output::{self, Ending};
use std::path::{Path, PathBuf};
use talentdata_core::{Error, ErrorKind};

/// The arguments of `adbc`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  talentdata adbc install --user")]
pub(crate) struct AdbcArgs {
    #[command(subcommand)]
    verb: AdbcVerb,
}

#[derive(Debug, clap::Subcommand)]
enum AdbcVerb {
    /// Write the manifest talentdata.toml, with which programs find the driver by the name talentdata
    Install(InstallArgs),
}

/// The place of the manifest, and the library that it names.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  talentdata adbc install --user")]
struct InstallArgs {
    /// For this user, in $XDG_CONFIG_HOME/adbc/drivers or ~/.config/adbc/drivers (the default)
    #[arg(long)]
    user: bool,
    /// For all users, in /etc/adbc/drivers
    #[arg(long, conflicts_with = "user")]
    system: bool,
    /// The library with the driver; by default the Python package that runs this command, or libtalentdata.so next to
    /// this program or in ../lib
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

/// Writes the manifest and prints its path.
pub(crate) fn run(args: &AdbcArgs) -> Result<(), Ending> {
    let AdbcVerb::Install(args) = &args.verb;
    let library = match &args.library {
        Some(given) => std::fs::canonicalize(given).map_err(|error| {
            Error::new(ErrorKind::Path, format!("{}: {error}", given.display()))
        })?,
        None => loaded().or_else(beside_program).ok_or_else(|| {
            let message = "no library with the driver was found next to this program; name it with --library FILE, \
                           or run this command of the Python package";
            Error::new(ErrorKind::Path, message)
        })?,
    };
    let directory = if args.system {
        PathBuf::from("/etc/adbc/drivers")
    } else {
        user_directory()?
    };
    let path = directory.join("talentdata.toml");
    let written = std::fs::create_dir_all(&directory);
    let written = written.and_then(|()| std::fs::write(&path, manifest(&library)));
    written.map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Error::of_io(&error, message)
    })?;
    output::data(&format!("{}\n", path.display()))
}

/// Returns the library with the driver in this process, which is the native module of the Python package.
fn loaded() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let paths = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]));
    let is_ours = |path: &&str| path.ends_with("/_talentdata.abi3.so");
    paths.into_iter().find(is_ours).map(PathBuf::from)
}

/// Returns the shared C library of this program's installation.
fn beside_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let directory = program.parent()?;
    let places = [directory.join("../lib"), directory.to_owned()];
    let libraries = places.map(|place| place.join("libtalentdata.so"));
    libraries
        .into_iter()
        .find_map(|library| std::fs::canonicalize(library).ok())
}

/// Returns the directory for the drivers of a user.
fn user_directory() -> Result<PathBuf, Error> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let configuration = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| Path::new(&home).join(".config"));
    let directory = configuration.or_else(home).ok_or_else(|| {
        Error::config(
            "neither XDG_CONFIG_HOME nor HOME is set, so the directory for drivers is unknown; set one of them",
        )
    })?;
    Ok(directory.join("adbc/drivers"))
}

/// Returns the manifest for a library on this platform.
fn manifest(library: &Path) -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    // A JSON string is also a valid TOML string.
    let library = serde_json::Value::from(library.to_string_lossy()).to_string();
    format!(
        "manifest_version = 1\nname = \"talentdata\"\nversion = \"{}\"\npublisher = \"talentdata\"\n\
         license = \"MIT OR Apache-2.0\"\n\n[ADBC]\nversion = \"1.1.0\"\n\n[Driver]\nentrypoint = \"AdbcTalentdataInit\"\n\n\
         [Driver.shared]\n{}_{architecture} = {library}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
    )
}
