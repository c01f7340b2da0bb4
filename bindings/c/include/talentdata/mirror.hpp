// Mirrors: what each sync of a list has changed. Included by talentdata.hpp.
#pragma once

#include <talentdata/record.hpp>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// A mirror: one SQLite file, with lists as of their last sync and what each sync has changed. Streams are of the Arrow C
/// data interface; the caller releases them, and they outlive the mirror. Any number of threads may use a mirror at once.
class mirror {
 public:
  /// Opens a mirror; syncs do not disturb its streams.
  static result<mirror> try_open(std::string_view path) {
    talentdata_mirror *raw = nullptr;
    if (talentdata_error *cause = talentdata_mirror_open(detail::text(path), &raw)) return error(cause);
    return adopt(raw);
  }
  /// Takes ownership of a mirror.
  static mirror adopt(talentdata_mirror *owned) noexcept { return mirror(owned); }
  const talentdata_mirror *get() const noexcept { return handle_.get(); }
  /// Gives up ownership.
  talentdata_mirror *release() noexcept { return handle_.release(); }

  /// The syncs of a list that are kept, the oldest first, each as a job gives it.
  template <class Record>
  result<record> try_syncs(list_of<Record> list) const {
    return detail::made<record>([&](auto **out) { return talentdata_mirror_syncs(get(), detail::text(list.name), out); });
  }
  /// What has changed in a list after a sync: its number such as 16, or a time; by default all changes.
  template <class Record>
  result<nothing> try_changes(list_of<Record> list, ArrowArrayStream *stream,
                              std::optional<std::string_view> since = {}) const {
    return detail::done(talentdata_mirror_changes(get(), detail::text(list.name), at_(since), stream));
  }
  /// A list as a sync has read it, such as 17, or as of a time such as 2026-11-20T06:00:00Z; by default the last sync.
  template <class Record>
  result<nothing> try_records(list_of<Record> list, ArrowArrayStream *stream,
                              std::optional<std::string_view> at = {}) const {
    return detail::done(talentdata_mirror_records(get(), detail::text(list.name), at_(at), stream));
  }
  /// What is wrong with it; everything in it is read.
  result<record> try_verify() const {
    return detail::made<record>([&](auto **out) { return talentdata_mirror_verify(get(), out); });
  }
  /// Removes a list, with all that is kept of it.
  template <class Record>
  result<nothing> try_forget(list_of<Record> list) const {
    return detail::done(talentdata_mirror_forget(get(), detail::text(list.name)));
  }

#if defined(__cpp_exceptions)
  static mirror open(std::string_view path) { return detail::take(try_open(path)); }
  template <class Record>
  record syncs(list_of<Record> list) const {
    return detail::take(try_syncs(list));
  }
  template <class Record>
  void changes(list_of<Record> list, ArrowArrayStream *stream, std::optional<std::string_view> since = {}) const {
    (void)detail::take(try_changes(list, stream, since));
  }
  template <class Record>
  void records(list_of<Record> list, ArrowArrayStream *stream, std::optional<std::string_view> at = {}) const {
    (void)detail::take(try_records(list, stream, at));
  }
  record verify() const { return detail::take(try_verify()); }
  template <class Record>
  void forget(list_of<Record> list) const {
    (void)detail::take(try_forget(list));
  }
#endif

 private:
  explicit mirror(talentdata_mirror *owned) noexcept : handle_(owned) {}
  static talentdata_text at_(std::optional<std::string_view> at) noexcept {
    return at ? detail::text(*at) : TALENTDATA_ABSENT;
  }

  detail::handle<talentdata_mirror, talentdata_mirror_free> handle_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
