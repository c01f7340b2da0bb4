// Errors, results and handles: what the C++ classes are made of. Included by talentdata.hpp.
#pragma once

#include <talentdata.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

// Code compiled with -fno-exceptions differs from code compiled with exceptions. An inline namespace gives
// the two different names, so that one program may contain both kinds of translation units. Objects cannot
// be passed from one kind to the other; use the C handles for that.
#if defined(__cpp_exceptions)
#define TALENTDATA_EXCEPTIONS with_exceptions
#else
#define TALENTDATA_EXCEPTIONS without_exceptions
#endif

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

namespace detail {

/// A text that may be absent.
inline std::optional<std::string_view> text(talentdata_text text) noexcept {
  if (text.data == nullptr) return std::nullopt;
  return std::string_view(text.data, text.length);
}

/// The data of an empty view may be null, which the library does not accept.
inline const char *data(std::string_view text) noexcept { return text.data() ? text.data() : ""; }

template <class T, void (*Free)(T *)>
struct freed {
  void operator()(T *handle) const noexcept { Free(handle); }
};

/// Owns a handle; moves, does not copy.
template <class T, void (*Free)(T *)>
using handle = std::unique_ptr<T, freed<T, Free>>;

}  // namespace detail

/// What went wrong. Thrown as one of the error_of types. Copies share their content. Moving an error copies
/// it, so that what() works on every error.
class error : public std::exception {
 public:
  /// Takes ownership of the C error.
  explicit error(talentdata_error *raw)
      : raw_(raw, talentdata_error_free),
        what_(std::make_shared<std::string>(detail::text(talentdata_error_message(raw)).value_or(""))) {}

  error(const error &) noexcept = default;
  error &operator=(const error &) noexcept = default;
  ~error() override = default;

  talentdata_error_kind code() const noexcept { return talentdata_error_code(raw_.get()); }
  /// The name of the kind, such as RateLimited; the same in every language.
  std::string_view kind_name() const noexcept {
    talentdata_text name{};
    talentdata_error_free(talentdata_error_kind_name(code(), &name));
    return detail::text(name).value_or("");
  }
  /// One line for people, with everything known about the failure.
  const char *what() const noexcept override { return what_->c_str(); }
  std::string_view message() const & noexcept { return *what_; }
  std::string_view message() const && = delete;
  /// The HTTP status; none when there was no response.
  std::optional<int> status() const noexcept {
    const int status = talentdata_error_status(raw_.get());
    return status ? std::optional<int>(status) : std::nullopt;
  }
  /// How many times the request was sent.
  std::uint32_t attempts() const noexcept { return talentdata_error_attempts(raw_.get()); }
  /// How long the service asked to wait.
  std::optional<std::chrono::milliseconds> retry_after() const noexcept {
    const std::int64_t wait = talentdata_error_retry_after_ms(raw_.get());
    return wait < 0 ? std::nullopt : std::optional<std::chrono::milliseconds>(wait);
  }
  /// The offset of the page that failed, in records.
  std::optional<std::int64_t> offset() const noexcept {
    const std::int64_t offset = talentdata_error_offset(raw_.get());
    return offset < 0 ? std::nullopt : std::optional<std::int64_t>(offset);
  }
  /// The operation of the service that failed, such as listContacts.
  std::optional<std::string_view> operation() const & noexcept {
    return detail::text(talentdata_error_operation(raw_.get()));
  }
  std::optional<std::string_view> operation() const && = delete;
  /// The service's identifier of the request.
  std::optional<std::string_view> request_id() const & noexcept {
    return detail::text(talentdata_error_request_id(raw_.get()));
  }
  std::optional<std::string_view> request_id() const && = delete;
  /// The beginning of the response body with secrets redacted.
  std::optional<std::string_view> body() const & noexcept {
    return detail::text(talentdata_error_body(raw_.get()));
  }
  std::optional<std::string_view> body() const && = delete;
  /// Whether the same call may succeed later without a change.
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
#if defined(__cpp_exceptions)
/// Throws the error as the type of its kind.
[[noreturn]] inline void raise(const error &cause);
#else
/// Ends the program: the caller took the value of a result that holds an error.
[[noreturn]] inline void raise(const error &) { std::abort(); }
#endif
}  // namespace detail

/// A value, or the error in its place: what every try_ function returns. Works without exceptions.
///
/// Taking the value of a temporary moves it out, and a pointer into a temporary does not compile.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(const talentdata::error &cause) : state_(std::in_place_index<1>, cause) {}

  /// Whether there is a value.
  explicit operator bool() const noexcept { return state_.index() == 0; }
  bool has_value() const noexcept { return state_.index() == 0; }

  /// The value; the program ends when there is none.
  T &operator*() & noexcept { return *held<0>(state_); }
  const T &operator*() const & noexcept { return *held<0>(state_); }
  T operator*() && { return std::move(*held<0>(state_)); }
  T operator*() const && = delete;
  T *operator->() & noexcept { return held<0>(state_); }
  const T *operator->() const & noexcept { return held<0>(state_); }
  T *operator->() && = delete;
  const T *operator->() const && = delete;

  /// The value; throws the error when there is none, or ends the program without exceptions.
  T &value() & { return check(), **this; }
  const T &value() const & { return check(), **this; }
  T value() && { return check(), *std::move(*this); }
  T value() const && = delete;

  /// The error; the program ends when there is none.
  const talentdata::error &error() const & noexcept { return *held<1>(state_); }
  talentdata::error error() const && noexcept { return *held<1>(state_); }

 private:
  template <std::size_t Index, class State>
  static auto *held(State &state) noexcept {
    auto *found = std::get_if<Index>(&state);
    if (found == nullptr) std::abort();
    return found;
  }

  void check() const {
    if (!has_value()) detail::raise(error());
  }

  std::variant<T, talentdata::error> state_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata

#include <talentdata/errors.hpp>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {
namespace detail {

/// Maps a C++ type to the C type of the slot it is read from.
template <class T, class = void>
struct wire {
  using type = T;
  static T read(T value) { return value; }
};
template <>
struct wire<std::string_view> {
  using type = talentdata_text;
  static std::string_view read(talentdata_text value) { return text(value).value_or(std::string_view()); }
};
template <>
struct wire<std::optional<std::string_view>> {
  using type = talentdata_text;
  static std::optional<std::string_view> read(talentdata_text value) { return text(value); }
};
/// Views of models that belong to another handle.
template <class T>
struct wire<T, std::void_t<typename T::view_of>> {
  using type = const typename T::view_of *;
  static T read(type value) { return T(value); }
};
template <class T>
struct wire<std::optional<T>, std::void_t<typename T::view_of>> {
  using type = const typename T::view_of *;
  static std::optional<T> read(type value) { return value ? std::optional<T>(T(value)) : std::nullopt; }
};

/// Calls a C function that writes one slot.
template <class T, class Call>
result<T> read(Call &&call) {
  typename wire<T>::type out{};
  if (talentdata_error *raw = call(&out)) return error(raw);
  return wire<T>::read(out);
}

/// A failure that only a wrong index or an object that was moved from can cause.
[[noreturn]] inline void misuse(talentdata_error *raw) { raise(error(raw)); }

/// The same for a function that does not fail when it is used correctly.
template <class T, class Call>
T sure(Call &&call) {
  typename wire<T>::type out{};
  if (talentdata_error *raw = call(&out)) misuse(raw);
  return wire<T>::read(out);
}

#if defined(__cpp_exceptions)
/// The value, or an exception.
template <class T>
T take(result<T> from) {
  if (!from) raise(from.error());
  return *std::move(from);
}
#endif

}  // namespace detail
}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
