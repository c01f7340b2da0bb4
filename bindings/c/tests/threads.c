/* Threads: 64 on one client, calls that are ended by another thread, a log callback that calls back. */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

/* Few calls a thread: all of them wait for the same budget of 40 requests a second. */
enum { threads = 64, calls = 4 };

static void *use(void *argument) {
  talentdata_client *client = argument;
  size_t good = 0;
  for (int i = 0; i < calls; i++) {
    talentdata_page *page;
    size_t count = 0;
    talentdata_error *error = talentdata_client_page(client, TALENTDATA_RESOURCE_CONTACTS, 10, (uint64_t)i * 10, &page);
    if (!error) error = talentdata_page_count(page, &count);
    if (!error) talentdata_page_free(page);
    talentdata_error_free(error);
    good += !error && count == 10;
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

static void *ask_version(void *argument) {
  struct call *call = argument;
  talentdata_version_response *version;
  call->error = talentdata_client_version(call->client, &version);
  return NULL;
}

static void *next_record(void *argument) {
  struct call *call = argument;
  talentdata_record *record;
  for (;;) {
    call->error = talentdata_scan_next(call->scan, &record);
    /* Refused while the other thread looks at the receipt: it is this one's turn again soon. */
    if (!call->error || talentdata_error_code(call->error) != TALENTDATA_ERROR_KIND_INVALID_ARGUMENT) return NULL;
    talentdata_error_free(call->error);
    sched_yield();
  }
}

/* Waits until another thread is in a call with the scan, which is what the refusal says. */
static void until_in_a_call(talentdata_scan *scan) {
  for (;;) {
    talentdata_receipt *receipt;
    talentdata_error *error = talentdata_scan_receipt(scan, &receipt);
    if (error) {
      CHECK(talentdata_error_code(error) == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT);
      talentdata_error_free(error);
      return;
    }
    talentdata_receipt_free(receipt);
    sched_yield();
  }
}

static void ended_by_another_thread(void) {
  struct call call = {0};
  pthread_t thread;
  int listener = fixture_silent_service(&call.client);

  OK(talentdata_client_list(call.client, TALENTDATA_RESOURCE_CONTACTS, &call.scan));
  pthread_create(&thread, NULL, next_record, &call);
  int first = accept(listener, NULL, NULL);
  OK(talentdata_scan_cancel(call.scan));
  pthread_join(thread, NULL);
  fixture_poison();
  fixture_fails(call.error, TALENTDATA_ERROR_KIND_CANCELLED, "stopped", "a scan that waits is cancelled");
  fixture_fails(talentdata_scan_next(call.scan, fixture_slot(0)), TALENTDATA_ERROR_KIND_CANCELLED, "stopped",
                "a scan stays cancelled");
  talentdata_scan_free(call.scan);

  pthread_create(&thread, NULL, ask_version, &call);
  int second = accept(listener, NULL, NULL);
  OK(talentdata_client_close(call.client));
  pthread_join(thread, NULL);
  fixture_fails(call.error, TALENTDATA_ERROR_KIND_CLOSED, "closed", "a client is closed during a call");
  fixture_fails(talentdata_client_version(call.client, fixture_slot(0)), TALENTDATA_ERROR_KIND_CLOSED, "closed",
                "a client stays closed");
  OK(talentdata_client_close(call.client));
  talentdata_client_free(call.client);
  close(first), close(second), close(listener);
}

/* The header forbids to free what another thread uses; a call that waits already survives it all the same. */
static void freed_by_another_thread(void) {
  struct call call = {0};
  pthread_t thread;
  int listener = fixture_silent_service(&call.client);
  pthread_create(&thread, NULL, ask_version, &call);
  int first = accept(listener, NULL, NULL);
  talentdata_client_free(call.client);
  pthread_join(thread, NULL);
  fixture_poison();
  fixture_fails(call.error, TALENTDATA_ERROR_KIND_CLOSED, "closed", "a client is freed while a call waits");
  close(first), close(listener);

  listener = fixture_silent_service(&call.client);
  OK(talentdata_client_list(call.client, TALENTDATA_RESOURCE_CONTACTS, &call.scan));
  talentdata_client_free(call.client);
  pthread_create(&thread, NULL, next_record, &call);
  until_in_a_call(call.scan);
  first = accept(listener, NULL, NULL);
  talentdata_scan_free(call.scan);
  pthread_join(thread, NULL);
  fixture_fails(call.error, TALENTDATA_ERROR_KIND_CANCELLED, "stopped", "a scan is freed while a call waits");
  close(first), close(listener);
}

struct heard {
  pthread_mutex_t lock;
  talentdata_client *client;
  int messages, refused, secrets;
};

static void hear(uint32_t level, talentdata_text message, void *user_data) {
  struct heard *heard = user_data;
  char text[512];
  (void)level;
  snprintf(text, sizeof text, "%.*s", (int)message.length, message.data);
  pthread_mutex_lock(&heard->lock);
  heard->messages++;
  heard->secrets += strstr(text, getenv("TALENTDATA_CLIENT_SECRET")) != NULL;
  talentdata_client *client = heard->client;
  pthread_mutex_unlock(&heard->lock);
  talentdata_version_response *version;
  talentdata_error *error = talentdata_client_version(client, &version);
  if (error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT) {
    pthread_mutex_lock(&heard->lock);
    heard->refused++;
    pthread_mutex_unlock(&heard->lock);
  }
  talentdata_error_free(error);
}

static void a_callback_that_calls_back(void) {
  struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
  talentdata_config *config;
  talentdata_page *page;
  OK(talentdata_config_new(&config));
  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_TRACE, hear, &heard, NULL));
  OK(talentdata_client_new(config, &heard.client));
  talentdata_config_free(config);
  OK(talentdata_client_page(heard.client, TALENTDATA_RESOURCE_CONTACTS, 1, 0, &page));
  talentdata_page_free(page);
  talentdata_client_free(heard.client);
  CHECK(heard.messages > 0 && heard.refused == heard.messages && heard.secrets == 0);
}

int main(void) {
  many_threads_on_one_client();
  ended_by_another_thread();
  freed_by_another_thread();
  a_callback_that_calls_back();
  return fixture_verdict();
}
