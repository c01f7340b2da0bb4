//! A connection to a server that takes time, can be stalled, can be led to another server, and may begin with TLS.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

/// The connection.
#[derive(Clone)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    one_way: Duration,
    /// The port to which the proxy forwards, and whether it is stalled.
    state: watch::Sender<(u16, bool)>,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Proxy {
    /// Starts a proxy of the server at this port, with this latency.
    pub(crate) async fn to(target: u16, one_way: Duration) -> Self {
        Proxy::with(target, one_way, None).await
    }

    /// Starts a proxy of the server at this port, with this latency, which accepts TLS if `tls` is given.
    pub(crate) async fn with(target: u16, one_way: Duration, tls: Option<TlsAcceptor>) -> Self {
        // Listens at any address of this machine, so that it has names that no certificate is for.
        let listener = TcpListener::bind(("0.0.0.0", 0)).await.unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
            one_way,
            state: watch::Sender::new((target, false)),
            heard: Arc::default(),
        };
        let way = proxy.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                socket.set_nodelay(true).unwrap();
                let (way, tls) = (way.clone(), tls.clone());
                tokio::spawn(async move {
                    let Some(tls) = tls else {
                        return way.lead(socket).await;
                    };
                    if let Ok(socket) = tls.accept(socket).await {
                        way.lead(socket).await;
                    }
                });
            }
        });
        proxy
    }

    /// Stalls the connections, or lets them continue.
    pub(crate) fn stall(&self, stalled: bool) {
        self.state.send_modify(|state| state.1 = stalled);
    }

    /// Forwards to another server from now on. Connections to the old one end.
    pub(crate) fn lead_to(&self, port: u16) {
        self.state.send_modify(|state| state.0 = port);
    }

    /// Returns all bytes that were sent through it, decrypted if it accepts TLS.
    pub(crate) fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }

    async fn lead(self, near: impl AsyncRead + AsyncWrite) {
        let mut state = self.state.subscribe();
        let target = state.borrow().0;
        let Ok(far) = TcpStream::connect(("127.0.0.1", target)).await else {
            return;
        };
        far.set_nodelay(true).unwrap();
        let ((from_near, to_near), (from_far, to_far)) = (split(near), split(far));
        tokio::select! {
            () = self.carry(from_near, to_far) => {}
            () = self.carry(from_far, to_near) => {}
            _ = state.wait_for(|(now, _)| *now != target) => {}
        }
    }

    /// Forwards bytes until one of the ends is closed. On a connection, one message at a time is under way.
    async fn carry(&self, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
        let mut state = self.state.subscribe();
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut bytes).await {
            let bytes = &bytes[..length];
            self.heard.lock().unwrap().extend(bytes);
            sleep(self.one_way).await;
            let _ = state.wait_for(|(_, stalled)| !stalled).await;
            if to.write_all(bytes).await.is_err() || to.flush().await.is_err() {
                return;
            }
        }
    }
}
