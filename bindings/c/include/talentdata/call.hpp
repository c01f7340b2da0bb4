// Running calls and jobs, for programs that do not wait for them. Included by talentdata.hpp.
#pragma once

#include <talentdata/job.hpp>

#include <algorithm>
#include <chrono>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// A running call or job, with its own time limit. One thread at a time may use it. Any thread may cancel it.
/// Destroying it cancels it, unless it is done.
class begun_call : public detail::handle<talentdata_call, talentdata_call_free> {
 public:
  using handle::handle;
  /// A time limit in seconds, counted from the beginning of the call; none by default. A limit of zero or less has passed:
  /// the call ends with a timeout_error.
  using deadline = std::optional<std::chrono::duration<double>>;
  /// Returns the limit as the C function takes it, for which 0 means that there is none.
  static double seconds(deadline limit) noexcept { return limit ? std::max(limit->count(), 1e-9) : 0; }

  /// The outcome of a poll. A finished call has a result: the response, if it has a body, the page or the receipt.
  struct polled {
    bool done;
    std::optional<record> result;
  };
  /// Takes the result if the call is done, without waiting. An error ends the call.
  result<polled> try_poll() {
    bool done = false;
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_call_poll(get(), &done, &raw)) return error(cause);
    return polled{done, taken(raw)};
  }
  /// Waits for the result.
  result<std::optional<record>> try_wait() {
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_call_wait(get(), &raw)) return error(cause);
    return taken(raw);
  }
  /// Returns a file descriptor that is readable from the end of the call until its result is taken. It belongs to the
  /// call.
  result<int> try_descriptor() {
    int descriptor = -1;
    if (talentdata_error *cause = talentdata_call_descriptor(get(), &descriptor)) return error(cause);
    return descriptor;
  }
  /// Cancels the call. Any thread may call this.
  void cancel() noexcept { talentdata_call_cancel(get()); }

#if defined(__cpp_exceptions)
  polled poll() { return try_poll().value(); }
  std::optional<record> wait() { return try_wait().value(); }
  int descriptor() { return try_descriptor().value(); }
#endif

 private:
  static std::optional<record> taken(talentdata_record *raw) { return raw ? std::optional<record>(record(raw)) : std::nullopt; }
};

/// Begins a job without waiting for it.
inline result<begun_call> try_begin(job &work) { return detail::made<begun_call>(talentdata_job_begin, work.get()); }
#if defined(__cpp_exceptions)
inline begun_call begin(job &work) { return try_begin(work).value(); }
#endif

}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
