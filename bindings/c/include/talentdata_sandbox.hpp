// The sample service in the process of a test, for C++17. Also link talentdata::sandbox, which no product needs.
//
//   const talentdata::sandbox service(R"({"faults": true, "records": {"contacts": 250}})");
//   const talentdata::client client(service.config());
#pragma once

#include <talentdata.hpp>
#include <talentdata_sandbox.h>

namespace talentdata {
inline namespace TALENTDATA_EXCEPTIONS {

/// The sample service on a free port of 127.0.0.1. Any number of threads may use it. It stops when it is destroyed.
/// Options, rules and changes are JSON, which the manual describes.
class sandbox : public detail::handle<talentdata_sandbox, talentdata_sandbox_free> {
 public:
  using handle::handle;
  /// Starts the service with these options.
  static result<sandbox> try_start(std::string_view options = "{}") {
    return detail::made<sandbox>(talentdata_sandbox_start, detail::text(options));
  }
  /// Returns settings for clients of this service, which do not depend on the environment or on a profile.
  talentdata::config config() const {
    talentdata::config out;
    if (talentdata_error *cause = talentdata_sandbox_configure(get(), out.get())) detail::raise(error(cause));
    return out;
  }
  /// Returns a setting of config(), such as base_url.
  std::optional<std::string> setting(std::string_view name) const {
    return detail::copied(talentdata_sandbox_setting(get(), detail::text(name)));
  }
  /// Replaces the fault rules, which change responses.
  result<nothing> try_set_faults(std::string_view rules) const {
    return detail::done(talentdata_sandbox_set_faults(get(), detail::text(rules)));
  }
  /// Changes a list immediately, such as {"delete": 5}.
  result<nothing> try_change(list_name list, std::string_view change) const {
    return detail::done(talentdata_sandbox_change(get(), detail::text(list.name), detail::text(change)));
  }
  /// Returns the changes of a list since the start, without the first `skip` ones.
  result<record> try_changes(list_name list, std::uint64_t skip = 0) const {
    return detail::made<record>(talentdata_sandbox_changes, get(), detail::text(list.name), skip);
  }
  /// Returns the numbers of requests since the start: `requests`, `token_posts`, `limited` and `requests_by_path`.
  result<record> try_stats() const { return detail::made<record>(talentdata_sandbox_stats, get()); }

#if defined(__cpp_exceptions)
  explicit sandbox(std::string_view options = "{}") : sandbox(try_start(options).value()) {}
  void set_faults(std::string_view rules) const { (void)try_set_faults(rules).value(); }
  void change(list_name list, std::string_view change) const { (void)try_change(list, change).value(); }
  record changes(list_name list, std::uint64_t skip = 0) const { return try_changes(list, skip).value(); }
  record stats() const { return try_stats().value(); }
#endif
};

}  // namespace TALENTDATA_EXCEPTIONS
}  // namespace talentdata
