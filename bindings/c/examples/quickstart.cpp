#include <iostream>
#include <talentdata.hpp>

int main() {
  try {
    talentdata::client client{talentdata::config()};
    for (const auto &contact : client.list(talentdata::contacts)) {
      std::cout << contact.first_name() << '\n';
    }
  } catch (const talentdata::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
