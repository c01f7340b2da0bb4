// Exports all contacts to a file and shows its progress; a second run continues an interrupted one.
#include <chrono>
#include <future>
#include <iostream>
#include <talentdata.hpp>

int main(int count, char **arguments) {
  try {
    const talentdata::client client{talentdata::config()};
    const auto plan = client.plan(talentdata::contacts);
    std::cerr << *plan.integer("records") << " contacts, about " << *plan.number("seconds") << " s\n";

    talentdata::export_options options;
    options.resume = true;
    // The extension of the path is the format.
    auto job = client.export_job(talentdata::contacts, count > 1 ? arguments[1] : "contacts.parquet", options);
    auto done = std::async(std::launch::async, [&] { return job.run(); });
    while (done.wait_for(std::chrono::seconds(1)) == std::future_status::timeout) {
      const auto reached = job.progress();
      std::cerr << reached.records() << " of " << reached.total().value_or(0) << '\n';
    }
    std::cout << done.get().records() << " contacts\n";
    return 0;
  } catch (const talentdata::error &error) {
    // The message says what is kept to be continued.
    std::cerr << error.what() << '\n';
  }
  return 1;
}
