/* Prints the columns of contacts as JSON: kept in a file, they are the columns of every later Arrow stream. */
#include <stdio.h>
#include <talentdata.h>

int main(void) {
  talentdata_client *client = NULL;
  talentdata_json_text *schema = NULL;
  talentdata_text text;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) {
    error = talentdata_client_schema(client, TALENTDATA_RESOURCE_CONTACTS, TALENTDATA_COLUMNS_TYPED, &schema);
  }
  if (!error) error = talentdata_json_text_get(schema, &text);
  /* talentdata_scan_options_set_schema_n takes it, today or from a file. */
  if (!error) fwrite(text.data, 1, text.length, stdout);
  talentdata_json_text_free(schema);
  talentdata_client_free(client);
  if (!error) return 0;
  text = talentdata_error_message(error);
  fprintf(stderr, "%.*s\n", (int)text.length, text.data);
  talentdata_error_free(error);
  return 1;
}
