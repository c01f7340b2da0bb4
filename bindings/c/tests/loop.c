/* A server with one thread and an event loop: lists, an export, a sync and single calls with deadlines, cancelled at random,
   while a timer interrupts its system calls. No record is lost or delivered twice. */
#define _GNU_SOURCE
#include "fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROUNDS = 20, CALLS = 50, LISTS = 3 };

/* A scan or a call that the loop waits for. */
struct task {
  talentdata_scan *scan;
  talentdata_call *call;
  talentdata_job *job;
  unsigned long records, wanted;
  int is_cancelled, is_over;
};

/* The lists, and the number of records of each that a scan takes. */
static talentdata_text lists[LISTS];
static unsigned long wanted[LISTS] = {300};
static int loop, open_tasks;
static unsigned long interrupts, cancelled, finished;

static void ring(int signal) { (void)signal, interrupts++; }

/* The timer interrupts the loop, and the system calls of its handlers. */
static void interrupt_every_10_ms(void) {
  struct sigaction action = {.sa_handler = ring};
  const struct itimerval every = {{0, 10000}, {0, 10000}};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
}

static void watch(struct task *task, int descriptor) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = task};
  CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) == 0);
  open_tasks++;
}

static void watch_call(struct task *task) {
  int descriptor;
  OK(talentdata_call_descriptor(task->call, &descriptor));
  watch(task, descriptor);
}

/* Records the end of a task. Only a cancelled task may end with an error of this kind. */
static void over(struct task *task, talentdata_error *error) {
  CHECK(!task->is_over);
  task->is_over = 1;
  open_tasks--;
  if (error) {
    const talentdata_text said = talentdata_error_message(error);
    if (!task->is_cancelled) fprintf(stderr, "%.*s\n", (int)said.length, said.data);
    CHECK(task->is_cancelled && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CANCELLED);
    cancelled++;
  } else {
    CHECK(task->scan == NULL || task->records == task->wanted);
    finished++;
  }
  talentdata_error_free(error);
}

static void take_records(struct task *task) {
  for (;;) {
    talentdata_arrival arrival = TALENTDATA_ARRIVAL_PENDING;
    talentdata_record *record = NULL;
    talentdata_error *error = talentdata_scan_try_next(task->scan, &arrival, &record);
    talentdata_record_free(record);
    if (error || arrival == TALENTDATA_ARRIVAL_END) {
      over(task, error);
      return;
    }
    if (arrival == TALENTDATA_ARRIVAL_PENDING) return;
    task->records++;
  }
}

static void take_result(struct task *task) {
  bool done = false;
  talentdata_record *result = NULL;
  talentdata_error *error = talentdata_call_poll(task->call, &done, &result);
  CHECK(error || done == (result != NULL));
  talentdata_record_free(result);
  if (error || done) over(task, error);
}

static void cancel(struct task *task) {
  if (task->is_over) return;
  task->is_cancelled = 1;
  if (task->scan) talentdata_scan_cancel(task->scan);
  if (task->call) talentdata_call_cancel(task->call);
}

static void round_of(const talentdata_client *client, unsigned number) {
  struct task tasks[LISTS + CALLS + 2] = {{0}}, *task = tasks;
  talentdata_options *some = options_with("limit", "300", NULL),
                     *restarted = options_with("limit", "300", "restart", "true", NULL);
  char path[32], mirror[32];
  int descriptor;
  for (int i = 0; i < LISTS; i++, task++) {
    OK(talentdata_client_list(client, lists[i], i == 0 ? some : NULL, &task->scan));
    OK(talentdata_scan_descriptor(task->scan, &descriptor));
    task->wanted = wanted[i];
    watch(task, descriptor);
  }
  for (int i = 0; i < CALLS; i++, task++) {
    OK(talentdata_client_begin(client, T("getVersion"), NULL, TALENTDATA_ABSENT, 60, &task->call));
    watch_call(task);
  }
  snprintf(path, sizeof path, "loop-%u.jsonl", number);
  snprintf(mirror, sizeof mirror, "loop-%u.db", number);
  OK(talentdata_client_export(client, TALENTDATA_LIST_CONTACTS, T(path), TALENTDATA_FORMAT_OF_PATH, restarted, &task->job));
  OK(talentdata_job_begin(task->job, &task->call));
  watch_call(task++);
  OK(talentdata_client_sync(client, TALENTDATA_LIST_POOLS, T(mirror), NULL, &task->job));
  OK(talentdata_job_begin(task->job, &task->call));
  watch_call(task++);
  const int count = (int)(task - tasks);
  for (unsigned step = 0; open_tasks > 0; step++) {
    struct epoll_event events[16];
    const int found = epoll_wait(loop, events, 16, -1);
    CHECK(found >= 0 || errno == EINTR);
    for (int i = 0; i < found; i++) {
      struct task *ready = events[i].data.ptr;
      /* A task with a permanent error stays readable. */
      if (ready->is_over) continue;
      if (ready->scan)
        take_records(ready);
      else
        take_result(ready);
      if (ready->is_over) {
        int gone;
        if (ready->scan)
          OK(talentdata_scan_descriptor(ready->scan, &gone));
        else
          OK(talentdata_call_descriptor(ready->call, &gone));
        CHECK(epoll_ctl(loop, EPOLL_CTL_DEL, gone, NULL) == 0);
      }
    }
    if (rand() % 4 == 0) cancel(&tasks[rand() % count]);
  }
  for (int i = 0; i < count; i++) {
    talentdata_call_free(tasks[i].call);
    talentdata_scan_free(tasks[i].scan);
    talentdata_job_free(tasks[i].job);
  }
  talentdata_options_free(some);
  talentdata_options_free(restarted);
  unlink(path);
  unlink(mirror);
}

/* Returns the number of records in a list. */
static unsigned long length_of(const talentdata_client *client, talentdata_text list) {
  talentdata_scan *scan;
  talentdata_record *record;
  unsigned long length = 0;
  OK(talentdata_client_list(client, list, NULL, &scan));
  for (;; length++) {
    OK(talentdata_scan_next(scan, &record));
    if (!record) break;
    talentdata_record_free(record);
  }
  talentdata_scan_free(scan);
  return length;
}

/* A call ends at its time limit, by a cancel, or when its client is closed. Its error stays; its result is taken once. */
static void ends(const talentdata_client *answering) {
  talentdata_client *client;
  talentdata_call *call;
  talentdata_record *result;
  bool done = true;
  const int silent = silent_service(&client);
  OK(talentdata_client_begin(client, T("getVersion"), NULL, TALENTDATA_ABSENT, 0.05, &call));
  for (int again = 0; again < 2; again++) {
    fixture_poison();
    fixture_fails(talentdata_call_wait(call, fixture_slot(0)), TALENTDATA_ERROR_KIND_TIMEOUT, "the deadline of this call",
                  "a deadline");
  }
  talentdata_call_free(call);
  OK(talentdata_client_begin_page(client, TALENTDATA_LIST_POOLS, 1, 0, NULL, 0, &call));
  OK(talentdata_call_poll(call, &done, &result));
  CHECK(!done && !result);
  talentdata_call_cancel(call);
  fixture_poison();
  fixture_fails(talentdata_call_wait(call, fixture_slot(0)), TALENTDATA_ERROR_KIND_CANCELLED, "cancelled", "a cancel");
  talentdata_call_free(call);
  OK(talentdata_client_begin(client, T("getVersion"), NULL, TALENTDATA_ABSENT, 0, &call));
  talentdata_client_close(client);
  fixture_poison();
  fixture_fails(talentdata_call_wait(call, fixture_slot(0)), TALENTDATA_ERROR_KIND_CLOSED, "closed", "a close");
  talentdata_call_free(call);
  /* A running call may be the last handle of its client. */
  talentdata_client_free(client);
  close(silent);
  fixture_poison();
  fixture_fails(talentdata_client_begin(answering, T("getVersion"), NULL, TALENTDATA_ABSENT, -1, fixture_slot(0)), INVALID,
                "seconds: must be between", "a deadline in the past");
  OK(talentdata_client_begin(answering, T("getVersion"), NULL, TALENTDATA_ABSENT, 0, &call));
  OK(talentdata_call_wait(call, &result));
  CHECK(says(result, "version"));
  fixture_poison();
  fixture_fails(talentdata_call_wait(call, fixture_slot(0)), INVALID, "taken before", "a result taken twice");
  talentdata_call_free(call);
}

/* A job runs only once at a time, and can run again when it is done. */
static void jobs(const talentdata_client *client) {
  talentdata_job *job;
  talentdata_call *call;
  talentdata_record *receipt;
  unlink("begun.db");
  OK(talentdata_client_sync(client, TALENTDATA_LIST_POOLS, T("begun.db"), NULL, &job));
  for (int again = 0; again < 2; again++) {
    OK(talentdata_job_begin(job, &call));
    OK(talentdata_call_wait(call, &receipt));
    CHECK(integer_at(receipt, "generation") == again + 1);
    talentdata_record_free(receipt);
    /* The cancel comes too late, so the job runs again. */
    talentdata_call_cancel(call);
    talentdata_call_free(call);
  }
  OK(talentdata_job_begin(job, &call));
  talentdata_call_cancel(call);
  talentdata_error *error = talentdata_call_wait(call, &receipt);
  if (error)
    CHECK(talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CANCELLED);
  else
    talentdata_record_free(receipt);
  talentdata_error_free(error);
  talentdata_call_free(call);
  fixture_poison();
  fixture_fails(talentdata_job_begin(job, fixture_slot(0)), TALENTDATA_ERROR_KIND_CANCELLED, "stopped", "a stopped job");
  talentdata_job_free(job);
}

int main(void) {
  talentdata_client *client;
  OK(talentdata_client_from_environment(&client));
  ends(client);
  jobs(client);
  loop = epoll_create1(0);
  lists[0] = TALENTDATA_LIST_CONTACTS, lists[1] = TALENTDATA_LIST_POOLS, lists[2] = TALENTDATA_LIST_VACANCIES;
  for (int i = 1; i < LISTS; i++) CHECK((wanted[i] = length_of(client, lists[i])) > 0);
  const char *rounds = getenv("LOOP_ROUNDS");
  const unsigned count = rounds ? (unsigned)atoi(rounds) : ROUNDS;
  srand(1);
  interrupt_every_10_ms();
  for (unsigned number = 0; number < count; number++) {
    cancelled = finished = 0;
    round_of(client, number);
    CHECK(cancelled + finished == LISTS + CALLS + 2);
  }
  CHECK(interrupts > 0);
  const struct itimerval never = {{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
  close(loop);
  talentdata_client_free(client);
  return fixture_verdict();
}
