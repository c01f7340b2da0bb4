// Scans and their receipts. Included by talentdata.hpp.
#pragma once

#include <talentdata/record.hpp>

#include <iterator>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// What a scan or an export has done so far; `json()` and `get` have all of it.
class receipt : public record {
 public:
  using record::record;

  /// "proven", "not_proven", "limited" where the scan stopped at its limit, or "unfinished" until all records were handed out.
  result<std::string> try_completeness() const { return try_get<std::string>("completeness"); }
  /// Whether it is "proven"; false as well where nothing says so.
  bool is_proven() const {
    const auto found = try_completeness();
    return found && *found == "proven";
  }
  /// The records handed out.
  result<std::int64_t> try_records() const { return try_get<std::int64_t>("records"); }
  /// The records in the list as the service last reported it; none where it has not been asked yet.
  result<std::optional<std::int64_t>> try_total() const { return try_get<std::optional<std::int64_t>>("total_last"); }

#if defined(__cpp_exceptions)
  std::string completeness() const { return try_completeness().value(); }
  std::int64_t records() const { return try_records().value(); }
  std::optional<std::int64_t> total() const { return try_total().value(); }
#endif
};

/// The outcome of a poll; the numbers are those of `talentdata_arrival`.
enum class arrival : int {
  /// A record.
  record = TALENTDATA_ARRIVAL_RECORD,
  /// No record yet: wait until the descriptor is readable.
  pending = TALENTDATA_ARRIVAL_PENDING,
  /// The end of the list.
  end = TALENTDATA_ARRIVAL_END,
};

/// Every record of a list, in order: a range that can be iterated once. One thread at a time may use it,
/// except for cancel. Before destroying a scan that another thread uses, cancel it and join the thread.
template <class Record>
class scan : public detail::handle<talentdata_scan, talentdata_scan_free> {
 public:
  using handle::handle;

  /// Waits for the next record; none at the end of the list.
  result<std::optional<Record>> try_next() {
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_next(get(), &raw)) return error(cause);
    return taken(raw);
  }
  /// A record if one is available, and whether the list has ended.
  struct arrived {
    talentdata::arrival arrival;
    std::optional<Record> record;
  };
  /// Takes the next record if it is available; never waits.
  result<arrived> try_poll() {
    talentdata_arrival outcome{};
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_try_next(get(), &outcome, &raw)) return error(cause);
    return arrived{static_cast<talentdata::arrival>(outcome), taken(raw)};
  }
  /// A file descriptor that is readable while try_poll has something to report; it belongs to the scan.
  result<int> try_descriptor() {
    int descriptor = -1;
    if (talentdata_error *cause = talentdata_scan_descriptor(get(), &descriptor)) return error(cause);
    return descriptor;
  }
  /// The error that has ended the scan or its Arrow stream, from any thread.
  std::optional<error> failure() const {
    talentdata_error *cause = talentdata_scan_error(get());
    return cause ? std::optional<error>(error(cause)) : std::nullopt;
  }
  result<talentdata::receipt> try_receipt() const { return detail::made<talentdata::receipt>(talentdata_scan_receipt, get()); }
  /// Turns the scan into an Arrow stream, which the caller releases. It ends with an error if it is not proven that every record
  /// came, unless the option unproven is warn or accept; `failure` then is an incomplete_error.
  result<nothing> try_arrow_stream(ArrowArrayStream *stream) {
    return detail::done(talentdata_scan_arrow_stream(get(), stream));
  }
  /// Cancels the scan, from any thread.
  void cancel() noexcept { talentdata_scan_cancel(get()); }

#if defined(__cpp_exceptions)
  std::optional<Record> next() { return try_next().value(); }
  arrived poll() { return try_poll().value(); }
  int descriptor() { return try_descriptor().value(); }
  talentdata::receipt receipt() const { return try_receipt().value(); }
  void arrow_stream(ArrowArrayStream *stream) { (void)try_arrow_stream(stream).value(); }

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
  iterator begin() { return iterator(this); }
  sentinel end() noexcept { return {}; }
#endif

 private:
  static std::optional<Record> taken(talentdata_record *raw) { return raw ? std::optional<Record>(Record(raw)) : std::nullopt; }
};

}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
