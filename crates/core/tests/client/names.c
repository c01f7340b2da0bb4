/* A name service that somebody else writes: preloaded into a process, it finds "localhost" at 127.0.0.2, which stands
 * for another machine. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

typedef int (*find)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  find real;
  *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
  if (name != NULL && strcmp(name, "localhost") == 0) {
    name = "127.0.0.2";
  }
  return real(name, service, hints, found);
}
