/* What the C interface promises beyond single calls: results, errors, and the host's state left alone. */
#define _GNU_SOURCE
#include "fixture.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static void wrong_numbers_and_texts(talentdata_client *client) {
  void *slot = fixture_slot(0);
  const uint32_t numbers[] = {0, 0xFFFF, 0xAAAAAAAA, UINT32_MAX};
  for (size_t i = 0; i < 4; i++) {
    fixture_poison();
    fixture_fails(talentdata_client_list(client, numbers[i], slot), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                  "resource: ", "a number that is no list");
    fixture_fails(talentdata_client_page(client, numbers[i], 1, 0, slot), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                  "resource: ", "a number that is no list");
    fixture_fails(talentdata_error_kind_name(numbers[i], slot), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "kind: ",
                  "a number that is no kind");
  }
  talentdata_scan_options *options;
  OK(talentdata_scan_options_new(&options));
  fixture_poison();
  fixture_fails(talentdata_scan_options_set_page_size(options, 0), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "records: ", "a page of no records");
  OK(talentdata_scan_options_set_limit(options, 5));
  fixture_fails(talentdata_scan_options_set_columns(options, 3), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "columns: ", "a number that is no choice of columns");
  fixture_fails(talentdata_scan_options_set_schema(options, "[]", TALENTDATA_ON_NEW_KEEP),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "schema: ", "text that is no schema");
  const char *schema = "{\"talentdata_schema\":1,\"resource\":null,\"columns\":\"typed\",\"sampled_records\":0,"
                       "\"fields\":[{\"name\":\"id\",\"type\":\"string\"}]}";
  fixture_fails(talentdata_scan_options_set_schema(options, schema, 4), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "on_new: ", "a number that is no choice for new fields");
  OK(talentdata_scan_options_set_schema(options, schema, TALENTDATA_ON_NEW_FAIL));
  talentdata_scan_options_free(options);
  talentdata_config *config;
  OK(talentdata_config_new(&config));
  fixture_poison();
  fixture_fails(talentdata_config_set_client_id_n(config, "a\xff", 2), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "client_id: not valid UTF-8 at byte 1", "text that is not UTF-8");
  fixture_fails(talentdata_config_set_profile_n(config, "x", (size_t)1 << 30), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "profile: must not be longer", "a text of 1 GiB");
  fixture_fails(talentdata_config_set_log(config, 6, fixture_log, NULL, NULL),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "level: ", "a level that there is not");
  OK(talentdata_config_set_client_id_n(config, "a\0b", 3));
  fixture_fails(talentdata_client_new(config, slot), TALENTDATA_ERROR_KIND_CONFIG,
                "client_id must not contain control characters", "a NUL within a text");
  talentdata_config_free(config);
  fixture_fails(talentdata_client_page(client, TALENTDATA_RESOURCE_CONTACTS, 101, 0, slot),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "limit must be ", "a limit above 100");
}

static int is(talentdata_text text, const char *words) {
  return text.data && text.length == strlen(words) && memcmp(text.data, words, text.length) == 0;
}

static void records(talentdata_client *client) {
  talentdata_scan *scan;
  talentdata_record *record, *kept = NULL;
  talentdata_text text, json;
  talentdata_resource list;
  unsigned long count = 0;
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  for (;;) {
    OK(talentdata_scan_next(scan, &record));
    if (!record) break;
    OK(talentdata_contact_id(record, &text));
    CHECK(text.data != NULL);
    if (count++ == 0) kept = record;
    else talentdata_record_free(record);
  }
  talentdata_receipt *receipt;
  uint64_t delivered;
  talentdata_completeness completeness;
  OK(talentdata_scan_receipt(scan, &receipt));
  OK(talentdata_receipt_records(receipt, &delivered));
  OK(talentdata_receipt_completeness(receipt, &completeness));
  CHECK(delivered == count && count == strtoul(getenv("CONTACTS"), NULL, 10));
  CHECK(completeness == TALENTDATA_COMPLETENESS_PROVEN);
  talentdata_receipt_free(receipt);
  OK(talentdata_scan_next(scan, &record));
  CHECK(record == NULL);
  talentdata_scan_free(scan);

  /* A record outlives its scan. */
  OK(talentdata_record_json(kept, &json));
  CHECK(json.data[0] == '{' && json.data[json.length - 1] == '}');
  OK(talentdata_record_find(kept, "", &text));
  CHECK(text.data == json.data && text.length == json.length);
  OK(talentdata_record_find(kept, "/no/such/value", &text));
  CHECK(text.data == NULL && text.length == 0);
  static const char *const no_pointers[] = {"firstName", "location/city", " /firstName"};
  for (size_t i = 0; i < 3; i++) {
    fixture_poison();
    fixture_fails(talentdata_record_find(kept, no_pointers[i], fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                  "pointer: a JSON pointer starts with '/'", "a JSON pointer without its slash");
    fixture_fails(talentdata_record_find_text(kept, no_pointers[i], fixture_slot(0)),
                  TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "pointer: a JSON pointer starts with '/'",
                  "a JSON pointer without its slash");
  }
  OK(talentdata_record_find_text_n(kept, "/firstName+", 10, &text));
  talentdata_text name;
  OK(talentdata_contact_first_name(kept, &name));
  CHECK(name.length == text.length && memcmp(name.data, text.data, text.length) == 0);
  OK(talentdata_record_resource(kept, &list));
  CHECK(list == TALENTDATA_RESOURCE_CONTACTS);
  fixture_poison();
  fixture_fails(talentdata_record_find_text(kept, "", fixture_slot(0)), TALENTDATA_ERROR_KIND_SCHEMA, "not a string",
                "a text that is none");
  talentdata_record_free(kept);

  talentdata_page *page;
  const talentdata_record *lent;
  size_t size;
  OK(talentdata_client_page(client, TALENTDATA_RESOURCE_JA_SKILLS, TALENTDATA_LIMIT_OF_SERVICE, 2, &page));
  OK(talentdata_page_count(page, &size));
  CHECK(size > 0);
  OK(talentdata_page_record(page, 0, &lent));
  fixture_poison();
  fixture_fails(talentdata_contact_email(lent, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "record: belongs to the list ja_skills, not to contacts", "an accessor of another list");
  fixture_fails(talentdata_page_record(page, size, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "index: ",
                "an index that there is not");
  talentdata_page_free(page);
}

/* A list that keeps still: the records are counted. */
static void proofs(talentdata_client *client) {
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_receipt *receipt;
  talentdata_basis basis;
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_POOLS, &scan));
  for (;;) {
    OK(talentdata_scan_next(scan, &record));
    if (!record) break;
    talentdata_record_free(record);
  }
  OK(talentdata_scan_receipt(scan, &receipt));
  OK(talentdata_receipt_basis(receipt, &basis));
  CHECK(basis == TALENTDATA_BASIS_COUNTED);
  talentdata_receipt_free(receipt);
  talentdata_scan_free(scan);
}

static void models(talentdata_client *client) {
  talentdata_version_response *version;
  const talentdata_category_entry *entry;
  talentdata_api_status status;
  talentdata_text text;
  size_t count;
  OK(talentdata_client_version(client, &version));
  OK(talentdata_version_response_api_status(version, &status));
  OK(talentdata_version_response_api_status_text(version, &text));
  CHECK(status == TALENTDATA_API_STATUS_OPERATIONAL && is(text, "operational"));
  OK(talentdata_version_response_endpoints_count(version, &count));
  CHECK(count == 6);
  OK(talentdata_version_response_endpoints_find_n(version, "companies...", 9, &entry));
  OK(talentdata_category_entry_model_version(entry, &text));
  CHECK(text.data == NULL);
  OK(talentdata_version_response_endpoints_find(version, "taxonomy", &entry));
  OK(talentdata_category_entry_model_version(entry, &text));
  CHECK(text.data != NULL);
  OK(talentdata_version_response_endpoints_find(version, "none", &entry));
  CHECK(entry == NULL);
  talentdata_version_response_free(version);
}

static void arrow(talentdata_client *client) {
  talentdata_scan *scan;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  int64_t rows = 0;
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_arrow_stream(scan, &stream));
  fixture_poison();
  fixture_fails(talentdata_scan_next(scan, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "Arrow stream",
                "a record of a scan that is a stream");
  fixture_fails(talentdata_scan_arrow_stream(scan, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "Arrow stream", "a second stream");
  for (;;) {
    CHECK(stream.get_next(&stream, &batch) == 0);
    if (!batch.release) break;
    rows += batch.length;
    batch.release(&batch);
  }
  CHECK(rows == atol(getenv("CONTACTS")));
  talentdata_scan_free(scan);
  stream.release(&stream);

  /* Stopped, a stream answers an error; it outlives scan and client. */
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_arrow_stream(scan, &stream));
  OK(talentdata_scan_cancel(scan));
  talentdata_scan_free(scan);
  int answer;
  while ((answer = stream.get_next(&stream, &batch)) == 0 && batch.release) batch.release(&batch);
  CHECK(answer != 0 && strstr(stream.get_last_error(&stream), "stopped"));
  stream.release(&stream);

  talentdata_record *record;
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_next(scan, &record));
  talentdata_record_free(record);
  fixture_poison();
  fixture_fails(talentdata_scan_arrow_stream(scan, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "begun to take the records", "a stream of a scan that was begun");
  talentdata_scan_free(scan);
}

static void errors(void) {
  talentdata_config *config;
  talentdata_client *client;
  talentdata_text text;
  OK(talentdata_config_new(&config));
  OK(talentdata_config_set_client_secret(config, "CANARY-SECRET"));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  talentdata_token_permissions *permissions = NULL;
  talentdata_error *error = talentdata_client_permissions(client, &permissions);
  CHECK(talentdata_error_code(error) == TALENTDATA_ERROR_KIND_AUTH && permissions == NULL);
  CHECK(talentdata_error_status(error) == 401);
  CHECK(talentdata_error_retry_after_ms(error) == -1 && talentdata_error_offset(error) == -1);
  CHECK(is(talentdata_error_operation(error), "createToken") && !talentdata_error_is_retryable(error));
  text = talentdata_error_message(error);
  CHECK(!memmem(text.data, text.length, "CANARY", 6));
  OK(talentdata_error_kind_name(talentdata_error_code(error), &text));
  CHECK(is(text, "Auth"));
  talentdata_error_free(error);
  talentdata_client_free(client);

  /* Nobody listens at port 1. Other programs that tried it share no outage with this client. */
  OK(talentdata_config_new(&config));
  OK(talentdata_config_set_budget(config, "process"));
  OK(talentdata_config_set_base_url(config, "http://127.0.0.1:1"));
  OK(talentdata_config_set_max_attempts(config, 2));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  fixture_poison();
  error = talentdata_client_page(client, TALENTDATA_RESOURCE_CONTACTS, 1, 40, fixture_slot(0));
  CHECK(talentdata_error_offset(error) == 40);
  CHECK(talentdata_error_is_retryable(error) && talentdata_error_status(error) == 0);
  fixture_fails(error, TALENTDATA_ERROR_KIND_CONNECT, "cannot connect", "nobody listens");
  fixture_fails(talentdata_client_version(client, fixture_slot(0)), TALENTDATA_ERROR_KIND_CONNECT, "after 2 attempts",
                "an attempt is counted");
  talentdata_client_free(client);
  CHECK(talentdata_error_code(NULL) == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT);
  CHECK(is(talentdata_error_message(NULL), "error: must not be NULL") && talentdata_error_status(NULL) == 0);
}

/* Signals that arrive at the library's threads would surprise an application; SIGPIPE would end it. */
static void the_host_is_left_alone(talentdata_client *client) {
  sigset_t before, after;
  struct sigaction pipe_before, pipe_after;
  char place[64];
  snprintf(place, sizeof place, "%s", setlocale(LC_ALL, NULL));
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  sigaction(SIGPIPE, NULL, &pipe_before);
  errno = 4711;
  talentdata_version_response *version;
  OK(talentdata_client_version(client, &version));
  talentdata_version_response_free(version);
  CHECK(errno == 4711);
  fixture_poison();
  talentdata_error *error = talentdata_client_list(client, 99, fixture_slot(0));
  CHECK(errno == 4711);
  talentdata_error_free(error);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  sigaction(SIGPIPE, NULL, &pipe_after);
  for (int number = 1; number < 32; number++) CHECK(sigismember(&before, number) == sigismember(&after, number));
  CHECK(pipe_before.sa_handler == pipe_after.sa_handler && pipe_after.sa_handler == SIG_DFL);
  CHECK(strcmp(place, setlocale(LC_ALL, NULL)) == 0);
}

/* The numbers can be compared by the preprocessor. */
#if TALENTDATA_VERSION_NUMBER < 1000 || TALENTDATA_VERSION_MAJOR > 100
#error the version is not a number
#endif
static void versions(void) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", TALENTDATA_VERSION_MAJOR, TALENTDATA_VERSION_MINOR, TALENTDATA_VERSION_PATCH);
  CHECK(strcmp(text, TALENTDATA_VERSION) == 0 && is(talentdata_library_version(), text));
  CHECK(TALENTDATA_VERSION_NUMBER ==
        TALENTDATA_VERSION_MAJOR * 1000000 + TALENTDATA_VERSION_MINOR * 1000 + TALENTDATA_VERSION_PATCH);
}

int main(void) {
  versions();
  talentdata_client *client;
  OK(talentdata_client_from_environment(&client));
  wrong_numbers_and_texts(client);
  records(client);
  proofs(client);
  models(client);
  arrow(client);
  errors();
  the_host_is_left_alone(client);
  talentdata_client_free(client);
  return fixture_verdict();
}
