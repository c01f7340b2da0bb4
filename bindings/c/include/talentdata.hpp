// libtalentdata for C++17: handles that free themselves, ranges, values that cannot dangle, and an exception for each
// kind.
//
//   talentdata::client client{talentdata::config()};   // settings from the environment
//   for (const auto &contact : client.list(talentdata::contacts)) std::cout << contact.first_name() << '\n';
//
// A call such as `try_version()` returns a talentdata::result and also works with -fno-exceptions; `version()` throws a
// talentdata::error instead. A class is created from its C handle, which it then owns. `get` returns the handle, and
// `release` gives up ownership. talentdata/base.h describes the conventions.
#pragma once

#include <talentdata/arrow.h>
#include <talentdata/call.hpp>
#include <talentdata/job.hpp>
#include <talentdata/service.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// Receives a message and its fields, which are a JSON object, on any thread and on several at once. An exception that it
/// throws is dropped.
using log_function = std::function<void(talentdata_log_level, std::string_view message, std::string_view fields)>;

/// Returns the client secret, on any thread.
using secret_function = std::function<std::string()>;

/// Settings of clients, by their names, such as base_url or max_attempts. The manual lists all of them. A time is in
/// seconds, or a duration. Settings that are not set come from the environment, and then from the profile file. An
/// invalid value is reported when a client is created. Setters can be chained.
class config : public detail::named_values<config, talentdata_config, talentdata_config_free, talentdata_config_set> {
 public:
  config() : named_values(talentdata_config_new()) {}
  config(const config &other) : named_values(talentdata_config_copy(other.get()), other) {}
  config(config &&) noexcept = default;
  config &operator=(config other) noexcept {
    swap(other);
    return *this;
  }
  ~config() = default;

  /// Sets the function that receives the log of clients. It exists until nothing can call it any more. It may omit the
  /// fields.
  template <class Function>
  using without_fields = std::enable_if_t<std::is_invocable_v<Function &, talentdata_log_level, std::string_view>>;
  config log(talentdata_log_level level, log_function function) && { return std::move(log(level, std::move(function))); }
  template <class Function, class = without_fields<Function>>
  config log(talentdata_log_level level, Function function) && {
    return std::move(log(level, std::move(function)));
  }
  template <class Function, class = without_fields<Function>>
  config &log(talentdata_log_level level, Function function) & {
    return log(level, log_function([function = std::move(function)](talentdata_log_level said, std::string_view message,
                                                                    std::string_view) mutable { function(said, message); }));
  }
  config &log(talentdata_log_level level, log_function function) & {
    auto held = std::make_unique<log_function>(std::move(function));
    talentdata_error *cause = talentdata_config_set_log(get(), level, called, held.get(), released);
    // The library deletes it.
    if (!cause) (void)held.release();
    return keep(cause);
  }
  /// Sets a function that returns the client secret, instead of the setting client_secret. It is called when a client
  /// is created, and again when the service refuses the secret. If it throws an exception, there is no secret. It must
  /// not use the library.
  config secret(secret_function function) && { return std::move(secret(std::move(function))); }
  config &secret(secret_function function) & {
    auto held = std::make_unique<secret_function>(std::move(function));
    talentdata_error *cause = talentdata_config_set_secret_callback(get(), asked, held.get(), released_secret);
    // The library deletes it.
    if (!cause) (void)held.release();
    return keep(cause);
  }
  /// Returns the clients that share the request budget of these settings, and their request rates.
  result<record> try_budget() const {
    if (refused()) return *refused();
    return detail::made<record>(talentdata_config_budget, get());
  }
  /// Checks step by step what a client with these settings can reach, and suggests a solution for each failed step.
  result<record> try_doctor() const {
    if (refused()) return *refused();
    return detail::made<record>(talentdata_config_doctor, get());
  }
#if defined(__cpp_exceptions)
  record budget() const { return try_budget().value(); }
  record doctor() const { return try_doctor().value(); }
#endif

 private:
  /// Calls the log function. No exception may leave it, because the exception would cross Rust code.
  static void called(talentdata_log_level level, talentdata_text message, talentdata_text fields, void *held) noexcept {
#if defined(__cpp_exceptions)
    try {
#endif
      const auto &function = *static_cast<log_function *>(held);
      if (function) {
        function(level, std::string_view(message.data, message.length), std::string_view(fields.data, fields.length));
      }
#if defined(__cpp_exceptions)
    } catch (...) {
    }
#endif
  }
  static void released(void *held) noexcept { delete static_cast<log_function *>(held); }
  /// Writes the secret into the buffer; -1 if there is none.
  static std::int64_t asked(char *secret_out, std::size_t capacity, void *held) noexcept {
#if defined(__cpp_exceptions)
    try {
#endif
      const auto &function = *static_cast<secret_function *>(held);
      const std::string secret = function ? function() : std::string();
      if (secret.empty() || secret.size() > capacity) return -1;
      std::memcpy(secret_out, secret.data(), secret.size());
      return static_cast<std::int64_t>(secret.size());
#if defined(__cpp_exceptions)
    } catch (...) {
      return -1;
    }
#endif
  }
  static void released_secret(void *held) noexcept { delete static_cast<secret_function *>(held); }
};

/// One page of a list.
template <class Record>
class page : public record {
 public:
  using record::record;
  result<std::vector<Record>> try_records() const { return try_get<std::vector<Record>>("records"); }
  result<talentdata::pagination> try_pagination() const { return try_get<talentdata::pagination>("pagination"); }
#if defined(__cpp_exceptions)
  std::vector<Record> records() const { return try_records().value(); }
  talentdata::pagination pagination() const { return try_pagination().value(); }
#endif
};

/// A client of the service. Any number of threads may use it at once. Before you destroy a client that other threads
/// use, close it and join the threads. service.hpp has its calls of single operations.
class client : public detail::handle<talentdata_client, talentdata_client_free>, public detail::calls<client> {
 public:
  using handle::handle;
  /// Creates a client without sending anything.
  static result<client> try_make(const config &settings) {
    if (settings.refused()) return *settings.refused();
    return detail::made<client>(talentdata_client_new, settings.get());
  }
  /// Closes the client. Running calls of other threads, and all later calls, fail with CLOSED. Scans and jobs continue.
  /// Any thread may call this.
  void close() noexcept { talentdata_client_close(get()); }

  /// Fetches one page of a list: at most `limit` records (1 to 100) after `offset`. Without a limit, the service
  /// decides.
  template <class Record>
  result<talentdata::page<Record>> try_page(list_of<Record> list, std::optional<std::uint64_t> limit, std::uint64_t offset,
                                            const options &given = {}) const {
    return with<talentdata::page<Record>>(given, talentdata_client_page, detail::text(list.name),
                                          limit.value_or(TALENTDATA_LIMIT_OF_SERVICE), offset);
  }
  /// Creates a scan of every record of a list.
  template <class Record>
  result<scan<Record>> try_list(list_of<Record> list, const options &given = {}) const {
    return with<scan<Record>>(given, talentdata_client_list, detail::text(list.name));
  }
  /// Reads a list as an Arrow stream, which the caller releases. Each call reads the list again. The stream ends with an
  /// error if completeness is not proven, unless the option unproven is warn or accept.
  result<nothing> try_arrow_stream(list_name list, ArrowArrayStream *stream, const options &given = {}) const {
    if (given.refused()) return *given.refused();
    return detail::done(talentdata_client_arrow_stream(get(), detail::text(list.name), given.get(), stream));
  }
  /// Returns the columns of an Arrow stream of a list, inferred from its first 1,000 records. Use its json() as the
  /// option schema.
  result<record> try_schema(list_name list, const options &given = {}) const {
    return with<record>(given, talentdata_client_schema, detail::text(list.name));
  }
  /// Estimates a scan or an export of a list from one page: `records`, `pages`, `seconds` and `members`.
  result<record> try_plan(list_name list, const options &given = {}) const {
    return with<record>(given, talentdata_client_plan, detail::text(list.name));
  }
  /// Creates an export of a list to a file, by default in the format of its extension: .jsonl, .csv, .parquet or
  /// .arrow. Nothing is sent or written before it runs.
  result<job> try_export_job(list_name list, path_text path, const options &given = {},
                             talentdata::format format = talentdata::format::of_path) const {
    return with<job>(given, talentdata_client_export, detail::text(list.name), path.text(),
                     static_cast<talentdata_format>(format));
  }
  /// Creates a sync of a list into a mirror, the file at `path`. Nothing is sent or written before it runs.
  result<job> try_sync_job(list_name list, path_text path, const options &given = {}) const {
    return with<job>(given, talentdata_client_sync, detail::text(list.name), path.text());
  }
  /// Begins a call of an operation, by its name in the OpenAPI file, without waiting for it.
  result<begun_call> try_begin(std::string_view operation, const options &given = {},
                               const std::optional<std::string> &body = {}, begun_call::deadline limit = {}) const {
    if (given.refused()) return *given.refused();
    return detail::made<begun_call>(talentdata_client_begin, get(), detail::text(operation), given.get(),
                                    body ? detail::text(*body) : TALENTDATA_ABSENT, begun_call::seconds(limit));
  }
  /// Begins to fetch one page of a list without waiting for it.
  result<begun_call> try_begin_page(list_name list, std::optional<std::uint64_t> limit, std::uint64_t offset,
                                    const options &given = {}, begun_call::deadline within = {}) const {
    if (given.refused()) return *given.refused();
    return detail::made<begun_call>(talentdata_client_begin_page, get(), detail::text(list.name),
                                    limit.value_or(TALENTDATA_LIMIT_OF_SERVICE), offset, given.get(),
                                    begun_call::seconds(within));
  }
  /// Calls an operation by its name in the OpenAPI file; `T` is talentdata::record, a class of a model, or nothing.
  template <class T>
  result<T> try_call(std::string_view operation, const options &given = {}, const std::optional<std::string> &body = {}) const {
    const auto call = [&](const talentdata_client *raw, const talentdata_options *options, talentdata_record **out) {
      return talentdata_client_call(raw, detail::text(operation), options, body ? detail::text(*body) : TALENTDATA_ABSENT, out);
    };
    auto response = with<record>(given, call);
    if (!response) return response.error();
    if constexpr (std::is_same_v<T, nothing>) {
      return nothing();
    } else {
      return T(*std::move(response));
    }
  }

#if defined(__cpp_exceptions)
  explicit client(const config &settings) : client(try_make(settings).value()) {}
  template <class Record>
  talentdata::page<Record> page(list_of<Record> list, std::optional<std::uint64_t> limit, std::uint64_t offset,
                                const options &given = {}) const {
    return try_page(list, limit, offset, given).value();
  }
  template <class Record>
  scan<Record> list(list_of<Record> list, const options &given = {}) const {
    return try_list(list, given).value();
  }
  void arrow_stream(list_name list, ArrowArrayStream *stream, const options &given = {}) const {
    (void)try_arrow_stream(list, stream, given).value();
  }
  record schema(list_name list, const options &given = {}) const { return try_schema(list, given).value(); }
  record plan(list_name list, const options &given = {}) const { return try_plan(list, given).value(); }
  job export_job(list_name list, path_text path, const options &given = {},
                 talentdata::format format = talentdata::format::of_path) const {
    return try_export_job(list, path, given, format).value();
  }
  job sync_job(list_name list, path_text path, const options &given = {}) const {
    return try_sync_job(list, path, given).value();
  }
  begun_call begin(std::string_view operation, const options &given = {}, const std::optional<std::string> &body = {},
                   begun_call::deadline limit = {}) const {
    return try_begin(operation, given, body, limit).value();
  }
  begun_call begin_page(list_name list, std::optional<std::uint64_t> limit, std::uint64_t offset, const options &given = {},
                        begun_call::deadline within = {}) const {
    return try_begin_page(list, limit, offset, given, within).value();
  }
  template <class T>
  T call(std::string_view operation, const options &given = {}, const std::optional<std::string> &body = {}) const {
    return try_call<T>(operation, given, body).value();
  }
#endif

 private:
  /// Calls a C function of the client with options, and returns its result.
  template <class T, class Function, class... Arguments>
  result<T> with(const options &given, Function function, Arguments... arguments) const {
    if (given.refused()) return *given.refused();
    return detail::made<T>(function, get(), arguments..., given.get());
  }
};

/// Returns the version of the running library.
inline std::string library_version() { return detail::copied(talentdata_library_version()).value_or(""); }

}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
