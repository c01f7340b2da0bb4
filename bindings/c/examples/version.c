/* At start-up: is the service there, and does it still support what this program was built for? */
#include <stdio.h>
#include <string.h>
#include <talentdata.h>

/* The version of the service's interface that this program was made for, and what it uses of it. */
#define MADE_FOR "1.8.2"
static const char *const categories[] = {"authentication", "taxonomy", "corecrm"};
static const char *const request =
    "{\"clientVersion\": \"" MADE_FOR "\", \"endpoints\": [\"authentication\", \"taxonomy\", \"corecrm\"]}";

static void show(const char *what, talentdata_text text) {
  printf("%s: %.*s\n", what, (int)text.length, text.data ? text.data : "");
}

static talentdata_error *ask(const talentdata_client *client, bool *compatible, bool *supported) {
  talentdata_version_response *version = NULL;
  talentdata_version_check_response *check = NULL;
  talentdata_text text;
  talentdata_error *error = talentdata_client_version(client, &version);
  if (!error && !(error = talentdata_version_response_version(version, &text))) show("service", text);
  if (!error && !(error = talentdata_version_response_api_status_text(version, &text))) show("status", text);
  if (!error) error = talentdata_client_check_version(client, request, &check);
  if (!error) error = talentdata_version_check_response_compatible(check, compatible);
  if (!error) error = talentdata_version_check_response_supported(check, supported);
  for (size_t i = 0; !error && i < 3; i++) {
    const talentdata_compatibility_entry *entry = NULL;
    error = talentdata_version_check_response_endpoint_compatibility_find(check, categories[i], &entry);
    /* Notes are optional: absent where the service sends none. */
    if (!error && entry && !(error = talentdata_compatibility_entry_notes(entry, &text)) && text.data) {
      show(categories[i], text);
    }
  }
  talentdata_version_check_response_free(check);
  talentdata_version_response_free(version);
  return error;
}

int main(void) {
  talentdata_client *client = NULL;
  bool compatible = false, supported = false;
  talentdata_text library = talentdata_library_version();
  if (library.length != strlen(TALENTDATA_VERSION) || memcmp(library.data, TALENTDATA_VERSION, library.length) != 0) {
    fprintf(stderr, "built with libtalentdata %s, running with another version\n", TALENTDATA_VERSION);
  }
  talentdata_error *error = talentdata_client_from_environment(&client);
  if (!error) error = ask(client, &compatible, &supported);
  talentdata_client_free(client);
  if (error) {
    show("cannot ask", talentdata_error_message(error));
    talentdata_error_free(error);
    return 1;
  }
  if (!compatible) {
    fprintf(stderr, "The service no longer works with version %s of its interface: not starting.\n", MADE_FOR);
    return 2;
  }
  printf(supported ? "compatible\n" : "compatible, but no longer supported: plan an update\n");
  return 0;
}
