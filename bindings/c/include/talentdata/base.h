/**
 * @file
 * libtalentdata: contacts, skills, roles and the rest of the talent data service, from C and C++.
 *
 * Conventions for every function:
 *
 * - Errors. A function that can fail returns NULL on success, otherwise an error that the caller frees
 *   with talentdata_error_free. "The errors of a call" are CONNECT, TLS, TRANSPORT, TIMEOUT, REDIRECT,
 *   TOO_LARGE, DECODE, SCHEMA, AUTH, TOKEN_RESPONSE, FORBIDDEN, NOT_FOUND, CONFLICT, BAD_REQUEST,
 *   RATE_LIMITED, SERVER, API, CLOSED (the client is closed) and INVALID_ARGUMENT (called from a log
 *   callback). Any function can return INTERNAL, a bug in the library.
 * - Results are written through the last arguments, named *_out, and only on success.
 * - NULL. No pointer may be NULL, and no text absent, unless its description allows it; the error names the
 *   argument. Functions that return nothing do nothing if they are passed NULL.
 * - Names. Lists, operations, fields and settings are accessed by their names. talentdata/service.h has typed
 *   inline functions for the names in the OpenAPI file. They are compiled into the program, so the program continues
 *   to work with a library of another OpenAPI file.
 * - Ownership. Arguments are borrowed for the duration of the call unless stated otherwise. A handle
 *   that the caller owns is freed with the function named in its description. Everything else that a
 *   function returns is borrowed: it must not be freed and is valid until its owner is freed.
 * - Text is UTF-8: a talentdata_text, which has a length in bytes (at most 8 MiB for an argument) and is not
 *   NUL-terminated. TALENTDATA_TEXT("...") creates one.
 * - Threads. "Any" means any number of threads at the same time. Any thread may free a
 *   handle, but never while a call with it is running or about to begin. To end work of other threads, call
 *   talentdata_client_close, talentdata_scan_cancel and talentdata_job_cancel, which make their calls
 *   return, then join the threads, and then free the handles.
 * - The library needs no initialization and no cleanup. It does not change signal handlers,
 *   errno, locale or working directory.
 */

#ifndef TALENTDATA_BASE_H
#define TALENTDATA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Version 1.2.3 is 1002003. */
#define TALENTDATA_VERSION_NUMBER \
  (TALENTDATA_VERSION_MAJOR * 1000000 + TALENTDATA_VERSION_MINOR * 1000 + TALENTDATA_VERSION_PATCH)

/** Marks a function whose result must not be ignored, because it is an error or must be freed. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define TALENTDATA_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define TALENTDATA_NODISCARD __attribute__((warn_unused_result))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L
#define TALENTDATA_NODISCARD [[nodiscard]]
#else
#define TALENTDATA_NODISCARD
#endif

/* Only the library knows the contents of handles. */
typedef struct talentdata_call talentdata_call;
typedef struct talentdata_client talentdata_client;
typedef struct talentdata_config talentdata_config;
typedef struct talentdata_error talentdata_error;
typedef struct talentdata_job talentdata_job;
typedef struct talentdata_mirror talentdata_mirror;
typedef struct talentdata_options talentdata_options;
typedef struct talentdata_record talentdata_record;
typedef struct talentdata_scan talentdata_scan;

/** From the Arrow C data interface; talentdata/arrow.h defines it if no Arrow library does. */
struct ArrowArrayStream;

/**
 * UTF-8 text: a pointer and a length in bytes, without a terminating NUL. A returned text is valid until the handle
 * from which it was read is freed. An argument is borrowed during the call. If a text is absent, `data` is NULL and
 * `length` is 0. TALENTDATA_TEXT converts a NUL-terminated string.
 */
typedef struct {
  /** The first byte; NULL if there is no text. */
  const char *data;
  /** The length in bytes. */
  size_t length;
} talentdata_text;

/** Converts a NUL-terminated string to a text. NULL becomes an absent text. */
static inline talentdata_text talentdata_text_of(const char *string) {
  talentdata_text text;
  text.data = string;
  text.length = string ? strlen(string) : 0;
  return text;
}
#define TALENTDATA_TEXT(string) talentdata_text_of(string)
/** An absent text. */
#define TALENTDATA_ABSENT talentdata_text_of(NULL)

/** Returns whether a text equals this NUL-terminated string. */
static inline bool talentdata_text_is(talentdata_text text, const char *string) {
  return text.data && text.length == strlen(string) && memcmp(text.data, string, text.length) == 0;
}

/** The format that the extension of the path selects: .jsonl, .csv, .parquet or .arrow. */
#ifdef __cplusplus
#define TALENTDATA_FORMAT_OF_PATH (talentdata_format())
#else
#define TALENTDATA_FORMAT_OF_PATH ((talentdata_format)0)
#endif

#endif
