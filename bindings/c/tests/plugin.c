/* A module of an application that needs the library, or has it inside. */
#include <talentdata.h>

void (*const plugin_uses)(talentdata_client *) = talentdata_client_free;
