/* What must draw a warning: each number of MISUSE is one mistake, with words of the warning it causes. With 0
   there is none. */
#include <talentdata.h>

void use(talentdata_client *client, const talentdata_scan *scan);
void use(talentdata_client *client, const talentdata_scan *scan) {
  (void)client, (void)scan;
#if MISUSE == 1 /* ignoring return value of */
  talentdata_client_new(NULL, &client);
#elif MISUSE == 2 /* discards */
  talentdata_scan_cancel(scan);
#elif MISUSE == 3 /* incompatible */
  talentdata_scan *made;
  (void)!talentdata_client_list(client, TALENTDATA_FORMAT_CSV, NULL, &made);
#elif MISUSE == 4 /* incompatible pointer type */
  bool text;
  (void)!talentdata_contact_email(NULL, &text);
#endif
}
