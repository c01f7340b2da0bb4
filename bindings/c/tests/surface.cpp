// What the C++ header promises: ownership, ranges, exceptions by kind, optional fields, callbacks that throw.
#include <talentdata.hpp>
#include <talentdata/arrow.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <thread>
#include <type_traits>
#if __cplusplus >= 202002L
#include <ranges>
static_assert(std::ranges::input_range<talentdata::scan<talentdata::contact>>);
static_assert(!std::ranges::forward_range<talentdata::scan<talentdata::contact>>);
static_assert(std::ranges::random_access_range<const talentdata::page<talentdata::contact>>);
static_assert(std::ranges::sized_range<const talentdata::page<talentdata::contact>>);
static_assert(std::ranges::common_range<const talentdata::page<talentdata::contact>>);
static_assert(!std::ranges::borrowed_range<talentdata::page<talentdata::contact>>);
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
static_assert(moves_only<talentdata::exporter> && std::is_copy_constructible_v<talentdata::value>);
// A record of a page is a view: it copies, and is no owning record.
using contacts_page = talentdata::page<talentdata::contact>;
static_assert(std::is_same_v<decltype(std::declval<contacts_page &>()[0]), talentdata::contact_view>);
static_assert(std::is_copy_constructible_v<talentdata::contact_view>);
static_assert(!std::is_convertible_v<talentdata::contact_view, talentdata::contact> &&
              !std::is_base_of_v<talentdata::record, talentdata::contact_view>);
// The iterator of a scan cannot be copied, so algorithms of C++17 must not take it for an input iterator.
template <class T, class = void>
constexpr bool has_category = false;
template <class T>
constexpr bool has_category<T, std::void_t<typename T::iterator_category>> = true;
static_assert(!has_category<talentdata::scan<talentdata::contact>::iterator>);
static_assert(std::is_same_v<std::iterator_traits<contacts_page::iterator>::iterator_category, std::input_iterator_tag>);
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
  for (auto &contact : client.list(talentdata::contacts, {50})) {
    CHECK(!contact.id().empty());
    if (count++ == 7) kept = std::move(contact);
  }
  CHECK(count == std::strtoul(std::getenv("CONTACTS"), nullptr, 10));
  auto whole = client.list(talentdata::contacts);
  while (whole.next()) {}
  const auto receipt = whole.receipt();
  CHECK(receipt.basis() == TALENTDATA_BASIS_COUNTED);
  const auto page = client.page(talentdata::contacts, 10, 7);
  CHECK(page.size() == 10 && page[0].id() == kept->id() && page[0].json() == kept->json());
  std::size_t index = 0;
  for (const auto contact : page) CHECK(contact.id() == page[index++].id());
  CHECK(index == page.size() && !page.empty() && page.end() - page.begin() == 10);
  CHECK(page.begin()->id() == page[0].id() && page.begin()[3].json() == page[3].json());
  CHECK(std::count_if(page.begin(), page.end(), [](auto contact) { return !contact.email().empty(); }) == 10);
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)page[10]; }));
  // A view is valid as long as its page, also when the page has moved.
  const auto last = page[9];
  const auto moved = std::move(const_cast<contacts_page &>(page));
  CHECK(last.json() == moved[9].json());
  CHECK(moved.pagination().offset() == 7 && moved.pagination().has_more());
  CHECK(kept->find_text("/firstName") == kept->first_name() && !kept->find("/nothing"));
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)kept->find("location/city"); }));
  CHECK(throws<talentdata::schema_error>([&] { (void)kept->find_text(std::string_view()); }));
  const auto pools = client.page(talentdata::pools, 1, 0);
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)talentdata::contact_view(pools[0]).email(); }));
}

static void models(const talentdata::client &client) {
  const auto version = client.version();
  CHECK(version.api_status() == TALENTDATA_API_STATUS_OPERATIONAL && version.api_status_text() == "operational");
  CHECK(version.endpoints_find("taxonomy")->model_version().has_value());
  CHECK(!version.endpoints_find("companies")->model_version() && !version.endpoints_find("none"));
  const auto verdict = client.check_version({"1.8.2", {"taxonomy", "new.category"}});
  CHECK(verdict.compatible() && verdict.endpoint_compatibility_count() >= 1);
  const auto permissions = client.permissions();
  CHECK(permissions.permissions_count() > 0 && !permissions.permissions_at(0).empty());
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)permissions.permissions_at(1000); }));
}

static void errors(const talentdata::client &client) {
  const talentdata::config settings = talentdata::config().client_secret("CANARY-SECRET");
  try {
    (void)talentdata::client(settings).permissions();
    CHECK(false);
  } catch (const talentdata::auth_error &error) {
    CHECK(error.status() == 401 && !error.retry_after() && !error.offset());
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
  auto moved = std::move(scan);
  CHECK(throws<talentdata::invalid_argument_error>([&] { scan.cancel(); }));
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)scan.next(); }));
  talentdata::client first{talentdata::config()};
  const auto second = std::move(first);
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)first.version(); }));
  const auto version = second.version();
  CHECK(!version.version().empty());
}

#if __cplusplus >= 202002L
static void ranges(const talentdata::client &client) {
  auto scan = client.list(talentdata::contacts);
  std::size_t count = 0;
  for (const auto &contact : scan | std::views::take(3)) count += !contact.id().empty();
  CHECK(count == 3);
  const auto page = client.page(talentdata::contacts, 10, 0);
  for (const auto contact : page | std::views::reverse | std::views::drop(7)) count += !contact.id().empty();
  CHECK(count == 6);
}
#endif

static void results(const talentdata::client &client) {
  // The scan lives as long as the loop.
  std::size_t count = 0;
  for (const auto &contact : *client.try_list(talentdata::contacts)) count += !contact.id().empty();
  CHECK(count == std::strtoul(std::getenv("CONTACTS"), nullptr, 10));
  count = 0;
  for (const auto contact : *client.try_page(talentdata::contacts, 10, 0)) count += !contact.id().empty();
  CHECK(count == 10);
  const auto version = client.try_version();
  CHECK(version.has_value() && !version.value().version().empty() && (*version).json() == version->json());
  auto moved = client.try_version().value();
  CHECK(!moved.version().empty());
  const auto failed = talentdata::client::try_make(talentdata::config().base_url("ftp://x"));
  CHECK(!failed.has_value() && throws<talentdata::config_error>([&] { (void)failed.value(); }));
  // The error outlives the temporary result that it comes from.
  const auto &cause = talentdata::client::try_make(talentdata::config().base_url("ftp://x")).error();
  CHECK(cause.message() == failed.error().message());

  auto first = failed.error();
  const auto second = std::move(first);
  CHECK(std::string_view(first.what()) == second.what() && first.message() == second.message());
  CHECK(first.code() == TALENTDATA_ERROR_KIND_CONFIG && first.kind_name() == "Config");
  talentdata::error third = talentdata::config_error(second);
  first = std::move(third);
  CHECK(third.what() == std::string_view(first.what()));
}

static void values(const talentdata::client &client) {
  const auto page = client.page(talentdata::contacts, 1, 0);
  const auto contact = page[0];
  const auto languages = contact.value("/languages").value();
  std::size_t count = 0;
  for (const auto language : languages) {
    CHECK(!language.member("code").value().text().empty() && !language.member("nothing"));
    CHECK(language.name(0) == "code" && language[0].kind() == TALENTDATA_VALUE_KIND_STRING);
    count++;
  }
  CHECK(count == languages.size() && count > 0 && !languages.name(0));
  CHECK(contact.value("/location/city")->text() == contact.find_text("/location/city"));
  CHECK(!contact.value("/nothing") && !contact.try_value("nothing").has_value());
  CHECK(throws<talentdata::schema_error>([&] { (void)languages.int64(); }));
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)languages[count]; }));
  CHECK(languages.json() == contact.find("/languages"));
}

// An export of a few contacts, refused and run; the other tests of exporters are in C.
static void exports(const talentdata::client &client) {
  const auto plan = client.plan(talentdata::contacts);
  CHECK(plan.records == std::strtoul(std::getenv("CONTACTS"), nullptr, 10) && plan.pages > 0 && plan.seconds > 0);
  talentdata::export_options options;
  options.format = TALENTDATA_FORMAT_CSV;
  options.scan.limit = 5;
  auto exporter = client.exporter(talentdata::contacts, "surface.data", options);
  CHECK(exporter.receipt().records() == 0 && !exporter.receipt().total());
  const auto receipt = exporter.run();
  CHECK(receipt.records() == 5 && receipt.total() == plan.records && std::remove("surface.data") == 0);
  exporter.cancel();
  CHECK(throws<talentdata::cancelled_error>([&] { (void)exporter.run(); }));
  options.format = TALENTDATA_FORMAT_ARROW;
  options.resume = true;
  CHECK(!client.try_exporter(talentdata::contacts, "surface.data", options).has_value());
  options.scan.page_size = 0;
  CHECK(client.try_exporter(talentdata::contacts, "surface.data", options).error().code() ==
        TALENTDATA_ERROR_KIND_INVALID_ARGUMENT);
}


// A sync and what it has changed; the other tests of mirrors are in C.
static void mirrors(const talentdata::client &client) {
  const auto path = "surface-" + std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + ".db";
  talentdata::sync_options options;
  options.scan.limit = 3;
  CHECK(!client.try_syncer(talentdata::pools, path, options).has_value());
  options.scan.limit.reset();
  options.keep = "90d";
  options.max_deletes = "50%";
  auto syncer = client.syncer(talentdata::pools, path, options);
  CHECK(syncer.run().find("\"generation\":1") != std::string::npos && syncer.receipt().records() > 0);
  syncer.cancel();
  CHECK(throws<talentdata::cancelled_error>([&] { (void)syncer.run(); }));
  const auto mirror = talentdata::mirror::open(path);
  CHECK(mirror.syncs(talentdata::pools).front() == '[');
  for (int which = 0; which < 3; which++) {
    ArrowArrayStream stream{};
    if (which == 0) mirror.changes(talentdata::pools, "0", &stream);
    if (which == 1) mirror.current(talentdata::pools, &stream);
    if (which == 2) mirror.as_of(talentdata::pools, "1", &stream);
    ArrowArray batch{};
    CHECK(stream.get_next(&stream, &batch) == 0 && batch.length > 0);
    batch.release(&batch);
    stream.release(&stream);
  }
  CHECK(mirror.verify().find("\"holds\":true") != std::string::npos);
  mirror.forget(talentdata::pools);
  CHECK(!mirror.try_syncs(talentdata::pools).has_value());
  CHECK(throws<talentdata::io_error>([&] { (void)talentdata::mirror::open("nowhere"); }));
}

static void a_file_that_is_not_there() {
  CHECK(throws<talentdata::io_error>([&] { (void)talentdata::verify("nowhere", "nowhere"); }));
}

static void a_proxy_is_named() {
  const auto settings =
      talentdata::config().base_url("https://talent.example").proxy("http://user:CANARY@127.0.0.1:1").max_attempts(1);
  const auto version = talentdata::client(settings).try_version();
  const auto &message = version.error().message();
  CHECK(message.find("through the proxy http://127.0.0.1:1: ") != message.npos);
  CHECK(message.find("CANARY") == message.npos);
}

static void setters_on_temporaries() {
  const auto &settings = talentdata::config().max_attempts(2).paced(false).timeout(std::chrono::seconds(60));
  auto logged = 0;
  const auto with_log = talentdata::config().log(TALENTDATA_LOG_LEVEL_ERROR, [&](auto, auto) { logged++; });
  for (const auto *each : {&settings, &with_log}) {
    const auto version = talentdata::client(*each).version();
    CHECK(!version.version().empty());
  }
  CHECK(logged == 0);
}

// Every record is delivered, however often the log throws: the receipt counts it.
static void a_log_that_throws_loses_no_record() {
  talentdata::config settings;
  settings.log(TALENTDATA_LOG_LEVEL_TRACE, [](talentdata_log_level, std::string_view) { throw std::runtime_error("log"); });
  const talentdata::client client(settings);
  auto made = client.try_list(talentdata::contacts);
  auto &scan = made.value();
  std::size_t count = 0, thrown = 0;
  for (bool ended = false; !ended;) {
    try {
      for (const auto &contact : scan) count += !contact.id().empty();
      ended = true;
    } catch (const std::runtime_error &) {
      thrown++;
    }
  }
  const auto receipt = scan.try_receipt();
  CHECK(thrown > 0 && count == receipt.value().records());
  CHECK(count == std::strtoul(std::getenv("CONTACTS"), nullptr, 10));

  auto polled = client.try_list(talentdata::contacts);
  count = 0;
  for (auto arrival = TALENTDATA_ARRIVAL_LATER; arrival != TALENTDATA_ARRIVAL_END;) {
    try {
      auto arrived = polled->poll();
      arrival = arrived.arrival;
      count += arrived.record.has_value();
    } catch (const std::runtime_error &) {
    }
  }
  CHECK(count == polled->try_receipt().value().records());
}

// The log function is destroyed exactly once, and not before the stream that still calls it is released.
static void a_log_lives_as_long_as_its_stream() {
  struct witness {
    std::promise<void> gone;
    ~witness() { gone.set_value(); }
  };
  ArrowArrayStream stream{};
  std::future<void> gone;
  {
    auto seen = std::make_shared<witness>();
    gone = seen->gone.get_future();
    const auto settings = talentdata::config().log(TALENTDATA_LOG_LEVEL_TRACE, [seen](auto, auto) {});
    seen.reset();
    const talentdata::client client(settings);
    client.list(talentdata::contacts).arrow_stream(&stream);
  }
  for (ArrowArray batch{}; stream.get_next(&stream, &batch) == 0 && batch.release;) batch.release(&batch);
  CHECK(gone.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  stream.release(&stream);
  gone.wait();
}

static void closed_from_another_thread() {
  talentdata::client client{talentdata::config()};
  std::thread([&] { client.close(); }).join();
  CHECK(throws<talentdata::closed_error>([&] { (void)client.version(); }));
  const auto second = std::move(client);
  CHECK(throws<talentdata::invalid_argument_error>([&] { client.close(); }));
}

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
  results(client);
  values(client);
  exports(client);
  mirrors(client);
  a_file_that_is_not_there();
  a_proxy_is_named();
  setters_on_temporaries();
  a_log_that_throws();
  a_log_that_throws_loses_no_record();
  a_log_lives_as_long_as_its_stream();
  closed_from_another_thread();
#if __cplusplus >= 202002L
  ranges(client);
#endif
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures || !checks;
}
