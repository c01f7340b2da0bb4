/* What the C tests share: checks, handles of every type, poisoned slots, and a service that is silent. */
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
  talentdata_record *record;
  talentdata_mirror *mirror;
  talentdata_error *error;
};
struct fixture *fixture_make(void);
void fixture_free(struct fixture *all);
/* A text that is good enough for the parameter of this name. */
talentdata_text fixture_text(const char *parameter);
void fixture_log(talentdata_log_level level, talentdata_text message, void *user_data);
void null_arguments(void);

/* Slots for results, filled with 0xAA. */
void fixture_poison(void);
void *fixture_slot(int index);

/* The error must be of this kind, and its message have these words, the slots be poisoned still. */
void fixture_fails(talentdata_error *error, talentdata_error_kind kind, const char *words, const char *what);
void fixture_is_null(talentdata_error *error, const char *function, const char *argument);
/* Ends the program when there is an error. */
void fixture_succeeds(talentdata_error *error);
void fixture_check(int holds, const char *what);
#define CHECK(holds) fixture_check((holds), #holds)
#define OK(call) fixture_succeeds(call)
/* How the test went: the exit code. */
int fixture_verdict(void);

/* What a record has at a path; 0 where there is nothing. */
int64_t integer_at(const talentdata_record *record, const char *path);
int text_at(const talentdata_record *record, const char *path, const char *wanted);
/* Whether the JSON of a record has these words; frees the record. */
int says(talentdata_record *record, const char *words);
/* The rows of a stream, which is released. */
int64_t rows(struct ArrowArrayStream *stream);
unsigned long contacts(void);
void ask_version(const talentdata_client *client);
/* Options with names and values, up to a NULL. */
talentdata_options *options_with(const char *first, ...);

/* A service that takes connections and never answers, and a client of it: once it has taken one, a call is under way. */
int silent_service(talentdata_client **client);

#ifdef __cplusplus
}
#endif
#endif
