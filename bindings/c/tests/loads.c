/* Loads a module with the library, uses a client and closes the module, again and again: `loads MODULE keep|free`. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talentdata.h>

enum { rounds = 20 };
static void *module;
static int frees;

static void *symbol(const char *name) {
  void *found = dlsym(module, name);
  if (!found) fprintf(stderr, "%s\n", dlerror()), exit(70);
  return found;
}

static void *use(void *unused) {
  talentdata_client *client;
  talentdata_record *version;
  talentdata_error *(*make)(const talentdata_config *, talentdata_client **);
  talentdata_error *(*call)(const talentdata_client *, talentdata_text, const talentdata_options *, talentdata_text,
                            talentdata_record **);
  void (*free_client)(talentdata_client *), (*free_record)(talentdata_record *);
  *(void **)&make = symbol("talentdata_client_new");
  *(void **)&call = symbol("talentdata_client_call");
  *(void **)&free_client = symbol("talentdata_client_free");
  *(void **)&free_record = symbol("talentdata_record_free");
  if (make(NULL, &client) || call(client, TALENTDATA_TEXT("getVersion"), NULL, TALENTDATA_ABSENT, &version)) exit(71);
  free_record(version);
  if (frees) free_client(client);
  return unused;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  frees = strcmp(argv[2], "free") == 0;
  for (int round = 0; round < rounds; round++) {
    pthread_t thread;
    module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!module) return fprintf(stderr, "%s\n", dlerror()), 70;
    /* An ended thread does not keep a module loaded. */
    pthread_create(&thread, NULL, use, NULL);
    pthread_join(thread, NULL);
    if (dlclose(module)) return 72;
  }
}
