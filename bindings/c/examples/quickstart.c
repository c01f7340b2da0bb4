#include <stdio.h>
#include <talentdata.h>
int main(void) {
  talentdata_client *client = NULL;
  talentdata_scan *scan = NULL;
  talentdata_record *contact = NULL;
  talentdata_text name;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan);
  while (!error && !(error = talentdata_scan_next(scan, &contact)) && contact) {
    if (!(error = talentdata_contact_first_name(contact, &name))) printf("%.*s\n", (int)name.length, name.data);
    talentdata_record_free(contact);
  }
  if (error) {
    fprintf(stderr, "%.*s\n", (int)talentdata_error_message(error).length, talentdata_error_message(error).data);
  }
  int failed = error != NULL;
  talentdata_error_free(error), talentdata_scan_free(scan), talentdata_client_free(client);
  return failed;
}
