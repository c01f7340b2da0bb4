/* libtalentdata for C11 and later. Includes every header; talentdata/base.h describes the conventions. */
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
