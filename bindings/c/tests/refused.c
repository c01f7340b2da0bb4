/* What must draw a warning: each number of MISUSE is one mistake, with words of the warning it causes. With 0
   there is none. */
#include <talentdata.h>

void use(talentdata_client *client, const talentdata_scan *scan) {
  (void)client, (void)scan;
#if MISUSE == 1 /* ignoring return value of */
  talentdata_client_close(client);
#elif MISUSE == 2 /* discards */
  talentdata_error_free(talentdata_scan_cancel(scan));
#endif
}
