/* Streams all contacts, of which there are CONTACTS, so that its use of memory can be seen; settings from the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <talentdata.h>

int main(void) {
  talentdata_client *client = NULL;
  talentdata_scan *scan = NULL;
  talentdata_record *record = NULL;
  talentdata_text name;
  unsigned long records = 0, bytes = 0;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan);
  while (!error && !(error = talentdata_scan_next(scan, &record)) && record) {
    error = talentdata_contact_first_name(record, &name);
    if (!error) bytes += name.length;
    records++;
    talentdata_record_free(record);
  }
  printf("%lu records, %lu bytes of first names\n", records, bytes);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  talentdata_error_free(error);
  return error || records != strtoul(getenv("CONTACTS"), NULL, 10);
}
