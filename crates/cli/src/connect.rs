//! Makes the client that a verb uses, from arguments, environment and profile, or of the embedded service.

use crate::args::Common;
use std::pin::Pin;
use talentdata_core::settings::Scope;
use talentdata_core::{Client, Error, ErrorKind};
use talentdata_sandbox::{Options, Sandbox};
use tokio::runtime::Handle;

/// A client, and the service that was started for it.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Dropped after the client.
    _leaving: Leaving,
    _sandbox: Option<Sandbox>,
}

/// Waits, when it is dropped, until the client has left its budget: the runtime ends soon after that.
struct Leaving(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Drop for Leaving {
    fn drop(&mut self) {
        tokio::task::block_in_place(|| Handle::current().block_on(&mut self.0));
    }
}

/// The client that the arguments ask for; nothing is sent.
///
/// # Errors
/// `InvalidArgument` for `--sandbox` with an address or credentials; `Config`, naming the setting;
/// `Io` when the embedded service cannot be started.
pub(crate) fn connect(common: &Common) -> Result<Connection, Error> {
    let mut builder = Client::builder();
    if common.sandbox {
        // Nobody else knows the service of this run.
        builder.budget("process");
    }
    common.settings.set(&mut builder)?;
    let mut running = None;
    if common.sandbox {
        refuse_address(common)?;
        let sandbox = running.insert(start(Options::default())?);
        builder
            .base_url(sandbox.base_url())
            .client_id(sandbox.client_id())
            .client_secret(sandbox.client_secret());
    }
    let client = builder.build()?;
    Ok(Connection {
        _leaving: Leaving(Box::pin(client.closed())),
        client,
        _sandbox: running,
    })
}

/// Starts the embedded service.
///
/// # Errors
/// `Io` when the port is taken or the system grants no threads.
pub(crate) fn start(options: Options) -> Result<Sandbox, Error> {
    Sandbox::start(options).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("the sandbox could not be started: {error}"),
        )
    })
}

fn refuse_address(common: &Common) -> Result<(), Error> {
    match common.settings.first(Some(Scope::Service)) {
        None => Ok(()),
        Some(flag) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("--sandbox starts a service of its own; leave out either it or {flag}"),
        )),
    }
}
