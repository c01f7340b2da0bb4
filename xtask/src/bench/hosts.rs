//! Hosts for clients: network namespaces of this machine, each with a network of its own to it.
//!
//! What listens on 127.0.0.1 of this machine is reached there from each of them, since the client sends its secret without
//! TLS to nowhere else.

use crate::Outcome;
use crate::test::succeed;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// How many there are.
pub(super) const HOSTS: usize = 3;
/// Attempts to find a namespace that is about to be made, at 10 ms each.
const ATTEMPTS: u32 = 200;

/// The hosts, which end with the value.
pub(super) struct Hosts(Vec<Host>);

impl Hosts {
    /// Makes them.
    ///
    /// # Errors
    /// When this user may not, or this machine has no namespaces.
    pub(super) fn new() -> Result<Self, String> {
        (0..HOSTS)
            .map(Host::new)
            .collect::<Result<_, _>>()
            .map(Hosts)
    }

    /// The command on the host of this number, counted around.
    pub(super) fn on(&self, number: usize, command: &Command) -> Command {
        self.0[number % HOSTS].command(command)
    }
}

/// A namespace, and the process that holds it until its standard input is closed.
struct Host(Child);

impl Host {
    fn new(number: usize) -> Result<Self, String> {
        let holder = Command::new("unshare")
            .args(["--net", "cat"])
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run unshare: {error}"))?;
        let mut host = Host(holder);
        host.wait()?;
        host.connect(number)?;
        Ok(host)
    }

    /// Waits until it is in a namespace of its own.
    fn wait(&mut self) -> Outcome {
        let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net"));
        let here = namespace("self").map_err(|error| format!("no namespaces: {error}"))?;
        let process = self.0.id().to_string();
        for _ in 0..ATTEMPTS {
            if namespace(&process).is_ok_and(|there| there != here) {
                return Ok(());
            }
            sleep(Duration::from_millis(10));
        }
        Err("unshare makes no namespace; it takes root".into())
    }

    /// A pair of interfaces leads here, to an address that is reserved for benchmarks; from there on, 127.0.0.1 is this machine.
    fn connect(&self, number: usize) -> Outcome {
        let process = self.0.id();
        let (near, far) = (format!("tdbench{number}"), format!("tdbench{number}c"));
        let [here, there] = [1, 2].map(|last| format!("198.18.{number}.{last}"));
        let allow = |interface: &str| {
            format!("echo 1 > /proc/sys/net/ipv4/conf/{interface}/route_localnet")
        };
        let script = format!(
            "set -e
            ip link add {near} type veth peer name {far} netns {process}
            {}
            ip addr add {here}/24 dev {near}
            ip link set {near} up",
            allow(&near)
        );
        succeed(Command::new("sh").args(["-c", &script]))?;
        let script = format!(
            "set -e
            ip addr add {there}/24 dev {far}
            {}
            ip link set {far} up
            ip route add 127.0.0.1/32 via {here} dev {far} src {there}",
            allow(&far)
        );
        succeed(&mut self.command(Command::new("sh").args(["-c", &script])))
    }

    /// The command on this host.
    fn command(&self, command: &Command) -> Command {
        let process = self.0.id().to_string();
        let mut entered = Command::new("nsenter");
        entered
            .args(["--target", &process, "--net", "--"])
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => entered.env(name, value),
                None => entered.env_remove(name),
            };
        }
        entered
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // It fails when the holder has ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
