//! A way to a server that takes time, can be stalled, and can be led to another server.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

/// How often a way looks whether it is stalled, or leads elsewhere.
const MOMENT: Duration = Duration::from_millis(20);

/// The way.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    one_way: Duration,
    stalled: Arc<AtomicBool>,
    target: Arc<AtomicU16>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    /// To the server at this port.
    pub(crate) async fn to(target: u16) -> Self {
        Self::far(target, Duration::ZERO).await
    }

    /// To the server at this port, which is so far away.
    pub(crate) async fn far(target: u16, one_way: Duration) -> Self {
        // Any address of this machine, so that it has names that no certificate is for.
        let listener = TcpListener::bind(("0.0.0.0", 0)).await.unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
            one_way,
            stalled: Arc::default(),
            target: Arc::new(AtomicU16::new(target)),
            heard: Arc::default(),
        };
        let way = proxy.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(way.clone().lead(socket));
            }
        });
        proxy
    }

    /// Lets nothing through, or goes on.
    pub(crate) fn stall(&self, stalled: bool) {
        self.stalled.store(stalled, Ordering::Relaxed);
    }

    /// Leads to another server from now on; connections to the one before end.
    pub(crate) fn lead_to(&self, port: u16) {
        self.target.store(port, Ordering::Relaxed);
    }

    /// All that was sent towards the server.
    pub(crate) fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }

    async fn lead(self, near: TcpStream) {
        let target = self.target.load(Ordering::Relaxed);
        let Ok(far) = TcpStream::connect(("127.0.0.1", target)).await else {
            return;
        };
        for stream in [&near, &far] {
            stream.set_nodelay(true).unwrap();
        }
        let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
        let is_elsewhere = async {
            while self.target.load(Ordering::Relaxed) == target {
                sleep(MOMENT).await;
            }
        };
        tokio::select! {
            () = self.carry(from_near, to_far, true) => {}
            () = self.carry(from_far, to_near, false) => {}
            () = is_elsewhere => {}
        }
    }

    /// Carries what comes until one of the ends is closed.
    async fn carry(
        &self,
        mut from: impl AsyncReadExt + Unpin,
        mut to: impl AsyncWriteExt + Unpin,
        towards_server: bool,
    ) {
        let (arrives, mut arrived) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
        let read = async {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut bytes).await {
                if towards_server {
                    self.heard.lock().unwrap().extend(&bytes[..length]);
                }
                let at = Instant::now() + self.one_way;
                arrives.send((at, bytes[..length].to_vec())).unwrap();
            }
        };
        let write = async {
            while let Some((at, bytes)) = arrived.recv().await {
                sleep_until(at).await;
                while self.stalled.load(Ordering::Relaxed) {
                    sleep(MOMENT).await;
                }
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            () = read => {}
            () = write => {}
        }
    }
}
