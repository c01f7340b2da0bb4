// Streams contacts in the application's own event loop: no thread waits, and poll() reports ready records.
#include <cerrno>
#include <iostream>
#include <poll.h>
#include <system_error>
#include <talentdata.hpp>

int main() {
  try {
    const talentdata::client client{talentdata::config()};
    auto scan = client.list(talentdata::contacts);
    unsigned long contacts = 0, sleeps = 0;
    for (auto arrival = talentdata::arrival::pending; arrival != talentdata::arrival::end;) {
      // An application adds its own descriptors and timers to this call.
      pollfd ready{scan.descriptor(), POLLIN, 0};
      if (poll(&ready, 1, -1) < 0) {
        // A signal was handled.
        if (errno == EINTR) continue;
        throw std::system_error(errno, std::generic_category(), "poll");
      }
      sleeps++;
      do {
        auto arrived = scan.poll();
        arrival = arrived.arrival;
        if (arrived.record) contacts++;
      } while (arrival == talentdata::arrival::record);
    }
    std::cout << contacts << " contacts\n";
    std::cerr << "woken " << sleeps << " times\n";
    return 0;
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
