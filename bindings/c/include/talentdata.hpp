// libtalentdata for C++17: handles that free themselves, ranges, string views, exceptions by kind.
//
//   talentdata::client client{talentdata::config()};   // settings from the environment
//   for (const auto &contact : client.list(talentdata::contacts)) std::cout << contact.first_name() << '\n';
//
// Every call comes in two forms: `version()` throws a talentdata::error, `try_version()` returns a
// talentdata::result and also works with -fno-exceptions. The conventions are those of talentdata.h.
#pragma once

#include <talentdata/calls.hpp>
#include <talentdata/page.hpp>
#include <talentdata/scan.hpp>

#include <initializer_list>
#include <vector>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// Settings of clients. What is not set comes from the environment, then from the profile file. An invalid
/// value is reported when a client is made. Setters can be chained; on a temporary they return an object.
class config {
 public:
  config() {
    talentdata_config *raw = nullptr;
    keep(talentdata_config_new(&raw));
    handle_.reset(raw);
  }
  /// The address of the service.
  config &base_url(std::string_view text) & { return set(talentdata_config_set_base_url_n, text); }
  config base_url(std::string_view text) && { return std::move(base_url(text)); }
  /// The client's identifier.
  config &client_id(std::string_view text) & { return set(talentdata_config_set_client_id_n, text); }
  config client_id(std::string_view text) && { return std::move(client_id(text)); }
  /// The client's secret.
  config &client_secret(std::string_view text) & { return set(talentdata_config_set_client_secret_n, text); }
  config client_secret(std::string_view text) && { return std::move(client_secret(text)); }
  /// The section of the profile file.
  config &profile(std::string_view text) & { return set(talentdata_config_set_profile_n, text); }
  config profile(std::string_view text) && { return std::move(profile(text)); }
  /// The time limit for connecting.
  config &connect_timeout(std::chrono::milliseconds time) & { return set(talentdata_config_set_connect_timeout_ms, time); }
  config connect_timeout(std::chrono::milliseconds time) && { return std::move(connect_timeout(time)); }
  /// The time limit for a pause within a response.
  config &idle_timeout(std::chrono::milliseconds time) & { return set(talentdata_config_set_idle_timeout_ms, time); }
  config idle_timeout(std::chrono::milliseconds time) && { return std::move(idle_timeout(time)); }
  /// The time limit for one attempt.
  config &attempt_timeout(std::chrono::milliseconds time) & { return set(talentdata_config_set_attempt_timeout_ms, time); }
  config attempt_timeout(std::chrono::milliseconds time) && { return std::move(attempt_timeout(time)); }
  /// The time limit for a whole call.
  config &operation_timeout(std::chrono::milliseconds time) & { return set(talentdata_config_set_operation_timeout_ms, time); }
  config operation_timeout(std::chrono::milliseconds time) && { return std::move(operation_timeout(time)); }
  /// The longest wait that the service may ask for.
  config &max_wait(std::chrono::milliseconds time) & { return set(talentdata_config_set_max_wait_ms, time); }
  config max_wait(std::chrono::milliseconds time) && { return std::move(max_wait(time)); }
  /// How many times a request is sent at most.
  config &max_attempts(std::uint32_t attempts) & { return keep(talentdata_config_set_max_attempts(handle_.get(), attempts)); }
  config max_attempts(std::uint32_t attempts) && { return std::move(max_attempts(attempts)); }
  /// The share of the company's request budget that a client may use.
  config &budget_share(double share) & { return keep(talentdata_config_set_budget_share(handle_.get(), share)); }
  config budget_share(double share) && { return std::move(budget_share(share)); }
  /// Whether a client keeps to 40 requests per second; false is for a service without a rate limit.
  config &paced(bool on) & { return keep(talentdata_config_set_paced(handle_.get(), on)); }
  config paced(bool on) && { return std::move(paced(on)); }
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
  config &keep(talentdata_error *raw) {
    if (raw != nullptr) {
      error cause(raw);
      if (!error_) error_ = cause;
    }
    return *this;
  }
  config &set(talentdata_error *(*setter)(talentdata_config *, const char *, std::size_t), std::string_view text) {
    return keep(setter(handle_.get(), detail::data(text), text.size()));
  }
  config &set(talentdata_error *(*setter)(talentdata_config *, std::uint64_t), std::chrono::milliseconds time) {
    // The library refuses 0, which stands for a negative time as well.
    return keep(setter(handle_.get(), time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0));
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
  /// go on.
  void close() {
    if (talentdata_error *cause = talentdata_client_close(handle_.get())) detail::misuse(cause);
  }

  /// One page of a list: at most `limit` records (1 to 100) after `offset`. Without a limit the service decides.
  template <class Record>
  result<talentdata::page<Record>> try_page(list_of<Record> list, std::optional<std::uint64_t> limit,
                                            std::uint64_t offset) const {
    return owned<talentdata::page<Record>>([&](talentdata_page **out) {
      return talentdata_client_page(handle_.get(), list.number, limit.value_or(TALENTDATA_LIMIT_OF_SERVICE), offset, out);
    });
  }
  /// Every record of a list.
  template <class Record>
  result<scan<Record>> try_list(list_of<Record> list, const scan_options &options = {}) const {
    talentdata_scan_options *raw = nullptr;
    if (talentdata_error *cause = talentdata_scan_options_new(&raw)) return error(cause);
    const detail::handle<talentdata_scan_options, talentdata_scan_options_free> held(raw);
    if (talentdata_error *cause = talentdata_scan_options_set_consistency(raw, options.consistency)) return error(cause);
    if (options.page_size) {
      if (talentdata_error *cause = talentdata_scan_options_set_page_size(raw, *options.page_size)) return error(cause);
    }
    talentdata_scan *made = nullptr;
    if (talentdata_error *cause = talentdata_client_list_with(handle_.get(), list.number, raw, &made)) return error(cause);
    return scan<Record>(made, log_);
  }

#if defined(__cpp_exceptions)
  explicit client(const config &settings) : client(detail::take(try_make(settings))) {}
  template <class Record>
  talentdata::page<Record> page(list_of<Record> list, std::optional<std::uint64_t> limit, std::uint64_t offset) const {
    return detail::log::take(log_, try_page(list, limit, offset));
  }
  template <class Record>
  scan<Record> list(list_of<Record> list, const scan_options &options = {}) const {
    return detail::log::take(log_, try_list(list, options));
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
