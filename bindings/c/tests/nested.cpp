// Typed columns in C++: lists and structs of an Arrow stream, and the schema that keeps them the same.
#include <talentdata.hpp>
#include <talentdata/arrow.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

static int checks, failures;
static void check(bool holds, const char *what) {
  checks++;
  if (!holds) {
    failures++;
    std::fprintf(stderr, "FAILED: %s\n", what);
  }
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__)

// What an Arrow structure is ended by.
struct release {
  template <class T>
  void operator()(T *structure) const {
    if (structure->release) structure->release(structure);
    delete structure;
  }
};
template <class T>
using arrow = std::unique_ptr<T, release>;

static arrow<ArrowSchema> schema_of(ArrowArrayStream &stream) {
  arrow<ArrowSchema> schema{new ArrowSchema{}};
  if (stream.get_schema(&stream, schema.get()) != 0) throw std::runtime_error(stream.get_last_error(&stream));
  return schema;
}

static std::int64_t place(const ArrowSchema &parent, std::string_view name) {
  for (std::int64_t i = 0; i < parent.n_children; i++) {
    if (parent.children[i]->name == name) return i;
  }
  throw std::runtime_error("there is no column " + std::string(name));
}

static std::string_view text(const ArrowArray &array, std::int64_t row) {
  const auto *offsets = static_cast<const std::int32_t *>(array.buffers[1]) + array.offset;
  const auto *bytes = static_cast<const char *>(array.buffers[2]);
  return {bytes + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])};
}

// Formats and names of a schema, nested ones included.
static std::string shape(const ArrowSchema &schema) {
  std::string out = std::string(schema.name ? schema.name : "") + ":" + schema.format;
  for (std::int64_t i = 0; i < schema.n_children; i++) out += "(" + shape(*schema.children[i]) + ")";
  return out;
}

// Under valgrind all contacts would take minutes.
static constexpr unsigned long compared = 300;

// The levels of languages, from the columns and from the records.
static void languages(const talentdata::client &client, talentdata::scan_options options) {
  options.limit = compared;
  const arrow<ArrowArrayStream> stream{new ArrowArrayStream{}};
  client.list(talentdata::contacts, options).arrow_stream(stream.get());
  const auto schema = schema_of(*stream);
  const auto at = place(*schema, "languages");
  CHECK(!std::strcmp(schema->children[at]->format, "+l"));
  const ArrowSchema &item = *schema->children[at]->children[0];
  CHECK(!std::strcmp(item.format, "+s"));
  const auto level = place(item, "level");
  CHECK(!std::strcmp(schema->children[place(*schema, "createdAt")]->format, "tsu:UTC"));
  auto records = client.list(talentdata::contacts, options);
  unsigned long rows = 0;
  for (;;) {
    const arrow<ArrowArray> batch{new ArrowArray{}};
    if (stream->get_next(stream.get(), batch.get()) != 0) throw std::runtime_error(stream->get_last_error(stream.get()));
    if (!batch->release) break;
    const ArrowArray &lists = *batch->children[at];
    const ArrowArray &structs = *lists.children[0];
    const auto *offsets = static_cast<const std::int32_t *>(lists.buffers[1]) + lists.offset;
    for (std::int64_t row = 0; row < batch->length; row++, rows++) {
      const auto record = records.next();
      for (auto i = offsets[row]; i < offsets[row + 1]; i++) {
        const auto pointer = "/languages/" + std::to_string(i - offsets[row]) + "/level";
        CHECK(record->find_text(pointer) == text(*structs.children[level], i + structs.offset));
      }
      CHECK(!record->find("/languages/" + std::to_string(offsets[row + 1] - offsets[row])));
    }
  }
  CHECK(!records.next() && rows == compared);
}

static std::string shape(const talentdata::client &client, const talentdata::scan_options &options) {
  const arrow<ArrowArrayStream> stream{new ArrowArrayStream{}};
  client.list(talentdata::vacancies, options).arrow_stream(stream.get());
  return shape(*schema_of(*stream));
}

template <class Error, class Call>
static bool throws(Call &&call) {
  try {
    call();
  } catch (const Error &) {
    return true;
  } catch (...) {
  }
  return false;
}

int main() {
  const talentdata::client client{talentdata::config()};
  languages(client, {});
  const std::string contacts = client.schema(talentdata::contacts);
  CHECK(contacts.find("\"talentdata_schema\": 1") != std::string::npos && contacts.back() == '\n');
  talentdata::scan_options pinned;
  pinned.schema = contacts;
  languages(client, pinned);

  talentdata::scan_options json;
  json.columns = TALENTDATA_COLUMNS_JSON;
  pinned.schema = client.schema(talentdata::vacancies, TALENTDATA_COLUMNS_JSON);
  const std::string strings = shape(client, json), types = shape(client, {});
  CHECK(shape(client, pinned) == strings && strings != types);
  pinned.schema = client.schema(talentdata::vacancies);
  CHECK(shape(client, pinned) == types && types.find("(startDate:tdD)") != std::string::npos);

  using talentdata::invalid_argument_error;
  pinned.schema = contacts;
  CHECK(throws<invalid_argument_error>([&] { shape(client, pinned); }));
  pinned.schema = "";
  CHECK(throws<invalid_argument_error>([&] { (void)client.list(talentdata::contacts, pinned); }));
  CHECK(throws<invalid_argument_error>(
      [&] { (void)client.schema(talentdata::contacts, static_cast<talentdata_columns>(7)); }));
  talentdata::client closed{talentdata::config()};
  closed.close();
  CHECK(throws<talentdata::closed_error>([&] { (void)closed.schema(talentdata::contacts); }));
  const auto failed = closed.try_schema(talentdata::contacts);
  CHECK(!failed && failed.error().code() == TALENTDATA_ERROR_KIND_CLOSED);
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures || !checks;
}
