//! Takes a connection over from the HTTP library, and does on it what a rule says.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::Reply;
use super::script::{How, Trickle};
use crate::answer::Answer;
use crate::server::{Failure, wait};

/// Does to `answer` what `reply` says. What is still valid HTTP is left to the library; all else is written to `spare`,
/// which is the same connection. The library then must not answer, and drops what is left of it, for which an error asks.
pub(crate) async fn play(
    reply: &Reply,
    mut answer: Answer,
    spare: &std::net::TcpStream,
) -> Result<Response<Full<Bytes>>, Failure> {
    reply.edit(&mut answer)?;
    wait(Duration::from_millis(reply.delay_ms)).await;
    if !reply.needs_wire(&answer)
        && let Ok(response) = answer.response()
    {
        return Ok(response);
    }
    let mut socket = TcpStream::from_std(spare.try_clone()?)?;
    write(&mut socket, &reply.wire(&answer), reply.trickle).await?;
    if reply.endless {
        let padding = reply.padding();
        loop {
            write(&mut socket, &padding, reply.trickle).await?;
        }
    }
    end(&mut socket, reply.how.unwrap_or_default()).await?;
    Err("the connection was taken over by a fault".into())
}

/// Prepares the end of a connection; it comes when the socket is dropped.
pub(crate) async fn end(socket: &mut TcpStream, how: How) -> io::Result<()> {
    match how {
        How::Fin => Ok(()),
        How::Rst => socket.set_zero_linger(),
        How::Stall => {
            let mut unheard = [0; 1024];
            while socket.read(&mut unheard).await? > 0 {}
            Ok(())
        }
    }
}

async fn write(socket: &mut TcpStream, bytes: &[u8], trickle: Option<Trickle>) -> io::Result<()> {
    let most = trickle.map_or(bytes.len(), |trickle| trickle.bytes);
    for piece in bytes.chunks(most.max(1)) {
        socket.write_all(piece).await?;
        if let Some(trickle) = trickle {
            wait(Duration::from_millis(trickle.every_ms)).await;
        }
    }
    Ok(())
}
