/* Fork: a client works on in both processes, and what a child does with a scan of its parent does not reach the parent. */
#define _GNU_SOURCE
#include "fixture.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

/* The client is used in the parent, then in a child of it, then in the parent again. `parent_is_counted` for as long as
   the child lives, however slow that is. */
static void after_a_fork(talentdata_client *client, int parent_is_counted) {
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_version_response *version;
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_VACANCIES, &scan));
  OK(talentdata_scan_next(scan, &record));
  talentdata_record_free(record);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    /* The child shares the budget with its parent, as a client of its own. */
    talentdata_plan *plan;
    uint64_t members = 0;
    OK(talentdata_client_plan(client, TALENTDATA_RESOURCE_POOLS, &plan));
    OK(talentdata_plan_members(plan, &members));
    talentdata_plan_free(plan);
    OK(talentdata_client_version(client, &version));
    talentdata_version_response_free(version);
    talentdata_error *error = NULL;
    do {
      error = talentdata_scan_next(scan, &record);
      if (!error) talentdata_record_free(record);
    } while (!error && record);
    int closed = error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CLOSED;
    talentdata_error_free(error);
    talentdata_scan_free(scan);
    unsigned long count = 0;
    OK(talentdata_client_list(client, TALENTDATA_RESOURCE_POOLS, &scan));
    for (; talentdata_scan_next(scan, &record) == NULL && record; count++) talentdata_record_free(record);
    talentdata_scan_free(scan);
    talentdata_client_free(client);
    /* What the child must not touch is lost in it; another program in its place tells how it went. */
    int shared = members == 2 || (members == 1 && !parent_is_counted);
    const char *verdict = closed && count && shared ? "true" : "false";
    execlp(verdict, verdict, (char *)NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(talentdata_client_version(client, &version));
  talentdata_version_response_free(version);
  talentdata_scan_free(scan);
}

/* An export of the parent writes nothing in the child. */
static void an_exporter_after_a_fork(talentdata_client *client) {
  talentdata_exporter *exporter;
  talentdata_receipt *receipt;
  OK(talentdata_client_exporter(client, TALENTDATA_RESOURCE_POOLS, "fork.jsonl", NULL, &exporter));
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    talentdata_error *error = talentdata_exporter_run(exporter, &receipt);
    int closed = error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CLOSED;
    talentdata_error_free(error);
    OK(talentdata_exporter_receipt(exporter, &receipt));
    talentdata_receipt_free(receipt);
    talentdata_exporter_free(exporter);
    const char *verdict = closed ? "true" : "false";
    execlp(verdict, verdict, (char *)NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0 && access("fork.jsonl", F_OK) != 0);
  OK(talentdata_exporter_run(exporter, &receipt));
  CHECK(remove("fork.jsonl") == 0);
  talentdata_receipt_free(receipt);
  talentdata_exporter_free(exporter);
}

/* A pipe is shared with the child: what the child does must not ring the bell of the parent, to whom nothing comes. */
static void a_descriptor_after_a_fork(void) {
  talentdata_client *client;
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_arrival arrival;
  struct pollfd readable = {.events = POLLIN};
  int listener = fixture_silent_service(&client);
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_descriptor(scan, &readable.fd));
  OK(talentdata_scan_try_next(scan, &arrival, &record));
  CHECK(arrival == TALENTDATA_ARRIVAL_LATER && poll(&readable, 1, 0) == 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    talentdata_error *error = talentdata_scan_try_next(scan, &arrival, &record);
    int closed = error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CLOSED;
    talentdata_error_free(error);
    talentdata_scan_free(scan);
    const char *verdict = closed ? "true" : "false";
    execlp(verdict, verdict, (char *)NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(poll(&readable, 1, 0) == 0);
  OK(talentdata_scan_cancel(scan));
  CHECK(poll(&readable, 1, 0) == 1);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  close(listener);
}

/* Nobody else shares the budget. */
static void make_a_runtime_directory(void) {
  const char *parent = getenv("XDG_RUNTIME_DIR");
  char directory[4096];
  snprintf(directory, sizeof directory, "%s/fork-XXXXXX", parent ? parent : "/tmp");
  CHECK(mkdtemp(directory) != NULL);
  CHECK(setenv("XDG_RUNTIME_DIR", directory, 1) == 0);
}

int main(void) {
  talentdata_client *client;
  make_a_runtime_directory();
  OK(talentdata_client_from_environment(&client));
  after_a_fork(client, 1);
  an_exporter_after_a_fork(client);
  a_descriptor_after_a_fork();
  talentdata_client_free(client);
  /* A client leaves the budget of a server when it has sent nothing for three seconds. */
  CHECK(setenv("TALENTDATA_BUDGET", getenv("BUDGET_SERVER"), 1) == 0);
  OK(talentdata_client_from_environment(&client));
  after_a_fork(client, 0);
  talentdata_client_free(client);
  return fixture_verdict();
}
