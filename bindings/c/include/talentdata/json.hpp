// Writes request bodies as JSON, and settings and options as text. Included by talentdata.hpp.
#pragma once

#include <talentdata/record.hpp>

#include <cmath>
#include <cstdio>
#include <locale>
#include <sstream>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// JSON that is sent unchanged, for values of a request that the OpenAPI file leaves open.
struct raw_json {
  std::string text = "null";
};

namespace detail {

/// Returns a number with all its digits, regardless of the locale. NaN and infinity are not JSON, so the library
/// refuses them.
inline std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(17);
  out << value;
  return out.str();
}

/// Returns a string, a number or a boolean as text, and a duration as seconds.
template <class T>
std::string value_text(const T &value) {
  if constexpr (std::is_convertible_v<const T &, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return number_text(value);
  } else {
    return number_text(std::chrono::duration<double>(value).count());
  }
}

inline std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(code));
      out += escaped;
      continue;
    }
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + '"';
}

template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T, class = void>
struct is_map : std::false_type {};
template <class T>
struct is_map<T, std::void_t<typename T::mapped_type>> : std::true_type {};
struct any_field {
  template <class T>
  void operator()(std::string_view, const T &) const;
};
template <class T, class = void>
struct is_struct : std::false_type {};
template <class T>
struct is_struct<T, std::void_t<decltype(std::declval<const T &>().write_json(any_field()))>> : std::true_type {};

/// Returns a value as JSON: a string, a number, a boolean, raw JSON, a struct of a request body, or an optional, a
/// vector or a map of these.
template <class T>
std::string to_json(const T &value) {
  std::string out;
  const auto add = [&out](const std::string &json) { out += (out.empty() ? "" : ",") + json; };
  if constexpr (is_struct<T>::value) {
    value.write_json([&](std::string_view name, const auto &field) { add(quoted_text(name) + ':' + to_json(field)); });
    return '{' + out + '}';
  } else if constexpr (is_map<T>::value) {
    for (const auto &[name, field] : value) add(quoted_text(name) + ':' + to_json(field));
    return '{' + out + '}';
  } else if constexpr (is_optional<T>::value) {
    return value ? to_json(*value) : "null";
  } else if constexpr (std::is_same_v<T, raw_json>) {
    return value.text;
  } else if constexpr (std::is_convertible_v<const T &, std::string_view>) {
    return quoted_text(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value_text(value);
  } else {
    for (const typename T::value_type &item : value) add(to_json(item));
    return '[' + out + ']';
  }
}

/// Values that are set by their names. If a value is refused, the call that gets them fails with the first such error.
/// They can be copied, and setters can be chained. A chain on a temporary returns a new value.
template <class Self, class T, void (*Free)(T *), talentdata_error *(*Set)(T *, talentdata_text, talentdata_text)>
class named_values : public handle<T, Free> {
 public:
  using handle<T, Free>::handle;
  template <class Value>
  Self &set(std::string_view name, const Value &value) & {
    return with(Set, name, value);
  }
  template <class Value>
  Self set(std::string_view name, const Value &value) && {
    return std::move(with(Set, name, value));
  }
  /// Returns the error, if there is one.
  const std::optional<error> &refused() const noexcept { return refused_; }

 protected:
  named_values(T *copy, const named_values &other) : handle<T, Free>(copy), refused_(other.refused_) {}
  void swap(named_values &other) noexcept {
    std::swap(static_cast<handle<T, Free> &>(*this), static_cast<handle<T, Free> &>(other));
    std::swap(refused_, other.refused_);
  }
  template <class Function, class Value>
  Self &with(Function function, std::string_view name, const Value &value) {
    if constexpr (std::is_convertible_v<const Value &, const char *>) {
      // A null pointer is an absent text, which the library refuses.
      const char *const given = value;
      return keep(function(this->get(), text(name), talentdata_text_of(given)));
    } else {
      const std::string given = value_text(value);
      return keep(function(this->get(), text(name), text(given)));
    }
  }
  Self &keep(talentdata_error *raw) {
    if (raw) {
      const error cause(raw);
      if (!refused_) refused_ = cause;
    }
    return static_cast<Self &>(*this);
  }

 private:
  std::optional<error> refused_;
};

}  // namespace detail

/// Options of scans, exports, syncs and calls. They are set by their names, such as limit or resume, which are those of the
/// arguments of Python and of the flags of the command line. You can pass structs for the parameters of the OpenAPI file,
/// such as `list_contacts_options`, instead.
class options : public detail::named_values<options, talentdata_options, talentdata_options_free, talentdata_options_set> {
 public:
  options() : named_values(talentdata_options_new(nullptr)) {}
  options(const options &other) : named_values(talentdata_options_new(other.get()), other) {}
  options(options &&) noexcept = default;
  options &operator=(options other) noexcept {
    swap(other);
    return *this;
  }
  ~options() = default;

  /// Adds a value of a parameter of the list or of the operation, such as a filter. Of a vector, adds each value.
  template <class T>
  options &add(std::string_view name, const T &value) & {
    if constexpr (detail::is_optional<T>::value) {
      return value ? add(name, *value) : *this;
    } else if constexpr (detail::is_vector<T>::value) {
      for (const typename T::value_type &one : value) add(name, one);
      return *this;
    } else {
      return with(talentdata_options_add, name, value);
    }
  }
  template <class T>
  options add(std::string_view name, const T &value) && {
    return std::move(add(name, value));
  }
};

}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
