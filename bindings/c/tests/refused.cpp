// What must not compile: each number of MISUSE is one mistake, with words of the error it causes. With 0 the
// file compiles.
#include <talentdata.hpp>

namespace td = talentdata;

void use(td::client &client, td::scan<td::contact> &scan) {
  (void)client, (void)scan;
#if MISUSE == 1  // nodiscard
  client.try_version();
#elif MISUSE == 2  // deleted
  auto copy = scan;
#elif MISUSE == 3  // const talentdata_scan
  const talentdata_scan *raw = nullptr;
  talentdata_scan_cancel(raw);
#elif MISUSE == 4  // no matching
  (void)client.list(TALENTDATA_FORMAT_CSV);
#elif MISUSE == 5  // talentdata_job_run
  talentdata_job_run(nullptr, nullptr);
#elif MISUSE == 6  // options
  (void)client.export_job(td::contacts, "a.csv", {2});
#endif
}
