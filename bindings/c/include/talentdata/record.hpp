// Records, with what every record has. Included by talentdata.hpp.
#pragma once

#include <talentdata/base.hpp>

namespace talentdata {

/// A record of a list, as the service sent it. Texts are valid as long as the record.
class record {
 public:
  /// Takes the record over.
  explicit record(talentdata_record *owned) noexcept : handle_(owned, {true}) {}
  /// A view of a record of a page, valid as long as the page.
  static record lent(const talentdata_record *raw) noexcept {
    record view(const_cast<talentdata_record *>(raw));
    view.handle_.get_deleter().owned = false;
    return view;
  }

  /// The JSON, byte for byte as the service sent it.
  std::string_view json() const {
    return detail::sure<std::string_view>([&](auto *out) { return talentdata_record_json(handle_.get(), out); });
  }
  /// The JSON of one value, by JSON pointer such as /address/city; none when there is no such value.
  result<std::optional<std::string_view>> try_find(std::string_view pointer) const {
    return detail::read<std::optional<std::string_view>>([&](auto *out) {
      return talentdata_record_find_n(handle_.get(), detail::data(pointer), pointer.size(), out);
    });
  }
  /// The text of one string, by JSON pointer; none when there is no such value, or it is null.
  result<std::optional<std::string_view>> try_find_text(std::string_view pointer) const {
    return detail::read<std::optional<std::string_view>>([&](auto *out) {
      return talentdata_record_find_text_n(handle_.get(), detail::data(pointer), pointer.size(), out);
    });
  }
#if defined(__cpp_exceptions)
  std::optional<std::string_view> find(std::string_view pointer) const { return detail::take(try_find(pointer)); }
  std::optional<std::string_view> find_text(std::string_view pointer) const {
    return detail::take(try_find_text(pointer));
  }
#endif

 protected:
  struct release {
    bool owned;
    void operator()(talentdata_record *raw) const noexcept {
      if (owned) talentdata_record_free(raw);
    }
  };
  std::unique_ptr<talentdata_record, release> handle_;
};

/// A list whose records are read as `Record`.
template <class Record>
struct list_of {
  std::uint32_t number;
};

}  // namespace talentdata
