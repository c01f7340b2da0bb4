/* A module of an application that links the library dynamically or statically. */
#include <talentdata.h>

void (*const plugin_uses)(talentdata_client *) = talentdata_client_free;
