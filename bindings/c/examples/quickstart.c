#include <stdio.h>
#include <talentdata.h>

static talentdata_error *print_names(const talentdata_client *client) {
  talentdata_scan *scan;
  talentdata_record *contact;
  talentdata_text name;
  talentdata_error *error;
  error = talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan);
  if (error) return error;
  while (!(error = talentdata_scan_next(scan, &contact)) && contact) {
    error = talentdata_contact_first_name(contact, &name);
    if (!error) printf("%.*s\n", (int)name.length, name.data);
    talentdata_record_free(contact);
    if (error) break;
  }
  talentdata_scan_free(scan);
  return error;
}

int main(void) {
  talentdata_client *client = NULL;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = print_names(client);
  talentdata_client_free(client);
  if (!error) return 0;
  talentdata_text message = talentdata_error_message(error);
  fprintf(stderr, "%.*s\n", (int)message.length, message.data);
  talentdata_error_free(error);
  return 1;
}
