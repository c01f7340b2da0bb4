//! Takes a connection over from the HTTP library and misbehaves on it.

use std::fmt;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use tokio::net::TcpStream;

use super::Reply;
use super::script::{How, Trickle};
use super::wire::padding;
use crate::answer::Answer;
use crate::server::{Failure, wait};

/// The connection was taken over: the library must not answer, and close what is left of it.
#[derive(Debug)]
struct Taken;

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection was taken over by a fault")
    }
}

impl std::error::Error for Taken {}

/// Does to `answer` what `reply` says. What is still valid HTTP is left to the library; all else is written here.
pub(crate) async fn play(
    reply: &Reply,
    mut answer: Answer,
    socket: &TcpStream,
) -> Result<Response<Full<Bytes>>, Failure> {
    reply.edit(&mut answer)?;
    wait(Duration::from_millis(reply.delay_ms)).await;
    if !reply.needs_wire(&answer)
        && let Ok(response) = answer.response()
    {
        return Ok(response);
    }
    write(socket, &reply.wire(&answer), reply.trickle).await?;
    if reply.endless {
        let padding = padding(reply.framing());
        loop {
            write(socket, &padding, reply.trickle).await?;
        }
    }
    end(socket, reply.how.unwrap_or_default()).await?;
    Err(Taken.into())
}

/// Prepares the end of a connection; it comes when the socket is dropped.
pub(crate) async fn end(socket: &TcpStream, how: How) -> io::Result<()> {
    match how {
        How::Fin => Ok(()),
        How::Rst => socket.set_zero_linger(),
        How::Stall => until_closed(socket).await,
    }
}

async fn until_closed(socket: &TcpStream) -> io::Result<()> {
    let mut unheard = [0; 1024];
    loop {
        socket.readable().await?;
        match socket.try_read(&mut unheard) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn write(socket: &TcpStream, bytes: &[u8], trickle: Option<Trickle>) -> io::Result<()> {
    let most = trickle.map_or(bytes.len(), |trickle| trickle.bytes);
    for piece in bytes.chunks(most.max(1)) {
        write_all(socket, piece).await?;
        if let Some(trickle) = trickle {
            wait(Duration::from_millis(trickle.every_ms)).await;
        }
    }
    Ok(())
}

async fn write_all(socket: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        socket.writable().await?;
        match socket.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
