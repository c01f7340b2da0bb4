// Exports to files and syncs into mirrors. Included by talentdata.hpp.
#pragma once

#include <talentdata/scan.hpp>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// Options of an export.
struct export_options {
  /// By default that of the file name extension: .jsonl, .csv, .parquet or .arrow.
  talentdata_format format = TALENTDATA_FORMAT_OF_PATH;
  /// Whether to continue an interrupted export to the same file, or to begin where there is none.
  bool resume = false;
  /// How the list is read, and which columns the file has.
  scan_options scan{};

  talentdata::parameters named() const { return scan.named().add("resume", resume); }
};

/// Options of a sync.
struct sync_options {
  /// Records per page; by default as many as the service allows.
  std::optional<std::uint64_t> page_size{};
  /// Values of the list's parameters, such as filters.
  talentdata::parameters parameters{};
  /// Whether to scan again at once if records are missing after the list changed during the scan.
  bool confirm = false;
  /// The most deletes to believe, such as 500 or 25%; by default a fifth of the records, and ten in any case.
  std::optional<std::string> max_deletes{};
  /// How long changes and earlier versions are kept, such as 90d; by default for ever.
  std::optional<std::string> keep{};

  talentdata::parameters named() const {
    talentdata::parameters out;
    return out.add("page_size", page_size).add("confirm", confirm).add("max_deletes", max_deletes).add("keep", keep);
  }
};

/// An export or a sync. One thread at a time may run it; any thread may cancel it or read its progress meanwhile. Before
/// destroying a job that another thread runs, cancel it and join the thread.
class job {
 public:
  /// Takes ownership of a job.
  static job adopt(talentdata_job *owned) { return job(owned, nullptr); }
  job(talentdata_job *owned, detail::log::shared log) noexcept : log_(std::move(log)), handle_(owned) {}
  talentdata_job *get() const noexcept { return handle_.get(); }
  /// Gives up ownership.
  talentdata_job *release() noexcept { return handle_.release(); }

  /// Runs it, and waits until it is done; after an error it may be called again. The receipt of an export is a
  /// talentdata::receipt; that of a sync has `generation`, `changes`, `withheld`, `shortfall` and `scan`.
  result<talentdata::receipt> try_run() {
    return detail::made<talentdata::receipt>([&](auto **out) { return talentdata_job_run(get(), out); });
  }
  /// How far it is, also while another thread runs it.
  talentdata::receipt progress() const { return talentdata::receipt(record::adopt(talentdata_job_progress(get()))); }
  /// Cancels it, from any thread. An export keeps what can be resumed; a sync leaves the mirror as it was.
  void cancel() noexcept { talentdata_job_cancel(get()); }

#if defined(__cpp_exceptions)
  talentdata::receipt run() { return detail::log::take(log_, try_run()); }
#endif

 private:
  detail::log::shared log_;
  detail::handle<talentdata_job, talentdata_job_free> handle_;
};

/// Checks a file against its export receipt, which is JSON or the path of a file with it: a report with `matches`, `bytes`,
/// `blake3` and `written`.
inline result<record> try_verify(std::string_view file, std::string_view receipt) {
  return detail::made<record>(
      [&](auto **out) { return talentdata_verify(detail::text(file), detail::text(receipt), out); });
}
#if defined(__cpp_exceptions)
inline record verify(std::string_view file, std::string_view receipt) { return detail::take(try_verify(file, receipt)); }
#endif

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
