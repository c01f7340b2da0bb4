/* Threads: 64 on one client, calls that another thread ends, log callbacks, and the release of their user_data. */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { threads = 64, calls = 4 };

static void *use(void *argument) {
  talentdata_client *client = argument;
  size_t good = 0;
  for (int i = 0; i < calls; i++) {
    talentdata_record *page;
    talentdata_error *error = talentdata_client_page(client, TALENTDATA_LIST_CONTACTS, 10, (uint64_t)i * 10, NULL, &page);
    good += !error && integer_at(page, "/pagination/limit") == 10;
    if (!error) talentdata_record_free(page);
    talentdata_error_free(error);
  }
  return (void *)good;
}

static void many_threads_on_one_client(void) {
  talentdata_client *client;
  pthread_t all[threads];
  size_t good = 0;
  OK(talentdata_client_from_environment(&client));
  for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, use, client);
  for (int i = 0; i < threads; i++) {
    void *result;
    pthread_join(all[i], &result);
    good += (size_t)result;
  }
  CHECK(good == (size_t)threads * calls);
  talentdata_client_free(client);
}

struct call {
  talentdata_client *client;
  talentdata_scan *scan;
  talentdata_error *error;
};

static void *call_version(void *argument) {
  struct call *call = argument;
  talentdata_record *version = NULL;
  call->error = talentdata_client_version(call->client, &version);
  talentdata_record_free(version);
  return NULL;
}

static void *next_record(void *argument) {
  struct call *call = argument;
  talentdata_record *record;
  call->error = talentdata_scan_next(call->scan, &record);
  return NULL;
}

static void ended_by_another_thread(void) {
  struct call call = {0};
  pthread_t thread;
  int listener = silent_service(&call.client);

  OK(talentdata_client_list(call.client, TALENTDATA_LIST_CONTACTS, NULL, &call.scan));
  pthread_create(&thread, NULL, next_record, &call);
  int first = accept(listener, NULL, NULL);
  talentdata_scan_cancel(call.scan);
  pthread_join(thread, NULL);
  fixture_poison();
  fixture_fails(call.error, TALENTDATA_ERROR_KIND_CANCELLED, "stopped", "a scan that waits is cancelled");
  fixture_fails(talentdata_scan_next(call.scan, fixture_slot(0)), TALENTDATA_ERROR_KIND_CANCELLED, "stopped",
                "a scan stays cancelled");
  talentdata_scan_free(call.scan);

  pthread_create(&thread, NULL, call_version, &call);
  int second = accept(listener, NULL, NULL);
  talentdata_client_close(call.client);
  pthread_join(thread, NULL);
  fixture_fails(call.error, TALENTDATA_ERROR_KIND_CLOSED, "closed", "a client is closed during a call");
  fixture_fails(talentdata_client_version(call.client, fixture_slot(0)), TALENTDATA_ERROR_KIND_CLOSED, "closed",
                "a client stays closed");
  talentdata_client_close(call.client);
  talentdata_client_free(call.client);
  close(first), close(second), close(listener);
}

/* The user_data of callbacks: a counter of releases, and whether callbacks wait. It is on the heap, so that memory
   checkers notice a use after its release. */
struct watch {
  int *releases;
  int held;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int messages, refusals, inside, inside_at_release;

static void hold(talentdata_log_level level, talentdata_text message, talentdata_text fields, void *user_data) {
  struct watch *watch = user_data;
  (void)level, (void)message, (void)fields;
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

/* Waits without a limit. The test runner ends a program that hangs. */
static void until(const int *number, int value) {
  pthread_mutex_lock(&lock);
  while (*number < value) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static talentdata_client *logging_client(const char *url, struct watch *watch) {
  talentdata_config *config = talentdata_config_new();
  talentdata_client *client;
  if (url) OK(talentdata_config_set(config, T("base_url"), T(url)));
  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_TRACE, hold, watch, release));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  return client;
}

/* A callback that calls its client. Such a call would wait for itself, so it is refused. */
static void call_back(talentdata_log_level level, talentdata_text message, talentdata_text fields, void *user_data) {
  talentdata_record *version;
  (void)level, (void)message, (void)fields;
  talentdata_error *error = talentdata_client_version(*(talentdata_client **)user_data, &version);
  pthread_mutex_lock(&lock);
  messages++;
  refusals += error && talentdata_error_code(error) == INVALID;
  pthread_mutex_unlock(&lock);
  talentdata_error_free(error);
}

static void a_callback_that_calls_back(void) {
  talentdata_client *client = NULL;
  talentdata_config *config = talentdata_config_new();
  messages = 0;
  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_TRACE, call_back, &client, NULL));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  ask_version(client);
  talentdata_client_free(client);
  CHECK(messages > 0 && refusals == messages);
}

static void settings_alone(void) {
  int first, second, refused;
  talentdata_config *config = talentdata_config_new();
  struct watch *kept = watch_new(&refused);
  fixture_poison();
  fixture_fails(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_ERROR, NULL, kept, release), INVALID,
                "callback: ", "no callback");
  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_INFO, hold, watch_new(&first), release));
  CHECK(first == 0);
  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_INFO, hold, watch_new(&second), release));
  CHECK(first == 1 && second == 0);
  talentdata_config_free(config);
  CHECK(first == 1 && second == 1 && refused == 0);
  free(kept);
}

static void a_stream_outlives_everything(void) {
  int releases;
  struct ArrowArrayStream stream;
  talentdata_scan *scan;
  talentdata_options *options = options_with("page_size", "30", NULL);
  talentdata_client *client = logging_client(NULL, watch_new(&releases));
  OK(talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, options, &scan));
  talentdata_options_free(options);
  OK(talentdata_scan_arrow_stream(scan, &stream));
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  const int before = seen(&messages);
  /* There are more pages than a scan requests at once, so it sends requests after its client is freed. */
  CHECK(seen(&releases) == 0 && rows(&stream) == (int64_t)contacts());
  until(&releases, 1);
  CHECK(seen(&messages) > before && releases == 1);
}

/* Freeing a client does not wait for a callback that does not return, but the library keeps the data that it uses. */
static void a_callback_outlives_the_client(void) {
  int releases;
  struct watch *watch = watch_new(&releases);
  struct call call = {0};
  pthread_t thread;
  watch->held = 1;
  call.client = logging_client(NULL, watch);
  int before = seen(&messages);
  pthread_create(&thread, NULL, call_version, &call);
  until(&messages, before + 1);
  talentdata_client_close(call.client);
  pthread_join(thread, NULL);
  fixture_poison();
  fixture_fails(call.error, TALENTDATA_ERROR_KIND_CLOSED, "closed", "a call is closed while a callback runs");
  talentdata_client_free(call.client);
  CHECK(seen(&releases) == 0 && seen(&inside) > 0);
  pthread_mutex_lock(&lock);
  watch->held = 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  until(&releases, 1);
}

/* No message may come after the release, because it would use freed data. */
static void the_last_messages(void) {
  int releases;
  struct call call = {.client = logging_client("http://127.0.0.1:1", watch_new(&releases))};
  call_version(&call);
  talentdata_error_free(call.error);
  talentdata_client_free(call.client);
  until(&releases, 1);
  int after = seen(&messages);
  CHECK(releases == 1 && after > 0 && seen(&messages) == after);
}

int main(void) {
  many_threads_on_one_client();
  ended_by_another_thread();
  a_callback_that_calls_back();
  settings_alone();
  a_stream_outlives_everything();
  a_callback_outlives_the_client();
  the_last_messages();
  CHECK(inside == 0 && inside_at_release == 0);
  return fixture_verdict();
}
