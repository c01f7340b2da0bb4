/* Streams contacts in the application's own event loop: no thread waits, and poll() reports ready records. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <talentdata.h>

int main(void) {
  talentdata_client *client = NULL;
  talentdata_scan *scan = NULL;
  talentdata_arrival arrival = TALENTDATA_ARRIVAL_PENDING;
  int descriptor = -1;
  unsigned long contacts = 0, sleeps = 0;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan);
  if (!error) error = talentdata_scan_descriptor(scan, &descriptor);
  while (!error && arrival != TALENTDATA_ARRIVAL_END) {
    /* An application adds its own descriptors and timers to this call. */
    struct pollfd ready = {descriptor, POLLIN, 0};
    if (poll(&ready, 1, -1) < 0) {
      /* A signal was handled. */
      if (errno == EINTR) continue;
      perror("poll");
      break;
    }
    sleeps++;
    do {
      talentdata_record *record = NULL;
      error = talentdata_scan_try_next(scan, &arrival, &record);
      if (!error && record) contacts++;
      talentdata_record_free(record);
    } while (!error && arrival == TALENTDATA_ARRIVAL_RECORD);
  }
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  if (error) {
    talentdata_text message = talentdata_error_message(error);
    fprintf(stderr, "%.*s\n", (int)message.length, message.data);
    talentdata_error_free(error);
    return 1;
  }
  if (arrival != TALENTDATA_ARRIVAL_END) return 1;
  printf("%lu contacts\n", contacts);
  fprintf(stderr, "woken %lu times\n", sleeps);
  return 0;
}
