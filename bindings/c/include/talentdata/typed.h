/* What the inline functions of talentdata/models.h have in common. Programs use those. */
#ifndef TALENTDATA_TYPED_H
#define TALENTDATA_TYPED_H

#include "talentdata/functions.h"

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

#define TALENTDATA_TYPED_SCALAR(name, type)                                                                                \
  TALENTDATA_NODISCARD static inline talentdata_error *talentdata_typed_##name(const talentdata_record *record,            \
                                                                               const char *path, type *value_out) {        \
    talentdata_optional_##name found;                                                                                      \
    talentdata_error *error = talentdata_record_##name(record, talentdata_text_of(path), value_out ? &found : NULL);       \
    if (!error && !found.present) error = talentdata_record_missing(record, talentdata_text_of(path));                     \
    if (!error) *value_out = found.value;                                                                                  \
    return error;                                                                                                          \
  }
TALENTDATA_TYPED_SCALAR(integer, int64_t)
TALENTDATA_TYPED_SCALAR(number, double)
TALENTDATA_TYPED_SCALAR(boolean, bool)

#ifdef __cplusplus
}
#endif

#endif
