//! A sandbox without a rate limit, a client of it, what the list holds by the plainest of means, and exports in
//! processes of their own, which can be killed and limited.

use super::{export, run};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use talentdata_columns::export::{Export, Target};
use talentdata_core::Client;
use talentdata_sandbox::{Drift, Options, Sandbox, limit::Policy};

pub(crate) struct Service {
    pub(crate) sandbox: Sandbox,
    pub(crate) client: Client,
}

impl Service {
    /// With so many contacts.
    pub(crate) fn start(contacts: u64) -> Self {
        Self::start_with(contacts, None)
    }

    /// With so many contacts that come and go.
    pub(crate) fn start_with(contacts: u64, drift: Option<Drift>) -> Self {
        let sandbox = Sandbox::start(Options {
            records: [("contacts".to_owned(), contacts)].into(),
            policy: Policy::Unlimited,
            max_limit: Some(10_000),
            faults: true,
            drift,
            ..Options::default()
        });
        let sandbox = sandbox.unwrap();
        let (id, secret) = (sandbox.client_id(), sandbox.client_secret());
        let client = client(sandbox.base_url(), id, secret);
        Service { sandbox, client }
    }

    /// From the `from`th request for contacts on, every one fails with this status.
    pub(crate) fn fail(&self, from: u64, status: u64) {
        let wanted = json!({"path": "/v1/contacts", "from": from});
        let script = json!({"rules": [{"match": wanted, "reply": {"status": status}}]});
        self.sandbox.set_faults(&script.to_string()).unwrap();
    }

    /// All contacts as JSON Lines, from a single page, which is larger than the client would ask for.
    pub(crate) fn lines(&self) -> String {
        #[derive(serde::Deserialize)]
        struct Contacts<'a> {
            #[serde(borrow)]
            contacts: Vec<&'a serde_json::value::RawValue>,
        }
        let (id, secret) = (self.sandbox.client_id(), self.sandbox.client_secret());
        let login = json!({"clientId": id, "clientSecret": secret}).to_string();
        let token: Value =
            serde_json::from_str(&self.ask("POST /v1/oauth/token", "", &login)).unwrap();
        let token = token["access_token"].as_str().unwrap();
        let bearer = format!("authorization: Bearer {token}\r\n");
        let page = self.ask("GET /v1/contacts?limit=10000", &bearer, "");
        let page: Contacts = serde_json::from_str(&page).unwrap();
        let lines = page.contacts.iter();
        lines.map(|record| format!("{}\n", record.get())).collect()
    }

    /// The body of the response to a request that the client would not send.
    pub(crate) fn ask(&self, line: &str, header: &str, body: &str) -> String {
        let address = self.sandbox.base_url().trim_start_matches("http://");
        let mut socket = TcpStream::connect(address).unwrap();
        let head = format!("{line} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{header}");
        let kind = "content-type: application/json";
        let length = body.len();
        write!(
            socket,
            "{head}{kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
        body.to_owned()
    }

    /// A process that runs an export, after `limits` of the shell.
    pub(crate) fn child(&self, limits: &str, export: &Export) -> Child {
        let program = std::env::current_exe().unwrap();
        self.command(&program, limits, export).spawn().unwrap()
    }

    /// The same, yet to be started, by a copy of this program.
    pub(crate) fn command(&self, program: &Path, limits: &str, export: &Export) -> Command {
        let Target::File(path) = &export.target else {
            panic!("no file");
        };
        let (sandbox, resume) = (&self.sandbox, export.resume.to_string());
        let settings = [
            sandbox.base_url(),
            sandbox.client_id(),
            sandbox.client_secret(),
            path.to_str().unwrap(),
            export.format.name(),
            &resume,
        ];
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limits} exec \"$0\" \"$@\"")]);
        command.arg(program);
        command.args([ENTRY, "--exact", "--nocapture"]);
        command.env(CHILD, json!(settings).to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }
}

pub(crate) fn client(base_url: &str, id: &str, secret: &str) -> Client {
    let mut builder = Client::builder();
    builder.base_url(base_url).paced(false);
    builder.client_id(id).client_secret(secret).build().unwrap()
}

/// Tells a process that it is a child, and what it needs.
const CHILD: &str = "TALENTDATA_TEST_EXPORT_CHILD";

/// The test that children run.
const ENTRY: &str = "modes::a_new_file_has_the_mode_that_the_umask_gives";

/// Runs the child's export, if this process is one; prints the receipt or the error.
pub(crate) async fn act_as_child() {
    let Ok(settings) = std::env::var(CHILD) else {
        return;
    };
    let [base_url, id, secret, path, format, resume]: [String; 6] =
        serde_json::from_str(&settings).unwrap();
    let mut export = export(format.parse().unwrap(), Path::new(&path));
    export.resume = resume == "true";
    let (code, said) = match run(&export, &client(&base_url, &id, &secret)).await {
        Ok(receipt) => (0, serde_json::to_string(&receipt).unwrap()),
        Err(error) => (error.kind().exit_code(), error.to_string()),
    };
    println!("{said}");
    std::process::exit(code.into());
}

/// How a child ended: its exit code, none when it was killed, and what it printed.
pub(crate) fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), said)
}
