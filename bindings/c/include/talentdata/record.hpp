// Records, and what every record has. Included by talentdata.hpp.
#pragma once

#include <talentdata/value.hpp>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// A record that belongs to a page or to another object, and is valid as long as that. Copies refer to the
/// same record; so do the texts.
class record_view {
 public:
  explicit record_view(const talentdata_record *borrowed) noexcept : raw_(borrowed) {}

  /// The JSON, byte for byte as the service sent it.
  std::string_view json() const {
    return detail::sure<std::string_view>([&](auto *out) { return talentdata_record_json(raw_, out); });
  }
  /// The JSON of the value at a JSON pointer such as /location/city; none when there is no such value.
  result<std::optional<std::string_view>> try_find(std::string_view pointer) const {
    return detail::read<std::optional<std::string_view>>(
        [&](auto *out) { return talentdata_record_find_n(raw_, detail::data(pointer), pointer.size(), out); });
  }
  /// The text of the string at a JSON pointer; none when there is no such value or it is null.
  result<std::optional<std::string_view>> try_find_text(std::string_view pointer) const {
    return detail::read<std::optional<std::string_view>>(
        [&](auto *out) { return talentdata_record_find_text_n(raw_, detail::data(pointer), pointer.size(), out); });
  }
  /// The value at a JSON pointer such as /location/city, to be read with a type; none when there is no such value.
  result<std::optional<talentdata::value>> try_value(std::string_view pointer) const {
    return detail::read<std::optional<talentdata::value>>(
        [&](auto *out) { return talentdata_record_value_n(raw_, detail::data(pointer), pointer.size(), out); });
  }
#if defined(__cpp_exceptions)
  std::optional<talentdata::value> value(std::string_view pointer) const { return detail::take(try_value(pointer)); }
  std::optional<std::string_view> find(std::string_view pointer) const { return detail::take(try_find(pointer)); }
  std::optional<std::string_view> find_text(std::string_view pointer) const {
    return detail::take(try_find_text(pointer));
  }
#endif

 protected:
  const talentdata_record *raw_;
};

/// A record that this object owns. Texts are valid as long as the record, so they cannot be read from a
/// temporary.
class record {
 public:
  using view_type = record_view;
  using handle_of = talentdata_record;
  /// Takes ownership of the record.
  explicit record(talentdata_record *owned) noexcept : handle_(owned) {}

  /// The record for a function that only reads it.
  record_view view() const & noexcept { return record_view(handle_.get()); }
  record_view view() const && = delete;

  /// The JSON, byte for byte as the service sent it.
  std::string_view json() const & { return view().json(); }
  std::string_view json() const && = delete;
  /// The JSON of the value at a JSON pointer such as /location/city; none when there is no such value.
  result<std::optional<std::string_view>> try_find(std::string_view pointer) const & { return view().try_find(pointer); }
  result<std::optional<std::string_view>> try_find(std::string_view pointer) const && = delete;
  /// The text of the string at a JSON pointer; none when there is no such value or it is null.
  result<std::optional<std::string_view>> try_find_text(std::string_view pointer) const & {
    return view().try_find_text(pointer);
  }
  result<std::optional<std::string_view>> try_find_text(std::string_view pointer) const && = delete;
  /// The value at a JSON pointer such as /location/city, to be read with a type; none when there is no such value.
  result<std::optional<talentdata::value>> try_value(std::string_view pointer) const & {
    return view().try_value(pointer);
  }
  result<std::optional<talentdata::value>> try_value(std::string_view pointer) const && = delete;
#if defined(__cpp_exceptions)
  std::optional<talentdata::value> value(std::string_view pointer) const & { return view().value(pointer); }
  std::optional<talentdata::value> value(std::string_view pointer) const && = delete;
  std::optional<std::string_view> find(std::string_view pointer) const & { return view().find(pointer); }
  std::optional<std::string_view> find(std::string_view pointer) const && = delete;
  std::optional<std::string_view> find_text(std::string_view pointer) const & { return view().find_text(pointer); }
  std::optional<std::string_view> find_text(std::string_view pointer) const && = delete;
#endif

 protected:
  detail::handle<talentdata_record, talentdata_record_free> handle_;
};

/// A list whose records are read as `Record`.
template <class Record>
struct list_of {
  std::uint32_t number;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
