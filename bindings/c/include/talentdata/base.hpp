// Errors, results and handles, on which the C++ classes are built. Included by talentdata.hpp.
#pragma once

#include <talentdata.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

// Code compiled with -fno-exceptions differs from code compiled with exceptions. An inline namespace gives
// the two different names, so that one program may contain both kinds of translation units. Objects cannot
// be passed from one kind to the other; release and adopt the C handles for that.
#if defined(__cpp_exceptions)
#define TALENTDATA_EXCEPTIONS with_exceptions
#else
#define TALENTDATA_EXCEPTIONS without_exceptions
#endif

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {
namespace detail {

/// Returns a text for the library. The data of an empty view may be null, which would be an absent text.
inline talentdata_text text(std::string_view text) noexcept { return {text.data() ? text.data() : "", text.size()}; }

/// Returns a copy of a text of the library; nullopt if it is absent.
inline std::optional<std::string> copied(talentdata_text text) {
  if (text.data == nullptr) return std::nullopt;
  return std::string(text.data, text.length);
}

/// The owner of a C handle. It can be moved but not copied.
template <class T, void (*Free)(T *)>
class handle {
 public:
  using raw_type = T;
  explicit handle(T *owned) noexcept : raw_(owned) {}
  T *get() const noexcept { return raw_.get(); }
  /// Gives up ownership.
  T *release() noexcept { return raw_.release(); }

 private:
  struct freed {
    void operator()(T *raw) const noexcept { Free(raw); }
  };
  std::unique_ptr<T, freed> raw_;
};

}  // namespace detail

enum class error_kind : int;

/// An error. It is thrown as one of the error_of types. Copies share their content. Moving an error copies it, so that
/// what() works on every error.
class error : public std::exception {
 public:
  /// Takes ownership of the C error.
  explicit error(talentdata_error *raw)
      : raw_(raw, talentdata_error_free),
        what_(std::make_shared<std::string>(detail::copied(talentdata_error_message(raw)).value_or(""))) {}

  error(const error &) noexcept = default;
  error &operator=(const error &) noexcept = default;
  ~error() override = default;

  error_kind kind() const noexcept { return static_cast<error_kind>(code()); }
  /// Returns the kind for functions of C.
  talentdata_error_kind code() const noexcept { return talentdata_error_code(raw_.get()); }
  /// Returns the name of the kind, such as RateLimited, which is the same in every language.
  std::string kind_name() const { return detail::copied(talentdata_error_kind_name(code())).value_or(""); }
  /// Returns one line for people with everything that is known about the failure.
  const char *what() const noexcept override { return what_->c_str(); }
  /// Returns the HTTP status; nullopt if there was no response.
  std::optional<int> status() const noexcept {
    const int status = talentdata_error_status(raw_.get());
    return status ? std::optional<int>(status) : std::nullopt;
  }
  /// Returns the number of times that the request was sent.
  std::uint32_t attempts() const noexcept { return talentdata_error_attempts(raw_.get()); }
  /// Returns the time to wait that the service requested; nullopt if there is none.
  std::optional<std::chrono::milliseconds> retry_after() const noexcept {
    const std::int64_t wait = talentdata_error_retry_after_ms(raw_.get());
    return wait < 0 ? std::nullopt : std::optional<std::chrono::milliseconds>(wait);
  }
  /// Returns the offset of the failed page, in records.
  std::optional<std::int64_t> offset() const noexcept {
    const std::int64_t offset = talentdata_error_offset(raw_.get());
    return offset < 0 ? std::nullopt : std::optional<std::int64_t>(offset);
  }
  /// Returns the failed operation of the service, such as listContacts.
  std::optional<std::string> operation() const { return detail::copied(talentdata_error_operation(raw_.get())); }
  /// Returns the service's identifier of the request.
  std::optional<std::string> request_id() const { return detail::copied(talentdata_error_request_id(raw_.get())); }
  /// Returns the beginning of the response body with secrets redacted.
  std::optional<std::string> body() const { return detail::copied(talentdata_error_body(raw_.get())); }
  /// Returns whether the same call may succeed later without a change.
  bool is_retryable() const noexcept { return talentdata_error_is_retryable(raw_.get()); }

 private:
  std::shared_ptr<talentdata_error> raw_;
  std::shared_ptr<std::string> what_;
};

/// The exception type of one error kind; errors.hpp names them, for example rate_limited_error.
template <talentdata_error_kind Kind>
class error_of : public error {
 public:
  explicit error_of(const error &cause) : error(cause) {}
};

namespace detail {
/// Aborts the program, and prints the reason on standard error.
[[noreturn]] inline void end(const char *why) noexcept {
  std::fprintf(stderr, "talentdata: %s\n", why);
  std::abort();
}
#if defined(__cpp_exceptions)
/// Throws the error as the type of its kind.
[[noreturn]] inline void raise(const error &cause);
#else
/// Aborts the program, because the caller took the value of a result that contains an error.
[[noreturn]] inline void raise(const error &cause) { end(cause.what()); }
#endif
}  // namespace detail

/// The value of a call without a result.
using nothing = std::monostate;

/// A value or an error, which every try_ function returns. Works without exceptions.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(const talentdata::error &cause) : state_(std::in_place_index<1>, cause) {}

  /// Returns whether there is a value.
  explicit operator bool() const noexcept { return has_value(); }
  bool has_value() const noexcept { return state_.index() == 0; }

  /// Returns the value. If there is none, throws the error, or aborts the program without exceptions.
  T &value() & { return check(), *std::get_if<0>(&state_); }
  const T &value() const & { return check(), *std::get_if<0>(&state_); }
  T value() && { return check(), std::move(*std::get_if<0>(&state_)); }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  /// Returns the error. If there is none, aborts the program.
  talentdata::error error() const noexcept {
    const auto *found = std::get_if<1>(&state_);
    if (found == nullptr) detail::end("error() of a result that holds a value");
    return *found;
  }

 private:
  void check() const {
    if (!has_value()) detail::raise(error());
  }

  std::variant<T, talentdata::error> state_;
};

namespace detail {

/// Calls a C function, and returns the `T` of the new handle.
template <class T, class Function, class... Arguments>
result<T> made(Function function, Arguments... arguments) {
  typename T::raw_type *raw = nullptr;
  if (talentdata_error *cause = function(arguments..., &raw)) return error(cause);
  return T(raw);
}

/// Returns the result of a C function without an output.
inline result<nothing> done(talentdata_error *cause) {
  if (cause) return error(cause);
  return nothing();
}

}  // namespace detail
}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata

#include <talentdata/errors.hpp>
