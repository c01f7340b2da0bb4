//! Reads a list and commits the changes since the last sync.

use crate::commit::Staging;
use crate::file::{Claim, at};
use crate::options::Sync;
use crate::receipt::SyncReceipt;
use talentdata_core::blocking::{Client as BlockingClient, Job};
use talentdata_core::internal::sink::run;
use talentdata_core::scan::Receipt;
use talentdata_core::{Client, Result};

impl Sync {
    /// Creates a job for callers without an async runtime. Each run of the job is a separate sync. Nothing is sent or
    /// written yet.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = talentdata_core::blocking::Client::new(&settings)?;
    /// # let directory = tempfile::tempdir()?;
    /// use talentdata_core::ListName;
    /// use talentdata_mirror::Sync;
    ///
    /// let job = Sync::new(ListName::Contacts, directory.path().join("talent.db")).job(&client)?;
    /// assert_eq!(job.run()?.generation, 1);
    /// // Nothing changed in the meantime.
    /// assert_eq!(job.run()?.changes.insert, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// See [`check`](Self::check); also `Closed` if the client was closed.
    pub fn job(self, client: &BlockingClient) -> Result<Job<SyncReceipt>> {
        self.check()?;
        let begin = self.scan.receipt(self.resource);
        Job::new(client, "sync", &begin, move |client, stop, progress| {
            let sync = self.clone();
            async move {
                let note = |receipt: &Receipt| progress.note(receipt);
                let finished = sync.run(&client, stop.stopped(), note).await?;
                progress.note(&finished.scan);
                Ok(finished)
            }
        })
    }

    /// Reads the list to its end and commits the changes, or stops when `stop` completes.
    ///
    /// `progress` is called after each page. Until the commit, and after any error, the mirror is not modified.
    /// Dropping the future is like killing the process, and harmless. A sync whose scan is not proven complete is also
    /// committed: its receipt says so ([`SyncReceipt::shortfall`]), and it deletes nothing. A separate thread writes to
    /// the file, and finishes a commit that it has begun.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let records = [("contacts".to_owned(), 250)].into();
    /// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
    /// # let mut settings = talentdata_core::Client::builder();
    /// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
    /// # settings.budget("process");
    /// # let client = settings.build()?;
    /// # let directory = tempfile::tempdir()?;
    /// use talentdata_core::ListName;
    /// use talentdata_mirror::Sync;
    ///
    /// let sync = Sync::new(ListName::Contacts, directory.path().join("talent.db"));
    /// let receipt = sync.run(&client, std::future::pending(), |_| {}).await?;
    /// assert_eq!(receipt.require_proven()?.changes.insert, 250);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of a scan; `Busy` if another sync is writing to the mirror; `Path` if the file is not a mirror;
    /// `StorageFull` or `Io` with the path; `Mismatch` if the mirror belongs to another service or client, or if the
    /// list was read with other parameters; `Schema` for a new field or another type, if the options say so;
    /// `Cancelled` if stopped.
    pub async fn run(
        &self,
        client: &Client,
        stop: impl Future<Output = ()>,
        mut progress: impl FnMut(&Receipt),
    ) -> Result<SyncReceipt> {
        let sync = Sync {
            scan: self.scan.restricted_by(client.config(), self.resource),
            ..self.clone()
        };
        sync.check()?;
        let operation = self.resource.shape().operation;
        client.config().require_credentials_for(operation)?;
        sync.scan.hash_key(client.config())?;
        let claim = Claim::acquire(&self.path)?.with_mode(self.mode);
        let (mut stop, mut confirms) = (std::pin::pin!(stop), None);
        loop {
            let staging = Staging::begin(&claim, &sync, client.config()).map_err(at(&self.path));
            let scan = |_| client.resource(self.resource).scan(self.scan.clone());
            match run(|| staging, None, scan, stop.as_mut(), &mut progress).await {
                Ok(first) if self.confirm && confirms.is_none() && first.is_to_be_confirmed() => {
                    confirms = Some(Box::new(first));
                }
                Ok(mut receipt) => {
                    receipt.confirms = confirms;
                    if self.dry_run {
                        claim.abandon();
                    }
                    return Ok(receipt);
                }
                Err(error) => {
                    claim.abandon();
                    let (client_id, list) = (client.config().client_id(), self.resource.name());
                    return Err(error.logged(client_id, Some(list)));
                }
            }
        }
    }
}
