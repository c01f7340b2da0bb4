/* Exports all contacts to a file; after Ctrl-C, a second run continues. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <talentdata.h>

/* Only async-signal-safe functions may be called in a handler, so a thread waits for the signal instead. */
static void *cancel_on_signal(void *job) {
  sigset_t signals;
  int signal;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  if (sigwait(&signals, &signal) == 0) talentdata_job_cancel(job);
  return NULL;
}

static talentdata_error *estimate(const talentdata_client *client) {
  talentdata_record *plan;
  talentdata_optional_integer records;
  talentdata_optional_number seconds;
  talentdata_error *error = talentdata_client_plan(client, TALENTDATA_LIST_CONTACTS, NULL, &plan);
  if (error) return error;
  error = talentdata_record_integer(plan, TALENTDATA_TEXT("records"), &records);
  if (!error) error = talentdata_record_number(plan, TALENTDATA_TEXT("seconds"), &seconds);
  if (!error) fprintf(stderr, "%" PRId64 " contacts, about %.0f s\n", records.value, seconds.value);
  talentdata_record_free(plan);
  return error;
}

static talentdata_error *make(const talentdata_client *client, const char *path, talentdata_job **job) {
  talentdata_options *options = talentdata_options_new(NULL);
  /* Continues an interrupted export, or begins where there is none. The extension of the path is the format. */
  talentdata_error *error = talentdata_options_set(options, TALENTDATA_TEXT("resume"), TALENTDATA_TEXT("true"));
  if (!error) {
    error = talentdata_client_export(client, TALENTDATA_LIST_CONTACTS, talentdata_text_of(path), TALENTDATA_FORMAT_OF_PATH,
                                     options, job);
  }
  talentdata_options_free(options);
  return error;
}

static talentdata_error *run(talentdata_job *job) {
  talentdata_record *receipt;
  talentdata_optional_integer records;
  pthread_t waiting;
  int started = pthread_create(&waiting, NULL, cancel_on_signal, job) == 0;
  talentdata_error *error = talentdata_job_run(job, &receipt);
  if (started) {
    pthread_cancel(waiting);
    pthread_join(waiting, NULL);
  }
  if (error) return error;
  error = talentdata_record_integer(receipt, TALENTDATA_TEXT("records"), &records);
  if (!error) printf("%" PRId64 " contacts\n", records.value);
  talentdata_record_free(receipt);
  return error;
}

int main(int count, char **arguments) {
  const char *path = count > 1 ? arguments[1] : "contacts.csv";
  talentdata_client *client = NULL;
  talentdata_job *job = NULL;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);

  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = estimate(client);
  if (!error) error = make(client, path, &job);
  if (!error) error = run(job);
  talentdata_job_free(job);
  talentdata_client_free(client);
  if (!error) return 0;
  /* The message says what is kept to be continued. */
  talentdata_text message = talentdata_error_message(error);
  fprintf(stderr, "%.*s\n", (int)message.length, message.data);
  talentdata_error_free(error);
  return 1;
}
