/* Reads all contacts through the C library, one record after the other, and prints how many there were. */
#include <stdio.h>
#include <talentdata.h>

int main(void) {
  talentdata_client *client = NULL;
  talentdata_scan *scan = NULL;
  talentdata_record *record = NULL;
  unsigned long records = 0;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan);
  while (!error && !(error = talentdata_scan_next(scan, &record)) && record) {
    records++;
    talentdata_record_free(record);
  }
  printf("%lu\n", records);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  if (error) fprintf(stderr, "%.*s\n", (int)talentdata_error_message(error).length, talentdata_error_message(error).data);
  talentdata_error_free(error);
  return error != NULL;
}
