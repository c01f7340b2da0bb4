// Streams all contacts, tells what went wrong by kind, and says whether the list is complete.
#include <iostream>
#include <talentdata.hpp>

int main() {
  try {
    const talentdata::client client{talentdata::config()};
    auto contacts = client.list(talentdata::contacts);
    for (const auto &contact : contacts) {
      std::cout << contact.first_name() << ' ' << contact.last_name() << " <" << contact.email() << "> "
                // A field that the service's document does not show.
                << contact.text("/location/city").value_or("") << '\n';
    }
    const auto receipt = contacts.receipt();
    std::cerr << receipt.records() << " contacts, complete: " << receipt.completeness() << '\n';
    return 0;
  } catch (const talentdata::config_error &error) {
    std::cerr << error.what() << "\nSet TALENTDATA_BASE_URL, TALENTDATA_CLIENT_ID and TALENTDATA_CLIENT_SECRET.\n";
  } catch (const talentdata::error &error) {
    std::cerr << error.what() << '\n' << (error.is_retryable() ? "Try again later.\n" : "");
  }
  return 1;
}
