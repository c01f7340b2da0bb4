/* Streams all contacts, tells what went wrong by kind, and says whether the list is complete. */
#include <inttypes.h>
#include <stdio.h>
#include <talentdata.h>

/* Says what went wrong and frees the error; the exit code of the program. */
static int fail(talentdata_error *error) {
  talentdata_text message = talentdata_error_message(error);
  fprintf(stderr, "%.*s\n", (int)message.length, message.data);
  if (talentdata_error_is_retryable(error)) fprintf(stderr, "Try again later.\n");
  if (talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CONFIG) {
    fprintf(stderr, "Set TALENTDATA_BASE_URL, TALENTDATA_CLIENT_ID and TALENTDATA_CLIENT_SECRET.\n");
  }
  talentdata_error_free(error);
  return 1;
}

static talentdata_error *print(const talentdata_record *record) {
  talentdata_text first, last, email, city;
  talentdata_error *error;
  if ((error = talentdata_contact_first_name(record, &first))) return error;
  if ((error = talentdata_contact_last_name(record, &last))) return error;
  if ((error = talentdata_contact_email(record, &email))) return error;
  /* A field that the service's document does not show: absent when there is none. */
  if ((error = talentdata_record_text(record, TALENTDATA_TEXT("/location/city"), &city))) return error;
  printf("%.*s %.*s <%.*s> %.*s\n", (int)first.length, first.data, (int)last.length, last.data, (int)email.length,
         email.data, (int)city.length, city.data ? city.data : "");
  return NULL;
}

static talentdata_error *conclude(const talentdata_scan *scan) {
  talentdata_record *receipt;
  talentdata_optional_integer records;
  talentdata_text completeness;
  talentdata_error *error = talentdata_scan_receipt(scan, &receipt);
  if (error) return error;
  error = talentdata_record_text(receipt, TALENTDATA_TEXT("completeness"), &completeness);
  if (!error) error = talentdata_record_integer(receipt, TALENTDATA_TEXT("records"), &records);
  if (!error) {
    fprintf(stderr, "%" PRId64 " contacts, complete: %.*s\n", records.value, (int)completeness.length, completeness.data);
  }
  talentdata_record_free(receipt);
  return error;
}

int main(void) {
  talentdata_client *client = NULL;
  talentdata_scan *scan = NULL;
  talentdata_record *record = NULL;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan);
  while (!error && !(error = talentdata_scan_next(scan, &record)) && record) {
    error = print(record);
    talentdata_record_free(record);
  }
  if (!error) error = conclude(scan);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  return error ? fail(error) : 0;
}
