/* Handles of every type, poisoned slots and checks, for the tests of the C interface. */
#include "fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

const char *const fixture_names[1] = {"taxonomy"};
const talentdata_text fixture_texts[1] = {{"taxonomy", 8}};

static unsigned char slots[8][64];
static int checks, failures;

void fixture_log(uint32_t level, talentdata_text message, void *user_data) {
  (void)level, (void)message, (void)user_data;
}

void fixture_poison(void) { memset(slots, 0xAA, sizeof slots); }

void *fixture_slot(int index) { return slots[index]; }

int fixture_is_poisoned(void) {
  for (size_t i = 0; i < sizeof slots; i++) {
    if (((unsigned char *)slots)[i] != 0xAA) return 0;
  }
  return 1;
}

void fixture_check(int holds, const char *what) {
  checks++;
  if (!holds) {
    failures++;
    fprintf(stderr, "FAILED: %s\n", what);
  }
}

void fixture_fails(talentdata_error *error, talentdata_error_kind kind, const char *words, const char *what) {
  char message[1024] = "no error";
  if (error) {
    talentdata_text text = talentdata_error_message(error);
    snprintf(message, sizeof message, "%.*s", (int)text.length, text.data);
  }
  int good = error && talentdata_error_code(error) == kind && strstr(message, words) && fixture_is_poisoned();
  if (!good) {
    fprintf(stderr, "%s: %s; slots %s\n", what, message, fixture_is_poisoned() ? "untouched" : "WRITTEN");
  }
  fixture_check(good, what);
  talentdata_error_free(error);
}

void fixture_is_null(talentdata_error *error, const char *function, const char *argument) {
  char words[128];
  snprintf(words, sizeof words, "%s: must not be NULL", argument);
  fixture_fails(error, TALENTDATA_ERROR_KIND_INVALID_ARGUMENT, words, function);
}

void fixture_succeeds(talentdata_error *error) {
  if (!error) return;
  talentdata_text text = talentdata_error_message(error);
  fprintf(stderr, "unexpected: %.*s\n", (int)text.length, text.data);
  exit(1);
}

int fixture_verdict(void) {
  printf("%d checks, %d failed\n", checks, failures);
  return failures || !checks;
}

struct fixture *fixture_make(void) {
  struct fixture *all = calloc(1, sizeof *all);
  OK(talentdata_config_new(&all->config));
  OK(talentdata_client_from_environment(&all->client));
  OK(talentdata_scan_options_new(&all->scan_options));
  OK(talentdata_client_list(all->client, TALENTDATA_RESOURCE_CONTACTS, &all->scan));
  OK(talentdata_scan_next(all->scan, &all->record));
  OK(talentdata_record_value(all->record, "", &all->value));
  OK(talentdata_client_plan(all->client, TALENTDATA_RESOURCE_CONTACTS, &all->plan));
  OK(talentdata_export_options_new(&all->export_options));
  OK(talentdata_client_exporter(all->client, TALENTDATA_RESOURCE_CONTACTS, "fixture.jsonl", NULL, &all->exporter));
  OK(talentdata_scan_receipt(all->scan, &all->receipt));
  OK(talentdata_client_page(all->client, TALENTDATA_RESOURCE_CONTACTS, 5, 0, &all->page));
  OK(talentdata_page_pagination(all->page, &all->pagination));
  OK(talentdata_client_version(all->client, &all->version_response));
  OK(talentdata_version_response_endpoints_find(all->version_response, "taxonomy", &all->category_entry));
  OK(talentdata_client_check_version(all->client, "{\"clientVersion\": \"1.8.2\", \"endpoints\": [\"taxonomy\"]}",
                                     &all->version_check_response));
  OK(talentdata_parameters_new(&all->parameters));
  OK(talentdata_version_check_response_endpoint_compatibility_find(all->version_check_response, "taxonomy",
                                                                   &all->compatibility_entry));
  OK(talentdata_client_permissions(all->client, &all->token_permissions));
  OK(talentdata_client_schema(all->client, TALENTDATA_RESOURCE_POOLS, TALENTDATA_COLUMNS_TYPED, &all->json_text));
  char mirror[64];
  talentdata_json_text *synced;
  snprintf(mirror, sizeof mirror, "mirror-%ld.db", (long)getpid());
  OK(talentdata_client_syncer(all->client, TALENTDATA_RESOURCE_POOLS, mirror, NULL, NULL, &all->syncer));
  OK(talentdata_syncer_run(all->syncer, &synced));
  talentdata_json_text_free(synced);
  OK(talentdata_mirror_open(mirror, &all->mirror));
  all->error = talentdata_client_list(NULL, 1, &all->scan);
  CHECK(all->error && all->record && all->category_entry && all->compatibility_entry);
  return all;
}

void fixture_free(struct fixture *all) {
  talentdata_client_free(all->client);
  talentdata_config_free(all->config);
  talentdata_scan_options_free(all->scan_options);
  talentdata_scan_free(all->scan);
  talentdata_plan_free(all->plan);
  talentdata_export_options_free(all->export_options);
  talentdata_exporter_free(all->exporter);
  talentdata_page_free(all->page);
  talentdata_record_free(all->record);
  talentdata_receipt_free(all->receipt);
  talentdata_parameters_free(all->parameters);
  talentdata_json_text_free(all->json_text);
  talentdata_mirror_free(all->mirror);
  talentdata_syncer_free(all->syncer);
  talentdata_error_free(all->error);
  talentdata_version_response_free(all->version_response);
  talentdata_version_check_response_free(all->version_check_response);
  talentdata_token_permissions_free(all->token_permissions);
  free(all);
}

int fixture_says(talentdata_text text, const char *words) {
  const size_t length = strlen(words);
  for (size_t i = 0; i + length <= text.length; i++) {
    if (memcmp(text.data + i, words, length) == 0) return 1;
  }
  return 0;
}

int fixture_silent_service(talentdata_client **client) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  char url[64];
  talentdata_config *config;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 4) == 0);
  getsockname(listener, (struct sockaddr *)&address, &size);
  snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
  OK(talentdata_config_new(&config));
  OK(talentdata_config_set_base_url(config, url));
  OK(talentdata_client_new(config, client));
  talentdata_config_free(config);
  return listener;
}
