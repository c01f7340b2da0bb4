/* The log callback and its user_data: released exactly once, and never called afterwards. */
#include "fixture.h"
#include "service.h"

#include <pthread.h>

/* Whether callbacks wait, and what has been seen; on the heap, so that memory checkers see a use after release. */
struct watch {
  int *releases;
  int held;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int messages, inside, inside_at_release;

static void hear(uint32_t level, talentdata_text message, void *user_data) {
  struct watch *watch = user_data;
  (void)level, (void)message;
  pthread_mutex_lock(&lock);
  messages++;
  inside++;
  pthread_cond_broadcast(&changed);
  while (watch->held) pthread_cond_wait(&changed, &lock);
  inside--;
  pthread_mutex_unlock(&lock);
}

static void release(void *user_data) {
  struct watch *watch = user_data;
  pthread_mutex_lock(&lock);
  ++*watch->releases;
  inside_at_release += inside;
  free(watch);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static struct watch *watch_new(int *releases) {
  struct watch *watch = calloc(1, sizeof *watch);
  watch->releases = releases;
  *releases = 0;
  return watch;
}

static int seen(const int *number) {
  pthread_mutex_lock(&lock);
  int value = *number;
  pthread_mutex_unlock(&lock);
  return value;
}

/* Waits for as long as it takes; whoever runs the tests ends a program that hangs. */
static void until(const int *number, int value) {
  pthread_mutex_lock(&lock);
  while (*number < value) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static talentdata_client *logging_client(const char *url, struct watch *watch) {
  talentdata_config *config;
  talentdata_client *client;
  OK(talentdata_config_new(&config));
  if (url) OK(talentdata_config_set_base_url(config, url));
  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_TRACE, hear, watch, release));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  return client;
}

static void settings_alone(void) {
  int first, second, refused;
  talentdata_config *config;
  struct watch *kept = watch_new(&refused);
  OK(talentdata_config_new(&config));
  fixture_poison();
  fixture_fails(talentdata_config_set_log(config, 6, hear, kept, release), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "level: ", "a level that there is not");
  fixture_fails(talentdata_config_set_log(config, 1, NULL, kept, release), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "callback: ", "no callback");
  CHECK(refused == 0);
  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_INFO, hear, watch_new(&first), release));
  CHECK(first == 0);
  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_INFO, hear, watch_new(&second), release));
  CHECK(first == 1 && second == 0);
  talentdata_config_free(config);
  CHECK(first == 1 && second == 1 && refused == 0);
  free(kept);
}

/* The first page holds enough records to determine the columns; the second comes when the client is gone. */
enum { first_page = 2000 };
static int gone;

static const char *two_pages(unsigned long offset, void *context) {
  static char page[first_page * 16 + 128];
  (void)context;
  unsigned long last = offset ? first_page : first_page - 1, count = offset > last ? 0 : last - offset + 1;
  size_t length = (size_t)snprintf(page, sizeof page, "{\"contacts\":[");
  for (unsigned long i = offset; i <= last; i++) {
    length += (size_t)snprintf(page + length, sizeof page - length, "%s{\"id\":\"%lu\"}", i > offset ? "," : "", i);
  }
  snprintf(page + length, sizeof page - length,
           "],\"pagination\":{\"total\":%d,\"limit\":%lu,\"offset\":%lu,\"hasMore\":%s}}", first_page + 1,
           count, offset, offset ? "false" : "true");
  if (offset) until(&gone, 1);
  return page;
}

static void a_stream_outlives_everything(void) {
  int releases;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  talentdata_scan *scan;
  talentdata_client *client;
  struct service *service = service_start(two_pages, NULL);
  client = logging_client(service_url(service), watch_new(&releases));
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_arrow_stream(scan, &stream));
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  CHECK(seen(&releases) == 0);
  int before = seen(&messages);
  pthread_mutex_lock(&lock);
  gone = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  int64_t rows = 0;
  while (stream.get_next(&stream, &batch) == 0 && batch.release) {
    rows += batch.length;
    batch.release(&batch);
  }
  CHECK(rows == first_page + 1);
  CHECK(seen(&messages) > before && seen(&releases) == 0);
  stream.release(&stream);
  service_stop(service);
  until(&releases, 1);
  CHECK(releases == 1);
}

static void *ask_version(void *client) {
  talentdata_version_response *version;
  talentdata_error *error = talentdata_client_version(client, &version);
  if (!error) talentdata_version_response_free(version);
  return error;
}

/* The library does not wait for ever for a thread that does not end, but it keeps what the thread uses. */
static void a_callback_outlives_the_client(void) {
  int releases;
  struct watch *watch = watch_new(&releases);
  void *error;
  pthread_t thread;
  watch->held = 1;
  talentdata_client *client = logging_client(NULL, watch);
  int before = seen(&messages);
  pthread_create(&thread, NULL, ask_version, client);
  until(&messages, before + 1);
  OK(talentdata_client_close(client));
  pthread_join(thread, &error);
  fixture_poison();
  fixture_fails(error, TALENTDATA_ERROR_KIND_CLOSED, "closed", "a call is closed while a callback runs");
  talentdata_client_free(client);
  CHECK(seen(&releases) == 0 && seen(&inside) > 0);
  pthread_mutex_lock(&lock);
  watch->held = 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  until(&releases, 1);
}

/* Nothing of it may come after the release; a message then would use what was freed. */
static void the_last_messages(void) {
  int releases;
  talentdata_client *client = logging_client("http://127.0.0.1:1", watch_new(&releases));
  talentdata_error_free(ask_version(client));
  talentdata_client_free(client);
  until(&releases, 1);
  int after = seen(&messages);
  CHECK(releases == 1 && after > 0 && seen(&messages) == after);
}

int main(void) {
  settings_alone();
  a_stream_outlives_everything();
  a_callback_outlives_the_client();
  the_last_messages();
  CHECK(inside == 0 && inside_at_release == 0);
  return fixture_verdict();
}
