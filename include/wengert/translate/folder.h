/* What the folder of a translation model has besides the files of any run (wengert/train/folder.h):
 * its settings and its vocabularies.
 *
 *     config.yml                 all settings of the run
 *     vocab.spm | vocab.txt      the joint vocabulary; two are vocab.source.*, vocab.target.* */
#ifndef WG_TRANSLATE_FOLDER_H
#define WG_TRANSLATE_FOLDER_H

#include "wengert/text/vocabulary.h"
#include "wengert/train/folder.h"
#include "wengert/translate/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WG_FILE_CONFIG "config.yml" /**< settings */

/** WG_EIO unless the folder has a config.yml, as every model folder does.  WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_folder_check(const char *folder, wg_error *error);
/** Reads the folder's config.yml; the caller calls wg_settings_free.  On failure *out is empty: as
 * wg_folder_check or wg_settings_read_yaml, or WG_EDATA if the file does not match the checksum in
 * its first line.  A file without that line is read as it is. */
WG_API WG_MUST_USE wg_status wg_folder_settings(wg_settings *out, const char *folder,
                                                wg_error *error);

/** Source and target vocabulary; a joint one is in both entries. */
typedef struct wg_vocabularies {
    wg_vocabulary *side[2]; /**< source, target */
} wg_vocabularies;

/** *exist: whether the folder has vocabularies.  WG_EIO or WG_ENOMEM: it cannot be told. */
WG_API WG_MUST_USE wg_status wg_vocabularies_exist(const char *folder, bool *exist,
                                                   wg_error *error);
/** Opens the vocabularies of the folder; wg_vocabularies_free frees them.  On failure (WG_EIO,
 * WG_EDATA, WG_ENOMEM) both are NULL. */
WG_API WG_MUST_USE wg_status wg_vocabularies_open(wg_vocabularies *out, const char *folder,
                                                  wg_error *error);
/** Opens two files.  If `target` is NULL or the same path, one vocabulary serves both sides.  Fails
 * as wg_vocabularies_open does. */
WG_API WG_MUST_USE wg_status wg_vocabularies_read(wg_vocabularies *out, const char *source,
                                                  const char *target, wg_error *error);
/** Checks that the files have the same vocabularies as the folder: WG_EINVAL if not.  Fails as
 * wg_vocabularies_read does, too. */
WG_API WG_MUST_USE wg_status wg_vocabularies_expect(const char *folder, const char *source,
                                                    const char *target, wg_error *error);
/** Writes the vocabularies into the folder, in place of any that are there.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_vocabularies_save(const wg_vocabularies *v, const char *folder,
                                                  wg_error *error);
/** Frees both and sets them to NULL. */
WG_API void wg_vocabularies_free(wg_vocabularies *v);

#ifdef __cplusplus
}
#endif
#endif
