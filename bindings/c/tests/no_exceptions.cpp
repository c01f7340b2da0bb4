// Built with -fno-exceptions -fno-rtti: every call as a result.
#include <talentdata.hpp>

#include <cstdio>

static int fail(const talentdata::error &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

int main() {
  auto client = talentdata::client::try_make(talentdata::config());
  if (!client) return fail(client.error());
  auto scan = client->try_list(talentdata::contacts);
  if (!scan) return fail(scan.error());
  unsigned long count = 0;
  for (;;) {
    auto next = scan->try_next();
    if (!next) return fail(next.error());
    if (!*next) break;
    auto name = (*next)->try_first_name();
    if (!name) return fail(name.error());
    count += !name->empty();
  }
  auto schema = client->try_schema(talentdata::contacts);
  if (!schema || schema->empty()) return 1;
  auto version = client->try_version();
  if (!version || version->version().empty()) return 1;
  auto wrong = talentdata::client::try_make(talentdata::config().base_url("nowhere"));
  if (wrong || wrong.error().code() != TALENTDATA_ERROR_KIND_CONFIG) return 1;
  std::printf("%lu contacts\n", count);
  return 0;
}
