/* Handles of every type, poisoned slots and checks, for the tests of the C interface. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talentdata.h>
#include <talentdata/arrow.h>

/* One handle of every type that the header knows. */
struct fixture {
  talentdata_config *config;
  talentdata_client *client;
  talentdata_scan_options *scan_options;
  talentdata_scan *scan;
  talentdata_plan *plan;
  talentdata_export_options *export_options;
  talentdata_exporter *exporter;
  talentdata_page *page;
  talentdata_record *record;
  talentdata_receipt *receipt;
  talentdata_parameters *parameters;
  talentdata_json_text *json_text;
  talentdata_mirror *mirror;
  talentdata_syncer *syncer;
  talentdata_error *error;
  talentdata_version_response *version_response;
  talentdata_version_check_response *version_check_response;
  talentdata_token_permissions *token_permissions;
  const talentdata_category_entry *category_entry;
  const talentdata_compatibility_entry *compatibility_entry;
  const talentdata_pagination *pagination;
  const talentdata_value *value;
};

struct fixture *fixture_make(void);
void fixture_free(struct fixture *all);

extern const char *const fixture_names[1];
extern const talentdata_text fixture_texts[1];
void fixture_log(uint32_t level, talentdata_text message, void *user_data);

/* Slots for results, filled with 0xAA. */
void fixture_poison(void);
void *fixture_slot(int index);
int fixture_is_poisoned(void);

/* The error must be INVALID_ARGUMENT and name the argument, the slots must be poisoned still. */
void fixture_is_null(talentdata_error *error, const char *function, const char *argument);
/* The error must be of this kind, and its message hold these words, the slots be poisoned still. */
void fixture_fails(talentdata_error *error, talentdata_error_kind kind, const char *words, const char *what);
/* Ends the program when there is an error. */
void fixture_succeeds(talentdata_error *error);
void fixture_check(int holds, const char *what);
/* Whether the text holds these words. */
int fixture_says(talentdata_text text, const char *words);
/* A service that takes connections and never answers, and a client of it: once it has taken one, a call is under way. */
int fixture_silent_service(talentdata_client **client);
/* How the test went: the exit code. */
int fixture_verdict(void);

#define CHECK(holds) fixture_check((holds), #holds)
#define OK(call) fixture_succeeds(call)

#endif
