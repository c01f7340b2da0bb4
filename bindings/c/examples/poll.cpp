// Streams contacts in the application's own event loop: no thread waits, and poll() reports ready records.
#include <iostream>
#include <poll.h>
#include <talentdata.hpp>

int main() {
  try {
    const talentdata::client client{talentdata::config()};
    auto scan = client.list(talentdata::contacts);
    unsigned long contacts = 0, sleeps = 0;
    for (auto arrival = TALENTDATA_ARRIVAL_PENDING; arrival != TALENTDATA_ARRIVAL_END;) {
      // An application adds its own descriptors and timers to this call.
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
