/* Defines names that the library uses inside: they must not meet. */
#include "fixture.h"

int sqlite3_open(const char *name, void **database);
int sqlite3_open(const char *name, void **database) { (void)name, (void)database; return 77; }
int sqlite3_prepare_v2(void);
int sqlite3_prepare_v2(void) { return 78; }
void blake3_hasher_init(void *hasher);
void blake3_hasher_init(void *hasher) { (void)hasher; }
void blake3_hash_many(void);
void blake3_hash_many(void) { abort(); }

int main(void) {
  struct fixture *all = fixture_make();
  talentdata_json_text *json;
  talentdata_text text;
  CHECK(sqlite3_open(NULL, NULL) == 77 && sqlite3_prepare_v2() == 78);
  OK(talentdata_syncer_run(all->syncer, &json));
  OK(talentdata_json_text_get(json, &text));
  CHECK(fixture_says(text, "\"proven\""));
  talentdata_json_text_free(json);
  fixture_free(all);
  return fixture_verdict();
}
