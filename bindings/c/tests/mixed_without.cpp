// Calls that return results instead of exceptions. Compiled with -fno-exceptions -fno-rtti, and linked with
// surface.cpp, which uses exceptions.
#include <talentdata.hpp>

const char *without_exceptions(talentdata_client *owned);

// Returns NULL on success, or the name of the step that failed. Adopts the client, which is freed at the end.
const char *without_exceptions(talentdata_client *owned) {
  const talentdata::client adopted(owned);
  talentdata::config settings;
  settings.log(TALENTDATA_LOG_LEVEL_ERROR, [](talentdata_log_level, std::string_view) {});
  auto client = talentdata::client::try_make(settings);
  if (!client) return "client";
  auto scan = client->try_list(talentdata::contacts, talentdata::options().set("limit", 250));
  if (!scan) return "scan";
  unsigned long count = 0;
  for (;;) {
    auto next = scan->try_next();
    if (!next) return "next";
    if (!*next) break;
    const auto name = (*next)->try_first_name();
    if (!name) return "name";
    count += !name->empty();
  }
  if (count != 250 || scan->failure() || !scan->try_receipt()) return "records";
  const auto version = adopted.try_version();
  if (!version || version->try_version()->empty()) return "version";
  const auto wrong = talentdata::client::try_make(talentdata::config().set("base_url", "nowhere"));
  if (wrong || wrong.error().code() != TALENTDATA_ERROR_KIND_CONFIG) return "wrong";
  client->close();
  const auto closed = client->try_version();
  return !closed && closed.error().code() == TALENTDATA_ERROR_KIND_CLOSED ? nullptr : "closed";
}
