/* What the inline functions of talentdata/models.h and talentdata/operations.h have in common. Programs use those. */
#ifndef TALENTDATA_TYPED_H
#define TALENTDATA_TYPED_H

#include <stdio.h>

#include "talentdata/functions.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Like talentdata_client_new, with the settings of the environment and the profile file alone. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_client_from_environment(talentdata_client **client_out) {
  return talentdata_client_new(NULL, client_out);
}

/* A required field that is missing is an error. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_text(const void *of, const char *path, bool required,
                                                                           talentdata_text *text_out) {
  const talentdata_record *record = (const talentdata_record *)of;
  talentdata_text found;
  talentdata_error *error = talentdata_record_text(record, talentdata_text_of(path), text_out ? &found : NULL);
  if (!error && required && !found.data) error = talentdata_record_missing(record, talentdata_text_of(path));
  if (!error) *text_out = found;
  return error;
}

#define TALENTDATA_TYPED_SCALAR(name, type)                                                                              \
  TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_##name(const void *of, const char *path,         \
                                                                               type *value_out) {                        \
    const talentdata_record *record = (const talentdata_record *)of;                                                     \
    talentdata_optional_##name found;                                                                                    \
    talentdata_error *error = talentdata_record_##name(record, talentdata_text_of(path), &found);                        \
    if (!error && !found.present) error = talentdata_record_missing(record, talentdata_text_of(path));                   \
    /* Without a place for the value, the library says so. */                                                            \
    if (!error && !value_out) error = talentdata_record_##name(record, talentdata_text_of(path), NULL);                  \
    if (!error) *value_out = found.value;                                                                                \
    return error;                                                                                                        \
  }
TALENTDATA_TYPED_SCALAR(integer, int64_t)
TALENTDATA_TYPED_SCALAR(number, double)
TALENTDATA_TYPED_SCALAR(boolean, bool)

/* NULL where there is no such value, or it is null. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_value(const void *of, const char *path, bool required,
                                                                            void *value_out) {
  const talentdata_record *record = (const talentdata_record *)of, *found;
  talentdata_error *error = talentdata_record_value(record, talentdata_text_of(path), value_out ? &found : NULL);
  if (!error && found && talentdata_record_kind(found) == TALENTDATA_VALUE_KIND_NULL) found = NULL;
  if (!error && required && !found) error = talentdata_record_missing(record, talentdata_text_of(path));
  if (!error) memcpy(value_out, &found, sizeof found);
  return error;
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_json(const void *of, const char *path, bool required,
                                                                           talentdata_text *json_out) {
  const talentdata_record *found;
  talentdata_error *error = talentdata_typed_value(of, path, required, &found);
  if (!error && !json_out) error = talentdata_record_text((const talentdata_record *)of, TALENTDATA_TEXT(path), NULL);
  if (!error) *json_out = talentdata_record_json(found);
  return error;
}

/* None where there is no such array or object. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_count(const void *of, const char *path, bool required,
                                                                            size_t *count_out) {
  const talentdata_record *found;
  talentdata_error *error = talentdata_typed_value(of, path, required, &found);
  if (!error && (found || !count_out)) return talentdata_record_count(found, count_out);
  if (!error) *count_out = 0;
  return error;
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_item(const void *of, const char *path, size_t index,
                                                                           void *item_out) {
  const talentdata_record *found, *item;
  talentdata_error *error = talentdata_typed_value(of, path, true, &found);
  if (!error) error = talentdata_record_item(found, index, item_out ? &item : NULL);
  if (!error) memcpy(item_out, &item, sizeof item);
  return error;
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_name(const void *of, const char *path, size_t index,
                                                                           talentdata_text *text_out) {
  const talentdata_record *found;
  talentdata_error *error = talentdata_typed_value(of, path, true, &found);
  return error ? error : talentdata_record_name(found, index, text_out);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_text_at(const void *of, const char *path, size_t index,
                                                                              talentdata_text *text_out) {
  const talentdata_record *item;
  talentdata_error *error = talentdata_typed_item(of, path, index, &item);
  return error ? error : talentdata_record_text(item, TALENTDATA_TEXT(""), text_out);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_json_at(const void *of, const char *path, size_t index,
                                                                              talentdata_text *json_out) {
  const talentdata_record *item;
  talentdata_error *error = talentdata_typed_item(of, path, index, &item);
  return error ? error : talentdata_typed_json(item, "", true, json_out);
}

/* The member of an object with this name, which may be one that a path cannot have; NULL where there is none. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_find(const void *of, const char *path, const char *name,
                                                                           void *item_out) {
  const talentdata_record *found, *item = NULL;
  talentdata_text one;
  size_t count = 0, i;
  talentdata_error *error = talentdata_typed_value(of, path, false, &found);
  /* Without a name or a place for the value, the library says so. */
  if (!error && (!name || !item_out)) {
    return talentdata_record_value((const talentdata_record *)of, talentdata_text_of(name), item_out ? &item : NULL);
  }
  if (!error && found) error = talentdata_record_count(found, &count);
  for (i = 0; !error && !item && i < count; i++) {
    error = talentdata_record_name(found, i, &one);
    if (!error && talentdata_text_is(one, name)) error = talentdata_record_item(found, i, &item);
  }
  if (!error) memcpy(item_out, &item, sizeof item);
  return error;
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_add_text(talentdata_options *options, const char *name,
                                                                               const char *value) {
  return talentdata_options_add(options, talentdata_text_of(name), talentdata_text_of(value));
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_add(talentdata_options *options, const char *name,
                                                                          const char *const *values, size_t index) {
  return talentdata_typed_add_text(options, name, values ? values[index] : NULL);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_add_boolean(talentdata_options *options,
                                                                                  const char *name, bool value) {
  return talentdata_typed_add_text(options, name, value ? "true" : "false");
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_add_integer(talentdata_options *options,
                                                                                  const char *name, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return talentdata_typed_add_text(options, name, text);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_add_unsigned(talentdata_options *options,
                                                                                   const char *name, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  return talentdata_typed_add_text(options, name, text);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_add_number(talentdata_options *options,
                                                                                 const char *name, double value) {
  char text[32], *letter;
  snprintf(text, sizeof text, "%.17g", value);
  /* Whatever the locale. */
  for (letter = text; *letter; letter++) {
    if (*letter == ',') *letter = '.';
  }
  return talentdata_typed_add_text(options, name, text);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_call(const talentdata_client *client,
                                                                           const char *operation,
                                                                           const talentdata_options *options,
                                                                           talentdata_text body, void *response_out,
                                                                           bool gives) {
  talentdata_record *response;
  talentdata_error *error = talentdata_client_call(client, talentdata_text_of(operation), options, body,
                                                   gives && !response_out ? NULL : &response);
  if (error) return error;
  if (response_out) memcpy(response_out, &response, sizeof response);
  else talentdata_record_free(response);
  return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
