// Values of a record, read with a type. Included by talentdata.hpp.
#pragma once

#include <talentdata/base.hpp>

#include <cstddef>
#include <iterator>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// A value of a record, and a range of what an array or an object holds. It belongs to the record: it is valid as
/// long as that, and so are its texts. Copies refer to the same value.
class value {
 public:
  using view_of = talentdata_value;
  explicit value(const talentdata_value *borrowed) noexcept : raw_(borrowed) {}

  talentdata_value_kind kind() const { return get<talentdata_value_kind>(talentdata_value_type); }
  bool is_null() const { return kind() == TALENTDATA_VALUE_KIND_NULL; }
  /// The JSON, byte for byte as the service sent it.
  std::string_view json() const { return get<std::string_view>(talentdata_value_json); }

  result<bool> try_boolean() const { return try_get<bool>(talentdata_value_boolean); }
  /// An integer, exactly.
  result<std::int64_t> try_int64() const { return try_get<std::int64_t>(talentdata_value_int64); }
  /// A number, as the double that is closest to it.
  result<double> try_number() const { return try_get<double>(talentdata_value_double); }
  /// The text of a string, its escapes resolved.
  result<std::string_view> try_text() const { return try_get<std::string_view>(talentdata_value_text); }
  /// The number of items of an array, or of members of an object.
  result<std::size_t> try_size() const { return try_get<std::size_t>(talentdata_value_count); }
  /// An item of an array, or the value of a member of an object.
  result<value> try_item(std::size_t index) const {
    return detail::read<value>([&](auto *out) { return talentdata_value_item(raw_, index, out); });
  }
  /// The name of a member of an object; none for an item of an array.
  result<std::optional<std::string_view>> try_name(std::size_t index) const {
    return detail::read<std::optional<std::string_view>>(
        [&](auto *out) { return talentdata_value_name(raw_, index, out); });
  }
  /// The value of the member with this name; none when there is no such member.
  result<std::optional<value>> try_member(std::string_view name) const {
    return detail::read<std::optional<value>>(
        [&](auto *out) { return talentdata_value_member_n(raw_, detail::data(name), name.size(), out); });
  }

#if defined(__cpp_exceptions)
  // Each throws an error of the kind SCHEMA when the value is of another type.
  bool boolean() const { return detail::take(try_boolean()); }
  std::int64_t int64() const { return detail::take(try_int64()); }
  double number() const { return detail::take(try_number()); }
  std::string_view text() const { return detail::take(try_text()); }
  std::size_t size() const { return detail::take(try_size()); }
  value operator[](std::size_t index) const { return detail::take(try_item(index)); }
  std::optional<std::string_view> name(std::size_t index) const { return detail::take(try_name(index)); }
  std::optional<value> member(std::string_view name) const { return detail::take(try_member(name)); }

  class iterator {
   public:
    // Dereferencing makes a view; iterators of C++17 that allow more have to return a reference.
    using iterator_category = std::input_iterator_tag;
    using value_type = value;
    using difference_type = std::ptrdiff_t;
    using reference = value;
    using pointer = void;

    iterator(const talentdata_value *of, std::size_t index) noexcept : of_(of), index_(index) {}
    value operator*() const { return value(of_)[index_]; }
    iterator &operator++() noexcept { return ++index_, *this; }
    iterator operator++(int) noexcept { return iterator(of_, index_++); }
    friend bool operator==(const iterator &left, const iterator &right) noexcept { return left.index_ == right.index_; }
    friend bool operator!=(const iterator &left, const iterator &right) noexcept { return !(left == right); }

   private:
    const talentdata_value *of_;
    std::size_t index_;
  };
  iterator begin() const { return iterator(raw_, 0); }
  iterator end() const { return iterator(raw_, size()); }
#endif

 private:
  template <class T, class Function>
  T get(Function function) const {
    return detail::sure<T>([&](auto *out) { return function(raw_, out); });
  }
  template <class T, class Function>
  result<T> try_get(Function function) const {
    return detail::read<T>([&](auto *out) { return function(raw_, out); });
  }
  const talentdata_value *raw_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
