/* A handle that is not freed on purpose: leak checkers must report it, which shows that they are on. */
#include <talentdata.h>

int main(void) {
  talentdata_config *volatile config = talentdata_config_new();
  config = NULL;
  return config != NULL;
}
