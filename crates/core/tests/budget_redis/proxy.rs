//! A way to a server that can be stalled, and led to another server.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How often a stalled way looks whether it goes on.
const MOMENT: Duration = Duration::from_millis(20);

/// The way.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    stalled: Arc<AtomicBool>,
    target: Arc<AtomicU16>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    /// To the server at this port.
    pub(crate) async fn to(target: u16) -> Self {
        // Any address of this machine, so that it has names that no certificate is for.
        let listener = TcpListener::bind(("0.0.0.0", 0)).await.unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
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

    async fn lead(self, mut near: TcpStream) {
        let target = self.target.load(Ordering::Relaxed);
        let Ok(mut far) = TcpStream::connect(("127.0.0.1", target)).await else {
            return;
        };
        let (mut there, mut back) = ([0; 4096], [0; 4096]);
        while self.target.load(Ordering::Relaxed) == target {
            if self.stalled.load(Ordering::Relaxed) {
                tokio::time::sleep(MOMENT).await;
                continue;
            }
            let moved = tokio::select! {
                read = near.read(&mut there) => match read {
                    Ok(length) if length > 0 => {
                        self.heard.lock().unwrap().extend(&there[..length]);
                        far.write_all(&there[..length]).await
                    }
                    _ => return,
                },
                read = far.read(&mut back) => match read {
                    Ok(length) if length > 0 => near.write_all(&back[..length]).await,
                    _ => return,
                },
                () = tokio::time::sleep(MOMENT) => Ok(()),
            };
            if moved.is_err() {
                return;
            }
        }
    }
}
