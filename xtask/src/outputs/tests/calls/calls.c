/* Calls each new operation from C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talentdata.h>

static void sure(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}
#define SURE(holds) sure((holds), #holds)

static void ok(talentdata_error *error) {
  if (!error) return;
  talentdata_text message = talentdata_error_message(error);
  fprintf(stderr, "%.*s\n", (int)message.length, message.data);
  exit(1);
}

static void refused(talentdata_error *error, const char *words) {
  SURE(error != NULL && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT);
  SURE(strstr(talentdata_error_message(error).data, words) != NULL);
  talentdata_error_free(error);
}

/* A list with parameters, which the service needs with every page. */
static void filters(talentdata_client *client) {
  talentdata_options *options = talentdata_options_new(NULL);
  talentdata_scan *scan = NULL;
  talentdata_record *project = NULL, *page = NULL;
  size_t count = 0;
  ok(talentdata_options_add(options, TALENTDATA_TEXT("region"), TALENTDATA_TEXT("eu")));
  ok(talentdata_options_add(options, TALENTDATA_TEXT("state"), TALENTDATA_TEXT("open")));
  ok(talentdata_options_add(options, TALENTDATA_TEXT("state"), TALENTDATA_TEXT("shut")));
  ok(talentdata_options_add(options, TALENTDATA_TEXT("minSize"), TALENTDATA_TEXT("0")));
  ok(talentdata_client_page(client, TALENTDATA_LIST_PROJECTS, 1, 0, options, &page));
  talentdata_record_free(page);
  refused(talentdata_client_page(client, TALENTDATA_LIST_PROJECTS, 1, 0, NULL, &page), "region: is required");
  refused(talentdata_client_page(client, TALENTDATA_LIST_CONTACTS, 1, 0, options, &page), "region");
  ok(talentdata_client_list(client, TALENTDATA_LIST_PROJECTS, options, &scan));
  talentdata_options_free(options);
  for (;;) {
    ok(talentdata_scan_next(scan, &project));
    if (!project) break;
    talentdata_record_free(project);
    count += 1;
  }
  SURE(count == 600);
  talentdata_scan_free(scan);
}

/* A format and a kind of error that the library has gained. */
static void rows(talentdata_client *client) {
  talentdata_options *options = talentdata_options_new(NULL);
  talentdata_job *job = NULL;
  ok(talentdata_client_export(client, TALENTDATA_LIST_CONTACTS, TALENTDATA_TEXT("trial"), TALENTDATA_FORMAT_TRIAL, NULL, &job));
  talentdata_job_free(job);
  ok(talentdata_options_set(options, TALENTDATA_TEXT("page_size"), TALENTDATA_TEXT("26")));
  talentdata_error *raised = talentdata_client_export(client, TALENTDATA_LIST_CONTACTS, TALENTDATA_TEXT("trial"),
                                                      TALENTDATA_FORMAT_TRIAL, options, &job);
  SURE(talentdata_error_code(raised) == TALENTDATA_ERROR_KIND_TRIAL);
  talentdata_error_free(raised);
  talentdata_options_free(options);
}

int main(void) {
  talentdata_client *client = NULL;
  const talentdata_record *first = NULL;
  talentdata_record *contact = NULL, *found = NULL, *page = NULL;
  talentdata_options *options = talentdata_options_new(NULL);
  talentdata_text id, text;
  char pointer[100] = "";
  ok(talentdata_client_from_environment(&client));
  ok(talentdata_client_page(client, TALENTDATA_LIST_CONTACTS, 1, 0, NULL, &page));
  ok(talentdata_record_value(page, TALENTDATA_TEXT("/records/0"), &first));
  ok(talentdata_contact_id(first, &id));
  snprintf(pointer, sizeof pointer, "%.*s", (int)id.length, id.data);
  ok(talentdata_options_add(options, TALENTDATA_TEXT("include"), TALENTDATA_TEXT("pools")));
  ok(talentdata_options_add(options, TALENTDATA_TEXT("include"), TALENTDATA_TEXT("a&b")));
  ok(talentdata_options_add(options, TALENTDATA_TEXT("depth"), TALENTDATA_TEXT("2")));
  ok(talentdata_client_get_contact(client, pointer, options, &contact));
  ok(talentdata_contact_id(contact, &text));
  SURE(text.length == id.length && memcmp(text.data, id.data, id.length) == 0);
  talentdata_record_free(contact);
  ok(talentdata_client_get_contact(client, pointer, NULL, &contact));
  ok(talentdata_client_search_contacts(client, "{\"states\": [\"active\"], \"limit\": 3}", &found));
  ok(talentdata_record_text(found, TALENTDATA_TEXT("/contacts/0/id"), &text));
  SURE(text.data != NULL);
  refused(talentdata_client_search_contacts(client, "{\"limit\": NaN}", &found), "body: is not JSON");
  refused(talentdata_client_search_contacts(client, "{\"limit\": 3}", &found), "states");
  refused(talentdata_client_search_contacts(client, NULL, &found), "body: is required");
  refused(talentdata_client_get_contact(client, "", NULL, &contact), "id: must not be empty");
  refused(talentdata_client_get_contact(client, NULL, NULL, &contact), "id: value: must not be NULL");
  ok(talentdata_options_add(options, TALENTDATA_TEXT("deep"), TALENTDATA_TEXT("1")));
  refused(talentdata_client_get_contact(client, pointer, options, &contact), "deep");
  ok(talentdata_client_delete_pool(client, "one"));
  filters(client);
  rows(client);
  talentdata_options_free(options);
  talentdata_record_free(found);
  talentdata_record_free(contact);
  talentdata_record_free(page);
  talentdata_client_free(client);
  return 0;
}
