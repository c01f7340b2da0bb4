// Exports to files, and syncs into mirrors. Included by talentdata.hpp.
#pragma once

#include <talentdata/json.hpp>
#include <talentdata/scan.hpp>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// The path of a file, as text or as a std::filesystem::path.
class path_text {
 public:
  path_text(const char *path) : text_(talentdata_text_of(path)) {}
  path_text(std::string_view path) noexcept : text_(detail::text(path)) {}
  path_text(const std::string &path) noexcept : text_(detail::text(path)) {}
  path_text(const std::filesystem::path &path) noexcept : text_(detail::text(path.native())) {}
  talentdata_text text() const noexcept { return text_; }

 private:
  talentdata_text text_;
};

/// The format of an export; the numbers are those of `talentdata_format`.
enum class format : int {
  /// The format that the extension of the path selects.
  of_path = 0,
  jsonl = TALENTDATA_FORMAT_JSONL,
  csv = TALENTDATA_FORMAT_CSV,
  parquet = TALENTDATA_FORMAT_PARQUET,
  arrow = TALENTDATA_FORMAT_ARROW,
};

/// An export or a sync. One thread at a time may run it. Any other thread may cancel it or read its progress while it
/// runs. Before you destroy a job that another thread runs, cancel it and join the thread.
class job : public detail::handle<talentdata_job, talentdata_job_free> {
 public:
  using handle::handle;

  /// Runs the job, and waits until it is done. After an error you may call this again, but not after `cancel`: then
  /// create a new job, for an export with the option `resume`. The receipt of an export is a
  /// talentdata::receipt. The receipt of a sync has `generation`, `changes`, `withheld`, `shortfall` and `scan`.
  result<receipt> try_run() { return detail::made<receipt>(talentdata_job_run, get()); }
  /// Returns the progress, also while another thread runs the job.
  receipt progress() const { return receipt(talentdata_job_progress(get())); }
  /// Cancels the job. Any thread may call this. An export keeps its records to be resumed. A sync does not modify the
  /// mirror.
  void cancel() noexcept { talentdata_job_cancel(get()); }

#if defined(__cpp_exceptions)
  receipt run() { return try_run().value(); }
#endif
};

/// Checks a file against its export receipt, which is JSON or the path of a file with it: a report with `matches`, `bytes`,
/// `blake3` and `written`.
inline result<record> try_verify(path_text file, std::string_view receipt) {
  return detail::made<record>(talentdata_verify, file.text(), detail::text(receipt));
}
#if defined(__cpp_exceptions)
inline record verify(path_text file, std::string_view receipt) { return try_verify(file, receipt).value(); }
#endif

/// A mirror: one SQLite file with lists as of their last sync, and the changes of each sync. It returns streams of the
/// Arrow C data interface, which the caller releases and which outlive the mirror. Any number of threads may use a
/// mirror at once.
class mirror : public detail::handle<talentdata_mirror, talentdata_mirror_free> {
 public:
  using handle::handle;

  /// Opens a mirror. Syncs do not disturb its streams.
  static result<mirror> try_open(path_text path) { return detail::made<mirror>(talentdata_mirror_open, path.text()); }
  /// Returns the receipts of the kept syncs of a list, oldest first.
  result<record> try_syncs(list_name list) const {
    return detail::made<record>(talentdata_mirror_syncs, get(), detail::text(list.name));
  }
  /// Reads the changes of a list after a sync, which is a bookmark or a time; by default all changes. Returns the last
  /// sync. Store its `bookmark` with the changes, even if there are none.
  result<record> try_changes(list_name list, ArrowArrayStream *stream, std::optional<std::string_view> since = {},
                             const options &columns = {}) const {
    if (columns.refused()) return *columns.refused();
    return detail::made<record>(talentdata_mirror_changes, get(), detail::text(list.name), when(since), columns.get(), stream);
  }
  /// Reads a list as of a sync, which is a bookmark, a number or a time such as 2026-11-20T06:00:00Z; by default the
  /// last sync. Returns this sync, with its `bookmark`.
  result<record> try_records(list_name list, ArrowArrayStream *stream, std::optional<std::string_view> at = {},
                             const options &columns = {}) const {
    if (columns.refused()) return *columns.refused();
    return detail::made<record>(talentdata_mirror_records, get(), detail::text(list.name), when(at), columns.get(), stream);
  }
  /// Reads the whole mirror, and returns the differences from the digests of its syncs.
  result<record> try_verify() const { return detail::made<record>(talentdata_mirror_verify, get()); }
  /// Removes a list and its history.
  result<nothing> try_forget(list_name list) const {
    return detail::done(talentdata_mirror_forget(get(), detail::text(list.name)));
  }
  /// Erases records of a list by their ids, a JSON array of strings, with all their versions and changes. Copies can
  /// follow with the changes `erased`, which are not kept with `unannounced`. With `keep_out`, syncs do not store the
  /// records again. If the ids of the list are hashed, `config` has the `hash_key`; by default that of the environment or
  /// the profile. Returns `records`, `versions`, `changes` and `bookmark`.
  result<record> try_erase(list_name list, std::string_view records, bool unannounced = false, bool keep_out = false,
                           const talentdata_config *config = nullptr) const {
    return detail::made<record>(talentdata_mirror_erase, get(), detail::text(list.name), detail::text(records),
                                unannounced ? 1 : 0, keep_out ? 1 : 0, config);
  }
  /// Removes the changes `erased` of a list up to a sync. Call it after every copy of the list applied them.
  result<nothing> try_acknowledge(list_name list, std::string_view up_to) const {
    return detail::done(talentdata_mirror_acknowledge(get(), detail::text(list.name), detail::text(up_to)));
  }

#if defined(__cpp_exceptions)
  static mirror open(path_text path) { return try_open(path).value(); }
  record syncs(list_name list) const { return try_syncs(list).value(); }
  record changes(list_name list, ArrowArrayStream *stream, std::optional<std::string_view> since = {},
                 const options &columns = {}) const {
    return try_changes(list, stream, since, columns).value();
  }
  record records(list_name list, ArrowArrayStream *stream, std::optional<std::string_view> at = {},
                 const options &columns = {}) const {
    return try_records(list, stream, at, columns).value();
  }
  record verify() const { return try_verify().value(); }
  void forget(list_name list) const { (void)try_forget(list).value(); }
  record erase(list_name list, std::string_view records, bool unannounced = false, bool keep_out = false,
               const talentdata_config *config = nullptr) const {
    return try_erase(list, records, unannounced, keep_out, config).value();
  }
  void acknowledge(list_name list, std::string_view up_to) const { (void)try_acknowledge(list, up_to).value(); }
#endif

 private:
  static talentdata_text when(std::optional<std::string_view> sync) noexcept {
    return sync ? detail::text(*sync) : TALENTDATA_ABSENT;
  }
};

}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
