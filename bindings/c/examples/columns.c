/* Counts contacts by the domain of their e-mail address, straight on Arrow columns: nothing is copied. */
#include <stdio.h>
#include <string.h>
#include <talentdata.h>
#include <talentdata/arrow.h>

enum { most_domains = 64 };

struct count {
  char domain[64];
  unsigned long contacts;
};

static struct count counts[most_domains];

static void add(const char *email, size_t length) {
  const char *at = memchr(email, '@', length);
  const char *domain = at ? at + 1 : email;
  size_t size = length - (size_t)(domain - email);
  if (size >= sizeof counts[0].domain) return;
  for (int i = 0; i < most_domains; i++) {
    if (counts[i].contacts == 0) memcpy(counts[i].domain, domain, size);
    if (strlen(counts[i].domain) == size && memcmp(counts[i].domain, domain, size) == 0) {
      counts[i].contacts++;
      return;
    }
  }
}

/* Which child of the stream's struct is the text column of this name; -1 when there is none. */
static int64_t column(struct ArrowArrayStream *stream, const char *name) {
  struct ArrowSchema schema;
  int64_t found = -1;
  if (stream->get_schema(stream, &schema) != 0) return -1;
  for (int64_t i = 0; i < schema.n_children; i++) {
    /* "u": UTF-8 with offsets of 32 bits. */
    if (strcmp(schema.children[i]->name, name) == 0 && strcmp(schema.children[i]->format, "u") == 0) found = i;
  }
  schema.release(&schema);
  return found;
}

/* Reads all batches; 0, or what the stream answered. */
static int aggregate(struct ArrowArrayStream *stream) {
  int64_t email = column(stream, "email");
  if (email < 0) return -1;
  for (;;) {
    struct ArrowArray batch;
    int failed = stream->get_next(stream, &batch);
    if (failed) return failed;
    if (batch.release == NULL) return 0;
    const struct ArrowArray *texts = batch.children[email];
    const int32_t *offsets = (const int32_t *)texts->buffers[1] + texts->offset;
    const char *bytes = texts->buffers[2];
    for (int64_t row = 0; row < texts->length; row++) {
      add(bytes + offsets[row], (size_t)(offsets[row + 1] - offsets[row]));
    }
    batch.release(&batch);
  }
}

int main(void) {
  talentdata_client *client = NULL;
  talentdata_scan *scan = NULL;
  struct ArrowArrayStream stream;
  int failed = 0;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan);
  if (!error && !(error = talentdata_scan_arrow_stream(scan, &stream))) {
    failed = aggregate(&stream);
    if (failed) {
      const char *message = stream.get_last_error(&stream);
      fprintf(stderr, "%s\n", message ? message : "no e-mail addresses");
    }
    stream.release(&stream);
  }
  for (int i = 0; !failed && i < most_domains && counts[i].contacts; i++) {
    printf("%s %lu\n", counts[i].domain, counts[i].contacts);
  }
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  if (error) {
    talentdata_text message = talentdata_error_message(error);
    fprintf(stderr, "%.*s\n", (int)message.length, message.data);
    talentdata_error_free(error);
    return 1;
  }
  return failed ? 1 : 0;
}
