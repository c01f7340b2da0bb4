/* Clients of one user share a token where token_cache is host: of one process, and of a child of it. */
#include "fixture.h"
#include "service.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *permissions(unsigned long offset, void *context) {
  (void)offset, (void)context;
  return "{\"roles\": [], \"permissions\": []}";
}

/* A call that needs a token, by a client of its own. */
static talentdata_error *call(const struct service *service, const char *id, const char *token_cache) {
  talentdata_config *config;
  talentdata_client *client = NULL;
  talentdata_token_permissions *answer = NULL;
  OK(talentdata_config_new(&config));
  OK(talentdata_config_set_base_url(config, service_url(service)));
  OK(talentdata_config_set_client_id(config, id));
  OK(talentdata_config_set_client_secret(config, "CANARY-secret"));
  OK(talentdata_config_set_token_cache(config, token_cache));
  talentdata_error *error = talentdata_client_new(config, &client);
  if (!error) error = talentdata_client_permissions(client, &answer);
  talentdata_token_permissions_free(answer);
  talentdata_client_free(client);
  talentdata_config_free(config);
  return error;
}

int main(void) {
  struct service *service = service_start(permissions, NULL);
  /* Programs that ran before may have left a token for a service at the same port. */
  char id[64];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(id, sizeof id, "client-%ld-%ld-%ld", (long)getpid(), (long)now.tv_sec, now.tv_nsec);
  OK(call(service, id, "process"));
  OK(call(service, id, "process"));
  CHECK(service_token_requests(service) == 2);
  OK(call(service, id, "host"));
  OK(call(service, id, "host"));
  CHECK(service_token_requests(service) == 3);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    talentdata_error *error = call(service, id, "host");
    const char *verdict = error ? "false" : "true";
    talentdata_error_free(error);
    /* What the child must not touch is lost in it; another program in its place tells how it went. */
    execlp(verdict, verdict, (char *)NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(service_token_requests(service) == 3);
  talentdata_error *error = call(service, id, "elsewhere");
  CHECK(error && talentdata_error_code(error) == TALENTDATA_ERROR_KIND_CONFIG);
  talentdata_error_free(error);
  service_stop(service);
  return fixture_verdict();
}
