/* Deliberate errors. The checkers of memory and threads must report them, which proves that they are active. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <talentdata.h>

static int shared;

static void *race(void *unused) {
  shared++;
  return unused;
}

int main(int count, char **arguments) {
  if (count > 1 && strcmp(arguments[1], "race") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, race, NULL) != 0) return 0;
    shared++;
    return pthread_join(thread, NULL);
  }
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
