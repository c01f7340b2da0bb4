/* Typed columns through the Arrow C data interface: what each cell holds is what the record's JSON says. */
#define _POSIX_C_SOURCE 200809L
#include "fixture.h"
#include "service.h"

#include <time.h>

/* Rows that are compared: under valgrind all of them take minutes. */
enum { compared = 300 };

static const talentdata_text absent;

static int same(talentdata_text one, talentdata_text other) {
  return one.data && other.data && one.length == other.length && memcmp(one.data, other.data, one.length) == 0;
}

static int is(talentdata_text text, const char *words) {
  const talentdata_text expected = {words, strlen(words)};
  return same(text, expected);
}

/* Which child has this name; the test ends where there is none. */
static int64_t place(const struct ArrowSchema *parent, const char *name) {
  for (int64_t i = 0; i < parent->n_children; i++) {
    if (strcmp(parent->children[i]->name, name) == 0) return i;
  }
  fprintf(stderr, "there is no column %s\n", name);
  exit(1);
}

/* The format at a path of names, from the table on; of a list, its items follow by themselves. */
static const char *format(const struct ArrowSchema *at, const char *name, const char *member) {
  at = at->children[place(at, name)];
  if (member && strcmp(at->format, "+l") == 0) at = at->children[0];
  return member ? at->children[place(at, member)]->format : at->format;
}

/* The value of a key: a count, then lengths and bytes of keys and values, as the C data interface has it. */
static talentdata_text metadata(const struct ArrowSchema *field, const char *key) {
  const char *at = field->metadata;
  int32_t count = 0;
  if (at) memcpy(&count, at, sizeof count), at += sizeof count;
  for (; count > 0; count--) {
    talentdata_text pair[2];
    for (int i = 0; i < 2; i++) {
      int32_t length;
      memcpy(&length, at, sizeof length);
      pair[i].data = at + sizeof length, pair[i].length = (size_t)length;
      at += sizeof length + (size_t)length;
    }
    if (is(pair[0], key)) return pair[1];
  }
  return absent;
}

/* A row of an array whose parent is entered at `row`. */
static int is_valid(const struct ArrowArray *array, int64_t row) {
  const unsigned char *bits = array->buffers[0];
  row += array->offset;
  return !bits || bits[row / 8] >> row % 8 & 1;
}

static talentdata_text text_at(const struct ArrowArray *array, int64_t row) {
  const int32_t *offsets = (const int32_t *)array->buffers[1] + array->offset;
  const char *bytes = array->buffers[2];
  if (!is_valid(array, row)) return absent;
  const talentdata_text text = {bytes + offsets[row], (size_t)(offsets[row + 1] - offsets[row])};
  return text;
}

static int64_t int64_at(const struct ArrowArray *array, int64_t row) {
  return ((const int64_t *)array->buffers[1])[array->offset + row];
}

/* Where the items of a list begin and how many there are; none where it is null. */
static int32_t items(const struct ArrowArray *list, int64_t row, int32_t *first) {
  const int32_t *offsets = (const int32_t *)list->buffers[1] + list->offset;
  *first = offsets[row];
  return is_valid(list, row) ? offsets[row + 1] - offsets[row] : 0;
}

static talentdata_text json(const talentdata_record *record, const char *pointer) {
  talentdata_text value;
  OK(talentdata_record_find(record, pointer, &value));
  return value;
}

static talentdata_text text(const talentdata_record *record, const char *pointer) {
  talentdata_text value;
  OK(talentdata_record_find_text(record, pointer, &value));
  return value;
}

static int is_missing(talentdata_text value) { return !value.data || is(value, "null"); }

/* An instant as the sandbox writes it, or a date, with quotes. */
static talentdata_text spelt(int64_t seconds, const char *pattern) {
  static char buffer[64];
  const time_t since = (time_t)seconds;
  struct tm parts;
  gmtime_r(&since, &parts);
  const talentdata_text spelt = {buffer, strftime(buffer, sizeof buffer, pattern, &parts)};
  return spelt;
}

/* What the records of an ordinary scan are compared with: a stream, its schema, and the row at hand. */
struct table {
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray batch;
  int64_t row;
};

static void open_table(struct table *table, talentdata_client *client, uint32_t list, talentdata_scan_options *options) {
  talentdata_scan *scan;
  memset(table, 0, sizeof *table);
  OK(talentdata_client_list_with(client, list, options, &scan));
  OK(talentdata_scan_arrow_stream(scan, &table->stream));
  talentdata_scan_free(scan);
  if (table->stream.get_schema(&table->stream, &table->schema) != 0) {
    fprintf(stderr, "get_schema: %s\n", table->stream.get_last_error(&table->stream));
    exit(1);
  }
  CHECK(strcmp(table->schema.format, "+s") == 0);
}

/* Goes to the next row; 0 at the end. */
static int next_row(struct table *table) {
  if (table->batch.release && ++table->row < table->batch.length) return 1;
  if (table->batch.release) table->batch.release(&table->batch);
  if (table->stream.get_next(&table->stream, &table->batch) != 0) {
    fprintf(stderr, "get_next: %s\n", table->stream.get_last_error(&table->stream));
    exit(1);
  }
  table->row = 0;
  CHECK(!table->batch.release || table->batch.offset == 0);
  return table->batch.release != NULL;
}

static const struct ArrowArray *column(const struct table *table, const char *name) {
  return table->batch.children[place(&table->schema, name)];
}

static void close_table(struct table *table) {
  table->schema.release(&table->schema);
  table->stream.release(&table->stream);
}

static void check_contact(const struct table *table, const talentdata_record *record) {
  char pointer[64];
  const int64_t row = table->row;
  int32_t first, count;
  CHECK(same(text_at(column(table, "id"), row), text(record, "/id")));
  CHECK(is_valid(column(table, "phone"), row) == !is_missing(json(record, "/phone")));

  const struct ArrowArray *tags = column(table, "tags");
  count = items(tags, row, &first);
  for (int32_t i = 0; i < count; i++) {
    snprintf(pointer, sizeof pointer, "/tags/%d", i);
    CHECK(same(text_at(tags->children[0], first + i), text(record, pointer)));
  }
  snprintf(pointer, sizeof pointer, "/tags/%d", count);
  CHECK(is_valid(tags, row) && !json(record, pointer).data);

  const struct ArrowArray *languages = column(table, "languages")->children[0];
  const struct ArrowSchema *item = table->schema.children[place(&table->schema, "languages")]->children[0];
  count = items(column(table, "languages"), row, &first);
  CHECK(count > 0);
  for (int32_t i = 0; i < count; i++) {
    /* The offset of a struct is one of its children too. */
    const int64_t at = first + i + languages->offset;
    snprintf(pointer, sizeof pointer, "/languages/%d/level", i);
    CHECK(is_valid(languages, first + i));
    CHECK(same(text_at(languages->children[place(item, "level")], at), text(record, pointer)));
  }

  const struct ArrowArray *location = column(table, "location");
  const struct ArrowSchema *of_location = table->schema.children[place(&table->schema, "location")];
  const struct ArrowArray *coordinates = location->children[place(of_location, "coordinates")];
  CHECK(same(text_at(location->children[place(of_location, "city")], row + location->offset),
             text(record, "/location/city")));
  CHECK(items(coordinates, row + location->offset, &first) == 2);
  const double *degrees = (const double *)coordinates->children[0]->buffers[1] + coordinates->children[0]->offset;
  CHECK(degrees[first + 1] == strtod(json(record, "/location/coordinates/1").data, NULL));

  const int64_t created = int64_at(column(table, "createdAt"), row);
  CHECK(created % 1000000 == 0);
  CHECK(same(spelt(created / 1000000, "%Y-%m-%dT%H:%M:%SZ"), text(record, "/createdAt")));
  CHECK(is_valid(column(table, "updatedAt"), row) == !is_missing(json(record, "/updatedAt")));
}

/* Contacts of the sandbox, as columns and as records. */
static void contacts(talentdata_client *client) {
  struct table table;
  talentdata_scan *scan;
  talentdata_scan_options *options;
  talentdata_record *record;
  unsigned long rows = 0;
  OK(talentdata_scan_options_new(&options));
  OK(talentdata_scan_options_set_limit(options, compared));
  OK(talentdata_scan_options_set_columns(options, TALENTDATA_COLUMNS_TYPED));
  open_table(&table, client, TALENTDATA_RESOURCE_CONTACTS, options);
  const struct ArrowSchema *schema = &table.schema;
  CHECK(strcmp(format(schema, "id", NULL), "u") == 0);
  CHECK(strcmp(format(schema, "tags", NULL), "+l") == 0);
  CHECK(strcmp(schema->children[place(schema, "tags")]->children[0]->format, "u") == 0);
  CHECK(strcmp(format(schema, "languages", NULL), "+l") == 0);
  CHECK(strcmp(format(schema, "languages", "level"), "u") == 0);
  CHECK(strcmp(format(schema, "location", NULL), "+s") == 0);
  CHECK(strcmp(format(schema, "location", "coordinates"), "+l") == 0);
  CHECK(strcmp(format(schema, "createdAt", NULL), "tsu:UTC") == 0);
  CHECK(strcmp(format(schema, "_extra", NULL), "u") == 0);
  CHECK(is(metadata(schema->children[place(schema, "phone")], "talentdata:empty"), "null"));
  CHECK(is(metadata(schema->children[place(schema, "createdAt")], "talentdata:offset"), "Z"));
  OK(talentdata_client_list_with(client, TALENTDATA_RESOURCE_CONTACTS, options, &scan));
  for (; next_row(&table); rows++) {
    OK(talentdata_scan_next(scan, &record));
    CHECK(record != NULL);
    check_contact(&table, record);
    talentdata_record_free(record);
  }
  CHECK(rows == compared);
  talentdata_scan_free(scan);
  close_table(&table);

  OK(talentdata_scan_options_set_columns(options, TALENTDATA_COLUMNS_JSON));
  open_table(&table, client, TALENTDATA_RESOURCE_CONTACTS, options);
  CHECK(strcmp(format(&table.schema, "languages", NULL), "u") == 0);
  CHECK(is(metadata(table.schema.children[place(&table.schema, "languages")], "talentdata:content"), "json"));
  CHECK(strcmp(format(&table.schema, "createdAt", NULL), "u") == 0);
  close_table(&table);
  talentdata_scan_options_free(options);
}

/* Dates, with a schema of an earlier call. */
static void pinned_vacancies(talentdata_client *client) {
  struct table table;
  talentdata_json_text *schema;
  talentdata_scan_options *options;
  talentdata_scan *scan;
  talentdata_record *record;
  talentdata_text contents;
  unsigned long rows = 0;
  OK(talentdata_client_schema(client, TALENTDATA_RESOURCE_VACANCIES, TALENTDATA_COLUMNS_TYPED, &schema));
  OK(talentdata_json_text_get(schema, &contents));
  CHECK(contents.data && contents.data[0] == '{' && contents.data[contents.length - 1] == '\n');
  OK(talentdata_scan_options_new(&options));
  OK(talentdata_scan_options_set_limit(options, compared));
  OK(talentdata_scan_options_set_schema_n(options, contents.data, contents.length, TALENTDATA_ON_NEW_FAIL));
  talentdata_json_text_free(schema);
  open_table(&table, client, TALENTDATA_RESOURCE_VACANCIES, options);
  CHECK(strcmp(format(&table.schema, "startDate", NULL), "tdD") == 0);
  CHECK(strcmp(format(&table.schema, "requiredSkills", "weight"), "g") == 0);
  OK(talentdata_client_list_with(client, TALENTDATA_RESOURCE_VACANCIES, options, &scan));
  for (; next_row(&table); rows++) {
    const struct ArrowArray *start = column(&table, "startDate");
    OK(talentdata_scan_next(scan, &record));
    const talentdata_text date = json(record, "/startDate");
    CHECK(is_valid(start, table.row) == !is_missing(date));
    if (!is_missing(date)) {
      const int32_t days = ((const int32_t *)start->buffers[1])[start->offset + table.row];
      CHECK(same(spelt((int64_t)days * 86400, "%Y-%m-%d"), text(record, "/startDate")));
    }
    talentdata_record_free(record);
  }
  CHECK(rows == compared);
  close_table(&table);
  talentdata_scan_free(scan);

  /* A schema belongs to its list, which is known when the columns are. */
  struct ArrowArrayStream *slot = fixture_slot(0);
  OK(talentdata_client_list_with(client, TALENTDATA_RESOURCE_POOLS, options, &scan));
  fixture_poison();
  fixture_fails(talentdata_scan_arrow_stream(scan, slot), TALENTDATA_ERROR_KIND_INVALID_ARGUMENT,
                "it was made for vacancies", "a schema of another list");
  talentdata_scan_free(scan);
  talentdata_scan_options_free(options);
}

static void wrong_arguments_of_a_schema(talentdata_client *client) {
  static const uint32_t numbers[] = {0, 3, UINT32_MAX};
  talentdata_scan_options *options;
  void *slot = fixture_slot(0);
  OK(talentdata_scan_options_new(&options));
  fixture_poison();
  for (size_t i = 0; i < 3; i++) {
    fixture_fails(talentdata_client_schema(client, TALENTDATA_RESOURCE_CONTACTS, numbers[i], slot),
                  TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "columns: ", "a number that is no choice of columns");
  }
  fixture_fails(talentdata_client_schema(client, 0, TALENTDATA_COLUMNS_TYPED, slot),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "resource: ", "a number that is no list");
  fixture_fails(talentdata_scan_options_set_schema_n(options, "{}{}", 2, TALENTDATA_ON_NEW_KEEP),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "schema: ", "an object that is no schema");
  fixture_fails(talentdata_scan_options_set_schema_n(options, "\xff", 1, TALENTDATA_ON_NEW_KEEP),
                TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, "schema: not valid UTF-8", "text that is not UTF-8");
  talentdata_scan_options_free(options);
  OK(talentdata_client_close(client));
  fixture_fails(talentdata_client_schema(client, TALENTDATA_RESOURCE_CONTACTS, TALENTDATA_COLUMNS_TYPED, slot),
                TALENTDATA_ERROR_KIND_CLOSED, "", "a client that is closed");
}

/* Null, absent and empty lists and structs, and one written with white space. */
static const char *four_records(unsigned long offset, void *context) {
  static const char *const records[] = {
      "{\"id\":\"1\",\"l\":[{\"a\":1},null,{\"a\":null}],\"s\":{\"x\":true}}", "{\"id\":\"2\",\"l\":null,\"s\":null}",
      "{\"id\":\"3\",\"l\":[]}", "{\"id\":\"4\",\"l\":[\n  { \"a\": 4 }\n],\"s\":{\"x\":false}}"};
  static char page[512];
  char *end = page + sprintf(page, "{\"contacts\":[");
  (void)context;
  for (unsigned long i = offset; i < 4; i++) end += sprintf(end, "%s%s", i > offset ? "," : "", records[i]);
  sprintf(end, "],\"pagination\":{\"total\":4,\"limit\":%lu,\"offset\":%lu,\"hasMore\":false}}",
          offset < 4 ? 4 - offset : 0, offset);
  return page;
}

static void validity_and_moved_children(void) {
  struct service *service = service_start(four_records, NULL);
  talentdata_client *client = service_client(service);
  talentdata_scan_options *options;
  struct table table;
  struct ArrowArray list;
  int32_t first;
  OK(talentdata_scan_options_new(&options));
  open_table(&table, client, TALENTDATA_RESOURCE_CONTACTS, options);
  talentdata_scan_options_free(options);
  CHECK(next_row(&table) && table.batch.length == 4);
  const struct ArrowArray *flags = column(&table, "s");
  const struct ArrowArray *extra = column(&table, "_extra");
  static const int has_flag[] = {1, 0, 0, 1};
  for (int64_t row = 0; row < 4; row++) CHECK(is_valid(flags, row) == has_flag[row]);
  const unsigned char *bits = flags->children[0]->buffers[1];
  CHECK((bits[0] & 1) == 1 && (bits[0] >> 3 & 1) == 0);
  /* A list with white space is in its column, and its text in _extra. */
  CHECK(text_at(extra, 0).data == NULL);
  CHECK(is(text_at(extra, 3), "{\"l\":[\n  { \"a\": 4 }\n]}"));

  /* A consumer may take a child over, and release the rest. */
  struct ArrowArray *child = table.batch.children[place(&table.schema, "l")];
  memcpy(&list, child, sizeof list);
  child->release = NULL;
  table.batch.release(&table.batch);
  talentdata_client_free(client);
  service_stop(service);
  const struct ArrowArray *objects = list.children[0];
  CHECK(list.length == 4 && is_valid(&list, 0) && !is_valid(&list, 1) && is_valid(&list, 2));
  CHECK(items(&list, 0, &first) == 3 && is_valid(objects, first) && !is_valid(objects, first + 1));
  CHECK(int64_at(objects->children[0], first + objects->offset) == 1);
  CHECK(is_valid(objects, first + 2) && !is_valid(objects->children[0], first + 2 + objects->offset));
  CHECK(items(&list, 2, &first) == 0);
  CHECK(items(&list, 3, &first) == 1 && int64_at(objects->children[0], first + objects->offset) == 4);
  list.release(&list);
  close_table(&table);
}

static const char *nothing(unsigned long offset, void *context) {
  (void)offset, (void)context;
  return NULL;
}

static void a_stream_without_a_first_page(void) {
  struct service *service = service_start(nothing, NULL);
  talentdata_client *client = service_client(service);
  talentdata_scan *scan;
  OK(talentdata_client_list(client, TALENTDATA_RESOURCE_CONTACTS, &scan));
  fixture_poison();
  fixture_fails(talentdata_scan_arrow_stream(scan, (struct ArrowArrayStream *)fixture_slot(0)),
                TALENTDATA_ERROR_KIND_NOT_FOUND, "404", "a list that there is not");
  fixture_fails(talentdata_client_schema(client, TALENTDATA_RESOURCE_CONTACTS, TALENTDATA_COLUMNS_TYPED, fixture_slot(0)),
                TALENTDATA_ERROR_KIND_NOT_FOUND, "404", "the schema of a list that there is not");
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  service_stop(service);
}

int main(void) {
  talentdata_client *client;
  OK(talentdata_client_from_environment(&client));
  contacts(client);
  pinned_vacancies(client);
  wrong_arguments_of_a_schema(client);
  talentdata_client_free(client);
  validity_and_moved_children();
  a_stream_without_a_first_page();
  return fixture_verdict();
}
