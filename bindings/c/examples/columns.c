/* Measures the e-mail addresses of all contacts directly on an Arrow column, without copying texts. */
#include <stdio.h>
#include <string.h>
#include <talentdata.h>
#include <talentdata/arrow.h>

/* Returns the index of the text column of this name among the children of the stream's struct, or -1. */
static int64_t column(struct ArrowArrayStream *stream, const char *name) {
  struct ArrowSchema schema;
  int64_t found = -1;
  if (stream->get_schema(stream, &schema) != 0) return -1;
  for (int64_t i = 0; i < schema.n_children; i++) {
    /* The format "u" is UTF-8 with offsets of 32 bits. */
    if (strcmp(schema.children[i]->name, name) == 0 && strcmp(schema.children[i]->format, "u") == 0) found = i;
  }
  schema.release(&schema);
  return found;
}

int main(void) {
  talentdata_client *client = NULL;
  talentdata_scan *scan = NULL;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  int64_t email = -1, contacts = 0, bytes = 0;
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = talentdata_client_list(client, TALENTDATA_LIST_CONTACTS, NULL, &scan);
  if (!error && !(error = talentdata_scan_arrow_stream(scan, &stream))) {
    email = column(&stream, "email");
    while (email >= 0 && stream.get_next(&stream, &batch) == 0 && batch.release) {
      const struct ArrowArray *texts = batch.children[email];
      const int32_t *offsets = (const int32_t *)texts->buffers[1] + texts->offset;
      contacts += texts->length;
      bytes += offsets[texts->length] - offsets[0];
      batch.release(&batch);
    }
    stream.release(&stream);
    /* The error that ended the stream early, if there is one. */
    error = talentdata_scan_error(scan);
  }
  talentdata_scan_free(scan);
  talentdata_client_free(client);
  if (error) {
    talentdata_text message = talentdata_error_message(error);
    fprintf(stderr, "%.*s\n", (int)message.length, message.data);
    talentdata_error_free(error);
    return 1;
  }
  printf("%ld contacts, %ld bytes of e-mail addresses\n", (long)contacts, (long)bytes);
  return email < 0;
}
