/* Deliberate memory errors. The memory checkers must report them, which proves that they are active. */
#include <stdlib.h>
#include <talentdata.h>

int main(int count, char **arguments) {
  (void)arguments;
  if (count > 1) {
    /* There are ten leaks because a pointer to the last one may stay in a register, which hides that leak. */
    talentdata_config *volatile lost = NULL;
    for (int i = 0; i < 10; i++) lost = talentdata_config_new();
    return lost == NULL;
  }
  volatile char *bytes = malloc(8);
  bytes[8] = 1;
  free((void *)bytes);
  return 0;
}
