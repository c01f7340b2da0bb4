// Scans and receipts. Included by talentdata.hpp.
#pragma once

#include <talentdata/json.hpp>
#include <talentdata/log.hpp>
#include <talentdata/record.hpp>

#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// What a scan has done, at the time of the request.
class receipt {
 public:
  /// Takes ownership of the receipt.
  explicit receipt(talentdata_receipt *owned) noexcept : handle_(owned) {}
  talentdata_completeness completeness() const { return get<talentdata_completeness>(talentdata_receipt_completeness); }
  talentdata_basis basis() const { return get<talentdata_basis>(talentdata_receipt_basis); }
  std::uint64_t records() const { return get<std::uint64_t>(talentdata_receipt_records); }
  /// The number of records in the list as the service last reported it; none where it has not been asked yet.
  std::optional<std::uint64_t> total() const {
    const auto total = get<std::int64_t>(talentdata_receipt_total);
    return total < 0 ? std::nullopt : std::optional<std::uint64_t>(static_cast<std::uint64_t>(total));
  }
  std::uint64_t pages() const { return get<std::uint64_t>(talentdata_receipt_pages); }
  std::uint64_t requests() const { return get<std::uint64_t>(talentdata_receipt_requests); }
  std::uint64_t rate_limited() const { return get<std::uint64_t>(talentdata_receipt_rate_limited); }
  double seconds() const { return get<double>(talentdata_receipt_seconds); }
  /// The whole receipt.
  std::string_view json() const & { return get<std::string_view>(talentdata_receipt_json); }
  std::string_view json() const && = delete;

 private:
  template <class T, class Function>
  T get(Function function) const {
    return detail::sure<T>([&](auto *out) { return function(handle_.get(), out); });
  }
  detail::handle<talentdata_receipt, talentdata_receipt_free> handle_;
};

/// Options of a scan, and of how an export reads a list.
struct scan_options {
  /// Records per page; by default as many as the service allows.
  std::optional<std::uint64_t> page_size{};
  /// Records to deliver at most; by default all.
  std::optional<std::uint64_t> limit{};
  /// Values of the list's parameters, such as filters; they are sent with every page.
  list_parameters parameters{};
  /// The types of the columns of an Arrow stream or a file, where no schema is given.
  talentdata_columns columns = TALENTDATA_COLUMNS_TYPED;
  /// The columns of an Arrow stream or a file: what client::schema has determined, or the contents of a file that
  /// `talentdata schema` has printed.
  std::optional<std::string> schema{};
  /// What to do with fields that the schema does not have.
  talentdata_on_new on_new = TALENTDATA_ON_NEW_KEEP;
};

namespace detail {

/// The options as C takes them.
inline result<handle<talentdata_scan_options, talentdata_scan_options_free>> held(const scan_options &options) {
  talentdata_scan_options *raw = nullptr;
  if (talentdata_error *cause = talentdata_scan_options_new(&raw)) return error(cause);
  handle<talentdata_scan_options, talentdata_scan_options_free> made(raw);
  if (options.page_size) {
    if (talentdata_error *cause = talentdata_scan_options_set_page_size(raw, *options.page_size)) return error(cause);
  }
  if (options.limit) {
    if (talentdata_error *cause = talentdata_scan_options_set_limit(raw, *options.limit)) return error(cause);
  }
  if (talentdata_error *cause = talentdata_scan_options_set_columns(raw, options.columns)) return error(cause);
  if (options.schema) {
    const std::string &schema = *options.schema;
    talentdata_error *cause =
        talentdata_scan_options_set_schema_n(raw, schema.data(), schema.size(), options.on_new);
    if (cause) return error(cause);
  }
  if (!options.parameters.empty()) {
    const parameter_set parameters = parameters_of(options.parameters);
    if (parameters.failed()) return *parameters.failed();
    if (talentdata_error *cause = talentdata_scan_options_set_parameters(raw, parameters.get())) return error(cause);
  }
  return made;
}

}  // namespace detail

/// Every record of a list, in order: a range that can be iterated once. One thread at a time may use it,
/// except for cancel. Before destroying a scan that another thread uses, cancel it and join the thread.
template <class Record>
class scan {
 public:
  /// Takes ownership of the scan.
  scan(talentdata_scan *owned, detail::log::shared log) noexcept : log_(std::move(log)), handle_(owned) {}

  /// Waits for the next record; none at the end of the list.
  result<std::optional<Record>> try_next() {
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_next(handle_.get(), &raw)) return error(cause);
    return taken(raw);
  }
  /// A record if one is available, and whether the list has ended.
  struct arrived {
    talentdata_arrival arrival;
    std::optional<Record> record;
  };
  /// Takes the next record if it is available; never waits.
  result<arrived> try_poll() {
    talentdata_arrival arrival{};
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_try_next(handle_.get(), &arrival, &raw)) return error(cause);
    return arrived{arrival, taken(raw)};
  }
  /// A file descriptor that is readable while try_poll has something to report; it belongs to the scan.
  result<int> try_descriptor() {
    return detail::read<int>([&](auto *out) { return talentdata_scan_descriptor(handle_.get(), out); });
  }
  result<talentdata::receipt> try_receipt() const {
    talentdata_receipt *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_receipt(handle_.get(), &raw)) return error(cause);
    return talentdata::receipt(raw);
  }
  /// Turns the scan into an Arrow stream, which the caller releases.
  result<std::monostate> try_arrow_stream(ArrowArrayStream *stream) {
    if (talentdata_error *cause = talentdata_scan_arrow_stream(handle_.get(), stream)) return error(cause);
    return std::monostate();
  }
  /// Cancels the scan, from any thread.
  void cancel() {
    if (talentdata_error *cause = talentdata_scan_cancel(handle_.get())) detail::misuse(cause);
  }

#if defined(__cpp_exceptions)
  std::optional<Record> next() {
    detail::log::rethrow(log_);
    std::optional<Record> record = detail::take(try_next());
    // A record must not be lost. At the end there is none, and perhaps no other call.
    if (!record) detail::log::rethrow(log_);
    return record;
  }
  arrived poll() {
    detail::log::rethrow(log_);
    arrived found = detail::take(try_poll());
    if (!found.record) detail::log::rethrow(log_);
    return found;
  }
  int descriptor() { return detail::log::take(log_, try_descriptor()); }
  talentdata::receipt receipt() const { return detail::log::take(log_, try_receipt()); }
  void arrow_stream(ArrowArrayStream *stream) {
    // Not afterwards: the caller would not know that there is a stream to release.
    detail::log::rethrow(log_);
    detail::take(try_arrow_stream(stream));
  }

  struct sentinel {};
  /// An iterator of C++20 that moves but does not copy, so it has no iterator_category of C++17.
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Record;
    using difference_type = std::ptrdiff_t;

    explicit iterator(scan *from) : from_(from), current_(from->next()) {}
    Record &operator*() const noexcept { return *current_; }
    Record *operator->() const noexcept { return &*current_; }
    iterator &operator++() {
      current_ = from_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator &left, sentinel) noexcept { return !left.current_; }
    friend bool operator!=(const iterator &left, sentinel right) noexcept { return !(left == right); }

   private:
    scan *from_;
    // A const iterator still gives access to what it points at.
    mutable std::optional<Record> current_;
  };
  iterator begin() & { return iterator(this); }
  iterator begin() && = delete;
  sentinel end() & noexcept { return {}; }
  sentinel end() && = delete;
#endif

 private:
  static std::optional<Record> taken(talentdata_record *raw) {
    return raw ? std::optional<Record>(Record(record(raw))) : std::nullopt;
  }
  detail::log::shared log_;
  detail::handle<talentdata_scan, talentdata_scan_free> handle_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
