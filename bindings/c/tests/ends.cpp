// Clients and lists with the lifetime of the program or of a thread. Each is freed without an error, and a call that
// comes too late is CLOSED. The test passes only if the output is "done".
#include <cstdio>
#include <cstdlib>
#include <talentdata.hpp>
#include <thread>

static int late_calls = 0;

// Makes a call in its destructor. The client that it uses still exists then.
struct late_caller {
  const talentdata::client *client = nullptr;
  ~late_caller() {
    if (client == nullptr) return;
    try {
      client->version();
    } catch (const talentdata::error &error) {
      if (error.code() != TALENTDATA_ERROR_KIND_CLOSED) {
        std::fprintf(stderr, "a late call: %s\n", error.what());
        std::_Exit(3);
      }
      ++late_calls;
    }
  }
};

static const talentdata::client &shared() {
  static const talentdata::client client{talentdata::config()};
  return client;
}

static void read_some() {
  thread_local const talentdata::client own{talentdata::config()};
  thread_local late_caller caller;
  thread_local auto unread = own.list(talentdata::contacts);
  own.version();
  caller.client = &own;
  for (const auto &record : unread) {
    if (record.first_name().empty()) std::_Exit(4);
    break;
  }
}

static void at_exit() { std::puts(late_calls > 0 ? "done" : "no call came too late"); }

int main() {
  std::atexit(at_exit);
  static auto scan = shared().list(talentdata::contacts);
  static late_caller caller;
  caller.client = &shared();
  for (const auto &record : scan) {
    if (record.first_name().empty()) return 4;
    break;
  }
  for (int round = 0; round < 3; ++round) std::thread(read_some).join();
  read_some();
}
