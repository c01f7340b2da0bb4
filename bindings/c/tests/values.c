/* Values of a record, read with a type: numbers, truth, texts, items, members; and what is refused. */
#include "fixture.h"
#include "service.h"

static const char *one_record(unsigned long offset, void *context) {
  (void)offset, (void)context;
  return "{\"contacts\":[{\"id\":\"1\",\"count\":9007199254740993,\"share\":0.25,\"big\":1e400,\"open\":true,\"none\":null,"
         "\"skills\":[{\"name\":\"C\\u002b\\u002b\",\"level\":3},{\"name\":\"Rust\",\"level\":-4,\"level\":4}],\"empty\":[],"
         "\"a/b\":{\"~\":\"x\"}}],\"pagination\":{\"total\":1,\"limit\":100,\"offset\":0,\"hasMore\":false}}";
}

static int is(talentdata_text text, const char *wanted) {
  return text.data && text.length == strlen(wanted) && memcmp(text.data, wanted, text.length) == 0;
}

static const talentdata_value *at(const talentdata_record *record, const char *pointer) {
  const talentdata_value *value;
  OK(talentdata_record_value(record, pointer, &value));
  return value;
}

static talentdata_value_kind kind(const talentdata_value *value) {
  talentdata_value_kind kind;
  OK(talentdata_value_type(value, &kind));
  return kind;
}

static void single_values(const talentdata_record *record) {
  int64_t integer;
  double number;
  bool truth;
  talentdata_text text;
  OK(talentdata_value_int64(at(record, "/count"), &integer));
  CHECK(integer == 9007199254740993);
  OK(talentdata_value_double(at(record, "/share"), &number));
  CHECK(number == 0.25);
  OK(talentdata_value_boolean(at(record, "/open"), &truth));
  CHECK(truth);
  OK(talentdata_value_text(at(record, "/skills/0/name"), &text));
  CHECK(is(text, "C++"));
  OK(talentdata_value_json(at(record, "/skills/0/name"), &text));
  CHECK(is(text, "\"C\\u002b\\u002b\""));
  OK(talentdata_value_text(at(record, "/a~1b/~0"), &text));
  CHECK(is(text, "x"));
  CHECK(kind(at(record, "/none")) == TALENTDATA_VALUE_KIND_NULL && kind(at(record, "")) == TALENTDATA_VALUE_KIND_OBJECT);
  CHECK(kind(at(record, "/open")) == TALENTDATA_VALUE_KIND_BOOLEAN && kind(at(record, "/share")) == TALENTDATA_VALUE_KIND_NUMBER);
  CHECK(kind(at(record, "/id")) == TALENTDATA_VALUE_KIND_STRING && kind(at(record, "/empty")) == TALENTDATA_VALUE_KIND_ARRAY);
  CHECK(at(record, "/nothing") == NULL && at(record, "/skills/2") == NULL);
  /* The same value again is the same handle. */
  CHECK(at(record, "/skills") == at(record, "/skills"));
}

static void items_and_members(const talentdata_record *record) {
  const talentdata_value *skills = at(record, "/skills"), *item, *level;
  const int64_t levels[] = {3, 4};
  size_t count;
  int64_t integer;
  talentdata_text name;
  OK(talentdata_value_count(skills, &count));
  CHECK(count == 2);
  for (size_t i = 0; i < count; i++) {
    OK(talentdata_value_item(skills, i, &item));
    OK(talentdata_value_member(item, "level", &level));
    OK(talentdata_value_int64(level, &integer));
    CHECK(integer == levels[i]);
    OK(talentdata_value_member_n(item, "levels", 5, &level));
    CHECK(level != NULL);
    OK(talentdata_value_member(item, "nothing", &level));
    CHECK(level == NULL);
    OK(talentdata_value_name(skills, i, &name));
    CHECK(name.data == NULL);
    OK(talentdata_value_name(item, 1, &name));
    CHECK(is(name, "level"));
    /* Of a name that occurs twice the last value counts. */
    OK(talentdata_value_count(item, &count));
    CHECK(count == 2);
  }
  OK(talentdata_value_count(at(record, "/empty"), &count));
  CHECK(count == 0);
  OK(talentdata_value_count(at(record, ""), &count));
  CHECK(count == 9);
}

static void refused(const talentdata_record *record) {
  const talentdata_error_kind schema = TALENTDATA_ERROR_KIND_SCHEMA;
  fixture_poison();
  fixture_fails(talentdata_value_int64(at(record, "/share"), fixture_slot(0)), schema, "/share", "a fraction as an integer");
  fixture_fails(talentdata_value_int64(at(record, "/id"), fixture_slot(0)), schema, "/id", "a string as an integer");
  fixture_fails(talentdata_value_double(at(record, "/big"), fixture_slot(0)), schema, "/big", "a number beyond a double");
  fixture_fails(talentdata_value_boolean(at(record, "/none"), fixture_slot(0)), schema, "/none", "null as a boolean");
  fixture_fails(talentdata_value_text(at(record, "/count"), fixture_slot(0)), schema, "/count", "a number as text");
  fixture_fails(talentdata_value_count(at(record, "/count"), fixture_slot(0)), schema, "/count", "the items of a number");
  fixture_fails(talentdata_value_item(at(record, "/empty"), 0, fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "index: 0", "an item of an empty array");
  fixture_fails(talentdata_record_value(record, "id", fixture_slot(0)), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "pointer: ", "what is no JSON pointer");
}

int main(void) {
  struct service *service = service_start(one_record, NULL);
  talentdata_client *client = service_client(service);
  talentdata_scan *scan;
  talentdata_record *record;
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  OK(talentdata_scan_next(scan, &record));
  single_values(record);
  items_and_members(record);
  refused(record);
  talentdata_record_free(record);
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  service_stop(service);
  return fixture_verdict();
}
