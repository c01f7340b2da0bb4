// Records: any JSON, which is read by names and JSON pointers. Included by talentdata.hpp.
#pragma once

#include <talentdata/base.hpp>

#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <vector>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

class record;

namespace detail {
template <class>
inline constexpr bool is_known = false;

/// Reads a `T` from a record; nullopt if it is absent. There is a specialization for each type that a field can have.
template <class T, class = void>
struct reader {
  static_assert(
      is_known<T>,
      "a record is read as bool, an integer type, float, double, std::string, std::string_view, std::filesystem::path, "
      "talentdata::record, a class of a model, a std::vector, std::map<std::string, T> or "
      "std::vector<std::pair<std::string, T>> of these, or a std::optional of one");
};
}  // namespace detail

/// A JSON value: a record of a list, a response, a receipt or a report, or a value within one of these. Copies, and
/// values that are read from it, refer to the same JSON and keep it alive. Strings are copied. Any number of threads
/// may read it.
///
/// A path is the name of a field, such as firstName, or a JSON pointer, such as /location/city; "" is the value itself.
class record {
 public:
  using raw_type = talentdata_record;
  /// Parses JSON, such as a stored receipt.
  static result<record> try_parse(std::string_view json);
  /// Takes ownership of a C record.
  explicit record(talentdata_record *owned) : record(shared(owned, talentdata_record_free)) {}
  /// Returns the record for functions of C. It is still owned by this object.
  const talentdata_record *get() const noexcept { return raw_.get(); }
  /// Returns a value that functions of C returned and that belongs to this record. The value keeps the record alive.
  record within(const talentdata_record *borrowed) const { return record(shared(raw_, borrowed)); }

  /// Returns the JSON, byte for byte as the service sent it.
  std::string json() const { return detail::copied(talentdata_record_json(get())).value_or(""); }
  talentdata_value_kind kind() const noexcept { return talentdata_record_kind(get()); }

  /// Returns the value at a path: a string, number, boolean or record, a vector or a map of these, or an optional of
  /// one. Without the optional, a missing or null value is an error. A value of another type or out of range is always
  /// an error, which names the JSON pointer. A std::string_view is valid as long as the record. A vector of pairs has
  /// the fields of an object in their order.
  template <class T>
  result<T> try_get(std::string_view path) const;
  /// Returns the value at a path, of any kind. For null, returns a record of the kind null. For an absent value,
  /// returns nullopt.
  result<std::optional<record>> try_find(std::string_view path) const {
    const talentdata_record *found = nullptr;
    if (talentdata_error *cause = talentdata_record_value(get(), detail::text(path), &found)) return error(cause);
    return found ? std::optional<record>(within(found)) : std::nullopt;
  }
#if defined(__cpp_exceptions)
  static record parse(std::string_view json) { return try_parse(json).value(); }
  std::optional<record> find(std::string_view path) const { return try_find(path).value(); }
  template <class T>
  T get(std::string_view path) const {
    return try_get<T>(path).value();
  }
#endif

 private:
  using shared = std::shared_ptr<const talentdata_record>;
  explicit record(shared raw) noexcept : raw_(std::move(raw)) {}

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
/// Reads integers of every size, as the largest C integer with the same signedness.
template <class T>
struct reader<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<T> &out) {
    if constexpr (std::is_signed_v<T>) {
      return within_range<std::int64_t, talentdata_optional_integer, talentdata_record_integer>(from, path, out);
    } else {
      return within_range<std::uint64_t, talentdata_optional_unsigned, talentdata_record_unsigned>(from, path, out);
    }
  }

 private:
  template <class Wide, class Out, talentdata_error *(*Function)(const talentdata_record *, talentdata_text, Out *)>
  static talentdata_error *within_range(const record &from, std::string_view path, std::optional<T> &out) {
    std::optional<Wide> found;
    if (talentdata_error *cause = scalar_reader<Wide, Out, Function>::find(from, path, found)) return cause;
    if (!found) return nullptr;
    if (*found < std::numeric_limits<T>::min() || *found > std::numeric_limits<T>::max()) {
      return talentdata_record_out_of_range(from.get(), text(path));
    }
    out = static_cast<T>(*found);
    return nullptr;
  }
};
template <>
struct reader<double> : scalar_reader<double, talentdata_optional_number, talentdata_record_number> {};
template <>
struct reader<bool> : scalar_reader<bool, talentdata_optional_boolean, talentdata_record_boolean> {};

/// Reads the nearest float. A number that is too large is an error.
template <>
struct reader<float> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<float> &out) {
    std::optional<double> found;
    talentdata_error *cause = reader<double>::find(from, path, found);
    if (cause || !found) return cause;
    constexpr double largest = std::numeric_limits<float>::max();
    if (*found > largest || *found < -largest) return talentdata_record_out_of_range(from.get(), text(path));
    out = static_cast<float>(*found);
    return nullptr;
  }
};

template <>
struct reader<std::string_view> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<std::string_view> &out) {
    talentdata_text found{};
    talentdata_error *cause = talentdata_record_text(from.get(), text(path), &found);
    if (!cause && found.data) out = std::string_view(found.data, found.length);
    return cause;
  }
};
template <>
struct reader<std::filesystem::path> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<std::filesystem::path> &out) {
    std::optional<std::string_view> found;
    talentdata_error *cause = reader<std::string_view>::find(from, path, found);
    if (found) out = *found;
    return cause;
  }
};
template <>
struct reader<std::string> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<std::string> &out) {
    talentdata_text found{};
    talentdata_error *cause = talentdata_record_text(from.get(), text(path), &found);
    if (!cause) out = copied(found);
    return cause;
  }
};

/// Reads records and classes of models.
template <class T>
struct reader<T, std::enable_if_t<std::is_base_of_v<record, T>>> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<T> &out) {
    const talentdata_record *found = nullptr;
    talentdata_error *cause = talentdata_record_value(from.get(), text(path), &found);
    // The record itself may be null, but a null field counts as absent.
    const bool absent =
        found == nullptr || (found != from.get() && talentdata_record_kind(found) == TALENTDATA_VALUE_KIND_NULL);
    if (!cause && !absent) out = T(from.within(found));
    return cause;
  }
};

/// Reads the items of an array or an object. `add` gets each item with its name.
template <class T, class Many, class Add>
talentdata_error *find_many(const record &from, std::string_view path, std::optional<Many> &out, Add add) {
  std::optional<record> whole;
  if (talentdata_error *cause = reader<record>::find(from, path, whole)) return cause;
  if (!whole) return nullptr;
  out.emplace();
  std::size_t count = 0;
  talentdata_error *cause = talentdata_record_count(whole->get(), &count);
  for (std::size_t index = 0; !cause && index < count; ++index) {
    talentdata_text name{};
    const talentdata_record *item = nullptr;
    std::optional<T> value;
    cause = talentdata_record_item(whole->get(), index, &item);
    if (!cause) cause = talentdata_record_name(whole->get(), index, &name);
    if constexpr (is_optional<T>::value) {
      value.emplace();
      if (!cause) cause = reader<typename T::value_type>::find(whole->within(item), "", *value);
    } else {
      if (!cause) cause = reader<T>::find(whole->within(item), "", value);
      if (!cause && !value) cause = talentdata_record_missing(item, text(""));
    }
    if (!cause) add(*out, copied(name).value_or(""), std::move(*value));
  }
  return cause;
}

template <class T>
struct reader<std::vector<T>> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<std::vector<T>> &out) {
    return find_many<T>(from, path, out, [](auto &all, std::string, T value) { all.push_back(std::move(value)); });
  }
};
/// Reads the fields of an object, in their order.
template <class T>
struct reader<std::vector<std::pair<std::string, T>>> {
  using fields = std::vector<std::pair<std::string, T>>;
  static talentdata_error *find(const record &from, std::string_view path, std::optional<fields> &out) {
    return find_many<T>(from, path, out,
                        [](fields &all, std::string name, T value) { all.emplace_back(std::move(name), std::move(value)); });
  }
};
template <class T>
struct reader<std::map<std::string, T>> {
  static talentdata_error *find(const record &from, std::string_view path, std::optional<std::map<std::string, T>> &out) {
    return find_many<T>(from, path, out,
                        [](auto &all, std::string name, T value) { all.insert_or_assign(std::move(name), std::move(value)); });
  }
};

/// Reads the value of an enum from its text.
template <class T>
talentdata_error *find_enum(const record &from, std::string_view path, std::optional<T> &out, T (*of)(talentdata_text)) {
  talentdata_text found{};
  talentdata_error *cause = talentdata_record_text(from.get(), text(path), &found);
  if (!cause && found.data) out = of(found);
  return cause;
}

}  // namespace detail

inline result<record> record::try_parse(std::string_view json) {
  return detail::made<record>(talentdata_record_parse, detail::text(json));
}

template <class T>
result<T> record::try_get(std::string_view path) const {
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

/// A list, by its name.
struct list_name {
  const char *name;
};
/// The name of a list with the class of its records. service.hpp has the lists of the OpenAPI file.
template <class Record>
struct list_of : list_name {
  explicit constexpr list_of(const char *list) noexcept : list_name{list} {}
};

}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
