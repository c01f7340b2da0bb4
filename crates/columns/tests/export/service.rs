//! A sandbox without a rate limit with a client, a simple reader of the whole list, and exports in child processes,
//! which can be killed and limited.

use super::{EVERY_CHOICE, export, run};
use serde_json::json;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use talentdata_columns::export::{Export, Target};
use talentdata_core::{Builder, Client};
use talentdata_sandbox::{Drift, Options, Sandbox, limit::Policy};

pub(crate) struct Service {
    pub(crate) sandbox: Sandbox,
    pub(crate) client: Client,
    pub(crate) contacts: u64,
}

impl Service {
    /// Starts a service with this number of contacts.
    pub(crate) fn start(contacts: u64) -> Self {
        Self::start_with(contacts, None)
    }

    /// Starts a service with this number of contacts, which are inserted and deleted during a scan.
    pub(crate) fn start_with(contacts: u64, drift: Option<Drift>) -> Self {
        let sandbox = Sandbox::start(Options {
            records: [("contacts".to_owned(), contacts)].into(),
            policy: Policy::Unlimited,
            faults: true,
            drift,
            ..Options::default()
        });
        let sandbox = sandbox.unwrap();
        let (id, secret) = (sandbox.client_id(), sandbox.client_secret());
        Service {
            client: client(sandbox.base_url(), id, secret),
            sandbox,
            contacts,
        }
    }

    /// Makes every request for contacts fail with this status, beginning with request `from`.
    pub(crate) fn fail(&self, from: u64, status: u64) {
        let wanted = json!({"path": "/v1/contacts", "from": from});
        let script = json!({"rules": [{"match": wanted, "reply": {"status": status}}]});
        self.sandbox.set_faults(&script.to_string()).unwrap();
    }

    /// Returns all contacts as JSON Lines, read page by page.
    pub(crate) async fn lines(&self) -> String {
        let (list, mut lines) = (self.client.contacts().raw(), String::new());
        for offset in (0..).step_by(100) {
            let page = list.page(Some(100), offset).await.unwrap();
            for record in &page.records {
                lines += &format!("{}\n", record.as_str());
            }
            if page.pagination.has_more != Some(true) {
                break;
            }
        }
        lines
    }

    /// Starts a process that runs an export, after the shell commands `limits`.
    pub(crate) fn child(&self, limits: &str, export: &Export) -> Child {
        let Target::File(path) = &export.target else {
            panic!("no file");
        };
        let (sandbox, kept) = (&self.sandbox, format!("{:?}", export.kept));
        let settings = [
            sandbox.base_url(),
            sandbox.client_id(),
            sandbox.client_secret(),
            path.to_str().unwrap(),
            export.format.name(),
            &kept,
        ];
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limits} exec \"$0\" \"$@\"")]);
        command.arg(std::env::current_exe().unwrap());
        command.args([ENTRY, "--exact", "--nocapture"]);
        command.env(CHILD, json!(settings).to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    }
}

pub(crate) fn settings(base_url: &str, id: &str, secret: &str) -> Builder {
    let mut builder = Client::builder();
    builder.base_url(base_url).paced(false);
    builder.client_id(id).client_secret(secret);
    builder
}

pub(crate) fn client(base_url: &str, id: &str, secret: &str) -> Client {
    settings(base_url, id, secret).build().unwrap()
}

/// The environment variable that marks a child process and contains its export.
const CHILD: &str = "TALENTDATA_TEST_EXPORT_CHILD";

/// The test that children run.
const ENTRY: &str = "modes::a_new_file_is_private_regardless_of_the_umask";

/// Runs the child's export, if this process is one; prints the receipt or the error.
pub(crate) async fn act_as_child() {
    let Ok(settings) = std::env::var(CHILD) else {
        return;
    };
    let [base_url, id, secret, path, format, kept]: [String; 6] =
        serde_json::from_str(&settings).unwrap();
    let mut export = export(format.parse().unwrap(), Path::new(&path));
    let mut choices = EVERY_CHOICE.into_iter();
    export.kept = choices.find(|one| format!("{one:?}") == kept).unwrap();
    let (code, said) = match run(&export, &client(&base_url, &id, &secret)).await {
        Ok(receipt) => (0, serde_json::to_string(&receipt).unwrap()),
        Err(error) => (error.kind().exit_code(), error.to_string()),
    };
    println!("{said}");
    std::process::exit(code.into());
}

/// Waits for a child, and returns its exit code, or `None` if it was killed, and its output.
pub(crate) fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), said)
}
