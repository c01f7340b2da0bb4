/* The common parts of the C tests: checks, handles of every type, poisoned slots, and a silent service. */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned char slots[8][64];
static int checks, failures;

void fixture_log(talentdata_log_level level, talentdata_text message, talentdata_text fields, void *user_data) {
  (void)level, (void)message, (void)fields, (void)user_data;
}

int64_t fixture_secret(char *secret_out, size_t capacity, void *user_data) {
  (void)secret_out, (void)capacity, (void)user_data;
  return -1;
}

void fixture_poison(void) { memset(slots, 0xAA, sizeof slots); }

void *fixture_slot(int index) { return slots[index]; }

static int is_poisoned(void) {
  for (size_t i = 0; i < sizeof slots; i++) {
    if (((unsigned char *)slots)[i] != 0xAA) return 0;
  }
  return 1;
}

void fixture_check(int holds, const char *what) {
  checks++;
  if (!holds) {
    failures++;
    fprintf(stderr, "FAILED: %s\n", what);
  }
}

void fixture_fails(talentdata_error *error, talentdata_error_kind kind, const char *words, const char *what) {
  char message[1024] = "no error";
  if (error) {
    talentdata_text text = talentdata_error_message(error);
    snprintf(message, sizeof message, "%.*s", (int)text.length, text.data);
  }
  int good = error && talentdata_error_code(error) == kind && strstr(message, words) && is_poisoned();
  if (!good) {
    fprintf(stderr, "%s: %s; slots %s\n", what, message, is_poisoned() ? "untouched" : "WRITTEN");
  }
  fixture_check(good, what);
  talentdata_error_free(error);
}

void fixture_is_null(talentdata_error *error, const char *function, const char *argument) {
  char words[128];
  snprintf(words, sizeof words, "%s: must not be NULL", argument);
  fixture_fails(error, INVALID, words, function);
}

void fixture_succeeds(talentdata_error *error) {
  if (!error) return;
  talentdata_text text = talentdata_error_message(error);
  fprintf(stderr, "unexpected: %.*s\n", (int)text.length, text.data);
  exit(1);
}

int fixture_verdict(void) {
  printf("%d checks, %d failed\n", checks, failures);
  return failures || !checks;
}

talentdata_text fixture_text(const char *parameter) {
  if (strcmp(parameter, "list") == 0) return TALENTDATA_LIST_POOLS;
  if (strcmp(parameter, "operation") == 0) return T("getVersion");
  if (strcmp(parameter, "name") == 0) return T("page_size");
  if (strcmp(parameter, "receipt") == 0) return T("{}");
  return T("1");
}

struct fixture *fixture_make(void) {
  struct fixture *all = calloc(1, sizeof *all);
  char mirror[64];
  talentdata_record *synced;
  all->config = talentdata_config_new();
  all->options = talentdata_options_new(NULL);
  OK(talentdata_client_from_environment(&all->client));
  OK(talentdata_client_list(all->client, TALENTDATA_LIST_CONTACTS, NULL, &all->scan));
  OK(talentdata_scan_next(all->scan, &all->record));
  snprintf(mirror, sizeof mirror, "mirror-%ld.db", (long)getpid());
  OK(talentdata_client_sync(all->client, TALENTDATA_LIST_POOLS, T(mirror), NULL, &all->job));
  OK(talentdata_job_run(all->job, &synced));
  talentdata_record_free(synced);
  OK(talentdata_client_begin_page(all->client, TALENTDATA_LIST_POOLS, 1, 0, NULL, 0, &all->call));
  OK(talentdata_mirror_open(T(mirror), &all->mirror));
  all->error = talentdata_client_list(NULL, TALENTDATA_LIST_POOLS, NULL, &all->scan);
  CHECK(all->error && all->record);
  return all;
}

void fixture_free(struct fixture *all) {
  talentdata_client_free(all->client);
  talentdata_config_free(all->config);
  talentdata_options_free(all->options);
  talentdata_scan_free(all->scan);
  talentdata_job_free(all->job);
  talentdata_call_free(all->call);
  talentdata_record_free(all->record);
  talentdata_mirror_free(all->mirror);
  talentdata_error_free(all->error);
  free(all);
}

int64_t integer_at(const talentdata_record *record, const char *path) {
  talentdata_optional_integer found;
  OK(talentdata_record_integer(record, T(path), &found));
  return found.present ? found.value : 0;
}

int text_at(const talentdata_record *record, const char *path, const char *wanted) {
  talentdata_text found;
  OK(talentdata_record_text(record, T(path), &found));
  return talentdata_text_is(found, wanted);
}

int says(talentdata_record *record, const char *words) {
  const talentdata_text text = talentdata_record_json(record);
  const size_t length = strlen(words);
  int found = 0;
  for (size_t i = 0; i + length <= text.length && !found; i++) found = memcmp(text.data + i, words, length) == 0;
  if (!found) fprintf(stderr, "%s is not in %.*s\n", words, (int)text.length, text.data);
  talentdata_record_free(record);
  return found;
}

int64_t rows(struct ArrowArrayStream *stream) {
  int64_t count = 0;
  for (;;) {
    struct ArrowArray batch;
    CHECK(stream->get_next(stream, &batch) == 0);
    if (!batch.release) break;
    count += batch.length;
    batch.release(&batch);
  }
  stream->release(stream);
  return count;
}

unsigned long contacts(void) { return strtoul(getenv("CONTACTS"), NULL, 10); }

void ask_version(const talentdata_client *client) {
  talentdata_record *version;
  OK(talentdata_client_version(client, &version));
  CHECK(talentdata_record_kind(version) == TALENTDATA_VALUE_KIND_OBJECT);
  talentdata_record_free(version);
}

talentdata_options *options_with(const char *first, ...) {
  talentdata_options *options = talentdata_options_new(NULL);
  va_list rest;
  va_start(rest, first);
  for (const char *name = first; name; name = va_arg(rest, const char *)) {
    OK(talentdata_options_set(options, T(name), T(va_arg(rest, const char *))));
  }
  va_end(rest);
  return options;
}

int silent_service(talentdata_client **client) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  char url[64];
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 64) == 0);
  getsockname(listener, (struct sockaddr *)&address, &length);
  snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
  talentdata_config *config = talentdata_config_new();
  OK(talentdata_config_set(config, T("base_url"), T(url)));
  OK(talentdata_client_new(config, client));
  talentdata_config_free(config);
  return listener;
}
