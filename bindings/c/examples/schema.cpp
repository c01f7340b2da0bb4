// Prints the columns of contacts as JSON: kept in a file, they are the columns of every later Arrow stream.
#include <iostream>
#include <talentdata.hpp>

int main() {
  try {
    const talentdata::client client{talentdata::config()};
    // scan_options::schema takes it, today or from a file.
    std::cout << client.schema(talentdata::contacts);
    return 0;
  } catch (const talentdata::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
