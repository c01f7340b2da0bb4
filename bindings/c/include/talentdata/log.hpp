// Log callbacks in C++. Included by talentdata.hpp.
#pragma once

#include <talentdata/base.hpp>

#include <functional>
#include <mutex>

namespace talentdata {

/// Is told a message, on any thread and on several at once. An exception that it throws is thrown
/// again by the next call of the client or of one of its scans.
using log_function = std::function<void(talentdata_log_level, std::string_view)>;

namespace detail {

/// A log function, and what it threw.
class log {
 public:
  log() = default;
  explicit log(log_function function) : function_(std::move(function)) {}

  /// What the library calls; nothing may leave it by an exception, which would cross Rust.
  static void call(std::uint32_t level, talentdata_text message, void *self) noexcept {
    static_cast<log *>(self)->tell(static_cast<talentdata_log_level>(level), std::string_view(message.data, message.length));
  }

#if defined(__cpp_exceptions)
  /// The value or an exception: first the one that the log function threw. What was moved from has no log.
  template <class T>
  static T take(const std::shared_ptr<log> &self, result<T> from) {
    if (self) self->rethrow();
    return detail::take(std::move(from));
  }
#endif

 private:
#if defined(__cpp_exceptions)
  void rethrow() {
    std::exception_ptr thrown;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      std::swap(thrown, thrown_);
    }
    if (thrown) std::rethrow_exception(thrown);
  }
#endif

  void tell(talentdata_log_level level, std::string_view message) noexcept {
    if (!function_) return;
#if defined(__cpp_exceptions)
    try {
      function_(level, message);
    } catch (...) {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
    }
#else
    function_(level, message);
#endif
  }

  log_function function_;
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

}  // namespace detail
}  // namespace talentdata
