/* One end of a process: `endings HOW WHERE [busy]`, compiled as C and as C++. Nothing may be printed, no call may fail with
   another error than CLOSED, and nothing may hang; run.py has all the ways and looks at them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fixture.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *how, *where;
static int is_busy, armed, rounds, listener;
static pid_t first;
static pthread_t main_thread, busy;
/* A client and a scan that exist until the end of the program. */
static talentdata_client *client;
static talentdata_scan *scan;

static int is(const char *word, const char *wanted) { return strcmp(word, wanted) == 0; }

static void wrong(const char *what) {
  fprintf(stderr, "%s %s: %s\n", how, where, what);
  _exit(70);
}

/* Returns whether a call succeeded. Otherwise it must have come too late. */
static int good(talentdata_error *error) {
  const talentdata_error_kind kind = error ? talentdata_error_code(error) : TALENTDATA_ERROR_KIND_CLOSED;
  /* Calls in a callback, and in a handler that interrupts another call, are refused. */
  const int is_within = is(where, "callback") || is(where, "signal");
  if (kind != TALENTDATA_ERROR_KIND_CLOSED && !(is_within && kind == INVALID)) {
    const talentdata_text message = talentdata_error_message(error);
    fprintf(stderr, "%.*s\n", (int)message.length, message.data);
    wrong("a call");
  }
  talentdata_error_free(error);
  return error == NULL;
}

static int ask(const talentdata_client *of) {
  talentdata_record *version = NULL;
  const int answered = good(talentdata_client_call(of, T("getVersion"), NULL, TALENTDATA_ABSENT, &version));
  talentdata_record_free(version);
  return answered;
}

/* Makes calls with its own client until the process ends. */
static void *keep_asking(void *unused) {
  talentdata_client *own;
  OK(talentdata_client_from_environment(&own));
  while (ask(own)) {
    if (__atomic_add_fetch(&rounds, 1, __ATOMIC_SEQ_CST) < 0) break;
  }
  if (rounds >= 0) wrong("another thread is not ending");
  talentdata_client_free(own);
  return unused;
}

static void wait_for_a_round(void) {
  const int before = __atomic_load_n(&rounds, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&rounds, __ATOMIC_SEQ_CST) < before + 2) sched_yield();
}

/* Uses every other function that needs thread-local data or threads. */
static void use_all(void) {
  talentdata_record *record = NULL;
  talentdata_arrival arrival;
  talentdata_scan *other = NULL;
  talentdata_job *job = NULL;
  int descriptor;
  char path[64];
  good(talentdata_scan_descriptor(scan, &descriptor));
  if (good(talentdata_scan_try_next(scan, &arrival, &record))) talentdata_record_free(record);
  record = NULL;
  if (good(talentdata_scan_next(scan, &record))) talentdata_record_free(record);
  if (good(talentdata_client_list(client, TALENTDATA_LIST_POOLS, NULL, &other))) {
    struct ArrowArrayStream stream;
    if (good(talentdata_scan_arrow_stream(other, &stream))) stream.release(&stream);
  }
  talentdata_scan_free(other);
  snprintf(path, sizeof path, "pools-%ld.db", (long)getpid());
  if (good(talentdata_client_sync(client, TALENTDATA_LIST_POOLS, T(path), NULL, &job))) {
    if (good(talentdata_job_run(job, &record))) talentdata_record_free(record);
    talentdata_record_free(talentdata_job_progress(job));
  }
  talentdata_job_free(job);
}

/* The work of exit handlers in C and destructors in C++. */
static void late(void) {
  if (!client) return;
  if (is_busy && getpid() == first) wait_for_a_round();
  talentdata_client *fresh = NULL;
  if (good(talentdata_client_from_environment(&fresh))) ask(fresh);
  talentdata_client_free(fresh);
  ask(client);
  use_all();
  talentdata_client_close(client);
  /* A call that a signal has interrupted is still in progress. */
  if (is(where, "signal")) return;
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  client = NULL;
}

#ifdef __cplusplus
static struct last {
  bool is_set = false;
  ~last() {
    if (is_set) late();
  }
} last;
static void at_the_end(void) { last.is_set = true; }
#else
static void at_the_end(void) { atexit(late); }
#endif

static void end(void) {
  if (is(how, "exit") || is(how, "caught")) exit(0);
  if (is(how, "_exit")) _exit(0);
  if (is(how, "quick_exit")) quick_exit(0);
  if (is(how, "pthread_exit")) pthread_exit(NULL);
  abort();
}

static void interrupted(int signal) {
  (void)signal;
  end();
}

static void logged(talentdata_log_level level, talentdata_text message, talentdata_text fields, void *user_data) {
  (void)level, (void)message, (void)fields, (void)user_data;
  if (__atomic_exchange_n(&armed, 0, __ATOMIC_SEQ_CST)) end();
}

static void *end_here(void *unused) {
  ask(client);
  end();
  return unused;
}

/* Interrupts main while its call is running. */
static void *interrupt_main(void *unused) {
  accept(listener, NULL, NULL);
  pthread_kill(main_thread, SIGUSR1);
  return unused;
}

/* Outlives main, and ends as the last thread. */
static void *outlive_main(void *unused) {
  pthread_join(main_thread, NULL);
  if (!ask(client)) wrong("this thread is not ending");
  if (is_busy) {
    __atomic_store_n(&rounds, INT_MIN, __ATOMIC_SEQ_CST);
    pthread_join(busy, NULL);
    is_busy = 0;
  }
  late();
  return unused;
}

static void in_a_child(void) {
  int status;
  const pid_t child = fork();
  if (child == 0) {
    talentdata_client *own;
    OK(talentdata_client_from_environment(&own));
    if (!ask(own) || !ask(client)) wrong("a child is refused");
    /* The handle is not freed, because a child that ends frees nothing. */
    end();
  }
  waitpid(child, &status, 0);
  const int aborts = is(how, "abort");
  if (aborts ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT : !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    wrong("the child ended in another way");
  }
  if (!ask(client)) wrong("the parent is refused");
}

int main(int argc, char **argv) {
  pthread_t other;
  talentdata_record *record;
  talentdata_config *config = talentdata_config_new();
  how = argv[1], where = argv[2], is_busy = argc > 3;
  first = getpid(), main_thread = pthread_self();
  at_quick_exit(late);
  at_the_end();
  signal(SIGUSR1, interrupted);
  if (is(how, "caught")) signal(SIGABRT, interrupted), how = "exit";

  OK(talentdata_config_set_log(config, TALENTDATA_LOG_LEVEL_TRACE, logged, NULL, NULL));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  OK(talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan));
  if (is_busy) {
    OK(talentdata_scan_next(scan, &record));
    talentdata_record_free(record);
    pthread_create(&busy, NULL, keep_asking, NULL);
    wait_for_a_round();
  }
  if (is(how, "pthread_exit")) pthread_create(&other, NULL, outlive_main, NULL);
  if (is(where, "thread")) {
    pthread_create(&other, NULL, end_here, NULL);
    pthread_join(other, NULL);
  } else if (is(where, "callback")) {
    int descriptor;
    armed = 1;
    /* The requests begin, and nobody waits for them. */
    OK(talentdata_scan_descriptor(scan, &descriptor));
    if (is_busy) ask(client);
    for (;;) pause();
  } else if (is(where, "signal")) {
    talentdata_client *silent;
    listener = silent_service(&silent);
    pthread_create(&other, NULL, interrupt_main, NULL);
    ask(silent);
  } else if (is(where, "child")) {
    in_a_child();
    return 0;
  }
  if (!is(how, "return")) end();
  return 0;
}
