// Streams contacts within the application's own event loop: no thread waits, poll() tells when to look.
#include <iostream>
#include <poll.h>
#include <talentdata.hpp>

int main() {
  try {
    const talentdata::client client{talentdata::config()};
    auto scan = client.list(talentdata::contacts);
    unsigned long contacts = 0, sleeps = 0;
    for (auto arrival = TALENTDATA_ARRIVAL_PENDING; arrival != TALENTDATA_ARRIVAL_END;) {
      // The application's own descriptors and timers go into the same call.
      pollfd ready{scan.descriptor(), POLLIN, 0};
      if (poll(&ready, 1, -1) < 0) return 1;
      sleeps++;
      do {
        auto arrived = scan.poll();
        arrival = arrived.arrival;
        if (arrived.record) contacts++;
      } while (arrival == TALENTDATA_ARRIVAL_RECORD);
    }
    std::cout << contacts << " contacts\n";
    std::cerr << "woken " << sleeps << " times\n";
    return 0;
  } catch (const talentdata::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
