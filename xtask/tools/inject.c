/* Exports all contacts to the given file, and resumes kept work. For the part `inject` of the tests. */
#include <stdio.h>
#include <talentdata.h>

int main(int count, char **words) {
  talentdata_client *client = NULL;
  talentdata_job *job = NULL;
  talentdata_record *receipt = NULL;
  talentdata_options *options = talentdata_options_new(NULL);
  talentdata_error *error = count == 2 ? talentdata_client_from_environment(&client) : NULL;
  if (!error) error = talentdata_options_set(options, TALENTDATA_TEXT("page_size"), TALENTDATA_TEXT("100"));
  if (!error) error = talentdata_options_set(options, TALENTDATA_TEXT("resume"), TALENTDATA_TEXT("true"));
  if (!error)
    error = talentdata_client_export(client, TALENTDATA_LIST_CONTACTS, TALENTDATA_TEXT(words[1]), TALENTDATA_FORMAT_OF_PATH,
                                     options, &job);
  if (!error) error = talentdata_job_run(job, &receipt);
  talentdata_record_free(receipt);
  talentdata_job_free(job);
  talentdata_options_free(options);
  talentdata_client_free(client);
  if (!error) return 0;
  talentdata_text message = talentdata_error_message(error);
  fprintf(stderr, "%.*s\n", (int)message.length, message.data);
  talentdata_error_free(error);
  return 1;
}
