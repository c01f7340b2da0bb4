/* A client of the environment, and what the inline functions of talentdata/service.h have in common. Programs use those. */
#ifndef TALENTDATA_TYPED_H
#define TALENTDATA_TYPED_H

#include "talentdata/client.h"
#include "talentdata/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Like talentdata_client_new, with the settings of the environment and the profile file alone. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_client_from_environment(talentdata_client **client_out) {
  return talentdata_client_new(NULL, client_out);
}

/* A required field that is missing is an error. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_text(const talentdata_record *record, const char *path,
                                                                           bool required, talentdata_text *value_out) {
  talentdata_text found;
  talentdata_error *error = talentdata_record_text(record, talentdata_text_of(path), value_out ? &found : NULL);
  if (!error && required && !found.data) error = talentdata_record_missing(record, talentdata_text_of(path));
  if (!error) *value_out = found;
  return error;
}

/* NULL where there is no such value, or it is null. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_value(const talentdata_record *record, const char *path,
                                                                            bool required,
                                                                            const talentdata_record **value_out) {
  const talentdata_record *found;
  talentdata_error *error = talentdata_record_value(record, talentdata_text_of(path), value_out ? &found : NULL);
  if (!error && found && talentdata_record_kind(found) == TALENTDATA_VALUE_KIND_NULL) found = NULL;
  if (!error && required && !found) error = talentdata_record_missing(record, talentdata_text_of(path));
  if (!error) *value_out = found;
  return error;
}

#define TALENTDATA_TYPED_SCALAR(name, type)                                                                          \
  TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_##name(const talentdata_record *record,      \
                                                                               const char *path, type *value_out) {  \
    talentdata_optional_##name found;                                                                                \
    talentdata_error *error = talentdata_record_##name(record, talentdata_text_of(path), value_out ? &found : NULL); \
    if (!error && !found.present) error = talentdata_record_missing(record, talentdata_text_of(path));               \
    if (!error) *value_out = found.value;                                                                            \
    return error;                                                                                                    \
  }
TALENTDATA_TYPED_SCALAR(integer, int64_t)
TALENTDATA_TYPED_SCALAR(number, double)
TALENTDATA_TYPED_SCALAR(boolean, bool)

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_json(const talentdata_record *record,
                                                                           talentdata_text *json_out) {
  const talentdata_record *whole;
  talentdata_error *error = talentdata_record_value(record, TALENTDATA_TEXT(""), json_out ? &whole : NULL);
  if (!error) *json_out = talentdata_record_json(whole);
  return error;
}

/* None where there is no such array or object. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_count(const talentdata_record *record, const char *path,
                                                                            bool required, size_t *count_out) {
  const talentdata_record *found;
  talentdata_error *error = talentdata_typed_value(record, path, required, &found);
  if (!error && (found || !count_out)) return talentdata_record_count(found, count_out);
  if (!error) *count_out = 0;
  return error;
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_at(const talentdata_record *record, const char *path,
                                                                         size_t index, const talentdata_record **item_out) {
  const talentdata_record *found;
  talentdata_error *error = talentdata_typed_value(record, path, true, &found);
  return error ? error : talentdata_record_item(found, index, item_out);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_name(const talentdata_record *record, const char *path,
                                                                           size_t index, talentdata_text *text_out) {
  const talentdata_record *found;
  talentdata_error *error = talentdata_typed_value(record, path, true, &found);
  return error ? error : talentdata_record_name(found, index, text_out);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_text_at(const talentdata_record *record, const char *path,
                                                                              size_t index, talentdata_text *text_out) {
  const talentdata_record *item;
  talentdata_error *error = talentdata_typed_at(record, path, index, &item);
  return error ? error : talentdata_record_text(item, TALENTDATA_TEXT(""), text_out);
}

TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_json_at(const talentdata_record *record, const char *path,
                                                                              size_t index, talentdata_text *json_out) {
  const talentdata_record *item;
  talentdata_error *error = talentdata_typed_at(record, path, index, &item);
  return error ? error : talentdata_typed_json(item, json_out);
}

/* The member of an object with this name, which may be one that a path cannot have; NULL where there is none. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_find(const talentdata_record *record, const char *path,
                                                                           const char *name,
                                                                           const talentdata_record **item_out) {
  const talentdata_record *found, *item = NULL;
  talentdata_text one;
  size_t count = 0, i;
  talentdata_error *error = talentdata_typed_value(record, path, false, &found);
  /* Without a name or a place for the value, the library says so. */
  if (!error && (!name || !item_out)) return talentdata_record_value(record, talentdata_text_of(name), item_out);
  if (!error && found) error = talentdata_record_count(found, &count);
  for (i = 0; !error && !item && i < count; i++) {
    error = talentdata_record_name(found, i, &one);
    if (!error && talentdata_text_is(one, name)) error = talentdata_record_item(found, i, &item);
  }
  if (!error) *item_out = item;
  return error;
}

/* Adds values of a required parameter. */
TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_add(talentdata_options *options, const char *parameter,
                                                                          const char *const *values, size_t count) {
  talentdata_error *error = NULL;
  size_t i;
  for (i = 0; !error && i < count; i++) {
    error = talentdata_options_add(options, talentdata_text_of(parameter), talentdata_text_of(values ? values[i] : NULL));
  }
  return error;
}

#ifdef __cplusplus
}
#endif

#endif
