//! Values that belong to the process that made them: after a fork they are forgotten, never dropped.

/// A value whose threads and sockets are this process's own.
///
/// A forked child inherits the memory but not the threads: waiting for them, as dropping does, would
/// never end. So the child leaks the value, and sees none.
pub struct Owned<T> {
    process: u32,
    value: Option<T>,
}

impl<T> Owned<T> {
    /// A value of this process.
    pub fn new(value: T) -> Self {
        Owned {
            process: std::process::id(),
            value: Some(value),
        }
    }

    /// The value, in the process that made it.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_ours())
    }

    /// The value to be changed, in the process that made it.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let ours = self.is_ours();
        self.value.as_mut().filter(|_| ours)
    }

    /// The value itself, in the process that made it.
    pub fn take(&mut self) -> Option<T> {
        let ours = self.is_ours();
        self.value.take_if(|_| ours)
    }

    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_ours() {
            std::mem::forget(self.value.take());
        }
    }
}
