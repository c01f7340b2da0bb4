// Scans, pages and receipts. Included by talentdata.hpp.
#pragma once

#include <talentdata/log.hpp>
#include <talentdata/record.hpp>

#include <cstddef>
#include <iterator>

#include <talentdata/models.hpp>

namespace talentdata {

/// What a scan has done, at the moment it was asked.
class receipt {
 public:
  explicit receipt(talentdata_receipt *owned) noexcept : handle_(owned) {}
  talentdata_completeness completeness() const { return get<talentdata_completeness>(talentdata_receipt_completeness); }
  std::uint64_t records() const { return get<std::uint64_t>(talentdata_receipt_records); }
  std::uint64_t pages() const { return get<std::uint64_t>(talentdata_receipt_pages); }
  std::uint64_t requests() const { return get<std::uint64_t>(talentdata_receipt_requests); }
  std::uint64_t rate_limited() const { return get<std::uint64_t>(talentdata_receipt_rate_limited); }
  double seconds() const { return get<double>(talentdata_receipt_seconds); }
  /// The whole receipt.
  std::string_view json() const { return get<std::string_view>(talentdata_receipt_json); }

 private:
  template <class T, class Function>
  T get(Function function) const {
    return detail::sure<T>([&](auto *out) { return function(handle_.get(), out); });
  }
  detail::handle<talentdata_receipt, talentdata_receipt_free> handle_;
};

/// What a scan is asked to do.
struct scan_options {
  talentdata_consistency consistency = TALENTDATA_CONSISTENCY_COMPLETE;
  /// Records per page; the most that the service grants where none is given.
  std::optional<std::uint64_t> page_size{};
};

/// Every record of a list, in order: a range for one pass. One thread at a time, except for cancel.
template <class Record>
class scan {
 public:
  scan(talentdata_scan *owned, std::shared_ptr<detail::log> log) noexcept : log_(std::move(log)), handle_(owned) {}

  /// Waits for the next record; none at the end of the list.
  result<std::optional<Record>> try_next() {
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_next(handle_.get(), &raw)) return error(cause);
    return taken(raw);
  }
  /// A record if one is there, and whether that was all; never waits.
  struct arrived {
    talentdata_arrival arrival;
    std::optional<Record> record;
  };
  result<arrived> try_poll() {
    talentdata_arrival arrival{};
    talentdata_record *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_try_next(handle_.get(), &arrival, &raw)) return error(cause);
    return arrived{arrival, taken(raw)};
  }
  /// Readable while try_poll has something to say; it belongs to the scan.
  result<int> try_descriptor() {
    return detail::read<int>([&](auto *out) { return talentdata_scan_descriptor(handle_.get(), out); });
  }
  result<talentdata::receipt> try_receipt() const {
    talentdata_receipt *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_receipt(handle_.get(), &raw)) return error(cause);
    return talentdata::receipt(raw);
  }
  /// Hands the records out as an Arrow stream, which the caller releases.
  result<std::monostate> try_arrow_stream(ArrowArrayStream *stream) {
    if (talentdata_error *cause = talentdata_scan_arrow_stream(handle_.get(), stream)) return error(cause);
    return std::monostate();
  }
  /// Stops the scan from any thread.
  void cancel() const {
    if (talentdata_error *cause = talentdata_scan_cancel(handle_.get())) detail::misuse(cause);
  }

#if defined(__cpp_exceptions)
  std::optional<Record> next() { return detail::log::take(log_, try_next()); }
  arrived poll() { return detail::log::take(log_, try_poll()); }
  int descriptor() { return detail::log::take(log_, try_descriptor()); }
  talentdata::receipt receipt() const { return detail::log::take(log_, try_receipt()); }
  void arrow_stream(ArrowArrayStream *stream) { detail::log::take(log_, try_arrow_stream(stream)); }

  struct sentinel {};
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::input_iterator_tag;
    using value_type = Record;
    using difference_type = std::ptrdiff_t;
    using pointer = Record *;
    using reference = Record &;

    explicit iterator(scan *from) : from_(from), current_(from->next()) {}
    Record &operator*() const { return *current_; }
    Record *operator->() const { return &*current_; }
    iterator &operator++() {
      current_ = from_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator &left, sentinel) { return !left.current_; }
    friend bool operator!=(const iterator &left, sentinel right) { return !(left == right); }

   private:
    scan *from_;
    // An iterator that is const still gives what it points at.
    mutable std::optional<Record> current_;
  };
  iterator begin() { return iterator(this); }
  sentinel end() noexcept { return {}; }
#endif

 private:
  static std::optional<Record> taken(talentdata_record *raw) {
    return raw ? std::optional<Record>(Record(record(raw))) : std::nullopt;
  }
  // Outlives the handle, whose threads call it.
  std::shared_ptr<detail::log> log_;
  detail::handle<talentdata_scan, talentdata_scan_free> handle_;
};

/// One page of a list.
template <class Record>
class page {
 public:
  using handle_of = talentdata_page;
  explicit page(talentdata_page *owned) noexcept : handle_(owned) {}
  std::size_t size() const {
    return detail::sure<std::size_t>([&](auto *out) { return talentdata_page_count(handle_.get(), out); });
  }
  /// A record, valid as long as the page; the index must be below the size.
  Record operator[](std::size_t index) const {
    return Record(record::lent(detail::sure<const talentdata_record *>(
        [&](auto *out) { return talentdata_page_record(handle_.get(), index, out); })));
  }
  /// The paging metadata, valid as long as the page.
  talentdata::pagination pagination() const {
    return detail::sure<talentdata::pagination>(
        [&](auto *out) { return talentdata_page_pagination(handle_.get(), out); });
  }

 private:
  detail::handle<talentdata_page, talentdata_page_free> handle_;
};

}  // namespace talentdata
