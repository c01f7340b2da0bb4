// Plans and exports of whole lists. Included by talentdata.hpp.
#pragma once

#include <talentdata/scan.hpp>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// An estimate of a scan, an export or a sync of a whole list.
struct plan {
  using handle_of = talentdata_plan;
  std::uint64_t records = 0;
  /// Page requests, if none has to be repeated.
  std::uint64_t pages = 0;
  /// Clients that share the request budget now, this one included.
  std::uint64_t members = 1;
  /// The time that they take at the client's share of the request budget while as many clients share it.
  double seconds = 0;

  plan() = default;
  /// Reads the plan and frees it.
  explicit plan(talentdata_plan *owned) {
    const detail::handle<talentdata_plan, talentdata_plan_free> held(owned);
    const auto read = [&](auto function, auto *slot) {
      if (talentdata_error *cause = function(owned, slot)) detail::misuse(cause);
    };
    read(talentdata_plan_records, &records);
    read(talentdata_plan_pages, &pages);
    read(talentdata_plan_members, &members);
    read(talentdata_plan_seconds, &seconds);
  }
};

/// Options of an export.
struct export_options {
  /// By default that of the file name extension (.jsonl, .csv, .parquet or .arrow), else JSON Lines.
  std::optional<talentdata_format> format{};
  /// Whether to continue an interrupted export to the same file, or to begin where there is none.
  bool resume = false;
  /// How the list is read, and which columns the file has.
  scan_options scan{};
};

namespace detail {

/// The options as C takes them.
inline result<handle<talentdata_export_options, talentdata_export_options_free>> held(const export_options &options) {
  talentdata_export_options *raw = nullptr;
  if (talentdata_error *cause = talentdata_export_options_new(&raw)) return error(cause);
  handle<talentdata_export_options, talentdata_export_options_free> made(raw);
  if (options.format) {
    if (talentdata_error *cause = talentdata_export_options_set_format(raw, *options.format)) return error(cause);
  }
  if (talentdata_error *cause = talentdata_export_options_set_resume(raw, options.resume)) return error(cause);
  auto scan = held(options.scan);
  if (!scan) return scan.error();
  if (talentdata_error *cause = talentdata_export_options_set_scan(raw, scan->get())) return error(cause);
  return made;
}

}  // namespace detail

/// Writes every record of a list to a file, which appears under its name when it is complete. One thread at a time
/// may run it; any thread may cancel it or read its receipt meanwhile. Before destroying an exporter that another
/// thread runs, cancel it and join the thread.
class exporter {
 public:
  /// Takes ownership of the exporter.
  exporter(talentdata_exporter *owned, detail::log::shared log) noexcept : log_(std::move(log)), handle_(owned) {}

  /// Writes the file, and waits until it is complete. After an error it may be called again.
  result<talentdata::receipt> try_run() {
    talentdata_receipt *raw = nullptr;
    if (talentdata_error *cause = talentdata_exporter_run(handle_.get(), &raw)) return error(cause);
    return talentdata::receipt(raw);
  }
  /// What has been done so far, also while another thread runs it.
  result<talentdata::receipt> try_receipt() const {
    talentdata_receipt *raw = nullptr;
    if (talentdata_error *cause = talentdata_exporter_receipt(handle_.get(), &raw)) return error(cause);
    return talentdata::receipt(raw);
  }
  /// Cancels the export, from any thread; what can be resumed is kept.
  void cancel() {
    if (talentdata_error *cause = talentdata_exporter_cancel(handle_.get())) detail::misuse(cause);
  }

#if defined(__cpp_exceptions)
  talentdata::receipt run() { return detail::log::take(log_, try_run()); }
  talentdata::receipt receipt() const { return detail::log::take(log_, try_receipt()); }
#endif

 private:
  detail::log::shared log_;
  detail::handle<talentdata_exporter, talentdata_exporter_free> handle_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
