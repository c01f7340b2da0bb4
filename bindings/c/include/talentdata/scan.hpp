// Scans and their receipts. Included by talentdata.hpp.
#pragma once

#include <talentdata/record.hpp>

#include <iterator>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// The receipt of a scan or an export. `json()` and `get` return its other fields.
class receipt : public record {
 public:
  using record::record;

  /// Returns "proven", "not_proven", "limited" if the scan stopped at its limit, or "unfinished" until the caller received
  /// all records.
  result<std::string> try_completeness() const { return try_get<std::string>("completeness"); }
  /// Returns true if the completeness is "proven", and false if it is not or cannot be read.
  bool is_proven() const {
    const auto found = try_completeness();
    return found && *found == "proven";
  }
  /// Returns the number of records that the caller received.
  result<std::int64_t> try_records() const { return try_get<std::int64_t>("records"); }
  /// Returns the last total that the service reported; nullopt if there is none yet.
  result<std::optional<std::int64_t>> try_total() const { return try_get<std::optional<std::int64_t>>("total_last"); }

#if defined(__cpp_exceptions)
  std::string completeness() const { return try_completeness().value(); }
  std::int64_t records() const { return try_records().value(); }
  std::optional<std::int64_t> total() const { return try_total().value(); }
#endif
};

/// The outcome of a poll, with the numbers of `talentdata_arrival`.
enum class arrival : int {
  /// A record.
  record = TALENTDATA_ARRIVAL_RECORD,
  /// No record yet: wait until the descriptor is readable.
  pending = TALENTDATA_ARRIVAL_PENDING,
  /// The end of the list.
  end = TALENTDATA_ARRIVAL_END,
};

/// A scan of a list: a range of all its records, in order, which can be iterated once. One thread at a time may use it,
/// except for `cancel`. Before you destroy a scan that another thread uses, cancel it and join the thread.
template <class Record>
class scan : public detail::handle<talentdata_scan, talentdata_scan_free> {
 public:
  using handle::handle;

  /// Waits for the next record, and returns it; nullopt at the end of the list.
  result<std::optional<Record>> try_next() {
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_next(get(), &raw)) return error(cause);
    return taken(raw);
  }
  /// The result of a poll. Only the outcome `arrival::record` has a record.
  struct arrived {
    talentdata::arrival arrival;
    std::optional<Record> record;
  };
  /// Takes the next record if it has arrived, without waiting.
  result<arrived> try_poll() {
    talentdata_arrival outcome{};
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_try_next(get(), &outcome, &raw)) return error(cause);
    return arrived{static_cast<talentdata::arrival>(outcome), taken(raw)};
  }
  /// Returns a file descriptor, owned by the scan, that is readable while `try_poll` has a record, the end or an error to
  /// report.
  result<int> try_descriptor() {
    int descriptor = -1;
    if (talentdata_error *cause = talentdata_scan_descriptor(get(), &descriptor)) return error(cause);
    return descriptor;
  }
  /// Returns the error that ended the scan or its Arrow stream; nullopt if there is none. Any thread may call this.
  std::optional<error> failure() const {
    talentdata_error *cause = talentdata_scan_error(get());
    return cause ? std::optional<error>(error(cause)) : std::nullopt;
  }
  result<talentdata::receipt> try_receipt() const { return detail::made<talentdata::receipt>(talentdata_scan_receipt, get()); }
  /// Turns the scan into an Arrow stream, which the caller releases. The stream ends with an error if completeness is not
  /// proven, unless the option unproven is warn or accept. `failure` then returns an error of the kind `incomplete`.
  result<nothing> try_arrow_stream(ArrowArrayStream *stream) {
    return detail::done(talentdata_scan_arrow_stream(get(), stream));
  }
  /// Cancels the scan. Any thread may call this.
  void cancel() noexcept { talentdata_scan_cancel(get()); }

#if defined(__cpp_exceptions)
  std::optional<Record> next() { return try_next().value(); }
  arrived poll() { return try_poll().value(); }
  int descriptor() { return try_descriptor().value(); }
  talentdata::receipt receipt() const { return try_receipt().value(); }
  void arrow_stream(ArrowArrayStream *stream) { (void)try_arrow_stream(stream).value(); }

  struct sentinel {};
  /// An input iterator of C++20. It can be moved but not copied, so it has no iterator_category of C++17.
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
    // A const iterator still gives access to its record, so the record is mutable.
    mutable std::optional<Record> current_;
  };
  iterator begin() { return iterator(this); }
  sentinel end() noexcept { return {}; }
#endif

 private:
  static std::optional<Record> taken(talentdata_record *raw) { return raw ? std::optional<Record>(Record(raw)) : std::nullopt; }
};

}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
