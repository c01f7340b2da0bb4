// Measures the e-mail addresses of all contacts, straight on an Arrow column: nothing is copied.
#include <iostream>
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

// Which child of the stream's struct is the text column of this name; "u" is UTF-8 with offsets of 32 bits.
static std::int64_t column(const ArrowSchema &schema, std::string_view name) {
  for (std::int64_t i = 0; i < schema.n_children; i++) {
    if (schema.children[i]->name == name && schema.children[i]->format == std::string_view("u")) return i;
  }
  throw std::runtime_error("there is no such text column");
}

int main() {
  try {
    const talentdata::client client{talentdata::config()};
    const arrow<ArrowArrayStream> stream{new ArrowArrayStream{}};
    const auto check = [&](int answer) {
      if (answer != 0) throw std::runtime_error(stream->get_last_error(stream.get()));
    };
    client.list(talentdata::contacts).arrow_stream(stream.get());
    const arrow<ArrowSchema> schema{new ArrowSchema{}};
    check(stream->get_schema(stream.get(), schema.get()));
    const auto email = column(*schema, "email");
    std::int64_t contacts = 0, bytes = 0;
    for (;;) {
      const arrow<ArrowArray> batch{new ArrowArray{}};
      check(stream->get_next(stream.get(), batch.get()));
      if (!batch->release) break;
      const auto *texts = batch->children[email];
      const auto *offsets = static_cast<const std::int32_t *>(texts->buffers[1]) + texts->offset;
      contacts += texts->length;
      bytes += offsets[texts->length] - offsets[0];
    }
    std::cout << contacts << " contacts, " << bytes << " bytes of e-mail addresses\n";
    return 0;
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
