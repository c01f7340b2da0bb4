// Compiled with -fno-exceptions and linked with mixed.cpp, which has exceptions.
#include <talentdata.hpp>

int without_exceptions();

int without_exceptions() {
  unsigned messages = 0;
  talentdata::config settings;
  settings.log(TALENTDATA_LOG_LEVEL_ERROR, [&](talentdata_log_level, std::string_view) { messages++; });
  auto client = talentdata::client::try_make(settings);
  if (!client) return 1;
  auto version = client->try_version();
  if (!version || version->version().empty()) return 2;
  client->close();
  const auto closed = client->try_version();
  return !closed && closed.error().code() == TALENTDATA_ERROR_KIND_CLOSED ? 0 : 3;
}
