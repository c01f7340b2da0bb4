// Log callbacks in C++. Included by talentdata.hpp.
#pragma once

#include <talentdata/base.hpp>

#include <functional>
#include <mutex>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// Receives a message, on any thread and on several at once. An exception that it throws is thrown again by
/// a call of the client or of one of its scans: the current one or, where that has a record to return, the
/// next one.
using log_function = std::function<void(talentdata_log_level, std::string_view)>;

namespace detail {

/// A log function and what it threw. The library and every object that may throw it again share it.
class log {
 public:
  using shared = std::shared_ptr<log>;

  log() = default;
  explicit log(log_function function) : function_(std::move(function)) {}

  /// Called by the library with a pointer to a `shared`. No exception may leave it, since it would cross
  /// Rust code.
  static void call(talentdata_log_level level, talentdata_text message, void *held) noexcept {
    (*static_cast<shared *>(held))
        ->tell(level, std::string_view(message.data, message.length));
  }

  /// Called by the library when it no longer needs the `shared`.
  static void release(void *held) noexcept { delete static_cast<shared *>(held); }

#if defined(__cpp_exceptions)
  /// Throws what the log function threw, if anything. An object that was moved from has no log.
  static void rethrow(const shared &self) {
    if (!self) return;
    std::exception_ptr thrown;
    {
      const std::lock_guard<std::mutex> guard(self->mutex_);
      std::swap(thrown, self->thrown_);
    }
    if (thrown) std::rethrow_exception(thrown);
  }

  /// The value or an exception, first that of the log function.
  template <class T>
  static T take(const shared &self, result<T> from) {
    rethrow(self);
    return std::move(from).value();
  }
#endif

 private:
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
}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
