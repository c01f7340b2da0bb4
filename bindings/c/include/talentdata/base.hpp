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

namespace talentdata {

namespace detail {

/// A text that need not be there.
inline std::optional<std::string_view> text(talentdata_text text) noexcept {
  if (text.data == nullptr) return std::nullopt;
  return std::string_view(text.data, text.length);
}

/// An empty view may point nowhere; the library takes no NULL.
inline const char *data(std::string_view text) noexcept { return text.data() ? text.data() : ""; }

template <class T, void (*Free)(T *)>
struct freed {
  void operator()(T *handle) const noexcept { Free(handle); }
};

/// Owns a handle; moves, does not copy.
template <class T, void (*Free)(T *)>
using handle = std::unique_ptr<T, freed<T, Free>>;

}  // namespace detail

/// What went wrong. Thrown as one of its error_of types; copies share the facts.
class error : public std::exception {
 public:
  /// Takes the C error over.
  explicit error(talentdata_error *raw)
      : raw_(raw, talentdata_error_free),
        what_(std::make_shared<std::string>(detail::text(talentdata_error_message(raw)).value_or(""))) {}

  talentdata_error_kind code() const noexcept { return talentdata_error_code(raw_.get()); }
  /// The name of the kind, the same in every language: RateLimited.
  std::string_view kind_name() const noexcept {
    talentdata_text name{};
    // A kind that the library gave has a name, so there is no error to free.
    (void)talentdata_error_kind_name(code(), &name);
    return detail::text(name).value_or("");
  }
  /// One line for people, with all that is known.
  const char *what() const noexcept override { return what_->c_str(); }
  std::string_view message() const noexcept { return *what_; }
  /// The HTTP status; none when the service did not answer.
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
  std::optional<std::int64_t> page_offset() const noexcept {
    const std::int64_t offset = talentdata_error_page_offset(raw_.get());
    return offset < 0 ? std::nullopt : std::optional<std::int64_t>(offset);
  }
  /// The operation of the service that failed, such as listContacts.
  std::optional<std::string_view> operation() const noexcept {
    return detail::text(talentdata_error_operation(raw_.get()));
  }
  /// The service's own name for the request.
  std::optional<std::string_view> request_id() const noexcept {
    return detail::text(talentdata_error_request_id(raw_.get()));
  }
  /// The beginning of the service's answer, scrubbed.
  std::optional<std::string_view> body() const noexcept {
    return detail::text(talentdata_error_body(raw_.get()));
  }
  /// Whether the same call may succeed later without a change.
  bool is_retryable() const noexcept { return talentdata_error_is_retryable(raw_.get()); }

 private:
  std::shared_ptr<talentdata_error> raw_;
  std::shared_ptr<std::string> what_;
};

/// The exception type of one error kind; errors.hpp gives each a name, such as rate_limited_error.
template <talentdata_error_kind Kind>
class error_of : public error {
 public:
  explicit error_of(error cause) : error(std::move(cause)) {}
};

/// A value, or the error in its place: what every try_ function returns. Works without exceptions.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(talentdata::error cause) : state_(std::in_place_index<1>, std::move(cause)) {}

  /// Whether there is a value.
  explicit operator bool() const noexcept { return state_.index() == 0; }
  /// The value; the program ends when there is none.
  T &operator*() & noexcept { return held<0>(); }
  T &&operator*() && noexcept { return std::move(held<0>()); }
  T *operator->() noexcept { return &held<0>(); }
  /// The error; the program ends when there is none.
  const talentdata::error &error() const noexcept { return const_cast<result *>(this)->template held<1>(); }

 private:
  template <std::size_t Index>
  auto &held() noexcept {
    auto *found = std::get_if<Index>(&state_);
    if (found == nullptr) std::abort();
    return *found;
  }

  std::variant<T, talentdata::error> state_;
};

}  // namespace talentdata

#include <talentdata/errors.hpp>

namespace talentdata {
namespace detail {

/// For each C++ type the C type of the slot, and the way from one to the other.
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
/// Views of models that another handle holds.
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

/// A failure that only a handle that was moved away can bring about.
[[noreturn]] inline void misuse(talentdata_error *raw) {
#if defined(__cpp_exceptions)
  raise(error(raw));
#else
  talentdata_error_free(raw);
  std::abort();
#endif
}

/// The same for what does not fail on a handle that is there.
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
}  // namespace talentdata
