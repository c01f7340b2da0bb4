// libtalentdata for C++17: handles that free themselves, ranges, values that cannot dangle, exceptions by kind.
//
//   talentdata::client client{talentdata::config()};   // settings from the environment
//   for (const auto &contact : client.list(talentdata::contacts)) std::cout << contact.first_name() << '\n';
//
// A call such as `try_version()` returns a talentdata::result and also works with -fno-exceptions; `version()` throws a
// talentdata::error instead. The conventions are those of talentdata/base.h.
#pragma once

#include <talentdata/job.hpp>
#include <talentdata/mirror.hpp>
#include <talentdata/operations.hpp>
#include <talentdata/scan.hpp>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// Settings of clients. What is not set comes from the environment, then from the profile file. An invalid
/// value is reported when a client is made. Setters can be chained.
class config {
 public:
  config() : handle_(talentdata_config_new()) {}

  /// Sets a setting by its name, such as base_url or max_attempts; the manual lists all of them. A time is in seconds, or a
  /// duration.
  config &set(std::string_view name, std::string_view value) {
    return keep(talentdata_config_set(handle_.get(), detail::text(name), detail::text(value)));
  }
  config &set(std::string_view name, const char *value) { return set(name, std::string_view(value)); }
  config &set(std::string_view name, bool value) { return set(name, value ? "true" : "false"); }
  template <class T>
  std::enable_if_t<std::is_arithmetic_v<T>, config &> set(std::string_view name, T value) {
    return set(name, detail::number_text(static_cast<double>(value)));
  }
  template <class T, class Period>
  config &set(std::string_view name, std::chrono::duration<T, Period> value) {
    return set(name, std::chrono::duration<double>(value).count());
  }
  /// Where clients log what they do. The function lives until nothing can call it any more.
  config &log(talentdata_log_level level, log_function function) {
    auto made = std::make_shared<detail::log>(std::move(function));
    auto held = std::make_unique<detail::log::shared>(made);
    talentdata_error *cause =
        talentdata_config_set_log(handle_.get(), level, detail::log::call, held.get(), detail::log::release);
    if (cause == nullptr) {
      // The library deletes it.
      (void)held.release();
      log_ = std::move(made);
    }
    return keep(cause);
  }
  /// Who shares the request budget that these settings name, and how it is spent.
  result<record> try_budget() const {
    if (error_) return *error_;
    return detail::made<record>([&](auto **out) { return talentdata_config_budget(handle_.get(), out); });
  }
#if defined(__cpp_exceptions)
  record budget() const { return detail::take(try_budget()); }
#endif

 private:
  friend class client;
  config &keep(talentdata_error *raw) {
    if (raw != nullptr) {
      error cause(raw);
      if (!error_) error_ = cause;
    }
    return *this;
  }

  detail::log::shared log_ = std::make_shared<detail::log>();
  detail::handle<talentdata_config, talentdata_config_free> handle_;
  std::optional<error> error_;
};

/// One page of a list: a range of its records.
template <class Record>
class page {
 public:
  explicit page(record whole) : whole_(std::move(whole)), records_(read<std::vector<Record>>("records")) {}

  /// The records, and `pagination`.
  const record &whole() const noexcept { return whole_; }
  talentdata::pagination pagination() const { return read<talentdata::pagination>("pagination"); }
  std::size_t size() const noexcept { return records_.size(); }
  bool empty() const noexcept { return records_.empty(); }
  Record operator[](std::size_t index) const { return records_[index]; }
  auto begin() const noexcept { return records_.begin(); }
  auto end() const noexcept { return records_.end(); }

 private:
  /// The library has made it.
  template <class T>
  T read(std::string_view name) const {
    return whole_.try_get<T>(name).value();
  }
  record whole_;
  std::vector<Record> records_;
};

/// A client of the service; any number of threads may use it at once. Before destroying a client that other
/// threads use, close it and join the threads. Its calls of single operations are in operations.hpp.
class client : public detail::calls<client> {
 public:
  /// Creates a client without sending anything.
  static result<client> try_make(const config &settings) {
    if (settings.error_) return *settings.error_;
    talentdata_client *raw = nullptr;
    if (talentdata_error *cause = talentdata_client_new(settings.handle_.get(), &raw)) return error(cause);
    return client(raw, settings.log_);
  }
  /// Takes ownership of a client.
  static client adopt(talentdata_client *owned) { return client(owned, nullptr); }
  talentdata_client *get() const noexcept { return handle_.get(); }
  /// Gives up ownership.
  talentdata_client *release() noexcept { return handle_.release(); }

  /// Makes calls in progress in other threads, and all later ones, fail with CLOSED; from any thread. Scans
  /// and jobs go on.
  void close() noexcept { talentdata_client_close(get()); }

  /// One page of a list: at most `limit` records (1 to 100) after `offset`. Without a limit the service decides.
  template <class Record>
  result<talentdata::page<Record>> try_page(list_of<Record> list, std::optional<std::uint64_t> limit,
                                            std::uint64_t offset, const parameters &given = {}) const {
    return with<talentdata::page<Record>>(given, {}, [&](auto *options, auto **out) {
      return talentdata_client_page(get(), detail::text(list.name), limit.value_or(TALENTDATA_LIMIT_OF_SERVICE), offset,
                                    options, out);
    });
  }
  /// Every record of a list.
  template <class Record>
  result<scan<Record>> try_list(list_of<Record> list, const scan_options &options = {}) const {
    return with<scan<Record>, talentdata_scan>(options.parameters, options.named(), [&](auto *made, auto **out) {
      return talentdata_client_list(get(), detail::text(list.name), made, out);
    });
  }
  /// The columns that an Arrow stream of a list would have, decided from its first 1,000 records; its json() is for
  /// scan_options::schema. Columns are typed, as by default, or json.
  template <class Record>
  result<record> try_schema(list_of<Record> list, std::string_view columns = "typed", const parameters &given = {}) const {
    return with<record>(given, parameters().add("columns", columns), [&](auto *options, auto **out) {
      return talentdata_client_schema(get(), detail::text(list.name), options, out);
    });
  }
  /// An estimate of a scan or an export of a list, from one page of it: `records`, `pages`, `seconds` and `members`.
  template <class Record>
  result<record> try_plan(list_of<Record> list, const parameters &given = {}) const {
    return with<record>(given, {}, [&](auto *options, auto **out) {
      return talentdata_client_plan(get(), detail::text(list.name), options, out);
    });
  }
  /// An export of a list to a file. Nothing is sent or written before it is run.
  template <class Record>
  result<job> try_export_job(list_of<Record> list, std::string_view path, const export_options &options = {}) const {
    return with<job, talentdata_job>(options.scan.parameters, options.named(), [&](auto *made, auto **out) {
      return talentdata_client_export(get(), detail::text(list.name), detail::text(path), options.format, made, out);
    });
  }
  /// A sync of a list into a mirror, the file at `path`. Nothing is sent or written before it is run.
  template <class Record>
  result<job> try_sync_job(list_of<Record> list, std::string_view path, const sync_options &options = {}) const {
    return with<job, talentdata_job>(options.parameters, options.named(), [&](auto *made, auto **out) {
      return talentdata_client_sync(get(), detail::text(list.name), detail::text(path), made, out);
    });
  }
  /// Calls an operation by its name in the service document; `T` is talentdata::record, a class of a model, or nothing.
  template <class T>
  result<T> try_call(std::string_view operation, const parameters &given, const std::optional<std::string> &body) const {
    const auto options = given.options();
    if (!options) return options.error();
    talentdata_record *raw = nullptr;
    talentdata_error *cause = talentdata_client_call(get(), detail::text(operation), options->get(),
                                                     body ? detail::text(*body) : TALENTDATA_ABSENT, &raw);
    if (cause) return error(cause);
    record response = record::adopt(raw);
    if constexpr (std::is_base_of_v<record, T>) {
      return T(std::move(response));
    } else {
      return T();
    }
  }

#if defined(__cpp_exceptions)
  explicit client(const config &settings) : client(detail::take(try_make(settings))) {}
  template <class Record>
  talentdata::page<Record> page(list_of<Record> list, std::optional<std::uint64_t> limit, std::uint64_t offset,
                                const parameters &given = {}) const {
    return taken(try_page(list, limit, offset, given));
  }
  template <class Record>
  scan<Record> list(list_of<Record> list, const scan_options &options = {}) const {
    return taken(try_list(list, options));
  }
  template <class Record>
  record schema(list_of<Record> list, std::string_view columns = "typed", const parameters &given = {}) const {
    return taken(try_schema(list, columns, given));
  }
  template <class Record>
  record plan(list_of<Record> list, const parameters &given = {}) const {
    return taken(try_plan(list, given));
  }
  template <class Record>
  job export_job(list_of<Record> list, std::string_view path, const export_options &options = {}) const {
    return taken(try_export_job(list, path, options));
  }
  template <class Record>
  job sync_job(list_of<Record> list, std::string_view path, const sync_options &options = {}) const {
    return taken(try_sync_job(list, path, options));
  }
  template <class T>
  T call(std::string_view operation, const parameters &given = {}, const std::optional<std::string> &body = {}) const {
    return taken(try_call<T>(operation, given, body));
  }
#endif

 private:
  client(talentdata_client *owned, detail::log::shared log) noexcept : log_(std::move(log)), handle_(owned) {}

  /// Calls a C function with options, and gives what it makes.
  template <class T, class Raw = talentdata_record, class Call>
  result<T> with(const parameters &given, const parameters &named, Call &&call) const {
    const auto options = given.options(named);
    if (!options) return options.error();
    Raw *raw = nullptr;
    if (talentdata_error *cause = call(options->get(), &raw)) return error(cause);
    if constexpr (std::is_same_v<Raw, talentdata_record>) {
      return T(record::adopt(raw));
    } else {
      return T(raw, log_);
    }
  }

  friend class detail::calls<client>;
#if defined(__cpp_exceptions)
  template <class T>
  T taken(result<T> from) const {
    return detail::log::take(log_, std::move(from));
  }
#endif

  detail::log::shared log_;
  detail::handle<talentdata_client, talentdata_client_free> handle_;
};

/// The version of the library that is running.
inline std::string library_version() { return detail::copied(talentdata_library_version()).value_or(""); }

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
