/* The common parts of the C tests: checks, handles of every type, poisoned slots, and a silent service. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talentdata.h>
#include <talentdata/arrow.h>

#ifdef __cplusplus
extern "C" {
#endif

#define T TALENTDATA_TEXT
#define INVALID TALENTDATA_ERROR_KIND_INVALID_ARGUMENT

/* One handle of every type. */
struct fixture {
  talentdata_config *config;
  talentdata_client *client;
  talentdata_options *options;
  talentdata_scan *scan;
  talentdata_job *job;
  talentdata_call *call;
  talentdata_record *record;
  talentdata_mirror *mirror;
  talentdata_error *error;
  /* Only the test of the sandbox creates this. */
  struct talentdata_sandbox *sandbox;
};
struct fixture *fixture_make(void);
void fixture_free(struct fixture *all);
/* Returns a valid text for the parameter of this name. */
talentdata_text fixture_text(const char *parameter);
void fixture_log(talentdata_log_level level, talentdata_text message, talentdata_text fields, void *user_data);
int64_t fixture_secret(char *secret_out, size_t capacity, void *user_data);
/* Call each exported function of a library with each of its pointers as NULL. */
void null_arguments(struct fixture *all);
void null_arguments_of_sandbox(struct fixture *all);

/* Slots for results, filled with 0xAA. */
void fixture_poison(void);
void *fixture_slot(int index);

/* Checks that the error has this kind, that its message contains these words, and that the slots are still poisoned. */
void fixture_fails(talentdata_error *error, talentdata_error_kind kind, const char *words, const char *what);
void fixture_is_null(talentdata_error *error, const char *function, const char *argument);
/* Ends the program if there is an error. */
void fixture_succeeds(talentdata_error *error);
void fixture_check(int holds, const char *what);
#define CHECK(holds) fixture_check((holds), #holds)
#define OK(call) fixture_succeeds(call)
/* Prints the result of the test and returns the exit code. */
int fixture_verdict(void);

/* Returns the integer at a path of a record, or 0 if it is absent. */
int64_t integer_at(const talentdata_record *record, const char *path);
int text_at(const talentdata_record *record, const char *path, const char *wanted);
/* Returns whether the JSON of a record contains these words. Frees the record. */
int says(talentdata_record *record, const char *words);
/* Returns the number of rows of a stream, and releases the stream. */
int64_t rows(struct ArrowArrayStream *stream);
unsigned long contacts(void);
void ask_version(const talentdata_client *client);
/* Creates options from names and values, up to a NULL. */
talentdata_options *options_with(const char *first, ...);

/* Creates a service that never responds, and a client of it. Returns the listening socket: once it has accepted a
   connection, a call is in progress. */
int silent_service(talentdata_client **client);

#ifdef __cplusplus
}
#endif
#endif
