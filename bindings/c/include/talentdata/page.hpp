// Pages: a random-access range of the records of one page. Included by talentdata.hpp.
#pragma once

#include <talentdata/record.hpp>

#include <cstddef>
#include <iterator>

#include <talentdata/models.hpp>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// One page of a list: a range of views of its records, which are valid as long as the page.
template <class Record>
class page {
 public:
  using handle_of = talentdata_page;
  using view_type = typename Record::view_type;

  class iterator {
   public:
    using iterator_concept = std::random_access_iterator_tag;
    // Dereferencing makes a view; iterators of C++17 that allow more have to return a reference.
    using iterator_category = std::input_iterator_tag;
    using value_type = view_type;
    using difference_type = std::ptrdiff_t;
    using reference = view_type;
    class pointer {
     public:
      explicit pointer(view_type view) : view_(view) {}
      const view_type *operator->() const noexcept { return &view_; }

     private:
      view_type view_;
    };

    iterator() = default;
    iterator(const talentdata_page *page, difference_type index) noexcept : page_(page), index_(index) {}
    view_type operator*() const { return at(page_, static_cast<std::size_t>(index_)); }
    pointer operator->() const { return pointer(**this); }
    view_type operator[](difference_type distance) const { return *(*this + distance); }
    iterator &operator+=(difference_type distance) noexcept { return index_ += distance, *this; }
    iterator &operator-=(difference_type distance) noexcept { return index_ -= distance, *this; }
    iterator &operator++() noexcept { return *this += 1; }
    iterator &operator--() noexcept { return *this -= 1; }
    iterator operator++(int) noexcept { return iterator(page_, index_++); }
    iterator operator--(int) noexcept { return iterator(page_, index_--); }
    friend iterator operator+(iterator from, difference_type distance) noexcept { return from += distance; }
    friend iterator operator+(difference_type distance, iterator from) noexcept { return from += distance; }
    friend iterator operator-(iterator from, difference_type distance) noexcept { return from -= distance; }
    friend difference_type operator-(const iterator &left, const iterator &right) noexcept {
      return left.index_ - right.index_;
    }
    friend bool operator==(const iterator &left, const iterator &right) noexcept { return left.index_ == right.index_; }
    friend bool operator!=(const iterator &left, const iterator &right) noexcept { return left.index_ != right.index_; }
    friend bool operator<(const iterator &left, const iterator &right) noexcept { return left.index_ < right.index_; }
    friend bool operator>(const iterator &left, const iterator &right) noexcept { return left.index_ > right.index_; }
    friend bool operator<=(const iterator &left, const iterator &right) noexcept { return left.index_ <= right.index_; }
    friend bool operator>=(const iterator &left, const iterator &right) noexcept { return left.index_ >= right.index_; }

   private:
    const talentdata_page *page_ = nullptr;
    difference_type index_ = 0;
  };
  using const_iterator = iterator;

  /// Takes ownership of the page.
  explicit page(talentdata_page *owned) noexcept : handle_(owned) {}

  std::size_t size() const {
    return detail::sure<std::size_t>([&](auto *out) { return talentdata_page_count(handle_.get(), out); });
  }
  bool empty() const { return size() == 0; }
  /// A record, valid as long as the page; an index that is not below the size is an invalid argument.
  view_type operator[](std::size_t index) const & { return at(handle_.get(), index); }
  view_type operator[](std::size_t index) const && = delete;
  iterator begin() const & noexcept { return iterator(handle_.get(), 0); }
  iterator begin() const && = delete;
  iterator end() const & { return iterator(handle_.get(), static_cast<std::ptrdiff_t>(size())); }
  iterator end() const && = delete;
  /// The paging metadata, valid as long as the page.
  talentdata::pagination pagination() const & {
    return detail::sure<talentdata::pagination>(
        [&](auto *out) { return talentdata_page_pagination(handle_.get(), out); });
  }
  talentdata::pagination pagination() const && = delete;

 private:
  static view_type at(const talentdata_page *page, std::size_t index) {
    return view_type(record_view(detail::sure<const talentdata_record *>(
        [&](auto *out) { return talentdata_page_record(page, index, out); })));
  }
  detail::handle<talentdata_page, talentdata_page_free> handle_;
};

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
