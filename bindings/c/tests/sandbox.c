/* The service in the process of a test: options, faults, changes, counts, and no side effects. */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <talentdata_sandbox.h>
#include <unistd.h>

static volatile sig_atomic_t signalled;

static void on_signal(int number) {
  (void)number;
  signalled++;
}

static talentdata_client *client_of(const talentdata_sandbox *sandbox) {
  talentdata_config *config = talentdata_config_new();
  talentdata_client *client;
  OK(talentdata_sandbox_configure(sandbox, config));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  return client;
}

static void wrong_options(void) {
  static const char *const wrong[][2] = {
      {"{\"faults\": 1}", "options: faults: must be true or false (got 1)"},
      {"{\"limit\": \"8\"}", "options: limit: must be a whole number (got \"8\")"},
      {"{\"limit\": -8}", "options: limit: \"-8\" is not a whole number that fits"},
      {"{\"order\": \"upwards\"}", "options: order: "},
      {"{\"recods\": {}}", "options: there is no option \"recods\"; the options are port, records, seed"},
      {"{\"records\": {\"people\": 1}}", "there is no list `people`, only contacts"},
      {"{\"records\"", "options: EOF while parsing"},
      {"[]", "options: invalid type"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fixture_poison();
    fixture_fails(talentdata_sandbox_start(T(wrong[i][0]), fixture_slot(0)), INVALID, wrong[i][1], wrong[i][0]);
  }
}

static void faults(const talentdata_sandbox *sandbox, const talentdata_client *client) {
  talentdata_record *stats;
  OK(talentdata_sandbox_set_faults(sandbox, T("{\"rules\": [{\"match\": {\"path\": \"/v1/version\", \"nth\": 1},"
                                              " \"reply\": {\"status\": 500}}]}")));
  ask_version(client);
  OK(talentdata_sandbox_stats(sandbox, &stats));
  CHECK(integer_at(stats, "/requests_by_path/~1v1~1version") == 2);
  talentdata_record_free(stats);
  fixture_poison();
  fixture_fails(talentdata_sandbox_set_faults(sandbox, T("{\"rules\": [{\"match\": {\"path\": \"/v2\"}, \"reply\": {}}]}")),
                INVALID, "rules[0].match.path: the service has no path", "a path that is misspelt");
}

static void changes(const talentdata_sandbox *sandbox) {
  talentdata_record *changed;
  size_t count;
  OK(talentdata_sandbox_change(sandbox, TALENTDATA_LIST_CONTACTS, T("{\"insert\": 2}")));
  OK(talentdata_sandbox_changes(sandbox, TALENTDATA_LIST_CONTACTS, 1, &changed));
  OK(talentdata_record_count(changed, &count));
  CHECK(count == 1 && text_at(changed, "/0/op", "insert"));
  talentdata_record_free(changed);
  fixture_poison();
  fixture_fails(talentdata_sandbox_change(sandbox, TALENTDATA_LIST_CONTACTS, T("{\"rename\": 1}")), INVALID,
                "change: unknown variant `rename`", "an unknown kind of change");
}

static void settings(const talentdata_sandbox *sandbox) {
  char taken[64];
  const talentdata_text url = talentdata_sandbox_setting(sandbox, T("base_url"));
  CHECK(url.length > 17 && strncmp(url.data, "http://127.0.0.1:", 17) == 0);
  CHECK(talentdata_text_is(talentdata_sandbox_setting(sandbox, T("environment")), "false"));
  CHECK(talentdata_sandbox_setting(sandbox, T("timeout")).data == NULL);
  snprintf(taken, sizeof taken, "{\"port\": %.*s}", (int)url.length - 17, url.data + 17);
  fixture_poison();
  fixture_fails(talentdata_sandbox_start(T(taken), fixture_slot(0)), TALENTDATA_ERROR_KIND_BUSY, "cannot start",
                "a port in use");
}

/* A signal to the process waits for the only thread that handles it. */
static void signals_are_left_alone(void) {
  sigset_t one, pending;
  const struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigprocmask(SIG_BLOCK, &one, NULL) == 0);
  CHECK(kill(getpid(), SIGUSR1) == 0 && sigpending(&pending) == 0);
  CHECK(signalled == 0 && sigismember(&pending, SIGUSR1) == 1);
  CHECK(sigprocmask(SIG_UNBLOCK, &one, NULL) == 0 && signalled == 1);
}

#ifndef __SANITIZE_ADDRESS__
/* A forked child has no sandbox, and can free it. */
static void a_fork(talentdata_sandbox *sandbox) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    talentdata_record *stats;
    talentdata_error *error = talentdata_sandbox_stats(sandbox, &stats);
    const int closed = error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CLOSED;
    talentdata_error_free(error);
    talentdata_sandbox_free(sandbox);
    /* The child leaks on purpose, and no checker counts that. */
    kill(getpid(), closed ? SIGKILL : SIGTERM);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
#endif

int main(void) {
  talentdata_sandbox *sandbox, *plain;
  wrong_options();
  OK(talentdata_sandbox_start(TALENTDATA_ABSENT, &plain));
  signals_are_left_alone();
  fixture_poison();
  fixture_fails(talentdata_sandbox_set_faults(plain, T("{\"rules\": []}")), INVALID, "started with faults", "no faults");
  talentdata_sandbox_free(plain);
  OK(talentdata_sandbox_start(T("{\"faults\": true, \"records\": {\"contacts\": 250}, \"seed\": 7, \"latency\": 0.001}"),
                              &sandbox));
  struct fixture *all = fixture_make();
  all->sandbox = sandbox;
  null_arguments_of_sandbox(all);
  fixture_free(all);
  settings(sandbox);
  changes(sandbox);
  talentdata_client *client = client_of(sandbox);
  faults(sandbox, client);
/* The allocator of the address sanitizer does not support forks of programs with threads. */
#ifndef __SANITIZE_ADDRESS__
  a_fork(sandbox);
#endif
  talentdata_sandbox_free(sandbox);
  talentdata_client_free(client);
  return fixture_verdict();
}
