// What the C++ header promises: ownership, ranges, exceptions by kind, optional fields, callbacks that throw.
#include <talentdata.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <type_traits>
#if __cplusplus >= 202002L
#include <ranges>
static_assert(std::ranges::input_range<talentdata::scan<talentdata::contact>>);
#endif

static int checks, failures;
static void check(bool holds, const char *what) {
  checks++;
  if (!holds) {
    failures++;
    std::fprintf(stderr, "FAILED: %s\n", what);
  }
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__)

template <class T>
constexpr bool moves_only = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                            !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(moves_only<talentdata::client> && moves_only<talentdata::scan<talentdata::contact>>);
static_assert(moves_only<talentdata::record> && moves_only<talentdata::page<talentdata::record>>);
static_assert(moves_only<talentdata::version_response> && moves_only<talentdata::receipt>);
static_assert(std::is_copy_constructible_v<talentdata::error>);
static_assert(std::is_base_of_v<talentdata::error, talentdata::rate_limited_error>);

template <class Error, class Call>
static bool throws(Call &&call) {
  try {
    call();
  } catch (const Error &) {
    return true;
  } catch (...) {
  }
  return false;
}

static void lists(const talentdata::client &client) {
  std::size_t count = 0;
  std::optional<talentdata::contact> kept;
  for (auto &contact : client.list(talentdata::contacts, {TALENTDATA_CONSISTENCY_COMPLETE, 50})) {
    CHECK(!contact.id().empty());
    if (count++ == 7) kept = std::move(contact);
  }
  CHECK(count == std::strtoul(std::getenv("CONTACTS"), nullptr, 10));
  const auto page = client.page(talentdata::contacts, 10, 7);
  CHECK(page.size() == 10 && page[0].id() == kept->id() && page[0].json() == kept->json());
  CHECK(page.pagination().offset() == 7 && page.pagination().has_more());
  CHECK(kept->find_text("/firstName") == kept->first_name() && !kept->find("/nothing"));
  CHECK(throws<talentdata::schema_error>([&] { (void)kept->find_text(std::string_view()); }));
  CHECK(throws<talentdata::invalid_argument_error>([&] {
    (void)talentdata::contact(client.page(talentdata::pools, 1, 0)[0]).email();
  }));
}

static void models(const talentdata::client &client) {
  const auto version = client.version();
  CHECK(version.api_status() == TALENTDATA_API_STATUS_OPERATIONAL && version.api_status_text() == "operational");
  CHECK(version.endpoints_find("taxonomy")->model_version().has_value());
  CHECK(!version.endpoints_find("companies")->model_version() && !version.endpoints_find("none"));
  const auto verdict = client.check_version("1.8.2", {"taxonomy", "new.category"});
  CHECK(verdict.compatible() && verdict.endpoint_compatibility_count() >= 1);
  const auto permissions = client.permissions();
  CHECK(permissions.permissions_count() > 0 && !permissions.permissions_at(0).empty());
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)permissions.permissions_at(1000); }));
}

static void errors(const talentdata::client &client) {
  const talentdata::config settings = std::move(talentdata::config().client_secret("CANARY"));
  try {
    (void)talentdata::client(settings).permissions();
    CHECK(false);
  } catch (const talentdata::auth_error &error) {
    CHECK(error.status() == 401 && !error.retry_after() && !error.page_offset());
    CHECK(std::string_view(error.what()).find("CANARY") == std::string_view::npos);
    CHECK(error.operation() == "createToken");
  }
  CHECK(throws<talentdata::config_error>([] { talentdata::client(talentdata::config().client_id("a\nb")); }));
  CHECK(throws<talentdata::config_error>([] { talentdata::client(talentdata::config().max_attempts(0)); }));
  CHECK(throws<talentdata::invalid_argument_error>([] { talentdata::client(talentdata::config().profile("\xff")); }));
  const auto failed = talentdata::client::try_make(talentdata::config().base_url("ftp://x"));
  CHECK(!failed && failed.error().code() == TALENTDATA_ERROR_KIND_CONFIG);
  auto scan = client.list(talentdata::contacts);
  (void)scan.next();
  std::thread([&] { scan.cancel(); }).join();
  CHECK(throws<talentdata::cancelled_error>([&] { (void)scan.next(); }));
  const auto moved = std::move(scan);
  CHECK(throws<talentdata::invalid_argument_error>([&] { scan.cancel(); }));
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)scan.next(); }));
  talentdata::client first{talentdata::config()};
  const auto second = std::move(first);
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)first.version(); }));
  CHECK(!second.version().version().empty());
}

#if __cplusplus >= 202002L
static void ranges(const talentdata::client &client) {
  auto scan = client.list(talentdata::contacts);
  std::size_t count = 0;
  for (const auto &contact : scan | std::views::take(3)) count += !contact.id().empty();
  CHECK(count == 3);
}
#endif

static void a_log_that_throws() {
  struct witness {
    int *ends;
    ~witness() { ++*ends; }
  };
  int ends = 0;
  talentdata::config settings;
  settings.log(TALENTDATA_LOG_LEVEL_TRACE, {});
  (void)talentdata::client(settings).version();
  settings.log(TALENTDATA_LOG_LEVEL_TRACE, [&ends](talentdata_log_level, std::string_view) {
    const witness seen{&ends};
    throw std::runtime_error("from the log");
  });
  const talentdata::client client(settings);
  CHECK(throws<std::runtime_error>([&] { (void)client.version(); }));
  CHECK(ends > 0);
  // The exception is thrown once; the next call has those of its own messages.
  CHECK(throws<std::runtime_error>([&] { (void)client.permissions(); }));
}

int main() {
  const talentdata::client client{talentdata::config()};
  lists(client);
  models(client);
  errors(client);
  a_log_that_throws();
#if __cplusplus >= 202002L
  ranges(client);
#endif
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures || !checks;
}
