/* Compiled with the headers of an older service document, and run with the library of the present one, which has gained a list
   before the others, a field and an operation. */
#include <stdio.h>
#include <talentdata.h>

#if defined(TALENTDATA_LIST_CONTACTS)
#error these are the headers of today
#endif

int main(void) {
  talentdata_client *client = NULL;
  talentdata_scan *scan = NULL;
  talentdata_record *record = NULL;
  talentdata_version_response *version = NULL;
  talentdata_text text = {NULL, 0};
  int vacancies = 0;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_version(client, &version);
  if (!error) error = talentdata_version_response_version(version, &text);
  if (!error) error = talentdata_client_list(client, TALENTDATA_LIST_VACANCIES, NULL, &scan);
  while (!error && !(error = talentdata_scan_next(scan, &record)) && record) {
    error = talentdata_record_text(record, TALENTDATA_TEXT("id"), &text);
    vacancies += !error && text.length > 0;
    talentdata_record_free(record);
  }
  if (error) printf("%.*s\n", (int)talentdata_error_message(error).length, talentdata_error_message(error).data);
  talentdata_version_response_free(version);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  talentdata_error_free(error);
  printf("%d vacancies\n", vacancies);
  return error || !vacancies;
}
