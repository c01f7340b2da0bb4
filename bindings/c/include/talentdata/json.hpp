// Writes request bodies as JSON, and optional parameters as text. Included by talentdata.hpp.
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

/// A response as JSON, where it is no object.
class json_text {
 public:
  using handle_of = talentdata_json_text;
  /// Takes ownership of the text.
  explicit json_text(talentdata_json_text *owned) noexcept : handle_(owned) {}

  /// The JSON, byte for byte as the service sent it.
  std::string_view json() const & {
    return detail::sure<std::string_view>([&](auto *out) { return talentdata_json_text_get(handle_.get(), out); });
  }
  std::string_view json() const && = delete;

 private:
  detail::handle<talentdata_json_text, talentdata_json_text_free> handle_;
};

namespace detail {

/// A number with all its digits, whatever the locale; null, which no number is, where JSON has no such number.
inline std::string number_text(double value) {
  if (!std::isfinite(value)) return "null";
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

/// Adds values of parameters as text, by their names in the service document.
template <class Self>
class parameter_writer {
 public:
  Self &add(std::string_view name, std::string_view value) {
    static_cast<Self &>(*this).put(name, value);
    return static_cast<Self &>(*this);
  }
  Self &add(std::string_view name, const char *value) { return add(name, std::string_view(value)); }
  Self &add(std::string_view name, const std::string &value) { return add(name, std::string_view(value)); }
  Self &add(std::string_view name, bool value) { return add(name, std::string_view(value ? "true" : "false")); }
  Self &add(std::string_view name, std::int64_t value) { return add(name, std::to_string(value)); }
  Self &add(std::string_view name, std::uint64_t value) { return add(name, std::to_string(value)); }
  Self &add(std::string_view name, int value) { return add(name, std::to_string(value)); }
  Self &add(std::string_view name, double value) { return add(name, number_text(value)); }
  template <class T>
  Self &add(std::string_view name, const std::optional<T> &value) {
    return value ? add(name, *value) : static_cast<Self &>(*this);
  }
  template <class T>
  Self &add(std::string_view name, const std::vector<T> &values) {
    // A bit of a vector of bool is no bool.
    for (std::size_t index = 0; index < values.size(); ++index) add(name, static_cast<const T &>(values[index]));
    return static_cast<Self &>(*this);
  }
};

/// The parameters of a call, as the library takes them. The first error is kept until the call is made.
class parameter_set : public parameter_writer<parameter_set> {
 public:
  parameter_set() {
    talentdata_parameters *raw = nullptr;
    keep(talentdata_parameters_new(&raw));
    handle_.reset(raw);
  }

  const std::optional<error> &failed() const noexcept { return error_; }
  const talentdata_parameters *get() const noexcept { return handle_.get(); }

 private:
  friend class parameter_writer<parameter_set>;
  void put(std::string_view name, std::string_view value) {
    keep(talentdata_parameters_add_n(handle_.get(), data(name), name.size(), data(value), value.size()));
  }
  void keep(talentdata_error *raw) {
    if (raw == nullptr) return;
    error cause(raw);
    if (!error_) error_ = cause;
  }

  handle<talentdata_parameters, talentdata_parameters_free> handle_;
  std::optional<error> error_;
};

/// Texts as C takes them; they point to the given ones.
template <class T>
std::vector<talentdata_text> texts(const std::vector<T> &from) {
  std::vector<talentdata_text> out;
  out.reserve(from.size());
  for (const std::string_view text : from) out.push_back({data(text), text.size()});
  return out;
}

}  // namespace detail

/// Values of a list's parameters, such as filters, by their names in the service document. A list that has any has a
/// struct of its own for them, which can be given instead: `list_contacts_options` for `/v1/contacts`.
class list_parameters : public detail::parameter_writer<list_parameters> {
 public:
  bool empty() const noexcept { return values_.empty(); }
  const std::vector<std::pair<std::string, std::string>> &values() const noexcept { return values_; }

 private:
  friend class detail::parameter_writer<list_parameters>;
  void put(std::string_view name, std::string_view value) { values_.emplace_back(name, value); }

  std::vector<std::pair<std::string, std::string>> values_;
};

namespace detail {

/// The same, as the library takes them.
inline parameter_set parameters_of(const list_parameters &list) {
  parameter_set out;
  for (const auto &[name, value] : list.values()) out.add(name, value);
  return out;
}

}  // namespace detail
}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
