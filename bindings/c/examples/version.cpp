// At start-up: is the service there, and does it still support what this program was built for?
#include <iostream>
#include <talentdata.hpp>

// The version of the service's interface that this program was made for, and what it uses of it.
static constexpr const char *made_for = "1.8.2";

int main() {
  try {
    if (talentdata::library_version() != TALENTDATA_VERSION) {
      std::cerr << "built with libtalentdata " TALENTDATA_VERSION ", running with another version\n";
    }
    const talentdata::client client{talentdata::config()};
    const auto version = client.version();
    std::cout << "service: " << version.version() << "\nstatus: " << version.api_status_text() << '\n';
    const auto check = client.check_version({made_for, {"authentication", "taxonomy", "corecrm"}});
    for (const auto &[category, entry] : check.endpoint_compatibility()) {
      // Notes are optional.
      if (const auto notes = entry.notes()) std::cout << category << ": " << *notes << '\n';
    }
    if (!check.compatible()) {
      std::cerr << "The service no longer works with version " << made_for << " of its interface: not starting.\n";
      return 2;
    }
    std::cout << (check.supported() ? "compatible\n" : "compatible, but no longer supported: plan an update\n");
    return 0;
  } catch (const talentdata::error &error) {
    std::cerr << "cannot ask: " << error.what() << '\n';
    return 1;
  }
}
