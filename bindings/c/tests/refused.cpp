// What must not compile: each number of MISUSE is one mistake, with words of the error it causes. With 0 the
// file compiles.
#include <talentdata.hpp>

namespace td = talentdata;

void use(td::client &client, td::scan<td::contact> &scan, td::page<td::contact> &page) {
  (void)client, (void)scan, (void)page;
#if MISUSE == 1  // json
  (void)client.version().json();
#elif MISUSE == 2  // operator[]
  (void)client.page(td::contacts, 1, 0)[0];
#elif MISUSE == 3  // pagination
  (void)client.page(td::contacts, 1, 0).pagination();
#elif MISUSE == 4  // first_name
  (void)(*scan.next()).first_name();
#elif MISUSE == 5  // operator->
  (void)client.try_version()->version();
#elif MISUSE == 6  // begin
  (void)client.list(td::contacts).begin();
#elif MISUSE == 7  // message
  (void)client.try_version().error().message();
#elif MISUSE == 8  // view
  (void)td::contact(td::record(nullptr)).view();
#elif MISUSE == 9  // to non-scalar type
  td::contact owned = page[0];
#elif MISUSE == 10  // endpoints_find
  (void)client.version().endpoints_find("taxonomy");
#elif MISUSE == 11  // json
  (void)scan.receipt().json();
#elif MISUSE == 12  // nodiscard
  client.try_version();
#elif MISUSE == 13  // talentdata_client_close
  talentdata_client_close(nullptr);
#elif MISUSE == 14  // const talentdata_scan*
  const talentdata_scan *raw = nullptr;
  (void)talentdata_scan_cancel(raw);
#elif MISUSE == 15  // begin
  (void)client.page(td::contacts, 1, 0).begin();
#elif MISUSE == 16  // find_text
  (void)(*scan.next()).find_text("/firstName");
#elif MISUSE == 17  // value
  (void)(*scan.next()).value("/firstName");
#endif
}
