/* A record that keeps many texts is freed on a small stack. */
#include "fixture.h"
#include "service.h"

#include <pthread.h>

enum { texts = 4000, small_stack = 128 * 1024 };

/* One record with many strings whose escapes have to be resolved. */
static const char *many_texts(unsigned long offset, void *context) {
  static char page[texts * 32 + 256];
  size_t length = (size_t)snprintf(page, sizeof page, "{\"contacts\":[{");
  (void)offset, (void)context;
  for (int i = 0; i < texts; i++) {
    length += (size_t)snprintf(page + length, sizeof page - length, "%s\"%d\":\"\\n%d\"", i ? "," : "", i, i);
  }
  snprintf(page + length, sizeof page - length,
           "}],\"pagination\":{\"total\":1,\"limit\":1,\"offset\":0,\"hasMore\":false}}");
  return page;
}

static void *free_record(void *record) {
  talentdata_record_free(record);
  return NULL;
}

static void kept_texts_are_freed_on_a_small_stack(void) {
  talentdata_client *client;
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_text text, again;
  struct service *service = service_start(many_texts, NULL);
  client = service_client(service);
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_next(scan, &record));
  int wrong = 0;
  for (int i = 0; i < texts; i++) {
    char pointer[16], value[16];
    snprintf(pointer, sizeof pointer, "/%d", i);
    size_t length = (size_t)snprintf(value, sizeof value, "\n%d", i);
    OK(talentdata_record_find_text(record, pointer, &text));
    wrong += text.length != length || memcmp(text.data, value, length) != 0;
  }
  /* The same text again is not kept twice. */
  OK(talentdata_record_find_text(record, "/3999", &again));
  CHECK(again.data == text.data);
  CHECK(wrong == 0);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, small_stack) == 0);
  CHECK(pthread_create(&thread, &attributes, free_record, record) == 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  service_stop(service);
}

int main(void) {
  kept_texts_are_freed_on_a_small_stack();
  return fixture_verdict();
}
