/* libtalentdata for C11 and later: every header. The conventions are in talentdata/base.h. */
#ifndef TALENTDATA_H
#define TALENTDATA_H

#include "talentdata/base.h"
#include "talentdata/functions.h"
#include "talentdata/models.h"
#include "talentdata/operations.h"

#endif
