/* A service within the test program that answers with prepared text, for what no sandbox sends. */
#include "service.h"
#include "fixture.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

struct service {
  int listener;
  char url[64];
  service_page page;
  void *context;
  atomic_uint token_requests;
  pthread_t thread;
};

/* The head of a request, which fits into the buffer; 0 when there is none. */
static int read_head(int connection, char *buffer, size_t size) {
  size_t length = 0;
  while (length + 1 < size) {
    ssize_t count = read(connection, buffer + length, size - 1 - length);
    if (count <= 0) return 0;
    length += (size_t)count;
    buffer[length] = 0;
    char *end = strstr(buffer, "\r\n\r\n");
    if (!end) continue;
    /* The body of a token request; closing a connection with unread bytes would reset it. */
    const char *field = strstr(buffer, "ontent-");
    while (field && strncmp(field, "ontent-length:", 14) && strncmp(field, "ontent-Length:", 14)) field = strstr(field + 1, "ontent-");
    size_t body = field ? strtoul(field + 14, NULL, 10) : 0;
    if (length >= (size_t)(end + 4 - buffer) + body) return 1;
  }
  return 0;
}

static void respond(int connection, const char *body) {
  char head[128];
  snprintf(head, sizeof head,
           "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
           body ? "200 OK" : "404 Not Found", body ? strlen(body) : 0);
  for (const char *text = head; text; text = text == head ? body : NULL) {
    for (size_t sent = 0; sent < strlen(text);) {
      ssize_t count = send(connection, text + sent, strlen(text) - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += (size_t)count;
    }
  }
}

static void *serve(void *argument) {
  struct service *service = argument;
  char request[8192];
  for (int connection; (connection = accept(service->listener, NULL, NULL)) >= 0; close(connection)) {
    if (!read_head(connection, request, sizeof request)) continue;
    const char *offset = strstr(request, "offset=");
    if (strncmp(request, "POST", 4) == 0) {
      service->token_requests++;
      respond(connection, "{\"access_token\":\"prepared-token\",\"token_type\":\"Bearer\",\"expires_in\":3600}");
    } else {
      respond(connection, service->page(offset ? strtoul(offset + 7, NULL, 10) : 0, service->context));
    }
  }
  return NULL;
}

struct service *service_start(service_page page, void *context) {
  struct service *service = calloc(1, sizeof *service);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  service->page = page;
  service->context = context;
  service->listener = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(bind(service->listener, (struct sockaddr *)&address, size) == 0 && listen(service->listener, 64) == 0);
  getsockname(service->listener, (struct sockaddr *)&address, &size);
  snprintf(service->url, sizeof service->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
  pthread_create(&service->thread, NULL, serve, service);
  return service;
}

const char *service_url(const struct service *service) { return service->url; }

unsigned service_token_requests(const struct service *service) { return service->token_requests; }

talentdata_client *service_client(const struct service *service) {
  talentdata_config *config;
  talentdata_client *client;
  OK(talentdata_config_new(&config));
  OK(talentdata_config_set_base_url(config, service->url));
  OK(talentdata_client_new(config, &client));
  talentdata_config_free(config);
  return client;
}

void service_stop(struct service *service) {
  /* Wakes the thread up. */
  shutdown(service->listener, SHUT_RDWR);
  pthread_join(service->thread, NULL);
  close(service->listener);
  free(service);
}
