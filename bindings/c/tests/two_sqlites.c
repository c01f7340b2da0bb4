/* The static library beside another SQLite with the same names: each part of the program uses its own, side by side. The
   other one is that of the machine, or other_sqlite.c, which answers 77 to everything. */
#include "fixture.h"

int sqlite3_open(const char *name, void **database);
int sqlite3_prepare_v2(void *database, const char *sql, int size, void **statement, const char **tail);
int sqlite3_step(void *statement);
int sqlite3_column_int(void *statement, int column);
int sqlite3_finalize(void *statement);
int sqlite3_close(void *database);

/* How many pools the other SQLite finds in the mirror. */
static int counted(void) {
  void *database = NULL, *statement = NULL;
  const char *count = "SELECT count(*) FROM pools";
  const int opened = sqlite3_open("two.db", &database);
  const int prepared = sqlite3_prepare_v2(database, count, -1, &statement, NULL);
  const int stepped = sqlite3_step(statement);
  const int found = sqlite3_column_int(statement, 0);
  CHECK(opened == sqlite3_finalize(statement) && opened == prepared && opened == sqlite3_close(database));
  CHECK(stepped == (opened ? opened : 100));
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
  OK(talentdata_mirror_records(mirror, TALENTDATA_LIST_POOLS, TALENTDATA_ABSENT, &current));
  const int found = counted();
  /* A second sync, while a stream of the first is open. */
  OK(talentdata_job_run(job, &record));
  CHECK(integer_at(record, "generation") == 2);
  talentdata_record_free(record);
  const int64_t own = rows(&current);
  CHECK(own > 0 && (found == own || found == 77) && counted() == found);
  talentdata_mirror_free(mirror);
  talentdata_job_free(job);
  talentdata_client_free(client);
  return fixture_verdict();
}
