/* Exports all contacts to a file; after Ctrl-C, a second run continues. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <talentdata.h>

/* Only async-signal-safe functions may be called in a handler, so a thread waits for the signal instead. */
static void *cancel_on_signal(void *exporter) {
  sigset_t signals;
  int signal;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  if (sigwait(&signals, &signal) == 0) talentdata_error_free(talentdata_exporter_cancel(exporter));
  return NULL;
}

static talentdata_error *estimate(const talentdata_client *client) {
  talentdata_plan *plan;
  uint64_t records = 0;
  double seconds = 0;
  talentdata_error *error = talentdata_client_plan(client, TALENTDATA_RESOURCE_CONTACTS, &plan);
  if (error) return error;
  error = talentdata_plan_records(plan, &records);
  if (!error) error = talentdata_plan_seconds(plan, &seconds);
  if (!error) fprintf(stderr, "%" PRIu64 " contacts, about %.0f s\n", records, seconds);
  talentdata_plan_free(plan);
  return error;
}

static talentdata_error *make(const talentdata_client *client, const char *path, talentdata_exporter **exporter) {
  talentdata_export_options *options;
  talentdata_error *error = talentdata_export_options_new(&options);
  if (error) return error;
  /* Continues an interrupted export, or begins where there is none. The extension of the path is the format. */
  error = talentdata_export_options_set_resume(options, true);
  if (!error) error = talentdata_client_exporter(client, TALENTDATA_RESOURCE_CONTACTS, path, options, exporter);
  talentdata_export_options_free(options);
  return error;
}

static talentdata_error *run(talentdata_exporter *exporter) {
  talentdata_receipt *receipt;
  uint64_t records = 0;
  pthread_t waiting;
  int started = pthread_create(&waiting, NULL, cancel_on_signal, exporter) == 0;
  talentdata_error *error = talentdata_exporter_run(exporter, &receipt);
  if (started) {
    pthread_cancel(waiting);
    pthread_join(waiting, NULL);
  }
  if (error) return error;
  error = talentdata_receipt_records(receipt, &records);
  if (!error) printf("%" PRIu64 " contacts\n", records);
  talentdata_receipt_free(receipt);
  return error;
}

int main(int count, char **arguments) {
  const char *path = count > 1 ? arguments[1] : "contacts.csv";
  talentdata_client *client = NULL;
  talentdata_exporter *exporter = NULL;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);

  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = estimate(client);
  if (!error) error = make(client, path, &exporter);
  if (!error) error = run(exporter);
  talentdata_exporter_free(exporter);
  talentdata_client_free(client);
  if (!error) return 0;
  /* The message says what is kept to be continued. */
  talentdata_text message = talentdata_error_message(error);
  fprintf(stderr, "%.*s\n", (int)message.length, message.data);
  talentdata_error_free(error);
  return 1;
}
