// Writes request bodies as JSON, and parameters and options as text. Included by talentdata.hpp.
#pragma once

#include <talentdata/record.hpp>

#include <cmath>
#include <cstdio>
#include <locale>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// JSON that is sent as it is, where a request holds a value that the service document leaves open.
struct raw_json {
  std::string text = "null";
};

namespace detail {

/// A number with all its digits, whatever the locale. NaN and infinity are no JSON: the library refuses them.
inline std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(17);
  out << value;
  return out.str();
}

inline void write(std::string &out, std::string_view text) {
  out += '"';
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (code < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(code));
      out += escaped;
    } else {
      out += letter;
    }
  }
  out += '"';
}
inline void write(std::string &out, const std::string &text) { write(out, std::string_view(text)); }
inline void write(std::string &out, bool value) { out += value ? "true" : "false"; }
inline void write(std::string &out, std::int64_t value) { out += std::to_string(value); }
inline void write(std::string &out, std::uint64_t value) { out += std::to_string(value); }
inline void write(std::string &out, double value) { out += number_text(value); }
inline void write(std::string &out, const raw_json &value) { out += value.text; }

// Declared before they are defined, because they call each other.
template <class T>
void write(std::string &out, const std::optional<T> &value);
template <class T>
void write(std::string &out, const std::vector<T> &values);
template <class T>
void write(std::string &out, const std::map<std::string, T> &values);
template <class T>
auto write(std::string &out, const T &value) -> decltype(value.write_json(out)) {
  value.write_json(out);
}

template <class T>
void write(std::string &out, const std::optional<T> &value) {
  if (value) {
    write(out, *value);
  } else {
    out += "null";
  }
}
template <class T>
void write(std::string &out, const std::vector<T> &values) {
  out += '[';
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (index > 0) out += ',';
    // A bit of a vector of bool is no bool.
    write(out, static_cast<const T &>(values[index]));
  }
  out += ']';
}
template <class T>
void write(std::string &out, const std::map<std::string, T> &values) {
  out += '{';
  bool first = true;
  for (const auto &[name, value] : values) {
    if (!first) out += ',';
    first = false;
    write(out, name);
    out += ':';
    write(out, value);
  }
  out += '}';
}

/// An object that is being written, field by field.
class object_writer {
 public:
  explicit object_writer(std::string &out) : out_(out) { out_ += '{'; }

  template <class T>
  object_writer &field(std::string_view name, const T &value) {
    if (!first_) out_ += ',';
    first_ = false;
    write(out_, name);
    out_ += ':';
    write(out_, value);
    return *this;
  }
  /// A field that is left out where it has no value.
  template <class T>
  object_writer &optional_field(std::string_view name, const std::optional<T> &value) {
    return value ? field(name, *value) : *this;
  }
  void end() { out_ += '}'; }

 private:
  std::string &out_;
  bool first_ = true;
};

/// A request body as JSON.
template <class T>
std::string to_json(const T &value) {
  std::string out;
  write(out, value);
  return out;
}

using options_handle = handle<talentdata_options, talentdata_options_free>;

}  // namespace detail

/// Values of parameters of a list or of an operation, such as filters, by their names in the service document. Structs for
/// those of the document, such as `list_contacts_options`, can be given instead.
class parameters {
 public:
  parameters &add(std::string_view name, std::string_view value) { return values_.emplace_back(name, value), *this; }
  parameters &add(std::string_view name, const char *value) { return add(name, std::string_view(value)); }
  parameters &add(std::string_view name, const std::string &value) { return add(name, std::string_view(value)); }
  template <class T>
  std::enable_if_t<std::is_arithmetic_v<T>, parameters &> add(std::string_view name, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return add(name, value ? "true" : "false");
    } else if constexpr (std::is_floating_point_v<T>) {
      return add(name, detail::number_text(value));
    } else {
      return add(name, std::to_string(value));
    }
  }
  template <class T>
  parameters &add(std::string_view name, const std::optional<T> &value) {
    return value ? add(name, *value) : *this;
  }
  template <class T>
  parameters &add(std::string_view name, const std::vector<T> &values) {
    // A bit of a vector of bool is no bool.
    for (std::size_t index = 0; index < values.size(); ++index) add(name, static_cast<const T &>(values[index]));
    return *this;
  }

  /// As C takes them, with other options by their names.
  result<detail::options_handle> options(const parameters &named = {}) const {
    detail::options_handle made(talentdata_options_new(nullptr));
    talentdata_error *cause = nullptr;
    for (const auto &[name, value] : named.values_) {
      if (!cause) cause = talentdata_options_set(made.get(), detail::text(name), detail::text(value));
    }
    for (const auto &[name, value] : values_) {
      if (!cause) cause = talentdata_options_add(made.get(), detail::text(name), detail::text(value));
    }
    if (cause) return error(cause);
    return made;
  }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
