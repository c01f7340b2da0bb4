/* Plans and exports: every format, cancelled and resumed, verified, refused, and ended by other threads. */
#include "fixture.h"
#include "service.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static char directory[] = "exporter-XXXXXX";

static const char *in_directory(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

/* The content of a file, which the caller frees; NULL where there is none. */
static char *content(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  char *bytes = malloc(*size + 1);
  rewind(file);
  *size = fread(bytes, 1, *size, file);
  bytes[*size] = 0;
  fclose(file);
  return bytes;
}

static size_t lines(const char *bytes, size_t size) {
  size_t count = 0;
  for (size_t i = 0; i < size; i++) count += bytes[i] == '\n';
  return count;
}

/* A new exporter of contacts; `format` 0 leaves it to the name. */
static talentdata_exporter *exporter_new(talentdata_client *client, const char *path, uint32_t format, bool resume,
                                         const talentdata_scan_options *scan_options) {
  talentdata_export_options *options;
  talentdata_exporter *exporter;
  OK(talentdata_export_options_new(&options));
  if (format) OK(talentdata_export_options_set_format(options, format));
  OK(talentdata_export_options_set_resume(options, resume));
  if (scan_options) OK(talentdata_export_options_set_scan(options, scan_options));
  OK(talentdata_client_exporter(client, TALENTDATA_RESOURCE_CONTACTS, path, options, &exporter));
  talentdata_export_options_free(options);
  return exporter;
}

/* Runs an export to its end; how many records the receipt counts. */
static uint64_t run(talentdata_exporter *exporter, talentdata_completeness completeness) {
  talentdata_receipt *receipt;
  talentdata_completeness found;
  uint64_t records;
  OK(talentdata_exporter_run(exporter, &receipt));
  OK(talentdata_receipt_completeness(receipt, &found));
  OK(talentdata_receipt_records(receipt, &records));
  CHECK(found == completeness);
  talentdata_receipt_free(receipt);
  talentdata_exporter_free(exporter);
  return records;
}

static uint64_t contacts(void) { return strtoul(getenv("CONTACTS"), NULL, 10); }

static void a_plan(talentdata_client *client) {
  talentdata_plan *plan;
  uint64_t records, pages;
  double seconds;
  OK(talentdata_client_plan(client, TALENTDATA_RESOURCE_CONTACTS, &plan));
  OK(talentdata_plan_records(plan, &records));
  OK(talentdata_plan_pages(plan, &pages));
  OK(talentdata_plan_seconds(plan, &seconds));
  CHECK(records == contacts() && pages > contacts() / 100 && pages < contacts() / 50 && seconds > 0);
  talentdata_plan_free(plan);
  fixture_poison();
  fixture_fails(talentdata_client_plan(client, 77, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "77 is not a known list", "a plan of no list");
}

static void every_format(talentdata_client *client) {
  enum { some = 150 };
  static const struct {
    uint32_t format;
    const char *name, *begin;
    int by_lines;
  } formats[] = {
      {0, "contacts.jsonl", "{\"id\":", 1},
      {0, "contacts.CSV", "id,firstName,lastName,email", 1},
      {0, "contacts.parquet", "PAR1", 0},
      {0, "contacts.arrow", "ARROW1", 0},
      {0, "contacts.data", "{\"id\":", 1},
      {TALENTDATA_FORMAT_CSV, "csv.jsonl", "id,", 1},
      {TALENTDATA_FORMAT_PARQUET, "parquet.csv", "PAR1", 0},
      {TALENTDATA_FORMAT_ARROW, "arrow.csv", "ARROW1", 0},
      {TALENTDATA_FORMAT_JSONL, "jsonl.csv", "{\"id\":", 1},
  };
  /* The whole list once, since memory checkers are slow. */
  CHECK(run(exporter_new(client, in_directory("all.jsonl"), 0, false, NULL), TALENTDATA_COMPLETENESS_PROVEN) == contacts());
  talentdata_scan_options *options;
  OK(talentdata_scan_options_new(&options));
  OK(talentdata_scan_options_set_limit(options, some));
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    const char *path = in_directory(formats[i].name);
    size_t size = 0;
    talentdata_exporter *exporter = exporter_new(client, path, formats[i].format, false, options);
    CHECK(run(exporter, TALENTDATA_COMPLETENESS_UNFINISHED) == some);
    char *bytes = content(path, &size);
    CHECK(bytes && size > strlen(formats[i].begin) && memcmp(bytes, formats[i].begin, strlen(formats[i].begin)) == 0);
    if (formats[i].by_lines) CHECK(lines(bytes, size) >= some);
    free(bytes);
  }
  talentdata_scan_options_free(options);
}

/* The file is what its receipt says, until a byte of it changes. */
static void verified(talentdata_client *client) {
  char path[256], receipt_path[256];
  snprintf(path, sizeof path, "%s", in_directory("verified.jsonl"));
  snprintf(receipt_path, sizeof receipt_path, "%s", in_directory("receipt.json"));
  talentdata_exporter *exporter = exporter_new(client, path, 0, false, NULL);
  talentdata_receipt *receipt;
  talentdata_json_text *report;
  talentdata_text json;
  bool holds = false;
  OK(talentdata_exporter_run(exporter, &receipt));
  OK(talentdata_receipt_json(receipt, &json));
  FILE *file = fopen(receipt_path, "wb");
  CHECK(file && fwrite(json.data, 1, json.length, file) == json.length && fclose(file) == 0);
  OK(talentdata_verify(path, receipt_path, &holds, &report));
  OK(talentdata_json_text_get(report, &json));
  CHECK(holds && fixture_says(json, "\"differences\":[]"));
  talentdata_json_text_free(report);
  file = fopen(path, "r+b");
  CHECK(file && fputc('[', file) == '[' && fclose(file) == 0);
  OK(talentdata_verify(path, receipt_path, &holds, &report));
  OK(talentdata_json_text_get(report, &json));
  CHECK(!holds && fixture_says(json, "line 1 is not a JSON object"));
  talentdata_json_text_free(report);
  talentdata_receipt_free(receipt);
  talentdata_exporter_free(exporter);
  fixture_poison();
  fixture_fails(talentdata_verify(path, path, fixture_slot(0), fixture_slot(1)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "not a receipt", "a list as a receipt");
  fixture_fails(talentdata_verify(path, "nowhere", fixture_slot(0), fixture_slot(1)), TALENTDATA_ERROR_KIND_IO, "nowhere",
                "a receipt that is not there");
}

static void as_the_scan_options_say(talentdata_client *client) {
  talentdata_scan_options *options;
  size_t size = 0;
  OK(talentdata_scan_options_new(&options));
  OK(talentdata_scan_options_set_limit(options, 5));
  OK(talentdata_scan_options_set_schema(options,
                                        "{\"talentdata_schema\":1,\"resource\":\"contacts\",\"columns\":\"typed\","
                                        "\"sampled_records\":0,\"fields\":["
                                        "{\"name\":\"email\",\"type\":\"string\",\"nullable\":false},"
                                        "{\"name\":\"id\",\"type\":\"string\",\"nullable\":false}]}",
                                        TALENTDATA_ON_NEW_FREEZE));
  talentdata_exporter *exporter = exporter_new(client, in_directory("five.csv"), 0, false, options);
  /* They were copied. */
  talentdata_scan_options_free(options);
  CHECK(run(exporter, TALENTDATA_COMPLETENESS_UNFINISHED) == 5);
  char *bytes = content(in_directory("five.csv"), &size);
  CHECK(bytes && strncmp(bytes, "email,id,_extra", 15) == 0 && lines(bytes, size) == 6);
  free(bytes);
}

static void refused(talentdata_client *client) {
  talentdata_export_options *options;
  const char *part = in_directory("taken.jsonl.part");
  const uint32_t invalid = TALENTDATA_ERROR_KIND_INVALID_ARGUMENT;
  size_t size = 0;
  OK(talentdata_export_options_new(&options));
  fixture_poison();
  fixture_fails(talentdata_export_options_set_format(options, 5), invalid, "format: 5", "a format that there is not");
  OK(talentdata_export_options_set_resume(options, true));
  fixture_fails(talentdata_client_exporter(client, 1, "a.arrow", options, fixture_slot(0)), invalid, "resume:",
                "an Arrow file that is to be resumed");
  fixture_fails(talentdata_client_exporter(client, 77, "a.csv", options, fixture_slot(0)), invalid, "resource: 77",
                "an export of no list");
  fixture_fails(talentdata_client_exporter(client, 1, "\xff", options, fixture_slot(0)), invalid, "path: ",
                "a path that is not UTF-8");
  talentdata_export_options_free(options);

  FILE *file = fopen(part, "wb");
  CHECK(file && fputs("mine", file) >= 0 && fclose(file) == 0);
  talentdata_exporter *exporter = exporter_new(client, in_directory("taken.jsonl"), 0, false, NULL);
  fixture_poison();
  fixture_fails(talentdata_exporter_run(exporter, fixture_slot(0)), TALENTDATA_ERROR_KIND_IO, "taken.jsonl.part",
                "a foreign file at the name of a work file");
  char *bytes = content(in_directory("taken.jsonl.part"), &size);
  CHECK(bytes && strcmp(bytes, "mine") == 0);
  free(bytes);
  /* Once it is out of the way, the same exporter runs. */
  CHECK(remove(in_directory("taken.jsonl.part")) == 0);
  CHECK(run(exporter, TALENTDATA_COMPLETENESS_PROVEN) == contacts());
}

/* Thirty contacts in pages of ten; all but the first page wait until the test goes on. */
enum { total = 30, page_size = 10 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int open_pages;

static const char *ten_at_a_time(unsigned long offset, void *context) {
  static char page[4096];
  (void)context;
  if (offset > 0) {
    pthread_mutex_lock(&lock);
    while (!open_pages) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
  }
  unsigned long end = offset + page_size < total ? offset + page_size : total;
  size_t length = (size_t)snprintf(page, sizeof page, "{\"contacts\":[");
  for (unsigned long i = offset; i < end; i++) {
    length += (size_t)snprintf(page + length, sizeof page - length, "%s{\"id\":\"%lu\"}", i > offset ? "," : "", i);
  }
  snprintf(page + length, sizeof page - length,
           "],\"pagination\":{\"total\":%d,\"limit\":%d,\"offset\":%lu,\"hasMore\":%s}}", total, page_size, offset,
           end < total ? "true" : "false");
  return page;
}

static void *run_until_cancelled(void *exporter) {
  talentdata_receipt *receipt;
  talentdata_error *error = talentdata_exporter_run(exporter, &receipt);
  if (!error) talentdata_receipt_free(receipt);
  return error;
}

/* How many records it has written; the list has thirty as soon as that is known. */
static uint64_t progress(talentdata_exporter *exporter) {
  talentdata_receipt *receipt;
  uint64_t records;
  int64_t of;
  OK(talentdata_exporter_receipt(exporter, &receipt));
  OK(talentdata_receipt_records(receipt, &records));
  OK(talentdata_receipt_total(receipt, &of));
  if (of != (records ? total : -1)) CHECK(of == (records ? total : -1));
  talentdata_receipt_free(receipt);
  return records;
}

static void cancelled_and_resumed(void) {
  struct service *service = service_start(ten_at_a_time, NULL);
  talentdata_client *client = service_client(service);
  talentdata_scan_options *options;
  pthread_t thread;
  void *error;
  size_t size = 0;
  OK(talentdata_scan_options_new(&options));
  OK(talentdata_scan_options_set_page_size(options, page_size));
  talentdata_exporter *exporter = exporter_new(client, in_directory("slow.jsonl"), 0, true, options);
  CHECK(progress(exporter) == 0);
  pthread_create(&thread, NULL, run_until_cancelled, exporter);
  while (progress(exporter) == 0) sched_yield();
  fixture_poison();
  fixture_fails(talentdata_exporter_run(exporter, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "another thread", "an exporter that runs");
  /* The client does not end it. */
  OK(talentdata_client_close(client));
  OK(talentdata_exporter_cancel(exporter));
  pthread_join(thread, &error);
  fixture_fails(error, TALENTDATA_ERROR_KIND_CANCELLED, "10 records are kept", "a cancelled export");
  fixture_fails(talentdata_exporter_run(exporter, fixture_slot(0)), TALENTDATA_ERROR_KIND_CANCELLED, "stopped",
                "an exporter that was cancelled");
  CHECK(content(in_directory("slow.jsonl"), &size) == NULL);
  talentdata_exporter_free(exporter);
  fixture_fails(talentdata_client_exporter(client, 1, "a.csv", NULL, fixture_slot(0)), TALENTDATA_ERROR_KIND_CLOSED,
                "closed", "an exporter of a closed client");
  talentdata_client_free(client);

  pthread_mutex_lock(&lock);
  open_pages = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  client = service_client(service);
  exporter = exporter_new(client, in_directory("slow.jsonl"), 0, true, options);
  /* It outlives the client. */
  talentdata_client_free(client);
  CHECK(run(exporter, TALENTDATA_COMPLETENESS_PROVEN) == total);
  char *bytes = content(in_directory("slow.jsonl"), &size);
  CHECK(bytes && lines(bytes, size) == total);
  free(bytes);
  talentdata_scan_options_free(options);
  service_stop(service);
}

int main(void) {
  talentdata_client *client;
  CHECK(mkdtemp(directory) != NULL);
  OK(talentdata_client_from_environment(&client));
  a_plan(client);
  every_format(client);
  as_the_scan_options_say(client);
  verified(client);
  refused(client);
  cancelled_and_resumed();
  talentdata_client_free(client);
  return fixture_verdict();
}
