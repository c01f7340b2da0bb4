// Compiled with exceptions and linked with mixed_without.cpp, which is not: each keeps its own functions.
#include <talentdata.hpp>

#include <cstdio>

/// Uses what differs without exceptions; 0 when all went well.
int without_exceptions();

int main() {
  talentdata::client first{talentdata::config()};
  const auto second = std::move(first);
  bool thrown = false;
  try {
    first.close();
  } catch (const talentdata::invalid_argument_error &) {
    thrown = true;
  }
  const auto failed = talentdata::client::try_make(talentdata::config().base_url("nowhere"));
  try {
    (void)failed.value();
    thrown = false;
  } catch (const talentdata::config_error &) {
  }
  const int other = without_exceptions();
  std::printf("thrown: %d, without exceptions: %d\n", thrown, other);
  return thrown && other == 0 ? 0 : 1;
}
