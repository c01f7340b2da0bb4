// Scans, their options and receipts. Included by talentdata.hpp.
#pragma once

#include <talentdata/json.hpp>
#include <talentdata/log.hpp>
#include <talentdata/record.hpp>

#include <cstddef>
#include <iterator>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// What a scan or an export has done so far; `json()` and `get` have all of it.
class receipt : public record {
 public:
  explicit receipt(record from) noexcept : record(std::move(from)) {}

  /// "proven", "not_proven", "limited" where the scan stopped at its limit, or "unfinished" until all records were handed out.
  std::string completeness() const { return member<std::string>("completeness"); }
  bool is_proven() const { return completeness() == "proven"; }
  /// The records handed out.
  std::int64_t records() const { return member<std::int64_t>("records"); }
  /// The records in the list as the service last reported it; none where it has not been asked yet.
  std::optional<std::int64_t> total() const { return member<std::optional<std::int64_t>>("total_last"); }

 private:
  /// The library has written it.
  template <class T>
  T member(std::string_view name) const {
    return read<T>(name).value();
  }
};

/// Options of a scan, and of how an export reads a list.
struct scan_options {
  /// Records per page; by default as many as the service allows.
  std::optional<std::uint64_t> page_size{};
  /// Records to deliver at most; by default all.
  std::optional<std::uint64_t> limit{};
  /// Values of the list's parameters, such as filters; they are sent with every page.
  talentdata::parameters parameters{};
  /// The columns of an Arrow stream or a file, where no schema is given: typed, as by default, or json.
  std::optional<std::string> columns{};
  /// The columns of an Arrow stream or a file: what client::schema has determined, or the contents of a file that
  /// `talentdata schema` has printed.
  std::optional<std::string> schema{};
  /// What to do with a field that the schema does not have: keep, as by default, freeze or fail.
  std::optional<std::string> on_new_field{};

  /// By their names.
  talentdata::parameters named() const {
    talentdata::parameters out;
    out.add("page_size", page_size).add("limit", limit).add("columns", columns).add("schema", schema);
    return out.add("on_new_field", on_new_field), out;
  }
};

/// Every record of a list, in order: a range that can be iterated once. One thread at a time may use it,
/// except for cancel. Before destroying a scan that another thread uses, cancel it and join the thread.
template <class Record>
class scan {
 public:
  /// Takes ownership of a scan.
  static scan adopt(talentdata_scan *owned) { return scan(owned, nullptr); }
  scan(talentdata_scan *owned, detail::log::shared log) noexcept : log_(std::move(log)), handle_(owned) {}
  talentdata_scan *get() const noexcept { return handle_.get(); }
  /// Gives up ownership.
  talentdata_scan *release() noexcept { return handle_.release(); }

  /// Waits for the next record; none at the end of the list.
  result<std::optional<Record>> try_next() {
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_next(get(), &raw)) return error(cause);
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
    if (talentdata_error *cause = talentdata_scan_try_next(get(), &arrival, &raw)) return error(cause);
    return arrived{arrival, taken(raw)};
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
  result<talentdata::receipt> try_receipt() const {
    return detail::made<talentdata::receipt>([&](auto **out) { return talentdata_scan_receipt(get(), out); });
  }
  /// Turns the scan into an Arrow stream, which the caller releases.
  result<nothing> try_arrow_stream(ArrowArrayStream *stream) {
    return detail::done(talentdata_scan_arrow_stream(get(), stream));
  }
  /// Cancels the scan, from any thread.
  void cancel() noexcept { talentdata_scan_cancel(get()); }

#if defined(__cpp_exceptions)
  std::optional<Record> next() { return kept(&scan::try_next, [](const auto &next) { return next.has_value(); }); }
  arrived poll() { return kept(&scan::try_poll, [](const auto &next) { return next.record.has_value(); }); }
  int descriptor() { return detail::log::take(log_, try_descriptor()); }
  talentdata::receipt receipt() const { return detail::log::take(log_, try_receipt()); }
  void arrow_stream(ArrowArrayStream *stream) {
    // Not afterwards: the caller would not know that there is a stream to release.
    detail::log::rethrow(log_);
    (void)try_arrow_stream(stream).value();
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
  iterator begin() { return iterator(this); }
  sentinel end() noexcept { return {}; }
#endif

 private:
#if defined(__cpp_exceptions)
  /// A record must not be lost to what the log threw. At the end there is none, and perhaps no other call.
  template <class T, class Has>
  T kept(result<T> (scan::*read)(), Has has) {
    detail::log::rethrow(log_);
    T found = (this->*read)().value();
    if (!has(found)) detail::log::rethrow(log_);
    return found;
  }
#endif
  static std::optional<Record> taken(talentdata_record *raw) {
    return raw ? std::optional<Record>(Record(record::adopt(raw))) : std::nullopt;
  }
  detail::log::shared log_;
  detail::handle<talentdata_scan, talentdata_scan_free> handle_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
