//! HTTP/1.1 over loopback: accepts connections and carries requests to the service.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Full, LengthLimitError};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::answer::Answer;
use crate::faults::{administer, end, play, refusal};
use crate::request::Received;
use crate::service::Service;
use crate::shared::lock;

/// What ends a connection early.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

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

async fn converse(mut socket: TcpStream, connection: u64, service: Arc<Service>) -> io::Result<()> {
    let fault = service
        .faults
        .as_ref()
        .and_then(|faults| lock(faults).accepted());
    if let Some(how) = fault {
        // The socket is dropped in either case.
        return end(&mut socket, how).await;
    }
    // Without it small answers wait for more to come.
    socket.set_nodelay(true)?;
    // A fault takes the connection over by a handle of its own.
    let socket = socket.into_std()?;
    let spare = Arc::new(socket.try_clone()?);
    let io = TokioIo::new(TcpStream::from_std(socket)?);
    let respond = service_fn(|request| {
        respond(
            request,
            connection,
            Arc::clone(&service),
            Arc::clone(&spare),
        )
    });
    let conversation = http1::Builder::new().serve_connection(io, respond);
    // It fails when the client goes away, which is its right, and when a fault has taken the connection over.
    let _ = conversation.await;
    Ok(())
}

async fn respond(
    request: Request<Incoming>,
    connection: u64,
    service: Arc<Service>,
    spare: Arc<std::net::TcpStream>,
) -> Result<Response<Full<Bytes>>, Failure> {
    let faults = service.faults.is_some();
    if faults && request.uri().path().starts_with("/__") {
        let port = spare.local_addr()?.port();
        if let Some(refusal) = refusal(request.headers(), port) {
            return Ok(refusal.response()?);
        }
    }
    let request = match Received::read(request, connection, faults).await {
        Ok(request) => request,
        Err(error) if error.is::<LengthLimitError>() => {
            let refusal = Answer::error(413, "too_large", "the body is larger than any use needs");
            return Ok(refusal.with("connection", "close").response()?);
        }
        Err(error) => return Err(error),
    };
    if let Some(answer) = administer(&service, &request) {
        return Ok(answer.response()?);
    }
    let one_way = service.one_way();
    wait(one_way).await;
    let answer = service.answer(&request);
    let fault = service.fault(&request);
    wait(one_way).await;
    match fault {
        None => Ok(answer.response()?),
        Some(reply) => play(&reply, answer, &spare).await,
    }
}

/// A timer's shortest time is a millisecond, so no time is not left to it.
pub(crate) async fn wait(time: Duration) {
    if time > Duration::ZERO {
        tokio::time::sleep(time).await;
    }
}
