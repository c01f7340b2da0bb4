/* Mistakes on purpose, which the checkers of memory must report: that shows that they are on. */
#include <stdlib.h>
#include <talentdata.h>

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1) {
    /* A pointer to the last one may be left in a register. */
    talentdata_config *volatile lost = NULL;
    for (int i = 0; i < 10; i++) lost = talentdata_config_new();
    return lost == NULL;
  }
  volatile char *bytes = malloc(8);
  bytes[8] = 1;
  free((void *)bytes);
  return 0;
}
