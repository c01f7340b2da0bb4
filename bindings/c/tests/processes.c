/* Fork: a client works in both processes, and a child cannot affect a scan of its parent. */
#define _GNU_SOURCE
#include "fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns whether `work` returns another value than 0 in a forked child. The child cannot free what belongs to its
   parent, so it reports its result by executing another program, which a leak checker does not examine. */
static int in_child(int (*work)(void *), void *argument) {
  int status;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const char *verdict = work(argument) ? "true" : "false";
    execlp(verdict, verdict, (char *)NULL);
    _exit(1);
  }
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int is_closed(talentdata_error *error) {
  const int closed = error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CLOSED;
  talentdata_error_free(error);
  return closed;
}

struct parent {
  talentdata_client *client;
  talentdata_scan *scan;
  talentdata_job *job;
  /* True if the budget counts the parent for the whole life of the child, even if the child is slow. */
  int is_counted;
};

static int use_in_child(void *argument) {
  struct parent *parent = argument;
  talentdata_record *record;
  /* In the budget, the clients of the child and of its parent are two members. */
  OK(talentdata_client_plan(parent->client, TALENTDATA_LIST_POOLS, NULL, &record));
  const int64_t members = integer_at(record, "members");
  talentdata_record_free(record);
  ask_version(parent->client);
  const int closed = is_closed(talentdata_scan_next(parent->scan, &record));
  talentdata_scan_free(parent->scan);
  unsigned long count = 0;
  OK(talentdata_client_list(parent->client, TALENTDATA_LIST_POOLS, NULL, &parent->scan));
  for (; talentdata_scan_next(parent->scan, &record) == NULL && record; count++) talentdata_record_free(record);
  talentdata_scan_free(parent->scan);
  talentdata_client_free(parent->client);
  return closed && count && (members == 2 || (members == 1 && !parent->is_counted));
}

/* Uses the client in the parent, then in a child, then in the parent again. */
static void after_a_fork(talentdata_client *client, int is_counted) {
  struct parent parent = {.client = client, .is_counted = is_counted};
  talentdata_record *record;
  OK(talentdata_client_list(client, TALENTDATA_LIST_VACANCIES, NULL, &parent.scan));
  OK(talentdata_scan_next(parent.scan, &record));
  talentdata_record_free(record);
  CHECK(in_child(use_in_child, &parent));
  ask_version(client);
  talentdata_scan_free(parent.scan);
}

static int run_in_child(void *argument) {
  struct parent *parent = argument;
  talentdata_record *receipt;
  const int closed = is_closed(talentdata_job_run(parent->job, &receipt));
  talentdata_record_free(talentdata_job_progress(parent->job));
  talentdata_job_free(parent->job);
  return closed;
}

/* In the child, an export of the parent does not write. */
static void a_job_after_a_fork(talentdata_client *client) {
  struct parent parent = {.client = client};
  talentdata_record *receipt;
  OK(talentdata_client_export(client, TALENTDATA_LIST_POOLS, T("fork.jsonl"), TALENTDATA_FORMAT_OF_PATH, NULL, &parent.job));
  CHECK(in_child(run_in_child, &parent) && access("fork.jsonl", F_OK) != 0);
  OK(talentdata_job_run(parent.job, &receipt));
  CHECK(remove("fork.jsonl") == 0);
  talentdata_record_free(receipt);
  talentdata_job_free(parent.job);
}

static int poll_in_child(void *argument) {
  struct parent *parent = argument;
  talentdata_record *record;
  talentdata_arrival arrival;
  const int closed = is_closed(talentdata_scan_try_next(parent->scan, &arrival, &record));
  talentdata_scan_free(parent->scan);
  return closed;
}

/* The child shares a pipe with its parent. Its calls must not make the descriptor of the parent readable. */
static void a_descriptor_after_a_fork(void) {
  struct parent parent = {0};
  talentdata_record *record;
  talentdata_arrival arrival;
  struct pollfd readable = {.events = POLLIN};
  int listener = silent_service(&parent.client);
  OK(talentdata_client_list(parent.client, TALENTDATA_LIST_CONTACTS, NULL, &parent.scan));
  OK(talentdata_scan_descriptor(parent.scan, &readable.fd));
  /* No record has arrived yet. */
  CHECK(poll(&readable, 1, 0) == 0);
  OK(talentdata_scan_try_next(parent.scan, &arrival, &record));
  CHECK(arrival == TALENTDATA_ARRIVAL_PENDING && poll(&readable, 1, 0) == 0);
  CHECK(in_child(poll_in_child, &parent));
  CHECK(poll(&readable, 1, 0) == 0);
  talentdata_scan_cancel(parent.scan);
  CHECK(poll(&readable, 1, 0) == 1);
  talentdata_scan_free(parent.scan);
  talentdata_client_free(parent.client);
  close(listener);
}

/* A daemon closes every descriptor, and its own files get their numbers. */
static int serve_as_a_daemon(void *argument) {
  const struct parent *parent = argument;
  talentdata_client *own;
  struct stat own_file;
  for (int descriptor = 3; descriptor < 256; descriptor++) close(descriptor);
  const int file = open("daemon.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  while (dup(file) < 64) continue;
  OK(talentdata_client_from_environment(&own));
  ask_version(own);
  ask_version(parent->client);
  talentdata_client_free(own);
  return fstat(file, &own_file) == 0 && own_file.st_size == 0 && lseek(file, 0, SEEK_CUR) == 0;
}

static void a_daemon(talentdata_client *client) {
  struct parent parent = {.client = client};
  ask_version(client);
  CHECK(in_child(serve_as_a_daemon, &parent));
  ask_version(client);
  CHECK(remove("daemon.txt") == 0);
}

int main(void) {
  talentdata_client *client;
  OK(talentdata_client_from_environment(&client));
  after_a_fork(client, 1);
  a_daemon(client);
  a_job_after_a_fork(client);
  a_descriptor_after_a_fork();
  talentdata_client_free(client);
  /* A client leaves the budget of a server after three seconds without a request. */
  CHECK(setenv("TALENTDATA_BUDGET", getenv("BUDGET_SERVER"), 1) == 0);
  OK(talentdata_client_from_environment(&client));
  after_a_fork(client, 0);
  talentdata_client_free(client);
  return fixture_verdict();
}
