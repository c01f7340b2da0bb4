// libtalentdata for C++17: handles that free themselves, ranges, string views, exceptions by kind.
//
//   talentdata::client client{talentdata::config()};   // settings from the environment
//   for (const auto &contact : client.list(talentdata::contacts)) std::cout << contact.first_name() << '\n';
//
// Every call comes twice: `version()` throws a talentdata::error, `try_version()` returns a
// talentdata::result and works with -fno-exceptions, too. Conventions are those of talentdata.h.
#pragma once

#include <talentdata/scan.hpp>

#include <initializer_list>
#include <vector>

namespace talentdata {

/// Settings of clients; what is not set comes from the environment, then from the profile file. A
/// value that cannot be is reported when a client is made.
class config {
 public:
  config() {
    talentdata_config *raw = nullptr;
    keep(talentdata_config_new(&raw));
    handle_.reset(raw);
  }
  config &base_url(std::string_view text) { return set(talentdata_config_set_base_url_n, text); }
  config &client_id(std::string_view text) { return set(talentdata_config_set_client_id_n, text); }
  config &client_secret(std::string_view text) { return set(talentdata_config_set_client_secret_n, text); }
  config &profile(std::string_view text) { return set(talentdata_config_set_profile_n, text); }
  /// For a connection to be made.
  config &connect_timeout(std::chrono::milliseconds time) { return set(talentdata_config_set_connect_timeout_ms, time); }
  /// Between two pieces of an answer.
  config &idle_timeout(std::chrono::milliseconds time) { return set(talentdata_config_set_idle_timeout_ms, time); }
  /// For one attempt.
  config &attempt_timeout(std::chrono::milliseconds time) { return set(talentdata_config_set_attempt_timeout_ms, time); }
  /// For a whole call.
  config &operation_timeout(std::chrono::milliseconds time) {
    return set(talentdata_config_set_operation_timeout_ms, time);
  }
  /// The longest wait that the service may ask for.
  config &max_wait(std::chrono::milliseconds time) { return set(talentdata_config_set_max_wait_ms, time); }
  /// How often a request is sent at most.
  config &max_attempts(std::uint32_t attempts) {
    return keep(talentdata_config_set_max_attempts(handle_.get(), attempts));
  }
  /// The part of the company's budget that a client may use.
  config &budget_share(double share) { return keep(talentdata_config_set_budget_share(handle_.get(), share)); }
  /// Whether a client keeps to 40 requests per second; false is for a service that counts none.
  config &paced(bool paced) { return keep(talentdata_config_set_paced(handle_.get(), paced)); }
  /// Where clients report what they do.
  config &log(talentdata_log_level level, log_function function) {
    log_ = std::make_shared<detail::log>(std::move(function));
    return keep(talentdata_config_set_log(handle_.get(), level, detail::log::call, log_.get()));
  }

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
    // A negative time is none; the library refuses 0.
    return keep(setter(handle_.get(), time.count() > 0 ? static_cast<std::uint64_t>(time.count()) : 0));
  }

  std::shared_ptr<detail::log> log_ = std::make_shared<detail::log>();
  detail::handle<talentdata_config, talentdata_config_free> handle_;
  std::optional<error> error_;
};

/// A client of the service; any number of threads may use it at once.
class client {
 public:
  /// Makes a client, without sending anything.
  static result<client> try_make(const config &settings) {
    if (settings.error_) return *settings.error_;
    talentdata_client *raw = nullptr;
    if (talentdata_error *cause = talentdata_client_new(settings.handle_.get(), &raw)) return error(cause);
    return client(raw, settings.log_);
  }

  /// Version and status of the service and of each category.
  result<version_response> try_version() const {
    return owned<version_response>(
        [&](talentdata_version_response **out) { return talentdata_client_version(handle_.get(), out); });
  }
  /// Whether the service supports a client of this version that uses these categories.
  result<version_check_response> try_check_version(std::string_view version,
                                                   const std::vector<std::string_view> &categories) const {
    std::vector<talentdata_text> names;
    names.reserve(categories.size());
    for (std::string_view name : categories) names.push_back({detail::data(name), name.size()});
    return owned<version_check_response>([&](talentdata_version_check_response **out) {
      return talentdata_client_check_version_n(handle_.get(), detail::data(version), version.size(), names.data(),
                                               names.size(), out);
    });
  }
  /// Roles and permissions of the token.
  result<token_permissions> try_permissions() const {
    return owned<token_permissions>(
        [&](talentdata_token_permissions **out) { return talentdata_client_permissions(handle_.get(), out); });
  }
  /// One page of a list: at most `limit` records, 1 to 100, after `offset`; without a limit the service decides.
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
  version_response version() const { return detail::log::take(log_, try_version()); }
  version_check_response check_version(std::string_view version, const std::vector<std::string_view> &categories) const {
    return detail::log::take(log_, try_check_version(version, categories));
  }
  token_permissions permissions() const { return detail::log::take(log_, try_permissions()); }
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
  client(talentdata_client *owned, std::shared_ptr<detail::log> log) noexcept : log_(std::move(log)), handle_(owned) {}

  template <class T, class Call>
  static result<T> owned(Call &&call) {
    typename T::handle_of *raw = nullptr;
    if (talentdata_error *cause = call(&raw)) return error(cause);
    return T(raw);
  }

  // Outlives the handle, whose threads call it.
  std::shared_ptr<detail::log> log_;
  detail::handle<talentdata_client, talentdata_client_free> handle_;
};

/// The version of the library that is running.
inline std::string_view library_version() noexcept {
  return detail::text(talentdata_library_version()).value_or("");
}

}  // namespace talentdata
