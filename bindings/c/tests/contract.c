/* The contract of the C interface: NULL and wrong arguments, records, pages, streams, errors, and side effects. */
#define _GNU_SOURCE
#include "fixture.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>

static void wrong_arguments(talentdata_client *client) {
  void *slot = fixture_slot(0);
  talentdata_options *options = options_with("limit", "5", "page_size", "50", NULL);
  talentdata_config *config = talentdata_config_new();
  static const struct {
    const char *name, *value, *words;
  } wrong[] = {
      {"page_size", "0", "page_size: must be a number of records, at least 1"},
      {"page_size", "x", "page_size: must be a number"},
      {"limit", "-1", "limit: must be a number"},
      {"columns", "text", "columns: "},
      {"schema", "[]", "schema: "},
      {"schema", "{}", "schema: "},
      {"on_new_field", "x", "on_new_field: "},
      {"resume", "yes", "resume: must be true or false"},
      {"restart", "yes", "restart: must be true or false"},
      {"confirm", "1", "confirm: must be true"},
      {"max_deletes", "lots", "max_deletes: "},
      {"keep", "90", "keep: "},
      {"format", "csv", "there is no option \"format\"; scans have page_size, limit"},
      {"batch_rows", "0", "batch_rows: must be a number of records from 1 to 1048576 (got \"0\")"},
      {"unproven", "never", "unproven: \"never\" is not one of fail, warn, accept"},
  };
  fixture_poison();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fixture_fails(talentdata_options_set(options, T(wrong[i].name), T(wrong[i].value)), INVALID, wrong[i].words,
                  wrong[i].value);
  }
  fixture_fails(talentdata_client_list(client, T("contact"), NULL, slot), INVALID, "list: no list is named \"contact\"",
                "no list");
  fixture_fails(talentdata_client_list(client, T(""), NULL, slot), INVALID, "list: ", "an empty name");
  fixture_fails(talentdata_client_sync(client, T("pools"), T("a.db"), options, slot), INVALID,
                "a sync has no option limit; it has page_size, fields, drop, hash, on_new_field, mode, confirm",
                "an option of scans for a sync");
  fixture_fails(talentdata_client_plan(client, T("pools"), options, slot), INVALID, "a plan has no option",
                "an option of a plan");
  talentdata_options *unproven = options_with("unproven", "accept", NULL);
  fixture_fails(talentdata_client_export(client, T("pools"), T("a"), TALENTDATA_FORMAT_CSV, unproven, slot), INVALID,
                "an export has no option unproven", "an option of scans for an export");
  talentdata_options_free(unproven);
  fixture_fails(talentdata_client_call(client, T("listContacts"), NULL, TALENTDATA_ABSENT, slot), INVALID,
                "the operations are getTokenPermissions", "a list as an operation");
  fixture_fails(talentdata_client_call(client, T("checkVersion"), NULL, TALENTDATA_ABSENT, slot), INVALID, "body: is required",
                "no body");
  fixture_fails(talentdata_client_call(client, T("checkVersion"), NULL, T("{\"clientVersion\":NaN}"), slot), INVALID,
                "body: is not JSON", "a body that is not JSON");
  OK(talentdata_options_add(options, T("city"), T("Bern")));
  fixture_fails(talentdata_client_page(client, T("pools"), 1, 0, NULL, NULL), INVALID, "page_out", "no slot");
  fixture_fails(talentdata_client_page(client, T("contacts"), 101, 0, NULL, slot), INVALID, "limit must be ",
                "a limit above 100");
  fixture_fails(talentdata_client_export(client, T("pools"), (talentdata_text){"nul.csv\0.parquet", 16},
                                         TALENTDATA_FORMAT_OF_PATH, NULL, slot),
                INVALID, "path: has a NUL at byte 7", "a path with a NUL");
  fixture_fails(talentdata_client_sync(client, T("pools"), T(""), NULL, slot), INVALID, "path: must not be empty", "no path");
  fixture_fails(talentdata_client_export(client, T("pools"), T("a"), (talentdata_format)9, NULL, slot), INVALID, "format: 9",
                "no format");
  fixture_fails(talentdata_config_set(config, T("client-id"), T("x")), INVALID, "the settings are base_url", "no setting");
  fixture_fails(talentdata_config_set(config, T("client_id"), (talentdata_text){"a\xff", 2}), INVALID,
                "client_id: not valid UTF-8 at byte 1", "text that is not UTF-8");
  fixture_fails(talentdata_config_set(config, T("profile"), (talentdata_text){"x", (size_t)1 << 30}), INVALID,
                "profile: must not be longer", "a text of 1 GiB");
  fixture_fails(talentdata_config_set_log(config, (talentdata_log_level)6, fixture_log, NULL, NULL), INVALID,
                "level: ", "an unknown level");
  OK(talentdata_config_set(config, T("client_id"), (talentdata_text){"a\0b", 3}));
  fixture_fails(talentdata_client_new(config, slot), TALENTDATA_ERROR_KIND_CONFIG, "client_id must not contain control",
                "a NUL within a text");
  CHECK(talentdata_error_kind_name((talentdata_error_kind)0).data == NULL);
  talentdata_config_free(config);
  talentdata_options_free(options);
}

/* The call that makes a client reports missing credentials, and not the first call of the client. */
static void no_credentials(void) {
  char *secret = strdup(getenv("TALENTDATA_CLIENT_SECRET"));
  CHECK(unsetenv("TALENTDATA_CLIENT_SECRET") == 0);
  fixture_poison();
  fixture_fails(talentdata_client_new(NULL, fixture_slot(0)), TALENTDATA_ERROR_KIND_CONFIG,
                "client_secret is not set; set it, or TALENTDATA_CLIENT_SECRET in the environment", "no secret");
  CHECK(setenv("TALENTDATA_CLIENT_SECRET", secret, 1) == 0);
  free(secret);
}

static void lists(talentdata_client *client) {
  talentdata_scan *scan;
  talentdata_record *record, *kept = NULL, *receipt, *page;
  const talentdata_record *found, *again;
  talentdata_text text;
  unsigned long count = 0;
  size_t size;
  OK(talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan));
  for (;;) {
    OK(talentdata_scan_next(scan, &record));
    if (!record) break;
    OK(talentdata_contact_id(record, &text));
    CHECK(text.data != NULL);
    if (count++ == 0)
      kept = record;
    else
      talentdata_record_free(record);
  }
  OK(talentdata_scan_receipt(scan, &receipt));
  CHECK(integer_at(receipt, "records") == (int64_t)count && count == contacts());
  CHECK(text_at(receipt, "completeness", "proven") && text_at(receipt, "basis", "counted"));
  talentdata_record_free(receipt);
  OK(talentdata_scan_next(scan, &record));
  CHECK(record == NULL && talentdata_scan_error(scan) == NULL);
  talentdata_scan_free(scan);

  /* A record outlives its scan. */
  text = talentdata_record_json(kept);
  CHECK(text.data[0] == '{' && text.data[text.length - 1] == '}');
  OK(talentdata_contact_first_name(kept, &text));
  talentdata_record_free(kept);

  OK(talentdata_client_page(client, TALENTDATA_LIST_JA_SKILLS, TALENTDATA_LIMIT_OF_SERVICE, 2, NULL, &page));
  OK(talentdata_record_value(page, T("records"), &found));
  OK(talentdata_record_count(found, &size));
  CHECK(size > 0 && integer_at(page, "/pagination/offset") == 2);
  OK(talentdata_record_item(found, 0, &again));
  fixture_poison();
  fixture_fails(talentdata_contact_email(again, fixture_slot(0)), TALENTDATA_ERROR_KIND_SCHEMA,
                "/records/0: the field email is missing", "a field of another list");
  fixture_fails(talentdata_record_item(found, size, fixture_slot(0)), INVALID, "index: ", "an index out of range");
  talentdata_record_free(page);
}

static void models(talentdata_client *client) {
  talentdata_version_response *version;
  const talentdata_category_entry *entry;
  talentdata_api_status status;
  talentdata_token_permissions *permissions;
  talentdata_record *same;
  talentdata_text text;
  size_t count;
  OK(talentdata_client_version(client, &version));
  OK(talentdata_version_response_api_status(version, &status));
  OK(talentdata_version_response_api_status_text(version, &text));
  CHECK(status == TALENTDATA_API_STATUS_OPERATIONAL && talentdata_text_is(text, "operational"));
  OK(talentdata_version_response_endpoints_count(version, &count));
  CHECK(count == 6);
  OK(talentdata_version_response_endpoints_find(version, "companies", &entry));
  OK(talentdata_category_entry_model_version(entry, &text));
  CHECK(text.data == NULL);
  OK(talentdata_version_response_endpoints_find(version, "taxonomy", &entry));
  OK(talentdata_category_entry_model_version(entry, &text));
  CHECK(text.data != NULL);
  OK(talentdata_version_response_endpoints_find(version, "none", &entry));
  CHECK(entry == NULL);
  OK(talentdata_version_response_endpoints_name(version, count - 1, &text));
  CHECK(text.data != NULL);
  fixture_poison();
  fixture_is_null(talentdata_version_response_version(NULL, fixture_slot(0)), "a model that is NULL", "record");
  fixture_is_null(talentdata_version_response_version(version, NULL), "no slot", "text_out");
  fixture_is_null(talentdata_version_response_api_status(version, NULL), "no slot", "text_out");
  fixture_is_null(talentdata_version_response_endpoints_find(version, NULL, fixture_slot(0)), "no name", "path");
  fixture_is_null(talentdata_version_response_endpoints_find(version, "taxonomy", NULL), "no slot", "value_out");
  fixture_is_null(talentdata_version_response_endpoints_at(version, 0, NULL), "no slot", "item_out");
  fixture_is_null(talentdata_version_response_endpoints_count(version, NULL), "no slot", "count_out");
  fixture_is_null(talentdata_client_version(client, NULL), "no slot", "response_out");
  OK(talentdata_client_call(client, T("getVersion"), NULL, TALENTDATA_ABSENT, &same));
  OK(talentdata_version_response_json(version, &text));
  CHECK(text.length > 0 && text_at(same, "/endpoints/taxonomy/status", "operational"));
  talentdata_record_free(same);
  talentdata_version_response_free(version);
  OK(talentdata_client_permissions(client, &permissions));
  OK(talentdata_token_permissions_permissions_at(permissions, 0, &text));
  CHECK(text.data != NULL);
  talentdata_token_permissions_free(permissions);
}

static const talentdata_record *at(const talentdata_record *record, const char *path) {
  const talentdata_record *value;
  OK(talentdata_record_value(record, T(path), &value));
  return value;
}

/* One record with values of every kind. Of the two members named level, the second one wins. */
static void values(talentdata_client *client) {
  const talentdata_error_kind schema = TALENTDATA_ERROR_KIND_SCHEMA;
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_optional_number number;
  talentdata_optional_boolean truth;
  talentdata_optional_integer integer;
  talentdata_text text;
  size_t count;
  OK(talentdata_client_list(client, TALENTDATA_LIST_JA_TASKS, NULL, &scan));
  OK(talentdata_scan_next(scan, &record));
  CHECK(integer_at(record, "count") == 9007199254740993 && integer_at(record, "/skills/1/level") == 4);
  OK(talentdata_record_number(record, T("/share"), &number));
  CHECK(number.present && number.value == 0.25);
  OK(talentdata_record_boolean(record, T("open"), &truth));
  CHECK(truth.present && truth.value);
  OK(talentdata_record_integer(record, T("none"), &integer));
  CHECK(!integer.present && text_at(at(record, "/skills/0"), "name", "C++") && text_at(record, "/a~1b/~0", "x"));
  CHECK(talentdata_text_is(talentdata_record_json(at(record, "/skills/0/name")), "\"C\\u002b\\u002b\""));
  static const char *const paths[] = {"none", "open", "share", "id", "empty", ""};
  for (int kind = TALENTDATA_VALUE_KIND_NULL; kind <= TALENTDATA_VALUE_KIND_OBJECT; kind++) {
    CHECK((int)talentdata_record_kind(at(record, paths[kind - 1])) == kind);
  }
  CHECK(at(record, "nothing") == NULL && at(record, "/skills/2") == NULL && at(record, "") == record);
  /* A second request for a value returns the same handle. */
  CHECK(at(record, "/skills") == at(record, "/skills"));
  OK(talentdata_record_count(at(record, "/skills/1"), &count));
  OK(talentdata_record_name(at(record, "/skills/1"), 1, &text));
  CHECK(count == 2 && talentdata_text_is(text, "level"));
  OK(talentdata_record_name(at(record, "skills"), 0, &text));
  CHECK(text.data == NULL);
  fixture_poison();
  fixture_fails(talentdata_record_integer(record, T("share"), fixture_slot(0)), schema, "/share", "a fraction as an integer");
  fixture_fails(talentdata_record_integer(record, T("id"), fixture_slot(0)), schema, "/id", "a string as an integer");
  fixture_fails(talentdata_record_number(record, T("big"), fixture_slot(0)), schema, "/big", "a number beyond a double");
  fixture_fails(talentdata_record_boolean(record, T("count"), fixture_slot(0)), schema, "/count", "a number as a boolean");
  fixture_fails(talentdata_record_text(record, T("count"), fixture_slot(0)), schema, "/count", "a number as text");
  fixture_fails(talentdata_record_count(at(record, "count"), fixture_slot(0)), schema, "/count", "the items of a number");
  fixture_fails(talentdata_record_item(at(record, "empty"), 0, fixture_slot(0)), INVALID, "index: 0", "an item of nothing");
  fixture_fails(talentdata_record_text(record, T("a/b"), fixture_slot(0)), INVALID, "did you mean \"/a/b\"",
                "a path without its slash");
  fixture_fails(talentdata_contact_first_name(record, fixture_slot(0)), schema,
                "record 0 of the page (offset 0, id \"1\"): the field firstName is missing",
                "a documented field that is missing");
  talentdata_record_free(record);
  talentdata_scan_free(scan);
}

static void check_receipt(talentdata_scan *scan, int64_t records, const char *completeness) {
  talentdata_record *receipt;
  OK(talentdata_scan_receipt(scan, &receipt));
  CHECK(integer_at(receipt, "records") == records && text_at(receipt, "completeness", completeness));
  talentdata_record_free(receipt);
}

static void streams(talentdata_client *client) {
  talentdata_scan *scan;
  talentdata_record *record, *schema;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  /* The schema of one run keeps the columns of another. */
  OK(talentdata_client_schema(client, TALENTDATA_LIST_VACANCIES, NULL, &schema));
  char *json = strndup(talentdata_record_json(schema).data, talentdata_record_json(schema).length);
  talentdata_record_free(schema);
  talentdata_options *options = options_with("schema", json, "on_new_field", "fail", "limit", "300", NULL);
  free(json);
  OK(talentdata_client_list(client, TALENTDATA_LIST_VACANCIES, options, &scan));
  OK(talentdata_scan_arrow_stream(scan, &stream));
  fixture_poison();
  fixture_fails(talentdata_scan_next(scan, fixture_slot(0)), INVALID, "Arrow stream", "a record of a scan that is a stream");
  fixture_fails(talentdata_scan_arrow_stream(scan, fixture_slot(0)), INVALID, "Arrow stream", "a second stream");
  talentdata_scan_free(scan);
  CHECK(rows(&stream) == 300);
  OK(talentdata_client_list(client, TALENTDATA_LIST_POOLS, options, &scan));
  fixture_fails(talentdata_scan_arrow_stream(scan, fixture_slot(0)), INVALID, "made for vacancies", "a schema of another list");
  talentdata_scan_free(scan);
  /* One call returns a stream as well. */
  OK(talentdata_client_arrow_stream(client, TALENTDATA_LIST_VACANCIES, options, &stream));
  CHECK(rows(&stream) == 300);
  fixture_fails(talentdata_client_arrow_stream(client, TALENTDATA_LIST_POOLS, options, fixture_slot(0)), INVALID,
                "made for vacancies", "one call for a stream with a schema of another list");
  talentdata_options_free(options);

  /* Batches have the requested size. */
  options = options_with("batch_rows", "70", "limit", "150", NULL);
  OK(talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, options, &scan));
  OK(talentdata_scan_arrow_stream(scan, &stream));
  for (int64_t left = 150; left > 0; left -= 70, batch.release(&batch)) {
    CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == (left < 70 ? left : 70));
  }
  CHECK(rows(&stream) == 0);
  talentdata_scan_free(scan);
  talentdata_options_free(options);

  OK(talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan));
  OK(talentdata_scan_next(scan, &record));
  talentdata_record_free(record);
  fixture_fails(talentdata_scan_arrow_stream(scan, fixture_slot(0)), INVALID, "another reader takes the records",
                "a stream of a scan begun");
  talentdata_scan_free(scan);

  /* Records that were received before an error come first. After that, every batch is an error, and the scan has its
     kind. The pages overlap by a record. */
  OK(talentdata_client_list(client, TALENTDATA_LIST_TAXONOMY_ROLES, NULL, &scan));
  OK(talentdata_scan_arrow_stream(scan, &stream));
  check_receipt(scan, 0, "unfinished");
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == 2 && talentdata_scan_error(scan) == NULL);
  batch.release(&batch);
  for (int i = 0; i < 3; i++) {
    CHECK(stream.get_next(&stream, &batch) == EIO && strstr(stream.get_last_error(&stream), "404"));
    CHECK(strstr(stream.get_last_error(&stream), "error: ") == NULL);
  }
  talentdata_error *error = talentdata_scan_error(scan);
  CHECK(error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_NOT_FOUND && talentdata_error_status(error) == 404);
  CHECK(talentdata_error_offset(error) == 1);
  talentdata_error_free(error);
  check_receipt(scan, 2, "unfinished");
  stream.release(&stream);
  talentdata_scan_free(scan);
}

static void hear(talentdata_log_level level, talentdata_text message, talentdata_text fields, void *heard) {
  char text[512];
  CHECK(fields.length >= 2 && fields.data[0] == '{');
  snprintf(text, sizeof text, "%.*s", (int)message.length, message.data);
  if (level == TALENTDATA_LOG_LEVEL_WARN && strstr(text, "a total that is less")) ++*(int *)heard;
}

/* The service sends two records and a total of one. */
static void unproven_lists(void) {
  static const struct {
    const char *unproven;
    int fails, warns;
  } ends[] = {{NULL, 1, 0}, {"fail", 1, 0}, {"warn", 0, 1}, {"accept", 0, 0}};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    int heard = 0;
    talentdata_scan *scan;
    talentdata_client *client;
    talentdata_record *record = NULL;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    talentdata_config *config = talentdata_config_new();
    talentdata_options *options = options_with("unproven", ends[i].unproven ? ends[i].unproven : "fail", NULL);
    OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_WARN, hear, &heard, NULL));
    OK(talentdata_client_new(config, &client));
    talentdata_config_free(config);
    OK(talentdata_client_list(client, TALENTDATA_LIST_TAXONOMY_SKILLS, ends[i].unproven ? options : NULL, &scan));
    OK(talentdata_scan_arrow_stream(scan, &stream));
    CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == 2);
    batch.release(&batch);
    for (int again = 0; again < 3; again++) {
      batch.release = NULL;
      const int failed = stream.get_next(&stream, &batch) != 0;
      CHECK(failed == ends[i].fails && (failed || batch.release == NULL));
      if (failed) {
        const char *message = stream.get_last_error(&stream);
        CHECK(strstr(message, "taxonomy_skills: 2 records were received, and it is not proven that they are all") != NULL);
        CHECK(strstr(message, "the service reports a total that is less") &&
              strstr(message, "set the option unproven to accept"));
        CHECK(!strstr(message, "to_"));
      }
    }
    talentdata_error *error = talentdata_scan_error(scan);
    CHECK(ends[i].fails ? error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_INCOMPLETE : !error);
    talentdata_error_free(error);
    check_receipt(scan, 2, "not_proven");
    stream.release(&stream);
    talentdata_scan_free(scan);
    CHECK(heard == ends[i].warns);

    /* The records of an unproven list are accepted unless the option is fail. With warn, a warning is logged. */
    heard = 0;
    OK(talentdata_client_list(client, TALENTDATA_LIST_TAXONOMY_SKILLS, ends[i].unproven ? options : NULL, &scan));
    for (int taken = 0; taken < 2; taken++) {
      OK(talentdata_scan_next(scan, &record));
      talentdata_record_free(record);
    }
    error = talentdata_scan_next(scan, &record);
    CHECK((error != NULL) == (ends[i].unproven && ends[i].fails) && (error || record == NULL));
    CHECK(!error || talentdata_error_code(error) == TALENTDATA_ERROR_KIND_INCOMPLETE);
    talentdata_error_free(error);
    talentdata_scan_free(scan);
    CHECK(heard == ends[i].warns);
    talentdata_options_free(options);
    talentdata_client_free(client);
  }
}

static void errors(void) {
  talentdata_client *client;
  talentdata_error *error;
  /* No service listens on port 1. With the budget of the process, the client does not learn of an outage that other
     programs found there. */
  talentdata_config *config = talentdata_config_new();
  OK(talentdata_config_set(config, T("budget"), T("process")));
  OK(talentdata_config_set(config, T("base_url"), T("http://127.0.0.1:1")));
  OK(talentdata_config_set(config, T("max_attempts"), T("2")));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  fixture_poison();
  error = talentdata_client_page(client, TALENTDATA_LIST_CONTACTS, 1, 40, NULL, fixture_slot(0));
  CHECK(talentdata_error_offset(error) == 40);
  CHECK(talentdata_error_is_retryable(error) && talentdata_error_status(error) == 0 && talentdata_error_attempts(error) == 2);
  fixture_fails(error, TALENTDATA_ERROR_KIND_CONNECT, "cannot connect", "nobody listens");
  talentdata_client_free(client);
  fixture_poison();
  fixture_fails(talentdata_error_new(TALENTDATA_ERROR_KIND_BUSY, T("made up")), TALENTDATA_ERROR_KIND_BUSY, "made up",
                "an error of a test");
  fixture_fails(talentdata_error_new(99, T("made up")), INVALID, "kind: 99 is not a kind of error", "an error of no kind");
  CHECK(talentdata_error_code(NULL) == INVALID && talentdata_error_status(NULL) == 0);
  CHECK(talentdata_text_is(talentdata_error_message(NULL), "error: must not be NULL"));
}

/* The library changes neither errno, the signal mask, the handler of SIGPIPE nor the locale of the calling program. */
static void the_host_is_left_alone(talentdata_client *client) {
  sigset_t before, after;
  struct sigaction pipe_before, pipe_after;
  char place[64];
  snprintf(place, sizeof place, "%s", setlocale(LC_ALL, NULL));
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  sigaction(SIGPIPE, NULL, &pipe_before);
  errno = 4711;
  ask_version(client);
  CHECK(errno == 4711);
  talentdata_error *error = talentdata_client_list(client, T("none"), NULL, fixture_slot(0));
  CHECK(errno == 4711);
  talentdata_error_free(error);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  sigaction(SIGPIPE, NULL, &pipe_after);
  for (int number = 1; number < 32; number++) CHECK(sigismember(&before, number) == sigismember(&after, number));
  CHECK(pipe_before.sa_handler == pipe_after.sa_handler && pipe_after.sa_handler == SIG_DFL);
  CHECK(strcmp(place, setlocale(LC_ALL, NULL)) == 0);
}

/* The preprocessor can compare the version numbers. */
#if TALENTDATA_VERSION_NUMBER < 1000 || TALENTDATA_VERSION_MAJOR > 100
#error the version is not a number
#endif

struct asked {
  int times, released;
};

static int64_t secret_of(char *secret_out, size_t capacity, void *user_data) {
  const char *secret = getenv("TALENTDATA_CLIENT_SECRET");
  const size_t length = secret ? strlen(secret) : 0;
  ++((struct asked *)user_data)->times;
  if (!length || length > capacity) return -1;
  memcpy(secret_out, secret, length);
  return (int64_t)length;
}

static void release_secret(void *user_data) { ++((struct asked *)user_data)->released; }

/* The callback is called when the client is created, and released with the last client. */
static void a_secret_from_a_callback(void) {
  struct asked asked = {0, 0};
  talentdata_client *client;
  talentdata_record *answer;
  talentdata_config *config = talentdata_config_new();
  OK(talentdata_config_set_secret_callback(config, secret_of, &asked, release_secret));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  CHECK(asked.times == 1 && asked.released == 0);
  OK(talentdata_client_call(client, T("getTokenPermissions"), NULL, (talentdata_text){NULL, 0}, &answer));
  talentdata_record_free(answer);
  talentdata_client_free(client);
  CHECK(asked.times == 1 && asked.released == 1);
  config = talentdata_config_new();
  OK(talentdata_config_set_secret_callback(config, fixture_secret, NULL, NULL));
  fixture_fails(talentdata_client_new(config, fixture_slot(0)), TALENTDATA_ERROR_KIND_CONFIG,
                "client_secret: its function failed: it returned -1", "a callback without a secret");
  talentdata_config_free(config);
}

int main(void) {
  talentdata_client *client;
  talentdata_record *state;
  CHECK(talentdata_text_is(talentdata_library_version(), TALENTDATA_VERSION));
  struct fixture *all = fixture_make();
  null_arguments(all);
  fixture_free(all);
  OK(talentdata_client_from_environment(&client));
  wrong_arguments(client);
  no_credentials();
  lists(client);
  models(client);
  values(client);
  streams(client);
  unproven_lists();
  errors();
  a_secret_from_a_callback();
  the_host_is_left_alone(client);
  talentdata_config *config = talentdata_config_new();
  OK(talentdata_config_set(config, T("paced"), T("true")));
  OK(talentdata_config_budget(config, &state));
  CHECK(says(state, "\"members\""));
  OK(talentdata_config_doctor(config, &state));
  talentdata_config_free(config);
  CHECK(says(state, "\"healthy\""));
  talentdata_client_free(client);
  return fixture_verdict();
}
