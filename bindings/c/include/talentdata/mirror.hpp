// Mirrors: what each sync of a list has changed. Included by talentdata.hpp.
#pragma once

#include <talentdata/json.hpp>
#include <talentdata/scan.hpp>

#include <string>
#include <variant>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// Options of a sync.
struct sync_options {
  /// How the list is read: without a limit.
  scan_options scan{};
  /// Whether to scan again at once if records are missing after the list changed during the scan.
  bool confirm = false;
  /// The most deletes to believe, such as "500", "25%" or "100%"; by default a fifth of the records, and ten in any case.
  std::string max_deletes{};
  /// How long changes and earlier versions are kept, such as "90d"; by default for ever.
  std::string keep{};

  /// As C takes them. Where a text would need an escape it is none of these, and the library says so.
  std::string json() const {
    std::string text = confirm ? "{\"confirm\":true" : "{\"confirm\":false";
    if (!max_deletes.empty()) text += ",\"max_deletes\":\"" + max_deletes + "\"";
    if (!keep.empty()) text += ",\"keep\":\"" + keep + "\"";
    return text + "}";
  }
};

/// Brings a mirror of a list up to date. One thread at a time may run it; any thread may cancel it or read its receipt
/// meanwhile. Before destroying a syncer that another thread runs, cancel it and join the thread.
class syncer {
 public:
  /// Takes ownership of the syncer.
  syncer(talentdata_syncer *owned, detail::log::shared log) noexcept : log_(std::move(log)), handle_(owned) {}

  /// Reads the list and commits what has changed; what was done, as JSON. It may be called again, after an error too.
  result<std::string> try_run() {
    talentdata_json_text *raw = nullptr;
    if (talentdata_error *cause = talentdata_syncer_run(handle_.get(), &raw)) return error(cause);
    const json_text receipt(raw);
    return std::string(receipt.json());
  }
  /// How far the scan of the last run is, also while another thread runs it.
  result<talentdata::receipt> try_receipt() const {
    talentdata_receipt *raw = nullptr;
    if (talentdata_error *cause = talentdata_syncer_receipt(handle_.get(), &raw)) return error(cause);
    return talentdata::receipt(raw);
  }
  /// Cancels the sync, from any thread; the mirror is as it was then.
  void cancel() {
    if (talentdata_error *cause = talentdata_syncer_cancel(handle_.get())) detail::misuse(cause);
  }

#if defined(__cpp_exceptions)
  std::string run() { return detail::log::take(log_, try_run()); }
  talentdata::receipt receipt() const { return detail::log::take(log_, try_receipt()); }
#endif

 private:
  detail::log::shared log_;
  detail::handle<talentdata_syncer, talentdata_syncer_free> handle_;
};

/// A mirror: one SQLite file, with lists as of their last sync and what each sync has changed. Streams are of the Arrow C
/// data interface; the caller releases them. Any number of threads may use a mirror at once.
class mirror {
 public:
  /// Opens a mirror; syncs do not disturb its streams.
  static result<mirror> try_open(const std::string &path) {
    talentdata_mirror *raw = nullptr;
    if (talentdata_error *cause = talentdata_mirror_open(path.c_str(), &raw)) return error(cause);
    return mirror(raw);
  }

  /// Takes ownership of the mirror.
  explicit mirror(talentdata_mirror *owned) noexcept : handle_(owned) {}

  /// The syncs of a list that are kept, the oldest first: a JSON array.
  template <class Record>
  result<std::string> try_syncs(list_of<Record> list) const {
    talentdata_json_text *raw = nullptr;
    if (talentdata_error *cause = talentdata_mirror_syncs(handle_.get(), list.number, &raw)) return error(cause);
    const json_text text(raw);
    return std::string(text.json());
  }
  /// What has changed in a list after a sync: its number such as 16, or a time; 0 for all changes.
  template <class Record>
  result<std::monostate> try_changes(list_of<Record> list, const std::string &since, ArrowArrayStream *stream) const {
    return done(talentdata_mirror_changes(handle_.get(), list.number, since.c_str(), stream));
  }
  /// A list as of the last sync.
  template <class Record>
  result<std::monostate> try_current(list_of<Record> list, ArrowArrayStream *stream) const {
    return done(talentdata_mirror_current(handle_.get(), list.number, stream));
  }
  /// A list as a sync has read it: `at` is the number of a sync such as 17, or a time such as 2026-11-20T06:00:00Z.
  template <class Record>
  result<std::monostate> try_as_of(list_of<Record> list, const std::string &at, ArrowArrayStream *stream) const {
    return done(talentdata_mirror_as_of(handle_.get(), list.number, at.c_str(), stream));
  }

  /// What is wrong with it, as JSON; everything in it is read.
  result<std::string> try_verify() const {
    talentdata_json_text *raw = nullptr;
    if (talentdata_error *cause = talentdata_mirror_verify(handle_.get(), &raw)) return error(cause);
    const json_text text(raw);
    return std::string(text.json());
  }
  /// Removes a list, with all that is kept of it.
  template <class Record>
  result<std::monostate> try_forget(list_of<Record> list) const {
    return done(talentdata_mirror_forget(handle_.get(), list.number));
  }

#if defined(__cpp_exceptions)
  static mirror open(const std::string &path) { return detail::take(try_open(path)); }
  template <class Record>
  std::string syncs(list_of<Record> list) const {
    return detail::take(try_syncs(list));
  }
  template <class Record>
  void changes(list_of<Record> list, const std::string &since, ArrowArrayStream *stream) const {
    detail::take(try_changes(list, since, stream));
  }
  template <class Record>
  void current(list_of<Record> list, ArrowArrayStream *stream) const {
    detail::take(try_current(list, stream));
  }
  template <class Record>
  void as_of(list_of<Record> list, const std::string &at, ArrowArrayStream *stream) const {
    detail::take(try_as_of(list, at, stream));
  }
  std::string verify() const { return detail::take(try_verify()); }
  template <class Record>
  void forget(list_of<Record> list) const {
    detail::take(try_forget(list));
  }
#endif

 private:
  static result<std::monostate> done(talentdata_error *cause) {
    if (cause) return error(cause);
    return std::monostate();
  }

  detail::handle<talentdata_mirror, talentdata_mirror_free> handle_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
