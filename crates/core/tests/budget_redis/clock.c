/* Preloaded into a server: its wall clock is ahead by the seconds, a `long`, in the file that CLOCK_AHEAD names. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  static int file = -1;
  long ahead = 0;
  struct timespec exact;
  (void)zone;
  if (file < 0) file = open(getenv("CLOCK_AHEAD"), O_RDONLY);
  if (pread(file, &ahead, sizeof ahead, 0) != sizeof ahead) abort();
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec + ahead;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}
