/* libtalentdata for C11 and later: every header. The conventions are in talentdata/base.h. */
#ifndef TALENTDATA_H
#define TALENTDATA_H

#include "talentdata/base.h"
#include "talentdata/error.h"
#include "talentdata/record.h"
#include "talentdata/log.h"
#include "talentdata/client.h"
#include "talentdata/scan.h"
#include "talentdata/job.h"
#include "talentdata/call.h"
#include "talentdata/mirror.h"
#include "talentdata/service.h"

#endif
