// Keeps a mirror of contacts, counts what the last sync has changed, and verifies an exported file and the mirror.
#include <iostream>
#include <talentdata.hpp>
#include <talentdata/arrow.h>

int main(int count, char **arguments) {
  try {
    const std::string path = count > 1 ? arguments[1] : "contacts-cpp.db";
    const talentdata::client client{talentdata::config()};
    const auto outcome = client.sync_job(talentdata::contacts, path).run();
    // Such as deletes that are too many to be believed.
    if (const auto shortfall = outcome.text("shortfall")) std::cerr << "the mirror may lack changes: " << *shortfall << '\n';

    const auto mirror = talentdata::mirror::open(path);
    const auto before = outcome.get<std::int64_t>("generation") - 1;
    ArrowArrayStream stream{};
    mirror.changes(talentdata::contacts, &stream, std::to_string(before));
    std::int64_t changes = 0;
    for (ArrowArray batch{}; stream.get_next(&stream, &batch) == 0 && batch.release; batch.release(&batch)) {
      changes += batch.length;
    }
    stream.release(&stream);
    std::cerr << "the mirror has " << mirror.verify().get<std::vector<std::string>>("differences").size() << " differences\n";

    const auto receipt = client.export_job(talentdata::pools, "pools-cpp.parquet").run();
    const bool matches = talentdata::verify("pools-cpp.parquet", receipt.json()).get<bool>("matches");
    std::cerr << "the file is " << (matches ? "what was exported" : "another one") << '\n';
    std::cout << changes << " changes\n";
    return 0;
  } catch (const talentdata::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
