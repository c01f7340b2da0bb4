/* Against a service that answers with prepared text: streams that fail, and receipts. */
#include "fixture.h"
#include "service.h"

/* Two records, then none: the second page is refused. The pages overlap by a record. */
static const char *first_page_only(unsigned long offset, void *context) {
  (void)context;
  return offset ? NULL
                : "{\"contacts\":[{\"id\":\"1\"},{\"id\":\"2\"}],"
                  "\"pagination\":{\"total\":4,\"limit\":2,\"offset\":0,\"hasMore\":true}}";
}

static void check_receipt(talentdata_scan *scan, uint64_t records, talentdata_completeness completeness) {
  talentdata_receipt *receipt;
  uint64_t found_records;
  talentdata_completeness found;
  OK(talentdata_scan_receipt(scan, &receipt));
  OK(talentdata_receipt_records(receipt, &found_records));
  OK(talentdata_receipt_completeness(receipt, &found));
  CHECK(found_records == records);
  CHECK(found == completeness);
  talentdata_receipt_free(receipt);
}

static void a_stream_that_failed_has_no_end(void) {
  talentdata_client *client;
  talentdata_scan *scan;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct service *service = service_start(first_page_only, NULL);
  client = service_client(service);
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_arrow_stream(scan, &stream));
  check_receipt(scan, 0, TALENTDATA_COMPLETENESS_UNFINISHED);
  /* What came before the error comes first. */
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.release && batch.length == 2);
  batch.release(&batch);
  CHECK(stream.get_next(&stream, &batch) != 0 && strstr(stream.get_last_error(&stream), "404"));
  for (int i = 0; i < 2; i++) {
    CHECK(stream.get_next(&stream, &batch) != 0 && strstr(stream.get_last_error(&stream), "the scan has failed"));
  }
  check_receipt(scan, 2, TALENTDATA_COMPLETENESS_UNFINISHED);
  stream.release(&stream);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  service_stop(service);
}

/* All pages were fetched long before all records are taken. */
static const char *three_records(unsigned long offset, void *context) {
  static const char *const records[] = {"{\"id\":\"1\"},{\"id\":\"2\"},{\"id\":\"3\"}", "{\"id\":\"2\"},{\"id\":\"3\"}",
                                        "{\"id\":\"3\"}", ""};
  static char page[256];
  unsigned long from = offset < 3 ? offset : 3;
  (void)context;
  snprintf(page, sizeof page,
           "{\"contacts\":[%s],\"pagination\":{\"total\":3,\"limit\":%lu,\"offset\":%lu,\"hasMore\":false}}",
           records[from], 3 - from, offset);
  return page;
}

static void a_receipt_counts_what_was_handed_out(void) {
  talentdata_client *client;
  talentdata_scan *scan;
  talentdata_record *record;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  struct service *service = service_start(three_records, NULL);
  client = service_client(service);
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  for (uint64_t taken = 1; taken <= 3; taken++) {
    OK(talentdata_scan_next(scan, &record));
    CHECK(record != NULL);
    talentdata_record_free(record);
    if (taken < 3) check_receipt(scan, taken, TALENTDATA_COMPLETENESS_UNFINISHED);
  }
  OK(talentdata_scan_next(scan, &record));
  CHECK(record == NULL);
  check_receipt(scan, 3, TALENTDATA_COMPLETENESS_PROVEN);
  talentdata_scan_free(scan);

  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_arrow_stream(scan, &stream));
  check_receipt(scan, 0, TALENTDATA_COMPLETENESS_UNFINISHED);
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == 3);
  batch.release(&batch);
  CHECK(stream.get_next(&stream, &batch) == 0 && !batch.release);
  check_receipt(scan, 3, TALENTDATA_COMPLETENESS_PROVEN);
  stream.release(&stream);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  service_stop(service);
}

int main(void) {
  a_stream_that_failed_has_no_end();
  a_receipt_counts_what_was_handed_out();
  return fixture_verdict();
}
