// libtalentdata for C++17: handles that free themselves, ranges, string views, exceptions by kind.
//
//   talentdata::client client{talentdata::config()};   // settings from the environment
//   for (const auto &contact : client.list(talentdata::contacts)) std::cout << contact.first_name() << '\n';
//
// Every call comes in two forms: `version()` throws a talentdata::error, `try_version()` returns a
// talentdata::result and also works with -fno-exceptions. The conventions are those of talentdata.h.
#pragma once

#include <talentdata/calls.hpp>
#include <talentdata/exporter.hpp>
#include <talentdata/mirror.hpp>
#include <talentdata/page.hpp>
#include <talentdata/scan.hpp>
#include <talentdata/settings.hpp>
#include <talentdata/verify.hpp>

#include <initializer_list>
#include <vector>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// Settings of clients. What is not set comes from the environment, then from the profile file. An invalid
/// value is reported when a client is made. Setters can be chained; on a temporary they return an object.
class config : public detail::config_setters<config> {
 public:
  config() {
    talentdata_config *raw = nullptr;
    keep(talentdata_config_new(&raw));
    handle_.reset(raw);
  }
  /// Where clients log what they do. The function lives until nothing can call it any more.
  config &log(talentdata_log_level level, log_function function) & {
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
  config log(talentdata_log_level level, log_function function) && { return std::move(log(level, std::move(function))); }

 private:
  friend class client;
  friend class detail::config_setters<config>;
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

/// A client of the service; any number of threads may use it at once. Before destroying a client that other
/// threads use, close it and join the threads. Its calls of single operations are in calls.hpp.
class client : public detail::calls<client> {
 public:
  /// Creates a client without sending anything.
  static result<client> try_make(const config &settings) {
    if (settings.error_) return *settings.error_;
    talentdata_client *raw = nullptr;
    if (talentdata_error *cause = talentdata_client_new(settings.handle_.get(), &raw)) return error(cause);
    return client(raw, settings.log_);
  }

  /// Makes calls in progress in other threads, and all later ones, fail with CLOSED; from any thread. Scans
  /// and exports go on.
  void close() {
    if (talentdata_error *cause = talentdata_client_close(handle_.get())) detail::misuse(cause);
  }

  /// One page of a list: at most `limit` records (1 to 100) after `offset`. Without a limit the service decides.
  template <class Record>
  result<talentdata::page<Record>> try_page(list_of<Record> list, std::optional<std::uint64_t> limit,
                                            std::uint64_t offset, const list_parameters &parameters = {}) const {
    const detail::parameter_set given = detail::parameters_of(parameters);
    if (given.failed()) return *given.failed();
    return owned<talentdata::page<Record>>([&](talentdata_page **out) {
      return talentdata_client_page_with(handle_.get(), list.number, limit.value_or(TALENTDATA_LIMIT_OF_SERVICE), offset,
                                         given.get(), out);
    });
  }
  /// Every record of a list.
  template <class Record>
  result<scan<Record>> try_list(list_of<Record> list, const scan_options &options = {}) const {
    const auto held = detail::held(options);
    if (!held) return held.error();
    talentdata_scan *made = nullptr;
    if (talentdata_error *cause = talentdata_client_list_with(handle_.get(), list.number, held->get(), &made)) return error(cause);
    return scan<Record>(made, log_);
  }
  /// The columns that an Arrow stream of a list would have, decided from its first 1,000 records: JSON text for
  /// scan_options::schema.
  template <class Record>
  result<std::string> try_schema(list_of<Record> list, talentdata_columns columns = TALENTDATA_COLUMNS_TYPED,
                                 const list_parameters &parameters = {}) const {
    const detail::parameter_set given = detail::parameters_of(parameters);
    if (given.failed()) return *given.failed();
    talentdata_json_text *raw = nullptr;
    talentdata_error *cause = talentdata_client_schema_with(handle_.get(), list.number, columns, given.get(), &raw);
    if (cause) return error(cause);
    const detail::handle<talentdata_json_text, talentdata_json_text_free> held(raw);
    talentdata_text text{};
    if (talentdata_error *failed = talentdata_json_text_get(raw, &text)) return error(failed);
    return std::string(text.data, text.length);
  }
  /// An estimate of a scan or an export of a list, from one page of it.
  template <class Record>
  result<talentdata::plan> try_plan(list_of<Record> list, const list_parameters &parameters = {}) const {
    const detail::parameter_set given = detail::parameters_of(parameters);
    if (given.failed()) return *given.failed();
    return owned<talentdata::plan>(
        [&](talentdata_plan **out) { return talentdata_client_plan_with(handle_.get(), list.number, given.get(), out); });
  }
  /// An export of a list to a file. Nothing is sent or written before it is run.
  template <class Record>
  result<talentdata::exporter> try_exporter(list_of<Record> list, const std::string &path,
                                            const export_options &options = {}) const {
    const auto held = detail::held(options);
    if (!held) return held.error();
    talentdata_exporter *made = nullptr;
    talentdata_error *cause =
        talentdata_client_exporter(handle_.get(), list.number, path.c_str(), held->get(), &made);
    if (cause) return error(cause);
    return talentdata::exporter(made, log_);
  }
  /// A sync of a list into a mirror, the file at `path`. Nothing is sent or written before it is run.
  template <class Record>
  result<talentdata::syncer> try_syncer(list_of<Record> list, const std::string &path,
                                        const sync_options &options = {}) const {
    const auto held = detail::held(options.scan);
    if (!held) return held.error();
    talentdata_syncer *made = nullptr;
    talentdata_error *cause = talentdata_client_syncer(handle_.get(), list.number, path.c_str(), held->get(),
                                                       options.json().c_str(), &made);
    if (cause) return error(cause);
    return talentdata::syncer(made, log_);
  }

#if defined(__cpp_exceptions)
  explicit client(const config &settings) : client(detail::take(try_make(settings))) {}
  template <class Record>
  talentdata::page<Record> page(list_of<Record> list, std::optional<std::uint64_t> limit, std::uint64_t offset,
                                const list_parameters &parameters = {}) const {
    return detail::log::take(log_, try_page(list, limit, offset, parameters));
  }
  template <class Record>
  scan<Record> list(list_of<Record> list, const scan_options &options = {}) const {
    return detail::log::take(log_, try_list(list, options));
  }
  template <class Record>
  std::string schema(list_of<Record> list, talentdata_columns columns = TALENTDATA_COLUMNS_TYPED,
                     const list_parameters &parameters = {}) const {
    return detail::log::take(log_, try_schema(list, columns, parameters));
  }
  template <class Record>
  talentdata::plan plan(list_of<Record> list, const list_parameters &parameters = {}) const {
    return detail::log::take(log_, try_plan(list, parameters));
  }
  template <class Record>
  talentdata::syncer syncer(list_of<Record> list, const std::string &path, const sync_options &options = {}) const {
    return detail::log::take(log_, try_syncer(list, path, options));
  }
  template <class Record>
  talentdata::exporter exporter(list_of<Record> list, const std::string &path, const export_options &options = {}) const {
    return detail::log::take(log_, try_exporter(list, path, options));
  }
#endif

 private:
  client(talentdata_client *owned, detail::log::shared log) noexcept : log_(std::move(log)), handle_(owned) {}

  template <class T, class Call>
  static result<T> owned(Call &&call) {
    typename T::handle_of *raw = nullptr;
    if (talentdata_error *cause = call(&raw)) return error(cause);
    if constexpr (std::is_base_of_v<record, T>) {
      return T(record(raw));
    } else {
      return T(raw);
    }
  }

  friend class detail::calls<client>;
  const talentdata_client *raw() const noexcept { return handle_.get(); }
#if defined(__cpp_exceptions)
  template <class T>
  T taken(result<T> from) const {
    return detail::log::take(log_, std::move(from));
  }
  void taken(const std::optional<error> &cause) const {
    detail::log::rethrow(log_);
    if (cause) detail::raise(*cause);
  }
#endif

  detail::log::shared log_;
  detail::handle<talentdata_client, talentdata_client_free> handle_;
};

/// The version of the library that is running.
inline std::string_view library_version() noexcept {
  return detail::text(talentdata_library_version()).value_or("");
}

}  // inline namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
