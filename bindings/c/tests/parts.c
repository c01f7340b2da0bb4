/* Lists in parts: texts that any process reads, refused where they were altered, and proven together. */
#include "fixture.h"

#define MOST 8

static char *copy(talentdata_text text) {
  char *made = malloc(text.length + 1);
  CHECK(made != NULL);
  memcpy(made, text.data, text.length);
  made[text.length] = '\0';
  return made;
}

/* Reads a part with a client of its own, as another process would; its receipt as a text. */
static char *read_part(const char *part, uint64_t *records) {
  talentdata_client *client;
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_receipt *receipt;
  talentdata_text text;
  OK(talentdata_client_from_environment(&client));
  OK(talentdata_client_scan_part(client, TALENTDATA_RESOURCE_CONTACTS, part, &scan));
  for (;;) {
    OK(talentdata_scan_next(scan, &record));
    if (!record) break;
    ++*records;
    talentdata_record_free(record);
  }
  OK(talentdata_scan_receipt(scan, &receipt));
  OK(talentdata_receipt_json(receipt, &text));
  CHECK(fixture_says(text, "\"planned_records\":"));
  char *json = copy(text);
  talentdata_receipt_free(receipt);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  return json;
}

static void proven(talentdata_client *client, talentdata_parts *parts, size_t count) {
  char *receipts[MOST];
  uint64_t records = 0, counted;
  talentdata_plan *plan;
  talentdata_receipt *whole;
  talentdata_completeness completeness;
  talentdata_text text;
  for (size_t i = 0; i < count; i++) {
    OK(talentdata_parts_json(parts, i, &text));
    CHECK(memchr(text.data, '\n', text.length) == NULL);
    char *part = copy(text);
    receipts[i] = read_part(part, &records);
    free(part);
  }
  OK(talentdata_client_plan(client, TALENTDATA_RESOURCE_CONTACTS, &plan));
  OK(talentdata_plan_records(plan, &counted));
  talentdata_plan_free(plan);
  CHECK(records == counted);
  OK(talentdata_receipt_of_parts((const char *const *)receipts, count, &whole));
  OK(talentdata_receipt_completeness(whole, &completeness));
  OK(talentdata_receipt_records(whole, &counted));
  CHECK(completeness == TALENTDATA_COMPLETENESS_PROVEN && counted == records);
  talentdata_receipt_free(whole);
  OK(talentdata_receipt_of_parts((const char *const *)receipts, count - 1, &whole));
  OK(talentdata_receipt_completeness(whole, &completeness));
  CHECK(completeness == TALENTDATA_COMPLETENESS_UNFINISHED);
  talentdata_receipt_free(whole);
  const char *const twice[] = {receipts[0], receipts[0]};
  fixture_poison();
  fixture_fails(talentdata_receipt_of_parts(twice, 2, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "part 1 is there twice", "a part twice");
  fixture_fails(talentdata_receipt_of_parts(NULL, 0, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "there are none", "no receipts");
  for (size_t i = 0; i < count; i++) free(receipts[i]);
}

static void refused(talentdata_client *client, talentdata_parts *parts, size_t count) {
  talentdata_text text;
  talentdata_scan_options *options;
  OK(talentdata_parts_json(parts, 0, &text));
  char *part = copy(text);
  fixture_poison();
  fixture_fails(talentdata_parts_json(parts, count, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "there is no part", "a part behind the last");
  fixture_fails(talentdata_client_scan_part(client, TALENTDATA_RESOURCE_POOLS, part, fixture_slot(0)),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "a part of contacts, not of pools", "a part of another list");
  part[text.length / 2] ^= 1;
  fixture_fails(talentdata_client_scan_part(client, TALENTDATA_RESOURCE_CONTACTS, part, fixture_slot(0)),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "altered", "an altered part");
  free(part);
  fixture_fails(talentdata_client_scan_part(client, TALENTDATA_RESOURCE_CONTACTS, "{}", fixture_slot(0)),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "not a part", "what is no part");
  fixture_fails(talentdata_client_parts(client, TALENTDATA_RESOURCE_CONTACTS, 0, NULL, fixture_slot(0)),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "between 1 and 10000", "no parts");
  OK(talentdata_scan_options_new(&options));
  OK(talentdata_scan_options_set_consistency(options, TALENTDATA_CONSISTENCY_SNAPSHOT));
  fixture_fails(talentdata_client_parts(client, TALENTDATA_RESOURCE_CONTACTS, 2, options, fixture_slot(0)),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "snapshot", "parts of a snapshot");
  talentdata_scan_options_free(options);
}

int main(void) {
  talentdata_client *client;
  talentdata_parts *parts;
  talentdata_scan_options *options;
  size_t count;
  OK(talentdata_client_from_environment(&client));
  OK(talentdata_scan_options_new(&options));
  OK(talentdata_scan_options_set_page_size(options, 20));
  OK(talentdata_client_parts(client, TALENTDATA_RESOURCE_CONTACTS, 4, options, &parts));
  talentdata_scan_options_free(options);
  OK(talentdata_parts_count(parts, &count));
  CHECK(count > 1 && count <= 4);
  proven(client, parts, count);
  refused(client, parts, count);
  talentdata_parts_free(parts);
  talentdata_client_free(client);
  return fixture_verdict();
}
