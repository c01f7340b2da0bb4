/* Calls each new operation from C. */
#include "fixture.h"

#define REFUSED(call, words) fixture_fails((call), INVALID, (words), #call)

/* Reads a list with parameters, which the service requires for every page. */
static void filters(talentdata_client *client) {
  talentdata_options *options = talentdata_options_new(NULL);
  talentdata_scan *scan = NULL;
  talentdata_record *project = NULL, *page = NULL;
  size_t count = 0;
  OK(talentdata_options_add(options, T("region"), T("eu")));
  OK(talentdata_options_add(options, T("state"), T("open")));
  OK(talentdata_options_add(options, T("state"), T("shut")));
  OK(talentdata_options_add(options, T("minSize"), T("0")));
  OK(talentdata_client_page(client, TALENTDATA_LIST_PROJECTS, 1, 0, options, &page));
  talentdata_record_free(page);
  REFUSED(talentdata_client_page(client, TALENTDATA_LIST_PROJECTS, 1, 0, NULL, &page), "region: is required");
  REFUSED(talentdata_client_page(client, TALENTDATA_LIST_CONTACTS, 1, 0, options, &page), "region");
  OK(talentdata_client_list(client, TALENTDATA_LIST_PROJECTS, options, &scan));
  talentdata_options_free(options);
  for (;;) {
    OK(talentdata_scan_next(scan, &project));
    if (!project) break;
    talentdata_record_free(project);
    count += 1;
  }
  CHECK(count == 600);
  talentdata_scan_free(scan);
}

/* Uses a new format and a new kind of error of the library. */
static void gained(talentdata_client *client) {
  talentdata_options *options = options_with("page_size", "26", NULL);
  talentdata_job *job = NULL;
  OK(talentdata_client_export(client, TALENTDATA_LIST_CONTACTS, T("trial"), TALENTDATA_FORMAT_TRIAL, NULL, &job));
  talentdata_job_free(job);
  fixture_fails(talentdata_client_export(client, TALENTDATA_LIST_CONTACTS, T("trial"), TALENTDATA_FORMAT_TRIAL, options, &job),
                TALENTDATA_ERROR_KIND_TRIAL, "26", "export");
  talentdata_options_free(options);
}

int main(void) {
  talentdata_client *client = NULL;
  const talentdata_record *first = NULL;
  talentdata_record *contact = NULL, *found = NULL, *page = NULL;
  talentdata_options *options = talentdata_options_new(NULL);
  talentdata_text id, text;
  char pointer[100] = "";
  fixture_poison();
  OK(talentdata_client_from_environment(&client));
  OK(talentdata_client_page(client, TALENTDATA_LIST_CONTACTS, 1, 0, NULL, &page));
  OK(talentdata_record_value(page, T("/records/0"), &first));
  OK(talentdata_contact_id(first, &id));
  snprintf(pointer, sizeof pointer, "%.*s", (int)id.length, id.data);
  OK(talentdata_options_add(options, T("include"), T("pools")));
  OK(talentdata_options_add(options, T("include"), T("a&b")));
  OK(talentdata_options_add(options, T("depth"), T("2")));
  OK(talentdata_client_get_contact(client, pointer, options, &contact));
  OK(talentdata_contact_id(contact, &text));
  CHECK(text.length == id.length && memcmp(text.data, id.data, id.length) == 0);
  talentdata_record_free(contact);
  OK(talentdata_client_get_contact(client, pointer, NULL, &contact));
  OK(talentdata_client_search_contacts(client, "{\"states\": [\"active\"], \"limit\": 3}", &found));
  OK(talentdata_record_text(found, T("/contacts/0/id"), &text));
  CHECK(text.data != NULL);
  REFUSED(talentdata_client_search_contacts(client, "{\"limit\": NaN}", &found), "body: is not JSON");
  REFUSED(talentdata_client_search_contacts(client, "{\"limit\": 3}", &found), "states");
  REFUSED(talentdata_client_search_contacts(client, NULL, &found), "body: is required");
  REFUSED(talentdata_client_get_contact(client, "", NULL, &contact), "id: must not be empty");
  REFUSED(talentdata_client_get_contact(client, NULL, NULL, &contact), "id: value: must not be NULL");
  OK(talentdata_options_add(options, T("deep"), T("1")));
  REFUSED(talentdata_client_get_contact(client, pointer, options, &contact), "deep");
  OK(talentdata_client_delete_pool(client, "one"));
  filters(client);
  gained(client);
  talentdata_options_free(options);
  talentdata_record_free(found);
  talentdata_record_free(contact);
  talentdata_record_free(page);
  talentdata_client_free(client);
  return fixture_verdict();
}
