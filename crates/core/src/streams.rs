//! Standard streams that are non-blocking, because another program that shares the terminal or the pipe set that mode,
//! and standard output whose failures are all reported.

use std::io::{ErrorKind, Read, Result, Stdout, Write};
use std::sync::OnceLock;

/// True if the first failed write to standard output failed because its reader had closed it.
static READER_GONE: OnceLock<bool> = OnceLock::new();

/// Standard output without a buffer. Writing to Rust's own stream succeeds even if its descriptor cannot be written.
#[derive(Debug)]
pub struct StandardOutput(Stdout);

/// Returns standard output.
pub fn stdout() -> Patient<StandardOutput> {
    Patient(StandardOutput(std::io::stdout()))
}

/// Returns whether writing to standard output failed because its reader has closed it, for example `head`.
pub fn reader_gone() -> bool {
    READER_GONE.get() == Some(&true)
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.write_once(bytes);
        if let Err(error) = &written
            && !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
        {
            READER_GONE.get_or_init(|| error.kind() == ErrorKind::BrokenPipe);
        }
        written
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl StandardOutput {
    #[cfg(unix)]
    fn write_once(&mut self, bytes: &[u8]) -> Result<usize> {
        rustix::io::write(&self.0, bytes).map_err(|error| match error {
            rustix::io::Errno::BADF => {
                std::io::Error::other("it is closed, or not open for writing")
            }
            error => error.into(),
        })
    }

    #[cfg(not(unix))]
    fn write_once(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.write_all(bytes)?;
        self.0.flush().map(|()| bytes.len())
    }
}

#[cfg(unix)]
impl Descriptor for StandardOutput {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(not(unix))]
impl Descriptor for StandardOutput {
    fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
        self.0.as_handle()
    }
}

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
