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
  talentdata_parameters *parameters = NULL;
  talentdata_scan_options *options = NULL;
  talentdata_scan *scan = NULL;
  talentdata_record *project = NULL;
  talentdata_page *page = NULL;
  size_t count = 0;
  ok(talentdata_parameters_new(&parameters));
  ok(talentdata_parameters_add(parameters, "region", "eu"));
  ok(talentdata_parameters_add(parameters, "state", "open"));
  ok(talentdata_parameters_add(parameters, "state", "shut"));
  ok(talentdata_parameters_add(parameters, "minSize", "0"));
  ok(talentdata_client_page_with(client, TALENTDATA_RESOURCE_PROJECTS, 1, 0, parameters, &page));
  talentdata_page_free(page);
  refused(talentdata_client_page(client, TALENTDATA_RESOURCE_PROJECTS, 1, 0, &page), "region: is required");
  refused(talentdata_client_page_with(client, TALENTDATA_RESOURCE_CONTACTS, 1, 0, parameters, &page), "region");
  ok(talentdata_scan_options_new(&options));
  ok(talentdata_scan_options_set_parameters(options, parameters));
  talentdata_parameters_free(parameters);
  ok(talentdata_client_list_with(client, TALENTDATA_RESOURCE_PROJECTS, options, &scan));
  talentdata_scan_options_free(options);
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
  talentdata_export_options *options = NULL;
  talentdata_scan_options *scan = NULL;
  talentdata_exporter *exporter = NULL;
  ok(talentdata_export_options_new(&options));
  ok(talentdata_export_options_set_format(options, TALENTDATA_FORMAT_TRIAL));
  ok(talentdata_client_exporter(client, TALENTDATA_RESOURCE_CONTACTS, "trial", options, &exporter));
  talentdata_exporter_free(exporter);
  ok(talentdata_scan_options_new(&scan));
  ok(talentdata_scan_options_set_page_size(scan, 26));
  ok(talentdata_export_options_set_scan(options, scan));
  talentdata_error *raised = talentdata_client_exporter(client, TALENTDATA_RESOURCE_CONTACTS, "trial", options, &exporter);
  SURE(talentdata_error_code(raised) == TALENTDATA_ERROR_KIND_TRIAL);
  talentdata_error_free(raised);
  talentdata_scan_options_free(scan);
  talentdata_export_options_free(options);
}

int main(void) {
  talentdata_client *client = NULL;
  talentdata_page *page = NULL;
  const talentdata_record *first = NULL;
  talentdata_record *contact = NULL, *found = NULL;
  talentdata_parameters *parameters = NULL;
  talentdata_text id, text;
  char pointer[100] = "";
  ok(talentdata_client_from_environment(&client));
  ok(talentdata_client_page(client, TALENTDATA_RESOURCE_CONTACTS, 1, 0, &page));
  ok(talentdata_page_record(page, 0, &first));
  ok(talentdata_contact_id(first, &id));
  snprintf(pointer, sizeof pointer, "%.*s", (int)id.length, id.data);
  ok(talentdata_parameters_new(&parameters));
  ok(talentdata_parameters_add(parameters, "include", "pools"));
  ok(talentdata_parameters_add(parameters, "include", "a&b"));
  ok(talentdata_parameters_add(parameters, "depth", "2"));
  ok(talentdata_client_get_contact(client, pointer, parameters, &contact));
  ok(talentdata_contact_id(contact, &text));
  SURE(text.length == id.length && memcmp(text.data, id.data, id.length) == 0);
  talentdata_record_free(contact);
  ok(talentdata_client_get_contact(client, pointer, NULL, &contact));
  ok(talentdata_client_search_contacts(client, "{\"states\": [\"active\"], \"limit\": 3}", &found));
  ok(talentdata_record_find(found, "/contacts/0/id", &text));
  SURE(text.data != NULL);
  refused(talentdata_client_search_contacts(client, "{\"limit\": 3}", &found), "states");
  refused(talentdata_client_get_contact(client, "", NULL, &contact), "id: must not be empty");
  refused(talentdata_parameters_add(parameters, "depth", NULL), "value");
  ok(talentdata_parameters_add(parameters, "deep", "1"));
  refused(talentdata_client_get_contact(client, pointer, parameters, &contact), "deep");
  ok(talentdata_client_delete_pool(client, "one"));
  ok(talentdata_client_delete_pool_n(client, "one two", 3));
  filters(client);
  rows(client);
  talentdata_parameters_free(parameters);
  talentdata_record_free(found);
  talentdata_record_free(contact);
  talentdata_page_free(page);
  talentdata_client_free(client);
  return 0;
}
