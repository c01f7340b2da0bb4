/* Keeps a mirror of contacts, counts what the last sync has changed, and verifies an exported file and the mirror. */
#include <inttypes.h>
#include <stdio.h>
#include <talentdata.h>
#include <talentdata/arrow.h>

/* Brings the mirror up to date; the number of this sync. */
static talentdata_error *sync(const talentdata_client *client, talentdata_text path, int64_t *generation) {
  talentdata_job *job;
  talentdata_record *outcome;
  talentdata_optional_integer number = {false, 0};
  talentdata_text shortfall = {NULL, 0};
  talentdata_error *error = talentdata_client_sync(client, TALENTDATA_LIST_CONTACTS, path, NULL, &job);
  if (error) return error;
  error = talentdata_job_run(job, &outcome);
  if (!error) {
    error = talentdata_record_integer(outcome, TALENTDATA_TEXT("generation"), &number);
    if (!error) error = talentdata_record_text(outcome, TALENTDATA_TEXT("shortfall"), &shortfall);
    /* Such as deletes that are too many to be believed. */
    if (shortfall.data) fprintf(stderr, "the mirror may lack changes: %.*s\n", (int)shortfall.length, shortfall.data);
    talentdata_record_free(outcome);
  }
  talentdata_job_free(job);
  *generation = number.value;
  return error;
}

/* How many changes there were after a sync. */
static talentdata_error *count(const talentdata_mirror *mirror, int64_t since, int64_t *changes) {
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  char number[32];
  snprintf(number, sizeof number, "%" PRId64, since);
  talentdata_error *error = talentdata_mirror_changes(mirror, TALENTDATA_LIST_CONTACTS, talentdata_text_of(number), &stream);
  if (error) return error;
  for (*changes = 0; stream.get_next(&stream, &batch) == 0 && batch.release; batch.release(&batch)) *changes += batch.length;
  stream.release(&stream);
  return NULL;
}

/* Exports a file, and compares it with its receipt. */
static talentdata_error *verify(const talentdata_client *client, talentdata_text path) {
  talentdata_job *job;
  talentdata_record *receipt = NULL, *report = NULL;
  talentdata_optional_boolean matches = {false, false};
  talentdata_error *error = talentdata_client_export(client, TALENTDATA_LIST_POOLS, path, TALENTDATA_FORMAT_OF_PATH, NULL, &job);
  if (error) return error;
  error = talentdata_job_run(job, &receipt);
  if (!error) error = talentdata_verify(path, talentdata_record_json(receipt), &report);
  if (!error) error = talentdata_record_boolean(report, TALENTDATA_TEXT("matches"), &matches);
  if (!error) fprintf(stderr, "the file is %s\n", matches.value ? "what was exported" : "another one");
  talentdata_record_free(report);
  talentdata_record_free(receipt);
  talentdata_job_free(job);
  return error;
}

int main(int arguments, char **values) {
  const talentdata_text path = talentdata_text_of(arguments > 1 ? values[1] : "contacts-c.db");
  talentdata_client *client = NULL;
  talentdata_mirror *mirror = NULL;
  talentdata_record *report = NULL;
  int64_t generation = 0, changes = 0;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = sync(client, path, &generation);
  if (!error) error = talentdata_mirror_open(path, &mirror);
  if (!error) error = count(mirror, generation - 1, &changes);
  if (!error) error = talentdata_mirror_verify(mirror, &report);
  if (!error) error = verify(client, TALENTDATA_TEXT("pools-c.parquet"));
  talentdata_record_free(report);
  talentdata_mirror_free(mirror);
  talentdata_client_free(client);
  if (error) {
    talentdata_text message = talentdata_error_message(error);
    fprintf(stderr, "%.*s\n", (int)message.length, message.data);
    talentdata_error_free(error);
    return 1;
  }
  printf("%" PRId64 " changes\n", changes);
  return 0;
}
