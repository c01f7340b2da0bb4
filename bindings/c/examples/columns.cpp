// Counts contacts by the domain of their e-mail address, straight on Arrow columns: nothing is copied.
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <talentdata.hpp>
#include <talentdata/arrow.h>

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

static void check(int answer, ArrowArrayStream &stream) {
  if (answer != 0) throw std::runtime_error(stream.get_last_error(&stream));
}

// Which child of the stream's struct is the text column of this name.
static std::int64_t column(ArrowArrayStream &stream, std::string_view name) {
  const arrow<ArrowSchema> schema{new ArrowSchema{}};
  check(stream.get_schema(&stream, schema.get()), stream);
  for (std::int64_t i = 0; i < schema->n_children; i++) {
    // "u": UTF-8 with offsets of 32 bits.
    if (schema->children[i]->name == name && !std::strcmp(schema->children[i]->format, "u")) return i;
  }
  throw std::runtime_error("there is no such text column");
}

int main() {
  try {
    const talentdata::client client{talentdata::config()};
    const arrow<ArrowArrayStream> stream{new ArrowArrayStream{}};
    client.list(talentdata::contacts).arrow_stream(stream.get());
    const auto email = column(*stream, "email");
    std::map<std::string, unsigned long> counts;
    for (;;) {
      const arrow<ArrowArray> batch{new ArrowArray{}};
      check(stream->get_next(stream.get(), batch.get()), *stream);
      if (!batch->release) break;
      const auto *texts = batch->children[email];
      const auto *offsets = static_cast<const std::int32_t *>(texts->buffers[1]) + texts->offset;
      const auto *bytes = static_cast<const char *>(texts->buffers[2]);
      for (std::int64_t row = 0; row < texts->length; row++) {
        const std::string_view text(bytes + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row]));
        counts[std::string(text.substr(text.find('@') + 1))]++;
      }
    }
    for (const auto &[domain, contacts] : counts) std::cout << domain << ' ' << contacts << '\n';
    return 0;
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
