/* A handle that is not freed on purpose: leak checkers must report it, which shows that they are on. */
#include <talentdata.h>

int main(void) {
  talentdata_config *config = talentdata_config_new();
  (void)config;
  config = NULL;
  return 0;
}
