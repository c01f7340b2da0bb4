//! HTTP/1.1 over loopback: accepts connections and carries requests to the service.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::request::Received;
use crate::service::Service;

/// What ends a connection early.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Serves until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, service: Arc<Service>) -> Infallible {
    let mut connection = 0;
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Most likely no file descriptors are left; others may give theirs back.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        connection += 1;
        tokio::spawn(converse(socket, connection, Arc::clone(&service)));
    }
}

async fn converse(socket: TcpStream, connection: u64, service: Arc<Service>) {
    // Without it small answers wait for more to come; if it cannot be had, they wait.
    let _ = socket.set_nodelay(true);
    let respond = service_fn(|request| respond(request, connection, Arc::clone(&service)));
    let conversation = http1::Builder::new().serve_connection(TokioIo::new(socket), respond);
    // It fails when the client goes away, which is its right.
    let _ = conversation.await;
}

async fn respond(
    request: Request<Incoming>,
    connection: u64,
    service: Arc<Service>,
) -> Result<Response<Full<Bytes>>, Failure> {
    let request = Received::read(request, connection).await?;
    let one_way = service.one_way();
    wait(one_way).await;
    let answer = service.answer(&request);
    wait(one_way).await;
    Ok(answer.response()?)
}

/// A timer's shortest time is a millisecond, so no time is not left to it.
async fn wait(time: Duration) {
    if time > Duration::ZERO {
        tokio::time::sleep(time).await;
    }
}
