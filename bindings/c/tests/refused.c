/* What must draw a warning: each number of MISUSE is one mistake, with words of the warning it causes. With 0
   there is none. */
#include <talentdata.h>

void use(talentdata_client *client, const talentdata_scan *scan, talentdata_version_response *version);
void use(talentdata_client *client, const talentdata_scan *scan, talentdata_version_response *version) {
  (void)client, (void)scan, (void)version;
#if MISUSE == 1 /* ignoring return value of */
  talentdata_client_new(NULL, &client);
#elif MISUSE == 2 /* discards */
  talentdata_scan_cancel(scan);
#elif MISUSE == 3 /* incompatible type for argument 2 */
  talentdata_scan *made;
  (void)!talentdata_client_list(client, TALENTDATA_FORMAT_CSV, NULL, &made);
#elif MISUSE == 4 /* incompatible pointer type */
  talentdata_text text;
  (void)!talentdata_version_check_response_json(version, &text);
#endif
}
