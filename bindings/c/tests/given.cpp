// Reads with explicit settings for everything, and prints the result. With an argument, also uses the environment.
#include <iostream>
#include <talentdata.hpp>
#include <talentdata_sandbox.hpp>

int main(int count, char **) {
  try {
    const talentdata::sandbox service(R"({"records": {"contacts": 25}})");
    const talentdata::client client(service.config().set("environment", count > 1));
    for (const auto &contact : client.list(talentdata::contacts)) std::cout << contact.json() << '\n';
    std::cout << client.version().json() << '\n' << client.permissions().json() << '\n';
    return 0;
  } catch (const talentdata::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
