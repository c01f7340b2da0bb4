/* A bug on purpose: the sanitizer must report it, which shows that it is on. */
#include <stdlib.h>
#include <talentdata.h>

int main(void) {
  talentdata_config_free(talentdata_config_new());
  volatile char *bytes = malloc(8);
  bytes[8] = 1;
  free((void *)bytes);
  return 0;
}
