/* Mirrors: synced, read as Arrow streams that outlive them, refused; and the statements that apply their changes. */
#include "fixture.h"

static void statements(void) {
  static const char *const columns[] = {"_op", "id", "a\"b"};
  talentdata_statement *statement;
  talentdata_text text;
  OK(talentdata_merge_sql(TALENTDATA_DIALECT_POSTGRESQL, "warehouse.contacts", columns, 3, &statement));
  OK(talentdata_statement_text(statement, &text));
  CHECK(strncmp(text.data, "MERGE INTO \"warehouse\".\"contacts\"", 33) == 0);
  CHECK(text.length > 100 && text.data[text.length - 1] == ')');
  talentdata_statement_free(statement);
  fixture_poison();
  fixture_fails(talentdata_merge_sql(7, "t", columns, 3, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "7 is not a known dialect", "an unknown dialect");
}

/* How many columns a stream has. */
static int64_t columns(struct ArrowArrayStream *stream) {
  struct ArrowSchema schema;
  CHECK(stream->get_schema(stream, &schema) == 0);
  const int64_t count = schema.n_children;
  schema.release(&schema);
  return count;
}

/* The rows of a stream, which is released. */
static int64_t rows(struct ArrowArrayStream *stream) {
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

static void mirrored(talentdata_client *client) {
  char path[256];
  char directory[] = "mirror-XXXXXX";
  const uint32_t pools = TALENTDATA_RESOURCE_POOLS;
  talentdata_json_text *json;
  talentdata_text text;
  talentdata_mirror *mirror;
  struct ArrowArrayStream changes, current, earlier;
  CHECK(mkdtemp(directory) != NULL);
  snprintf(path, sizeof path, "%s/mirror", directory);
  for (int generation = 1; generation <= 2; generation++) {
    OK(talentdata_client_sync(client, pools, path, NULL, 0, &json));
    OK(talentdata_json_text_get(json, &text));
    CHECK(fixture_says(text, generation == 1 ? "\"generation\":1" : "\"generation\":2") && fixture_says(text, "\"proven\""));
    talentdata_json_text_free(json);
  }
  OK(talentdata_mirror_open(path, &mirror));
  OK(talentdata_mirror_syncs(mirror, pools, &json));
  OK(talentdata_json_text_get(json, &text));
  CHECK(text.data[0] == '[' && fixture_says(text, "\"generation\":2"));
  talentdata_json_text_free(json);
  OK(talentdata_mirror_changes(mirror, pools, 0, &changes));
  OK(talentdata_mirror_current(mirror, pools, &current));
  OK(talentdata_mirror_as_of(mirror, pools, "1", &earlier));
  fixture_poison();
  fixture_fails(talentdata_mirror_changes(mirror, TALENTDATA_RESOURCE_CONTACTS, 0, fixture_slot(0)),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "does not have contacts", "a list that was not synced");
  fixture_fails(talentdata_mirror_as_of(mirror, pools, "3", fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "no generation 3", "a generation that is not there yet");
  fixture_fails(talentdata_mirror_open("nowhere", fixture_slot(0)), TALENTDATA_ERROR_KIND_IO, "not a mirror", "no mirror");
  fixture_fails(talentdata_client_sync(client, pools, path, NULL, -1, fixture_slot(0)),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "keep_seconds: must", "a negative age");
  /* The streams outlive it. */
  talentdata_mirror_free(mirror);
  /* Of a change, and of its record. */
  CHECK(columns(&changes) == 5 + columns(&current));
  const int64_t count = rows(&current);
  CHECK(count > 0 && rows(&changes) == count && rows(&earlier) == count);
}

/* A sync with progress, and one that is cancelled; each run is a sync of its own. */
static void run_twice_and_cancelled(talentdata_client *client) {
  char path[256];
  char directory[] = "syncer-XXXXXX";
  talentdata_syncer *syncer;
  talentdata_receipt *receipt;
  talentdata_json_text *json;
  talentdata_text text;
  uint64_t records;
  CHECK(mkdtemp(directory) != NULL);
  snprintf(path, sizeof path, "%s/mirror", directory);
  OK(talentdata_client_syncer(client, TALENTDATA_RESOURCE_POOLS, path, NULL, 0, &syncer));
  OK(talentdata_syncer_receipt(syncer, &receipt));
  OK(talentdata_receipt_records(receipt, &records));
  CHECK(records == 0);
  talentdata_receipt_free(receipt);
  for (int generation = 1; generation <= 2; generation++) {
    OK(talentdata_syncer_run(syncer, &json));
    OK(talentdata_json_text_get(json, &text));
    CHECK(fixture_says(text, generation == 1 ? "\"generation\":1" : "\"generation\":2"));
    talentdata_json_text_free(json);
  }
  OK(talentdata_syncer_receipt(syncer, &receipt));
  OK(talentdata_receipt_records(receipt, &records));
  CHECK(records > 0);
  talentdata_receipt_free(receipt);
  OK(talentdata_syncer_cancel(syncer));
  fixture_poison();
  fixture_fails(talentdata_syncer_run(syncer, fixture_slot(0)), TALENTDATA_ERROR_KIND_CANCELLED, "the sync was stopped",
                "a sync that was cancelled");
  talentdata_syncer_free(syncer);
}

int main(void) {
  talentdata_client *client;
  OK(talentdata_client_from_environment(&client));
  statements();
  mirrored(client);
  run_twice_and_cancelled(client);
  talentdata_client_free(client);
  return fixture_verdict();
}
