/* A service within the test program that answers with prepared text, for what no sandbox sends. */
#ifndef SERVICE_H
#define SERVICE_H

#include <talentdata.h>

struct service;

/* The response to a request for a list at this offset; NULL for a status of 404. */
typedef const char *(*service_page)(unsigned long offset, void *context);

struct service *service_start(service_page page, void *context);
/* Its address; valid until it is stopped. */
const char *service_url(const struct service *service);
/* How many tokens it has issued. */
unsigned service_token_requests(const struct service *service);
/* A client of it. */
talentdata_client *service_client(const struct service *service);
/* Stops it, after the client and its scans were freed. */
void service_stop(struct service *service);

#endif
