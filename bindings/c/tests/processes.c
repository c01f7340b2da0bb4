/* Fork: a client works on in both processes, and what a child does with a scan of its parent does not reach the parent. */
#define _GNU_SOURCE
#include "fixture.h"

#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The client is used in the parent, then in a child of it, then in the parent again. `parent_is_counted` for as long as
   the child lives, however slow that is. */
static void after_a_fork(talentdata_client *client, int parent_is_counted) {
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_version_response *version;
  OK(talentdata_client_list(client, TALENTDATA_LIST_VACANCIES, NULL, &scan));
  OK(talentdata_scan_next(scan, &record));
  talentdata_record_free(record);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    /* The child shares the budget with its parent, as a client of its own. */
    talentdata_record *plan;
    OK(talentdata_client_plan(client, TALENTDATA_LIST_POOLS, NULL, &plan));
    const int64_t members = integer_at(plan, "members");
    talentdata_record_free(plan);
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
    OK(talentdata_client_list(client, TALENTDATA_LIST_POOLS, NULL, &scan));
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
static void a_job_after_a_fork(talentdata_client *client) {
  talentdata_job *job;
  talentdata_record *receipt;
  OK(talentdata_client_export(client, TALENTDATA_LIST_POOLS, T("fork.jsonl"), TALENTDATA_FORMAT_OF_PATH, NULL, &job));
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    talentdata_error *error = talentdata_job_run(job, &receipt);
    int closed = error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CLOSED;
    talentdata_error_free(error);
    talentdata_record_free(talentdata_job_progress(job));
    talentdata_job_free(job);
    const char *verdict = closed ? "true" : "false";
    execlp(verdict, verdict, (char *)NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0 && access("fork.jsonl", F_OK) != 0);
  OK(talentdata_job_run(job, &receipt));
  CHECK(remove("fork.jsonl") == 0);
  talentdata_record_free(receipt);
  talentdata_job_free(job);
}

/* A pipe is shared with the child: what the child does must not ring the bell of the parent, to whom nothing comes. */
static void a_descriptor_after_a_fork(void) {
  talentdata_client *client;
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_arrival arrival;
  struct pollfd readable = {.events = POLLIN};
  int listener = silent_service(&client);
  OK(talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan));
  OK(talentdata_scan_descriptor(scan, &readable.fd));
  /* Nothing is there to be taken yet. */
  CHECK(poll(&readable, 1, 0) == 0);
  OK(talentdata_scan_try_next(scan, &arrival, &record));
  CHECK(arrival == TALENTDATA_ARRIVAL_PENDING && poll(&readable, 1, 0) == 0);
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
  talentdata_scan_cancel(scan);
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

static const char *permissions(unsigned long offset) {
  (void)offset;
  return "{\"roles\": [], \"permissions\": []}";
}

/* A call that needs a token, by a client of its own. */
static talentdata_error *call(const struct service *service, const char *id, const char *token_cache) {
  talentdata_client *client = NULL;
  talentdata_token_permissions *answer = NULL;
  talentdata_config *config = talentdata_config_new();
  OK(talentdata_config_set(config, T("base_url"), T(service_url(service))));
  OK(talentdata_config_set(config, T("client_id"), T(id)));
  OK(talentdata_config_set(config, T("client_secret"), T("CANARY-secret")));
  OK(talentdata_config_set(config, T("token_cache"), T(token_cache)));
  talentdata_error *error = talentdata_client_new(config, &client);
  if (!error) error = talentdata_client_permissions(client, &answer);
  talentdata_token_permissions_free(answer);
  talentdata_client_free(client);
  talentdata_config_free(config);
  return error;
}

/* Clients of one user share a token where token_cache is host: of one process, and of a child of it. */
static void shared_tokens(void) {
  struct service *service = service_start(permissions);
  /* Programs that ran before may have left a token for a service at the same port. */
  char id[64];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(id, sizeof id, "client-%ld-%ld-%ld", (long)getpid(), (long)now.tv_sec, now.tv_nsec);
  OK(call(service, id, "process"));
  OK(call(service, id, "process"));
  CHECK(service_token_requests(service) == 2);
  OK(call(service, id, "host"));
  OK(call(service, id, "host"));
  CHECK(service_token_requests(service) == 3);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    talentdata_error *error = call(service, id, "host");
    const char *verdict = error ? "false" : "true";
    talentdata_error_free(error);
    /* What the child must not touch is lost in it; another program in its place tells how it went. */
    execlp(verdict, verdict, (char *)NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(service_token_requests(service) == 3);
  talentdata_error *error = call(service, id, "elsewhere");
  CHECK(error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CONFIG);
  talentdata_error_free(error);
  service_stop(service);
}

int main(void) {
  talentdata_client *client;
  make_a_runtime_directory();
  OK(talentdata_client_from_environment(&client));
  after_a_fork(client, 1);
  a_job_after_a_fork(client);
  a_descriptor_after_a_fork();
  talentdata_client_free(client);
  /* A client leaves the budget of a server when it has sent nothing for three seconds. */
  CHECK(setenv("TALENTDATA_BUDGET", getenv("BUDGET_SERVER"), 1) == 0);
  OK(talentdata_client_from_environment(&client));
  after_a_fork(client, 0);
  talentdata_client_free(client);
  shared_tokens();
  return fixture_verdict();
}
