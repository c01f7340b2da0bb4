// Records: JSON of any kind, read by names and JSON pointers. Included by talentdata.hpp.
#pragma once

#include <talentdata/base.hpp>

#include <cstddef>
#include <map>
#include <vector>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

class record;

namespace detail {
/// Reads a `T` of a record; there is one for each type that a field can have. None where there is no such value.
template <class T, class = void>
struct reader;
}  // namespace detail

/// JSON: a record of a list, a response, a receipt or a report, or a value within one of these. Copies refer to the same
/// value and keep it alive, and so do the values read from it; texts are copied. Any number of threads may read it.
///
/// A path is the name of a field, such as firstName, or a JSON pointer, such as /location/city; "" is the value itself.
class record {
 public:
  /// Takes ownership of a record.
  static record adopt(talentdata_record *owned) { return record(shared(owned, talentdata_record_free)); }
  /// The record for functions of C; it stays the owner.
  const talentdata_record *get() const noexcept { return raw_.get(); }

  /// The JSON, byte for byte as the service sent it.
  std::string json() const { return detail::copied(talentdata_record_json(get())).value_or(""); }
  talentdata_value_kind kind() const noexcept { return talentdata_record_kind(get()); }

  /// The value at a path: a std::string, std::int64_t, double, bool or record, a vector or a map of these, or an optional of
  /// one. Without the optional a value that is missing is an error; one of another type always is, with its JSON pointer.
  template <class T>
  result<T> try_get(std::string_view path) const {
    return read<T>(path);
  }
  result<std::optional<std::string>> try_text(std::string_view path) const { return read<std::optional<std::string>>(path); }
  result<std::optional<std::int64_t>> try_integer(std::string_view path) const {
    return read<std::optional<std::int64_t>>(path);
  }
  result<std::optional<double>> try_number(std::string_view path) const { return read<std::optional<double>>(path); }
  result<std::optional<bool>> try_boolean(std::string_view path) const { return read<std::optional<bool>>(path); }
  result<std::optional<record>> try_value(std::string_view path) const { return read<std::optional<record>>(path); }
  /// The items of an array, or the values of an object.
  result<std::vector<record>> try_items() const;
  /// The members of an object, in their order.
  result<std::vector<std::pair<std::string, record>>> try_members() const;

#if defined(__cpp_exceptions)
  template <class T>
  T get(std::string_view path) const {
    return detail::take(try_get<T>(path));
  }
  std::optional<std::string> text(std::string_view path) const { return detail::take(try_text(path)); }
  std::optional<std::int64_t> integer(std::string_view path) const { return detail::take(try_integer(path)); }
  std::optional<double> number(std::string_view path) const { return detail::take(try_number(path)); }
  std::optional<bool> boolean(std::string_view path) const { return detail::take(try_boolean(path)); }
  std::optional<record> value(std::string_view path) const { return detail::take(try_value(path)); }
  std::vector<record> items() const { return detail::take(try_items()); }
  std::vector<std::pair<std::string, record>> members() const { return detail::take(try_members()); }
#endif

 protected:
  template <class T>
  result<T> read(std::string_view path) const;
  /// The JSON of a value that has no type of its own.
  template <class T>
  result<T> read_json(std::string_view path) const;

 private:
  using shared = std::shared_ptr<const talentdata_record>;
  explicit record(shared raw) noexcept : raw_(std::move(raw)) {}

  template <class, class>
  friend struct detail::reader;
  /// A value that belongs to this record, which it keeps alive.
  record within(const talentdata_record *borrowed) const { return record(shared(raw_, borrowed)); }

  shared raw_;
};

namespace detail {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T, class Out, talentdata_error *(*Function)(const talentdata_record *, talentdata_text, Out *)>
struct scalar_reader {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<T> &out) {
    Out found{};
    talentdata_error *cause = Function(from.get(), text(path), &found);
    if (!cause && found.present) out = found.value;
    return cause;
  }
};
template <>
struct reader<std::int64_t> : scalar_reader<std::int64_t, talentdata_optional_integer, talentdata_record_integer> {};
template <>
struct reader<double> : scalar_reader<double, talentdata_optional_number, talentdata_record_number> {};
template <>
struct reader<bool> : scalar_reader<bool, talentdata_optional_boolean, talentdata_record_boolean> {};

template <>
struct reader<std::string> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<std::string> &out) {
    talentdata_text found{};
    talentdata_error *cause = talentdata_record_text(from.get(), text(path), &found);
    if (!cause) out = copied(found);
    return cause;
  }
};

/// Records and the classes of models.
template <class T>
struct reader<T, std::enable_if_t<std::is_base_of_v<record, T>>> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<T> &out) {
    const talentdata_record *found = nullptr;
    talentdata_error *cause = talentdata_record_value(from.get(), text(path), &found);
    // A record of its own may be null; a field that is null is absent.
    const bool absent = found == nullptr || (found != from.get() && talentdata_record_kind(found) == TALENTDATA_VALUE_KIND_NULL);
    if (!cause && !absent) out = T(from.within(found));
    return cause;
  }
  /// What an array or an object has, by index.
  template <class Take>
  static talentdata_error *each(const record &from, Take take) {
    std::size_t count = 0;
    talentdata_error *cause = talentdata_record_count(from.get(), &count);
    for (std::size_t index = 0; !cause && index < count; ++index) {
      talentdata_text name{};
      const talentdata_record *item = nullptr;
      cause = talentdata_record_item(from.get(), index, &item);
      if (!cause) cause = talentdata_record_name(from.get(), index, &name);
      if (!cause) cause = take(copied(name).value_or(""), from.within(item));
    }
    return cause;
  }
};

/// What a reader of many values finds: `add` takes each item with its name.
template <class T, class Many, class Add>
talentdata_error *find_many(const record &from, std::string_view path, std::optional<Many> &out, Add add) {
  std::optional<record> whole;
  if (talentdata_error *cause = reader<record>::find(from, path, whole)) return cause;
  if (!whole) return nullptr;
  out.emplace();
  return reader<record>::each(*whole, [&](std::string name, const record &item) {
    std::optional<T> value;
    talentdata_error *cause = reader<T>::find(item, "", value);
    if (!cause && !value) cause = talentdata_record_missing(item.get(), text(""));
    if (!cause) add(*out, std::move(name), std::move(*value));
    return cause;
  });
}

template <class T>
struct reader<std::vector<T>> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<std::vector<T>> &out) {
    return find_many<T>(from, path, out, [](auto &all, std::string, T value) { all.push_back(std::move(value)); });
  }
};
template <class T>
struct reader<std::map<std::string, T>> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<std::map<std::string, T>> &out) {
    return find_many<T>(from, path, out, [](auto &all, std::string name, T value) {
      all.insert_or_assign(std::move(name), std::move(value));
    });
  }
};

/// The value of an enum whose text is read.
template <class T>
talentdata_error *find_enum(const record &from, std::string_view path, std::optional<T> &out, T (*of)(talentdata_text)) {
  talentdata_text found{};
  talentdata_error *cause = talentdata_record_text(from.get(), text(path), &found);
  if (!cause && found.data) out = of(found);
  return cause;
}

}  // namespace detail

template <class T>
result<T> record::read(std::string_view path) const {
  if constexpr (detail::is_optional<T>::value) {
    T found;
    if (talentdata_error *cause = detail::reader<typename T::value_type>::find(*this, path, found)) return error(cause);
    return found;
  } else {
    std::optional<T> found;
    talentdata_error *cause = detail::reader<T>::find(*this, path, found);
    if (!cause && !found) cause = talentdata_record_missing(get(), detail::text(path));
    if (cause) return error(cause);
    return std::move(*found);
  }
}

template <class T>
result<T> record::read_json(std::string_view path) const {
  if constexpr (detail::is_optional<T>::value) {
    const auto found = read<std::optional<record>>(path);
    if (!found) return found.error();
    return *found ? T((*found)->json()) : T();
  } else {
    const auto found = read<record>(path);
    if (!found) return found.error();
    return found->json();
  }
}

inline result<std::vector<record>> record::try_items() const {
  std::vector<record> out;
  const auto add = [&](std::string, record item) { return out.push_back(std::move(item)), nullptr; };
  if (talentdata_error *cause = detail::reader<record>::each(*this, add)) return error(cause);
  return out;
}

inline result<std::vector<std::pair<std::string, record>>> record::try_members() const {
  std::vector<std::pair<std::string, record>> out;
  const auto add = [&](std::string name, record item) {
    return out.emplace_back(std::move(name), std::move(item)), nullptr;
  };
  if (talentdata_error *cause = detail::reader<record>::each(*this, add)) return error(cause);
  return out;
}

/// A list, by its name, and the class of its records; models.hpp has those of the service document.
template <class Record>
struct list_of {
  const char *name;
};

namespace detail {

/// Gives the record that a C function makes.
template <class T, class Call>
result<T> made(Call &&call) {
  talentdata_record *raw = nullptr;
  if (talentdata_error *cause = call(&raw)) return error(cause);
  return T(record::adopt(raw));
}

}  // namespace detail
}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
