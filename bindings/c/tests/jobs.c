/* Exports, syncs and mirrors: formats, cancellation, resumption, verification and errors. The program defines names
   that the library uses internally. The two must not conflict. */
#define _XOPEN_SOURCE 700
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

int sqlite3_open(const char *name, void **database);
int sqlite3_open(const char *name, void **database) { return (void)name, (void)database, 77; }
void blake3_hasher_init(void *hasher);
void blake3_hasher_init(void *hasher) { (void)hasher; }
void blake3_hash_many(void);
void blake3_hash_many(void) { abort(); }

/* Returns whether a file begins with these bytes. */
static int begins(const char *path, const char *wanted) {
  char bytes[64] = "";
  FILE *file = fopen(path, "rb");
  CHECK(file && fread(bytes, 1, sizeof bytes, file) > 0 && fclose(file) == 0);
  return strncmp(bytes, wanted, strlen(wanted)) == 0;
}

static talentdata_job *export(talentdata_client *client, const char *list, const char *path, talentdata_format format,
                              const talentdata_options *options) {
  talentdata_job *job;
  OK(talentdata_client_export(client, T(list), T(path), format, options, &job));
  return job;
}

/* Runs an export to its end, frees it, and returns the number of records in the receipt. */
static int64_t run(talentdata_job *job) {
  talentdata_record *receipt;
  OK(talentdata_job_run(job, &receipt));
  const int64_t records = integer_at(receipt, "records");
  talentdata_record_free(receipt);
  talentdata_job_free(job);
  return records;
}

/* The format is given, or follows from the path. */
static void formats(talentdata_client *client) {
  talentdata_options *options = options_with("limit", "150", "page_size", "50", NULL);
  CHECK(run(export(client, "contacts", "contacts.PARQUET", TALENTDATA_FORMAT_OF_PATH, options)) == 150 &&
        begins("contacts.PARQUET", "PAR1"));
  CHECK(run(export(client, "contacts", "csv.jsonl", TALENTDATA_FORMAT_CSV, options)) == 150 &&
        begins("csv.jsonl", "id,firstName"));
  talentdata_options_free(options);
}

/* A file matches its receipt, given as text or as a file, until a byte of it changes. */
static void verified(talentdata_client *client) {
  const char *path = "verified.jsonl", *kept = "receipt.json";
  talentdata_job *job = export(client, "contacts", path, TALENTDATA_FORMAT_OF_PATH, NULL);
  talentdata_record *receipt, *report;
  OK(talentdata_job_run(job, &receipt));
  talentdata_job_free(job);
  CHECK(integer_at(receipt, "records") == (int64_t)contacts() && text_at(receipt, "completeness", "proven"));
  const talentdata_text json = talentdata_record_json(receipt);
  FILE *file = fopen(kept, "wb");
  CHECK(file && fwrite(json.data, 1, json.length, file) == json.length && fclose(file) == 0);
  OK(talentdata_verify(T(path), T(kept), &report));
  CHECK(says(report, "\"matches\":true"));
  file = fopen(path, "r+b");
  CHECK(file && fputc('x', file) == 'x' && fclose(file) == 0);
  OK(talentdata_verify(T(path), json, &report));
  CHECK(says(report, "\"matches\":false"));
  fixture_poison();
  fixture_fails(talentdata_verify(T(path), T("{\"a\":1}"), fixture_slot(0)), INVALID, "not a receipt", "no receipt");
  fixture_fails(talentdata_verify(T(path), T("nowhere"), fixture_slot(0)), TALENTDATA_ERROR_KIND_PATH, "nowhere", "no file");
  talentdata_record_free(receipt);
}

/* The number of departments: two pages of ten, which overlap by one. The service does not respond to the first request
   for the second page. */
enum { total = 19 };

static void *run_until_cancelled(void *job) {
  talentdata_record *receipt;
  talentdata_error *error = talentdata_job_run(job, &receipt);
  if (!error) talentdata_record_free(receipt);
  return error;
}

static int64_t progress(const talentdata_job *job) {
  talentdata_record *receipt = talentdata_job_progress(job);
  const int64_t records = integer_at(receipt, "records");
  CHECK(integer_at(receipt, "total_last") == (records ? total : 0));
  talentdata_record_free(receipt);
  return records;
}

static void cancelled_and_resumed(void) {
  talentdata_client *client;
  talentdata_options *options = options_with("resume", "true", "page_size", "10", NULL);
  pthread_t thread;
  void *error;
  OK(talentdata_client_from_environment(&client));
  talentdata_job *job = export(client, "ja_departments", "slow.jsonl", TALENTDATA_FORMAT_OF_PATH, options);
  CHECK(progress(job) == 0);
  pthread_create(&thread, NULL, run_until_cancelled, job);
  while (progress(job) == 0) sched_yield();
  fixture_poison();
  fixture_fails(talentdata_job_run(job, fixture_slot(0)), INVALID, "another thread", "a job that runs");
  /* Closing the client does not end the job. */
  talentdata_client_close(client);
  talentdata_job_cancel(job);
  pthread_join(thread, &error);
  fixture_fails(error, TALENTDATA_ERROR_KIND_CANCELLED, "10 records are kept", "a cancelled export");
  fixture_fails(talentdata_job_run(job, fixture_slot(0)), TALENTDATA_ERROR_KIND_CANCELLED, "stopped",
                "a job that was cancelled");
  CHECK(access("slow.jsonl", F_OK) != 0);
  talentdata_job_free(job);
  fixture_fails(talentdata_client_export(client, T("pools"), T("a.csv"), TALENTDATA_FORMAT_CSV, NULL, fixture_slot(0)),
                TALENTDATA_ERROR_KIND_CLOSED, "closed", "a job of a closed client");
  talentdata_client_free(client);
  OK(talentdata_client_from_environment(&client));
  /* Kept records are discarded only on request. */
  job = export(client, "ja_departments", "slow.jsonl", TALENTDATA_FORMAT_OF_PATH, NULL);
  fixture_fails(talentdata_job_run(job, fixture_slot(0)), INVALID, "set the option restart", "an export over kept work");
  talentdata_job_free(job);
  talentdata_options *both = options_with("resume", "true", "restart", "true", NULL);
  fixture_fails(talentdata_client_export(client, T("pools"), T("a.csv"), TALENTDATA_FORMAT_CSV, both, fixture_slot(0)), INVALID,
                "resume, restart", "an export with both options");
  talentdata_options_free(both);
  job = export(client, "ja_departments", "slow.jsonl", TALENTDATA_FORMAT_OF_PATH, options);
  /* The job outlives the client. */
  talentdata_client_free(client);
  CHECK(run(job) == total);
  talentdata_options_free(options);
}

static void mirrored(talentdata_client *client) {
  const talentdata_text pools = TALENTDATA_LIST_POOLS, path = T("jobs.db");
  talentdata_record *record;
  talentdata_mirror *mirror;
  talentdata_job *job;
  struct ArrowArrayStream changes, current, earlier;
  talentdata_options *options =
      options_with("confirm", "true", "max_deletes", "25%", "keep", "90d", "on_new_field", "fail", NULL);
  OK(talentdata_client_sync(client, pools, path, options, &job));
  talentdata_options_free(options);
  for (int generation = 1; generation <= 2; generation++) {
    OK(talentdata_job_run(job, &record));
    CHECK(integer_at(record, "generation") == generation && text_at(record, "/scan/completeness", "proven"));
    talentdata_record_free(record);
  }
  record = talentdata_job_progress(job);
  CHECK(integer_at(record, "records") > 0);
  talentdata_record_free(record);
  talentdata_job_cancel(job);
  fixture_poison();
  fixture_fails(talentdata_job_run(job, fixture_slot(0)), TALENTDATA_ERROR_KIND_CANCELLED, "the sync was stopped",
                "a cancelled sync");
  talentdata_job_free(job);
  OK(talentdata_mirror_open(path, &mirror));
  OK(talentdata_mirror_syncs(mirror, pools, &record));
  CHECK(integer_at(record, "/1/generation") == 2);
  talentdata_record_free(record);
  OK(talentdata_mirror_changes(mirror, pools, TALENTDATA_ABSENT, NULL, &changes, &record));
  talentdata_text bookmark;
  OK(talentdata_record_text(record, T("bookmark"), &bookmark));
  CHECK(bookmark.length > 20 && integer_at(record, "generation") == 2);
  struct ArrowArrayStream none;
  OK(talentdata_mirror_changes(mirror, pools, bookmark, NULL, &none, NULL));
  CHECK(rows(&none) == 0);
  talentdata_record_free(record);
  OK(talentdata_mirror_records(mirror, pools, TALENTDATA_ABSENT, NULL, &current, NULL));
  OK(talentdata_mirror_records(mirror, pools, T("1"), NULL, &earlier, &record));
  CHECK(integer_at(record, "generation") == 1);
  talentdata_record_free(record);
  fixture_fails(talentdata_mirror_changes(mirror, TALENTDATA_LIST_CONTACTS, T("0"), NULL, fixture_slot(0), NULL), INVALID,
                "does not have contacts", "a list that was not synced");
  /* A given schema, and a field without a column in it. */
  const char *schema =
      "{\"talentdata_schema\":1,\"resource\":null,\"columns\":\"typed\",\"sampled_records\":0,"
      "\"fields\":[{\"name\":\"id\",\"type\":\"string\"}]}";
  struct ArrowArrayStream few;
  struct ArrowArray batch;
  options = options_with("schema", schema, "on_new_field", "fail", NULL);
  OK(talentdata_mirror_records(mirror, pools, TALENTDATA_ABSENT, options, &few, NULL));
  CHECK(few.get_next(&few, &batch) != 0 && strstr(few.get_last_error(&few), "the schema has no such field"));
  few.release(&few);
  talentdata_options_free(options);
  options = options_with("schema", schema, "on_new_field", "freeze", NULL);
  OK(talentdata_mirror_changes(mirror, pools, TALENTDATA_ABSENT, options, &few, NULL));
  CHECK(rows(&few) > 0);
  talentdata_options_free(options);
  options = options_with("resume", "true", NULL);
  fixture_fails(talentdata_mirror_records(mirror, pools, TALENTDATA_ABSENT, options, fixture_slot(0), NULL), INVALID,
                "a mirror has no option resume", "an option of exports");
  talentdata_options_free(options);
  fixture_fails(talentdata_mirror_open(T("nowhere"), fixture_slot(0)), TALENTDATA_ERROR_KIND_PATH, "not a mirror", "no mirror");
  OK(talentdata_mirror_verify(mirror, &record));
  CHECK(says(record, "\"differences\":[]"));
  /* The streams outlive the mirror. */
  talentdata_mirror_free(mirror);
  const int64_t count = rows(&current);
  CHECK(count > 0 && rows(&changes) == count && rows(&earlier) == count);
  OK(talentdata_mirror_open(path, &mirror));
  fixture_fails(talentdata_mirror_forget(mirror, TALENTDATA_LIST_CONTACTS), INVALID, "does not have contacts", "no such list");
  fixture_fails(talentdata_mirror_erase(mirror, pools, T("[\"nobody\"]"), 0, 0, NULL, fixture_slot(0)), INVALID, "nobody",
                "an id that no record has");
  fixture_fails(talentdata_mirror_erase(mirror, pools, T("nobody"), 0, 0, NULL, fixture_slot(0)), INVALID, "JSON array",
                "no array");
  talentdata_record *page;
  talentdata_text id;
  char ids[200];
  OK(talentdata_client_page(client, pools, 1, 0, NULL, &page));
  OK(talentdata_record_text(page, T("/records/0/id"), &id));
  snprintf(ids, sizeof ids, "[\"%.*s\"]", (int)id.length, id.data);
  talentdata_record_free(page);
  OK(talentdata_mirror_erase(mirror, pools, T(ids), 0, 0, NULL, &record));
  CHECK(integer_at(record, "records") == 1 && integer_at(record, "versions") == 1);
  OK(talentdata_record_text(record, T("bookmark"), &bookmark));
  OK(talentdata_mirror_changes(mirror, pools, T("2"), NULL, &changes, NULL));
  CHECK(rows(&changes) == 1);
  OK(talentdata_mirror_acknowledge(mirror, pools, bookmark));
  OK(talentdata_mirror_changes(mirror, pools, T("2"), NULL, &changes, NULL));
  CHECK(rows(&changes) == 0);
  talentdata_record_free(record);
  OK(talentdata_mirror_forget(mirror, pools));
  talentdata_mirror_free(mirror);
}

/* A stream of a mirror fails if the file is lost during the read, and stays failed. */
static void lost(talentdata_client *client) {
  talentdata_record *record;
  talentdata_mirror *mirror;
  talentdata_job *job;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  OK(talentdata_client_sync(client, TALENTDATA_LIST_CONTACTS, T("lost.db"), NULL, &job));
  OK(talentdata_job_run(job, &record));
  talentdata_record_free(record);
  talentdata_job_free(job);
  OK(talentdata_mirror_open(T("lost.db"), &mirror));
  OK(talentdata_mirror_records(mirror, TALENTDATA_LIST_CONTACTS, TALENTDATA_ABSENT, NULL, &stream, NULL));
  CHECK(truncate("lost.db", 4096) == 0);
  for (int i = 0; i < 3; i++) {
    CHECK(stream.get_next(&stream, &batch) != 0 && strstr(stream.get_last_error(&stream), "lost.db"));
  }
  stream.release(&stream);
  talentdata_mirror_free(mirror);
}

int main(void) {
  talentdata_client *client;
  CHECK(sqlite3_open(NULL, NULL) == 77);
  OK(talentdata_client_from_environment(&client));
  formats(client);
  verified(client);
  cancelled_and_resumed();
  mirrored(client);
  lost(client);
  talentdata_client_free(client);
  return fixture_verdict();
}
