//! Standard streams that are non-blocking, because another program that shares the terminal or the pipe set that mode.

use std::io::{ErrorKind, Read, Result, Write};

/// A stream that waits until its descriptor is ready, instead of failing with "Resource temporarily unavailable".
///
/// Node.js, ssh and expect make the descriptors that they share with their children non-blocking.
#[derive(Debug)]
pub struct Patient<T>(pub T);

impl<T: Descriptor + Read> Read for Patient<T> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.patiently(Ready::Input, |stream| stream.read(buffer))
    }
}

impl<T: Descriptor + Write> Write for Patient<T> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.patiently(Ready::Output, |stream| stream.write(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        self.patiently(Ready::Output, T::flush)
    }
}

impl<T: Descriptor> Patient<T> {
    /// Repeats an operation that would block until it succeeds.
    fn patiently<R>(
        &mut self,
        ready: Ready,
        mut operation: impl FnMut(&mut T) -> Result<R>,
    ) -> Result<R> {
        loop {
            match operation(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => wait(&self.0, ready)?,
                done => return done,
            }
        }
    }
}

/// The readiness to wait for.
#[derive(Clone, Copy)]
enum Ready {
    Input,
    Output,
}

#[cfg(unix)]
use std::os::fd::AsFd as Descriptor;

#[cfg(unix)]
fn wait(stream: &impl Descriptor, ready: Ready) -> Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let flags = match ready {
        Ready::Input => PollFlags::IN,
        Ready::Output => PollFlags::OUT,
    };
    match poll(&mut [PollFd::new(stream, flags)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
use std::os::windows::io::AsHandle as Descriptor;

#[cfg(not(unix))]
fn wait(_: &impl Descriptor, _: Ready) -> Result<()> {
    Err(ErrorKind::WouldBlock.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::fs::File;
    use std::thread::spawn;

    #[test]
    fn a_non_blocking_pipe_is_written_and_read_completely() {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let sent: Vec<u8> = (0..1_000_000_u32)
            .map(|index| (index % 251) as u8)
            .collect();
        let expected = sent.clone();
        let writing = spawn(move || {
            let mut writer = Patient(File::from(writer));
            writer.write_all(&sent).unwrap();
            writer.flush().unwrap();
        });
        let mut received = Vec::new();
        Patient(File::from(reader))
            .read_to_end(&mut received)
            .unwrap();
        writing.join().unwrap();
        assert!(received == expected);
    }
}
