// Measures the e-mail addresses of all contacts directly on an Arrow column, without copying texts.
#include <iostream>
#include <talentdata.hpp>
#include <talentdata/arrow.h>

// Returns the index of the text column of this name among the children of the stream's struct, if there is one.
static std::optional<std::int64_t> column(ArrowArrayStream &stream, std::string_view name) {
  ArrowSchema schema{};
  std::optional<std::int64_t> found;
  if (stream.get_schema(&stream, &schema) != 0) return found;
  for (std::int64_t i = 0; i < schema.n_children; i++) {
    // The format "u" is UTF-8 with offsets of 32 bits.
    if (schema.children[i]->name == name && schema.children[i]->format == std::string_view("u")) found = i;
  }
  schema.release(&schema);
  return found;
}

int main() {
  try {
    const talentdata::client client{talentdata::config()};
    auto scan = client.list(talentdata::contacts);
    ArrowArrayStream stream{};
    scan.arrow_stream(&stream);
    const auto email = column(stream, "email");
    std::int64_t contacts = 0, bytes = 0;
    for (ArrowArray batch{}; email && stream.get_next(&stream, &batch) == 0 && batch.release; batch.release(&batch)) {
      const auto *texts = batch.children[*email];
      const auto *offsets = static_cast<const std::int32_t *>(texts->buffers[1]) + texts->offset;
      contacts += texts->length;
      bytes += offsets[texts->length] - offsets[0];
    }
    stream.release(&stream);
    // The error that ended the stream early, if there is one.
    if (const auto failure = scan.failure()) throw *failure;
    std::cout << contacts << " contacts, " << bytes << " bytes of e-mail addresses\n";
    return email ? 0 : 1;
  } catch (const talentdata::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
