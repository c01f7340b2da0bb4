// The C++ classes: ranges, values that outlive their source, errors by kind, options, jobs, mirrors, logs.
#include <talentdata.hpp>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <thread>
#if __cplusplus >= 202002L
#include <algorithm>
#include <ranges>
static_assert(std::ranges::input_range<talentdata::scan<talentdata::contact>>);
#endif

const char *without_exceptions(talentdata_client *owned);

static int checks, failures;
static void check(bool holds, const char *what, int line) {
  checks++;
  if (holds) return;
  failures++;
  std::fprintf(stderr, "FAILED in line %d: %s\n", line, what);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

static_assert(std::is_nothrow_move_constructible_v<talentdata::client> && !std::is_copy_constructible_v<talentdata::client>);
static_assert(!std::is_copy_constructible_v<talentdata::scan<talentdata::record>>);
static_assert(std::is_copy_constructible_v<talentdata::contact> && std::is_base_of_v<talentdata::record, talentdata::contact>);
static_assert(std::is_base_of_v<talentdata::error, talentdata::rate_limited_error>);

using maybe = std::optional<std::string>;

static std::size_t contacts() { return std::strtoul(std::getenv("CONTACTS"), nullptr, 10); }

static bool says(const talentdata::error &error, std::string_view words) {
  return std::string_view(error.what()).find(words) != std::string_view::npos;
}

template <class Error, class Call>
static bool throws(Call &&call, std::string_view words = "") {
  try {
    call();
  } catch (const Error &error) {
    return says(error, words);
  } catch (...) {
  }
  return false;
}

static void lists(const talentdata::client &client) {
  std::size_t count = 0;
  std::optional<talentdata::contact> kept;
  for (const auto &contact : client.list(talentdata::contacts, talentdata::options().set("page_size", 50))) {
    CHECK(!contact.id().empty());
    if (count++ == 7) kept = contact;
  }
  CHECK(count == contacts());
  auto whole = client.list(talentdata::contacts);
  // A text that is read from a temporary is a copy.
  const std::string name = (*whole.next()).first_name();
  while (whole.next()) {
  }
  const auto receipt = whole.receipt();
  CHECK(!name.empty() && receipt.is_proven() && receipt.records() == static_cast<std::int64_t>(contacts()));
  CHECK(receipt.get<std::string>("basis") == "counted" && receipt.total() == receipt.records());
  const auto page = client.page(talentdata::contacts, 10, 7);
  CHECK(page.records().size() == 10 && page.records()[0].id() == kept->id() && page.records()[0].json() == kept->json());
  CHECK(page.pagination().offset() == 7 && page.pagination().has_more());
  CHECK(kept->get<std::string>("/firstName") == kept->first_name() && !kept->get<maybe>("/nothing"));
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)kept->get<maybe>("location/city"); }, "/location/city"));
  CHECK(throws<talentdata::schema_error>([&] { (void)kept->get<maybe>(std::string_view()); }));
  const auto pool = client.page(talentdata::pools, 1, 0).records()[0];
  CHECK(throws<talentdata::schema_error>([&] { (void)talentdata::contact(pool).email(); }, "the field email is missing"));
  const auto by_name = client.page(talentdata::list_of<talentdata::record>{"pools"}, {}, 0);
  CHECK(by_name.records()[0].json() == pool.json());
}

// The service sends two taxonomy skills and a total of one.
static void unproven_lists(const talentdata::client &client) {
  const auto read = [&](const talentdata::options &options) {
    auto scan = client.list(talentdata::taxonomy_skills, options);
    ArrowArrayStream stream{};
    scan.arrow_stream(&stream);
    ArrowArray batch{};
    CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == 2);
    batch.release(&batch);
    const bool fails = stream.get_next(&stream, &batch) != 0;
    stream.release(&stream);
    const auto failure = scan.failure();
    CHECK(fails == failure.has_value() && (!fails || failure->code() == TALENTDATA_ERROR_KIND_INCOMPLETE));
    CHECK(scan.receipt().completeness() == "not_proven");
    return fails;
  };
  CHECK(read({}) && read(talentdata::options().set("unproven", "fail")));
  CHECK(!read(talentdata::options().set("unproven", "warn")) && !read(talentdata::options().set("unproven", "accept")));
  ArrowArrayStream whole{};
  ArrowArray batch{};
  client.arrow_stream(talentdata::taxonomy_skills, &whole);
  CHECK(whole.get_next(&whole, &batch) == 0 && batch.length == 2);
  batch.release(&batch);
  CHECK(whole.get_next(&whole, &batch) != 0);
  const std::string why = whole.get_last_error(&whole);
  CHECK(why.find("taxonomy_skills: 2 records were received") != std::string::npos);
  whole.release(&whole);
  const auto refused = client.try_list(talentdata::pools, talentdata::options().set("unproven", "never"));
  CHECK(!refused && says(refused.error(), "unproven: \"never\" is not one of fail, warn, accept"));
}

static void values(const talentdata::client &client) {
  // The record keeps its page alive.
  const auto contact = client.page(talentdata::contacts, 1, 0).records()[0];
  const auto languages = contact.get<std::vector<talentdata::record>>("languages");
  for (const auto &language : languages) {
    CHECK(!language.get<std::string>("code").empty() && !language.get<std::optional<talentdata::record>>("nothing"));
    const auto members = language.get<std::map<std::string, talentdata::record>>("");
    CHECK(members.at("code").kind() == TALENTDATA_VALUE_KIND_STRING);
  }
  CHECK(!languages.empty() && contact.get<talentdata::record>("/languages").kind() == TALENTDATA_VALUE_KIND_ARRAY);
  CHECK(contact.get<std::vector<double>>("/location/coordinates").size() == 2);
  CHECK((contact.get<std::optional<std::vector<std::string>>>("nothing") == std::nullopt));
  CHECK(throws<talentdata::schema_error>([&] { (void)contact.get<std::int64_t>("languages"); }));
  CHECK(throws<talentdata::schema_error>([&] { (void)contact.get<std::string>("nothing"); }, "the field nothing is missing"));
  const auto version = client.version();
  CHECK(version.api_status() == TALENTDATA_API_STATUS_OPERATIONAL && version.api_status_text() == "operational");
  const auto endpoints = version.endpoints();
  CHECK(endpoints.size() == 6 && endpoints.at("taxonomy").model_version() && !endpoints.at("companies").model_version());
  CHECK(client.version().endpoints().at("taxonomy").status() == TALENTDATA_CATEGORY_STATUS_OPERATIONAL);
  const auto verdict = client.check_version({"1.8.2", {"taxonomy", "new.category"}});
  CHECK(verdict.compatible() && !verdict.endpoint_compatibility().empty());
  CHECK(!client.permissions().permissions().empty());
}

// Every type, at its limits; null and absent; the order of fields.
static void types() {
  using talentdata::record, talentdata::schema_error;
  const auto json = record::parse(R"({"z":1,"a":-1,"small":127,"large":18446744073709551615,"beyond":18446744073709551616,
      "half":0.5,"huge":1e300,"null":null,"some":[1,null,3],"path":"/tmp/x","text":"\u0041","whole":4.0})");
  CHECK(json.get<int>("z") == 1 && json.get<short>("a") == -1 && json.get<signed char>("small") == 127 &&
        json.get<long>("whole") == 4);
  CHECK(json.get<std::uint64_t>("large") == 18446744073709551615u && json.get<unsigned char>("small") == 127);
  CHECK(json.get<float>("half") == 0.5f && json.get<std::optional<float>>("none") == std::nullopt);
  CHECK(throws<schema_error>([&] { (void)json.get<unsigned>("a"); }, "/a: found"));
  CHECK(throws<schema_error>([&] { (void)json.get<signed char>("large"); }, "/large: found an integer out of range"));
  CHECK(throws<schema_error>([&] { (void)json.get<std::vector<signed char>>("some"); }));
  const auto range = [&](auto call) { return throws<schema_error>(call, "the value is not in the range of the type"); };
  const auto many = record::parse("[300, 70000, 5000000000]");
  CHECK(range([&] { (void)many.get<unsigned char>("/0"); }) && range([&] { (void)many.get<short>("/1"); }));
  CHECK(range([&] { (void)many.get<int>("/2"); }) && range([&] { (void)many.get<std::vector<signed char>>(""); }));
  CHECK(range([&] { (void)json.get<float>("huge"); }));
  CHECK(throws<schema_error>([&] { (void)json.get<std::int64_t>("beyond"); },
                             "/beyond: found an integer out of range, expected"));
  CHECK(throws<schema_error>([&] { (void)json.get<int>("half"); }, "found a number with a fraction"));
  CHECK(json.get<std::string_view>("text") == "A" && json.get<std::filesystem::path>("path").filename() == "x");
  const auto some = json.get<std::vector<std::optional<int>>>("some");
  CHECK(some.size() == 3 && some[0] == 1 && !some[1] && some[2] == 3);
  CHECK(json.find("null")->kind() == TALENTDATA_VALUE_KIND_NULL && !json.find("none"));
  CHECK(throws<schema_error>([&] { (void)json.get<int>("none"); }, "the field none is missing"));
  const auto fields = json.get<std::vector<std::pair<std::string, record>>>("");
  CHECK(fields.size() == 12 && fields[0].first == "z" && fields[1].first == "a" && fields[11].second.get<double>("") == 4);
  const auto refused = record::try_parse("{");
  CHECK(!refused && refused.error().kind() == talentdata::error_kind::decode);
}

// Settings and options are values: copied, chained where they are made, and never a null pointer.
static void settings_are_values() {
  using talentdata::config, talentdata::options;
  const char *const null = nullptr;
  for (const auto &given : {config().set("base_url", null), config().set("base_url", nullptr)}) {
    const auto made = talentdata::client::try_make(given);
    CHECK(!made && says(made.error(), "base_url: value: must not be NULL"));
  }
  CHECK(options().set("limit", null).refused() && options().add("filter", null).refused() && !options().refused());
  const auto &kept =
      config().set("max_attempts", 1).log(TALENTDATA_LOG_LEVEL_ERROR, {}).set("timeout", std::chrono::seconds(1));
  auto copy = kept;
  copy.set("max_attempts", 0);
  CHECK(!talentdata::client::try_make(copy) && talentdata::client::try_make(kept).has_value());
  copy = kept;
  CHECK(talentdata::client::try_make(copy).has_value());
  options wrong;
  wrong.set("limit", -1);
  const auto other = wrong;
  CHECK(other.refused() && std::string_view(other.refused()->what()) == wrong.refused()->what());
}

static void errors(const talentdata::client &client) {
  talentdata::config settings;
  settings.set("client_secret", "CANARY-SECRET");
  try {
    (void)talentdata::client(settings).permissions();
    CHECK(false);
  } catch (const talentdata::auth_error &error) {
    CHECK(error.status() == 401 && !error.retry_after() && !error.offset() && error.operation() == "createToken");
    CHECK(std::string_view(error.what()).find("CANARY") == std::string::npos && error.kind_name() == "Auth");
  }
  const auto made = [](const char *name, auto value) {
    return [=] { talentdata::client(talentdata::config().set(name, value)); };
  };
  CHECK(throws<talentdata::config_error>(made("client_id", "a\nb")) &&
        throws<talentdata::config_error>(made("max_attempts", 0)));
  CHECK(throws<talentdata::config_error>(made("timeout", std::chrono::milliseconds(-1)), "timeout"));
  CHECK(throws<talentdata::config_error>(made("share", std::nan("")), "share") &&
        throws<talentdata::config_error>(made("paced", "x")));
  CHECK(throws<talentdata::invalid_argument_error>(made("profile", "\xff")));
  CHECK(throws<talentdata::invalid_argument_error>(made("tiemout", 3), "there is no setting \"tiemout\""));
  const auto failed = talentdata::client::try_make(talentdata::config().set("base_url", "ftp://x"));
  CHECK(!failed && failed.error().code() == TALENTDATA_ERROR_KIND_CONFIG && !failed.error().is_retryable());
  CHECK(throws<talentdata::config_error>([&] { (void)failed.value(); }));
  auto first = failed.error();
  const auto second = std::move(first);
  CHECK(std::string_view(first.what()) == second.what());
  auto scan = client.list(talentdata::contacts);
  (void)scan.next();
  std::thread([&] { scan.cancel(); }).join();
  CHECK(throws<talentdata::cancelled_error>([&] { (void)scan.next(); }));
  CHECK(scan.failure()->code() == TALENTDATA_ERROR_KIND_CANCELLED);
  const auto moved = std::move(scan);
  scan.cancel();
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)scan.next(); }, "scan: must not be NULL"));
  auto closed = talentdata::client(talentdata::config());
  std::thread([&] { closed.close(); }).join();
  CHECK(throws<talentdata::closed_error>([&] { (void)closed.version(); }));
  // No proxy listens on port 1, so the error names the proxy.
  const auto proxied = talentdata::client(talentdata::config()
                                              .set("base_url", "https://talent.example")
                                              .set("proxy", "http://user:CANARY@127.0.0.1:1")
                                              .set("max_attempts", 1));
  const auto refused = proxied.try_version();
  CHECK(!refused && says(refused.error(), "127.0.0.1:1") && !says(refused.error(), "CANARY"));
}

// Bodies that are not JSON and invalid paths are refused before a request is sent.
static void refused_before_it_is_sent(const talentdata::client &client) {
  // A program that computes the rest of its time may arrive at zero.
  CHECK(throws<talentdata::timeout_error>([&] { client.begin("getVersion", {}, {}, std::chrono::seconds(0)).wait(); }));
  CHECK(throws<talentdata::timeout_error>(
      [&] { client.begin_page(talentdata::pools, {}, 0, {}, std::chrono::seconds(-1)).wait(); }));
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    const auto body = talentdata::detail::to_json(std::vector<double>{1.5, value});
    const auto called = client.try_call<talentdata::record>("checkVersion", {}, body);
    CHECK(!called && called.error().code() == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT &&
          says(called.error(), "body: is not JSON"));
  }
  CHECK(talentdata::detail::to_json(std::map<std::string, std::optional<std::int64_t>>{{"a\n\"", 1}, {"b", {}}}) ==
        "{\"a\\u000a\\\"\":1,\"b\":null}");
  const std::string path("nul.csv\0.parquet", 16);
  for (const auto &failed : {client.try_export_job(talentdata::pools, path), client.try_sync_job(talentdata::pools, path)}) {
    CHECK(!failed && says(failed.error(), "path: has a NUL at byte 7"));
  }
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)talentdata::mirror::open(path); }, "NUL"));
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)talentdata::verify(path, "{}"); }, "NUL"));
}

static void jobs(const talentdata::client &client) {
  const auto plan = client.plan(talentdata::contacts);
  CHECK(plan.get<std::int64_t>("records") == static_cast<std::int64_t>(contacts()) && plan.get<std::int64_t>("pages") > 0 &&
        plan.get<double>("seconds") > 0);
  talentdata::options options;
  options.set("limit", 5).set("on_new_field", "freeze");
  options.set("schema", client.schema(talentdata::contacts, talentdata::options().set("columns", "json")).json());
  auto job = client.export_job(talentdata::contacts, std::filesystem::path("surface.data"), options, talentdata::format::csv);
  CHECK(job.progress().records() == 0 && !job.progress().total());
  const auto receipt = job.run();
  CHECK(receipt.records() == 5 && talentdata::verify("surface.data", receipt.json()).get<bool>("matches"));
  CHECK(std::remove("surface.data") == 0);
  talentdata::job adopted(job.release());
  adopted.cancel();
  CHECK(throws<talentdata::cancelled_error>([&] { (void)adopted.run(); }));
  // The call fails with the error of the first refused value.
  options.set("limit", -1).set("limit", 5);
  const auto refused = client.try_list(talentdata::contacts, options);
  CHECK(!refused && says(refused.error(), "limit: must be a number of records"));

  const std::string path = "surface.db";
  (void)std::remove(path.c_str());
  auto sync = client.sync_job(talentdata::pools, path, talentdata::options().set("keep", "90d").set("max_deletes", "50%"));
  CHECK(sync.run().get<int64_t>("generation") == 1 && sync.progress().records() > 0);
  const auto mirror = talentdata::mirror::open(path);
  CHECK(mirror.syncs(talentdata::pools).get<std::vector<talentdata::record>>("").size() == 1);
  std::string bookmark;
  for (int which = 0; which < 3; which++) {
    ArrowArrayStream stream{};
    if (which == 0) bookmark = mirror.changes(talentdata::pools, &stream).get<std::string>("bookmark");
    if (which == 1) (void)mirror.records(talentdata::pools, &stream);
    if (which == 2) (void)mirror.records(talentdata::pools, &stream, bookmark);
    ArrowArray batch{};
    CHECK(stream.get_next(&stream, &batch) == 0 && batch.length > 0);
    batch.release(&batch);
    stream.release(&stream);
  }
  ArrowArrayStream none{};
  const auto wrong = talentdata::options().set("batch_rows", "many");
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)mirror.changes(talentdata::pools, &none, {}, wrong); },
                                                   "batch_rows"));
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)mirror.records(talentdata::pools, &none, {}, wrong); },
                                                   "batch_rows"));
  CHECK(mirror.verify().get<std::vector<std::string>>("differences").empty());
  CHECK(throws<talentdata::invalid_argument_error>([&] { (void)mirror.erase(talentdata::pools, "[\"nobody\"]"); }));
  mirror.acknowledge(talentdata::pools, bookmark);
  mirror.forget(talentdata::pools);
  CHECK(!mirror.try_syncs(talentdata::pools));
  CHECK(throws<talentdata::path_error>([&] { (void)talentdata::mirror::open("nowhere"); }));
}

// The fields of a message are JSON, so the end of each call can be found by its operation and status.
static void a_log_with_fields() {
  std::mutex guard;
  std::vector<talentdata::record> said;
  talentdata::config settings;
  settings.log(TALENTDATA_LOG_LEVEL_DEBUG, [&](talentdata_log_level, std::string_view message, std::string_view fields) {
    const std::lock_guard<std::mutex> lock(guard);
    if (message.rfind("received a response", 0) == 0) said.push_back(talentdata::record::parse(fields));
  });
  (void)talentdata::client(settings).version();
  const std::lock_guard<std::mutex> lock(guard);
  CHECK(!said.empty() && said.back().get<std::string>("operation") == "getVersion");
  CHECK(said.back().get<int>("status") == 200 && said.back().get<int>("attempt") == 1);
}

// An exception of a log function reaches neither the library nor a call.
static void a_log_that_throws() {
  std::atomic<int> messages = 0;
  talentdata::config settings;
  settings.log(TALENTDATA_LOG_LEVEL_TRACE, {});
  (void)talentdata::client(settings).version();
  settings.log(TALENTDATA_LOG_LEVEL_TRACE, [&messages](talentdata_log_level, std::string_view) {
    messages++;
    throw std::runtime_error("from the log");
  });
  CHECK(!talentdata::client(settings).version().version().empty() && messages > 0);
}

int main() {
  talentdata::client client{talentdata::config()};
  lists(client);
  unproven_lists(client);
  values(client);
  types();
  settings_are_values();
  errors(client);
  refused_before_it_is_sent(client);
  jobs(client);
  a_log_that_throws();
  a_log_with_fields();
#if __cplusplus >= 202002L
  std::size_t few = 0;
  auto scan = client.list(talentdata::contacts);
  for (const auto &contact : scan | std::views::take(3)) few += !contact.id().empty();
  CHECK(few == 3);
#endif
  const char *other = without_exceptions(client.release());
  CHECK(other == nullptr);
  if (other) std::fprintf(stderr, "without exceptions: %s\n", other);
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures || !checks;
}
