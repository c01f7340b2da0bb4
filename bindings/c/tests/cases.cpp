// Performs the action of one case of tests/cases, and prints the result as JSON, which the runner compares.
//
// Its usage is `cases [--SETTING=VALUE]... VERB`, where VERB is one of: version, permissions, check VERSION
// CATEGORY..., scan LIST, page LIST LIMIT OFFSET, repeat N VERB.
#include <talentdata.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using words = std::vector<std::string>;

using talentdata::detail::to_json;

std::string answer(std::string_view records, std::string_view completeness, std::string_view value) {
  return "{\"records\":[" + std::string(records) + "],\"completeness\":" + std::string(completeness) +
         ",\"value\":" + std::string(value) + '}';
}

void append(std::string &records, const talentdata::record &record) {
  if (!records.empty()) records += ',';
  records += record.json();
}

std::string perform(const talentdata::client &client, const words &verb) {
  const std::string &what = verb.at(0);
  if (what == "version") return answer("", "null", client.version().json());
  if (what == "permissions") return answer("", "null", client.permissions().json());
  if (what == "check") {
    return answer("", "null", client.check_version({verb.at(1), words(verb.begin() + 2, verb.end())}).json());
  }
  if (what == "scan") {
    auto scan = client.list(talentdata::list_of<talentdata::record>{verb.at(1).c_str()});
    std::string records;
    for (const auto &record : scan) append(records, record);
    const auto receipt = scan.receipt();
    return answer(records, to_json(receipt.completeness()), receipt.json());
  }
  if (what == "page") {
    const talentdata::list_of<talentdata::record> list{verb.at(1).c_str()};
    const auto page = client.page(list, std::stoull(verb.at(2)), std::stoull(verb.at(3)));
    std::string records;
    for (const auto &record : page.records()) append(records, record);
    return answer(records, "null", page.pagination().json());
  }
  if (what == "repeat") {
    std::string last;
    for (int times = std::stoi(verb.at(1)); times > 0; times--) {
      last = perform(client, words(verb.begin() + 2, verb.end()));
    }
    return last;
  }
  throw std::invalid_argument("no such verb: " + what);
}

std::string told(const talentdata::error &error) {
  using number = std::optional<double>;
  const auto wait = error.retry_after();
  const std::map<std::string, number> numbers{{"status", error.status()},
                                              {"attempts", error.attempts()},
                                              {"offset", error.offset()},
                                              {"retry_after_s", wait ? number(wait->count() / 1000.0) : number()}};
  return "{\"kind\":" + to_json(error.kind_name()) + ",\"message\":" + to_json(std::string(error.what())) + ',' +
         to_json(numbers).substr(1);
}

}  // namespace

int main(int count, char **arguments) {
  words verb(arguments + 1, arguments + count);
  talentdata::config config;
  for (; verb.at(0).rfind("--", 0) == 0; verb.erase(verb.begin())) {
    const auto equals = verb[0].find('=');
    config.set(verb[0].substr(2, equals - 2), verb[0].substr(equals + 1));
  }
  config.log(TALENTDATA_LOG_LEVEL_TRACE, [](talentdata_log_level, std::string_view message) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
  });
  const talentdata::client client(config);
  std::string said;
  try {
    said = perform(client, verb);
  } catch (const talentdata::error &error) {
    said = told(error);
    // The runner searches these other texts of the error for secrets, like the log.
    for (const auto &text : {error.operation(), error.request_id(), error.body()}) {
      if (text) std::fprintf(stderr, "%.*s\n", static_cast<int>(text->size()), text->c_str());
    }
  }
  std::puts(said.c_str());
}
