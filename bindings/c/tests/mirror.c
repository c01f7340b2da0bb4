/* Mirrors: synced, read as Arrow streams that outlive them, checked, and refused. */
#include "fixture.h"

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
  char directory[] = "mirrors-XXXXXX";
  const uint32_t pools = TALENTDATA_RESOURCE_POOLS;
  talentdata_json_text *json;
  talentdata_text text;
  talentdata_mirror *mirror;
  talentdata_syncer *syncer;
  struct ArrowArrayStream changes, current, earlier;
  CHECK(mkdtemp(directory) != NULL);
  snprintf(path, sizeof path, "%s/mirror.db", directory);
  OK(talentdata_client_syncer(client, pools, path, NULL, "{\"confirm\": true, \"max_deletes\": \"25%\"}", &syncer));
  for (int generation = 1; generation <= 2; generation++) {
    OK(talentdata_syncer_run(syncer, &json));
    OK(talentdata_json_text_get(json, &text));
    CHECK(fixture_says(text, generation == 1 ? "\"generation\":1" : "\"generation\":2") && fixture_says(text, "\"proven\""));
    talentdata_json_text_free(json);
  }
  talentdata_syncer_free(syncer);
  OK(talentdata_mirror_open(path, &mirror));
  OK(talentdata_mirror_syncs(mirror, pools, &json));
  OK(talentdata_json_text_get(json, &text));
  CHECK(text.data[0] == '[' && fixture_says(text, "\"generation\":2"));
  talentdata_json_text_free(json);
  OK(talentdata_mirror_changes(mirror, pools, "0", &changes));
  OK(talentdata_mirror_current(mirror, pools, &current));
  OK(talentdata_mirror_as_of(mirror, pools, "1", &earlier));
  fixture_poison();
  fixture_fails(talentdata_mirror_changes(mirror, TALENTDATA_RESOURCE_CONTACTS, "0", fixture_slot(0)),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "does not have contacts", "a list that was not synced");
  fixture_fails(talentdata_mirror_as_of(mirror, pools, "3", fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "as_of: 3", "a sync that is not there yet");
  fixture_fails(talentdata_mirror_open("nowhere", fixture_slot(0)), TALENTDATA_ERROR_KIND_IO, "not a mirror", "no mirror");
  fixture_fails(talentdata_mirror_changes(mirror, pools, "noon", fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "neither the number", "no sync and no time");
  fixture_fails(talentdata_mirror_forget(mirror, TALENTDATA_RESOURCE_CONTACTS), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "does not have contacts", "a list that is not there");
  static const char *const wrong[] = {"{\"keep\": \"90\"}", "{\"max_deletes\": \"lots\"}", "{\"other\": 1}", "x"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fixture_fails(talentdata_client_syncer(client, pools, path, NULL, wrong[i], fixture_slot(0)),
                  TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "", wrong[i]);
  }
  OK(talentdata_mirror_verify(mirror, &json));
  OK(talentdata_json_text_get(json, &text));
  CHECK(fixture_says(text, "\"holds\":true"));
  talentdata_json_text_free(json);
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
  snprintf(path, sizeof path, "%s/mirror.db", directory);
  OK(talentdata_client_syncer(client, TALENTDATA_RESOURCE_POOLS, path, NULL, NULL, &syncer));
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
  mirrored(client);
  run_twice_and_cancelled(client);
  talentdata_client_free(client);
  return fixture_verdict();
}
