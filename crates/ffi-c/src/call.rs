//! The call handle: a running call or job that a program need not wait for. Each has its own deadline and can be
//! cancelled.

use crate::boundary::{guard_or, shared};
use crate::client::{self, ClientHandle, list_name};
use crate::descriptor::SelfPipe;
use crate::error::ErrorHandle;
use crate::export::{get, guard, invalid, lent, slot};
use crate::options::OptionsHandle;
use crate::record::RecordHandle;
use crate::text::Text;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};
use std::time::Duration;
use talentdata_core::Result;
use talentdata_core::blocking::Begun;
use talentdata_core::scan::Receipt;
use talentdata_mirror::SyncReceipt;

/// A running call or job. One thread at a time may use it. Any thread may cancel it. Freed with talentdata_call_free.
pub struct CallHandle {
    work: CallWork,
    self_pipe: OnceLock<Arc<SelfPipe>>,
}

/// The work of a call, by its kind.
pub(crate) enum CallWork {
    Operation(Begun<Option<String>>),
    Page(Begun<String>, u64),
    Export(Begun<Receipt>),
    Sync(Begun<SyncReceipt>),
}

/// Begins a call like talentdata_client_call, without waiting for it. Everything is checked before it is sent.
///
/// @param client the client
/// @param operation the operationId, such as checkVersion
/// @param options the parameters of the operation, added with talentdata_options_add, or NULL
/// @param body the request body as JSON; absent if the operation takes none
/// @param seconds the time limit of this call from now on, in addition to the setting timeout; 0 for none
/// @param call_out the call
/// Ownership: the caller frees `*call_out` with talentdata_call_free; it outlives the client. The arguments are copied.
/// Threads: any; no other thread may change `options` during the call. It does not wait.
/// Errors: INVALID_ARGUMENT for NULL, an unknown operation, a time limit outside 0 to 86,400 s, or an argument that
/// cannot be sent, with its name; CLOSED.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_begin(
    client: Option<&ClientHandle>,
    operation: Text,
    options: Option<&OptionsHandle>,
    body: Text,
    seconds: f64,
    call_out: Option<&mut MaybeUninit<Box<CallHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (call_out, "call_out"), |client| {
        let (operation, arguments) = client::call_arguments(&operation, options, &body)?;
        arguments.check(operation)?;
        let call =
            async move |client: talentdata_core::Client| client.invoke(operation, arguments).await;
        let begun = client.inner.begin(deadline(seconds)?, call)?;
        Ok(CallHandle::new(CallWork::Operation(begun)))
    })
}

/// Begins to fetch one page of a list like talentdata_client_page, without waiting for it.
///
/// @param client the client
/// @param list the name of the list, such as TALENTDATA_LIST_CONTACTS
/// @param limit the maximum number of records, 1 to 100, or TALENTDATA_LIMIT_OF_SERVICE
/// @param offset the number of records to skip
/// @param options parameters of the list, added with talentdata_options_add, or NULL
/// @param seconds the time limit of this call from now on, in addition to the setting timeout; 0 for none
/// @param call_out the call, whose result is the page
/// Ownership: the caller frees `*call_out` with talentdata_call_free; it outlives the client. The arguments are copied.
/// Threads: any; no other thread may change `options` during the call. It does not wait.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, a time limit outside 0 to 86,400 s, or parameters that the list
/// does not take; CLOSED. For another limit, the result is an error.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_begin_page(
    client: Option<&ClientHandle>,
    list: Text,
    limit: u64,
    offset: u64,
    options: Option<&OptionsHandle>,
    seconds: f64,
    call_out: Option<&mut MaybeUninit<Box<CallHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((client, "client"), (call_out, "call_out"), |client| {
        let list = list_name(&list)?;
        let arguments = OptionsHandle::arguments(options, list.shape().operation, "a page")?;
        let page = move |client| client::page(client, list, limit, offset, arguments);
        let begun = client.inner.begin(deadline(seconds)?, page)?;
        Ok(CallHandle::new(CallWork::Page(begun, offset)))
    })
}

/// Takes the result of a call if the call is done, without waiting.
///
/// @param call the call
/// @param done_out true if the call is done
/// @param result_out the result: the response, the page or the receipt; NULL if the response is empty, and while the
/// call is not done
/// Ownership: the caller frees `*result_out` with talentdata_record_free; it outlives the call.
/// Threads: one at a time per call.
/// Errors: the errors of the call, also in every later call; CANCELLED after talentdata_call_cancel; TIMEOUT after the
/// time limit; CLOSED after the client was closed, and in a forked child; INVALID_ARGUMENT for NULL, or if the result
/// was taken before.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_call_poll(
    call: Option<NonNull<CallHandle>>,
    done_out: Option<&mut MaybeUninit<bool>>,
    result_out: Option<&mut MaybeUninit<Option<Box<RecordHandle>>>>,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let call = lent(shared(&call), "call")?;
        let done_out = slot(done_out, "done_out")?;
        let result_out = slot(result_out, "result_out")?;
        let polled = call.poll()?;
        done_out.write(polled.is_ready());
        result_out.write(match polled {
            Poll::Ready(result) => result,
            Poll::Pending => None,
        });
        Ok(())
    })
}

/// Waits for the result of a call.
///
/// @param call the call
/// @param result_out the result: the response, the page or the receipt; NULL if the response is empty
/// Ownership: the caller frees `*result_out` with talentdata_record_free; it outlives the call.
/// Threads: one at a time per call; waits for the service.
/// Errors: see talentdata_call_poll.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_call_wait(
    call: Option<NonNull<CallHandle>>,
    result_out: Option<&mut MaybeUninit<Option<Box<RecordHandle>>>>,
) -> Option<Box<ErrorHandle>> {
    get(
        (shared(&call), "call"),
        (result_out, "result_out"),
        |call| match &call.work {
            CallWork::Operation(begun) => response(begun.wait()?),
            CallWork::Page(begun, offset) => page(&begun.wait()?, *offset),
            CallWork::Export(begun) => receipt(&begun.wait()?),
            CallWork::Sync(begun) => receipt(&begun.wait()?),
        },
    )
}

/// Returns a file descriptor for poll, select, epoll or an event loop. It is readable from the end of the call until
/// the result is taken.
///
/// @param call the call
/// @param descriptor_out the descriptor, the same in every call
/// Ownership: the descriptor belongs to the call, which closes it when it is freed. Do not read from it, write to it or
/// close it.
/// Threads: one at a time per call.
/// Errors: IO if no pipe can be created; CLOSED in a forked child; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_call_descriptor(
    call: Option<NonNull<CallHandle>>,
    descriptor_out: Option<&mut MaybeUninit<i32>>,
) -> Option<Box<ErrorHandle>> {
    get(
        (shared(&call), "call"),
        (descriptor_out, "descriptor_out"),
        CallHandle::descriptor,
    )
}

/// Cancels a call, which then ends with CANCELLED unless it is done. The service may have executed a cancelled request.
/// A cancelled job keeps its records to be resumed, and does not run again. NULL does nothing.
///
/// Ownership: the caller still owns `call` and must free it.
/// Threads: any, also while another thread waits for it, and from a log callback; not from a signal handler.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_call_cancel(call: Option<NonNull<CallHandle>>) {
    guard_or((), || {
        if let Some(call) = shared(&call) {
            call.cancel();
        }
    });
}

/// Frees a call, and cancels it if it is not done. NULL does nothing. It does not wait for the service. See
/// talentdata_client_free for the last handle of a client.
///
/// Ownership: `call` and its descriptor must no longer be used. Its result stays valid.
/// Threads: any, after every other call with this handle has returned.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_call_free(call: Option<Box<CallHandle>>) {
    guard_or((), || drop(call));
}

impl CallHandle {
    pub(crate) fn new(work: CallWork) -> Box<Self> {
        Box::new(CallHandle {
            work,
            self_pipe: OnceLock::new(),
        })
    }

    fn poll(&self) -> Result<Poll<Option<Box<RecordHandle>>>> {
        let waker = match self.self_pipe.get() {
            Some(self_pipe) => {
                // The pipe is cleared before the check, so that a later result notifies again.
                self_pipe.clear();
                Waker::from(Arc::clone(self_pipe))
            }
            None => Waker::noop().clone(),
        };
        let made = match &self.work {
            CallWork::Operation(begun) => begun.poll(&waker)?.map(response),
            CallWork::Page(begun, offset) => begun.poll(&waker)?.map(|json| page(&json, *offset)),
            CallWork::Export(begun) => begun.poll(&waker)?.map(|done| receipt(&done)),
            CallWork::Sync(begun) => begun.poll(&waker)?.map(|done| receipt(&done)),
        };
        match made {
            Poll::Ready(made) => made.map(Poll::Ready),
            Poll::Pending => Ok(Poll::Pending),
        }
    }

    fn descriptor(&self) -> Result<i32> {
        if let Some(self_pipe) = self.self_pipe.get() {
            return Ok(self_pipe.descriptor());
        }
        let made = SelfPipe::new()?;
        let self_pipe = self.self_pipe.get_or_init(|| Arc::new(made));
        let waker = Waker::from(Arc::clone(self_pipe));
        match &self.work {
            CallWork::Operation(begun) => begun.watch(&waker)?,
            CallWork::Page(begun, _) => begun.watch(&waker)?,
            CallWork::Export(begun) => begun.watch(&waker)?,
            CallWork::Sync(begun) => begun.watch(&waker)?,
        }
        Ok(self_pipe.descriptor())
    }

    fn cancel(&self) {
        match &self.work {
            CallWork::Operation(begun) => begun.cancel(),
            CallWork::Page(begun, _) => begun.cancel(),
            CallWork::Export(begun) => begun.cancel(),
            CallWork::Sync(begun) => begun.cancel(),
        }
    }
}

fn response(json: Option<String>) -> Result<Option<Box<RecordHandle>>> {
    json.map(|json| RecordHandle::parse(&json, None))
        .transpose()
}

fn page(json: &str, offset: u64) -> Result<Option<Box<RecordHandle>>> {
    RecordHandle::parse(json, Some(offset)).map(Some)
}

fn receipt(receipt: &impl serde::Serialize) -> Result<Option<Box<RecordHandle>>> {
    RecordHandle::of(receipt).map(Some)
}

/// Reads a time limit in seconds; 0 means none.
fn deadline(seconds: f64) -> Result<Option<Duration>> {
    if seconds == 0.0 {
        return Ok(None);
    }
    let limit = Duration::try_from_secs_f64(seconds);
    let limit = limit.map_err(|_| invalid("seconds", "must be between 0 and 86,400"))?;
    Ok(Some(limit))
}
