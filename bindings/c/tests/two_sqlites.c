/* The static library together with the machine's SQLite. Both use the same names, but each part of the program uses its
   own SQLite. In jobs.c, these names are functions of the program. */
#include "fixture.h"

int sqlite3_open(const char *name, void **database);
int sqlite3_prepare_v2(void *database, const char *sql, int size, void **statement, const char **tail);
int sqlite3_step(void *statement);
int sqlite3_column_int(void *statement, int column);
int sqlite3_finalize(void *statement);
int sqlite3_close(void *database);

/* Returns the number of pools that the machine's SQLite finds in the mirror. */
static int counted(void) {
  void *database = NULL, *statement = NULL;
  CHECK(sqlite3_open("two.db", &database) == 0);
  CHECK(sqlite3_prepare_v2(database, "SELECT count(*) FROM pools", -1, &statement, NULL) == 0);
  CHECK(sqlite3_step(statement) == 100);
  const int found = sqlite3_column_int(statement, 0);
  CHECK(sqlite3_finalize(statement) == 0 && sqlite3_close(database) == 0);
  return found;
}

int main(void) {
  talentdata_client *client;
  talentdata_job *job;
  talentdata_mirror *mirror;
  talentdata_record *record;
  struct ArrowArrayStream current;
  (void)remove("two.db");
  OK(talentdata_client_from_environment(&client));
  OK(talentdata_client_sync(client, TALENTDATA_LIST_POOLS, T("two.db"), NULL, &job));
  OK(talentdata_job_run(job, &record));
  talentdata_record_free(record);
  OK(talentdata_mirror_open(T("two.db"), &mirror));
  OK(talentdata_mirror_records(mirror, TALENTDATA_LIST_POOLS, TALENTDATA_ABSENT, NULL, &current, NULL));
  const int found = counted();
  /* The second sync runs while a stream of the first one is open. */
  OK(talentdata_job_run(job, &record));
  CHECK(integer_at(record, "generation") == 2);
  talentdata_record_free(record);
  const int64_t own = rows(&current);
  CHECK(own > 0 && found == own && counted() == found);
  talentdata_mirror_free(mirror);
  talentdata_job_free(job);
  talentdata_client_free(client);
  return fixture_verdict();
}
