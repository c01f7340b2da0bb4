/* Compiled with the headers of an older OpenAPI file, and run with the library of the current one, which has a new list
   before the others, a field and an operation. */
#include <stdio.h>
#include <talentdata.h>

#if defined(TALENTDATA_LIST_CONTACTS)
#error these are the headers of today
#endif

int main(void) {
  talentdata_client *client = NULL;
  talentdata_record *version = NULL, *page = NULL;
  talentdata_text text = {NULL, 0};
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_version(client, &version);
  if (!error) error = talentdata_version_response_version(version, &text);
  if (!error) error = talentdata_client_page(client, TALENTDATA_LIST_VACANCIES, 1, 0, NULL, &page);
  if (!error) error = talentdata_record_text(page, TALENTDATA_TEXT("/records/0/id"), &text);
  if (error) printf("%.*s\n", (int)talentdata_error_message(error).length, talentdata_error_message(error).data);
  const int failed = error || !text.length;
  talentdata_record_free(version);
  talentdata_record_free(page);
  talentdata_client_free(client);
  talentdata_error_free(error);
  return failed;
}
