/* The files of a model's folder, by name, and its vocabularies.
 *
 *     config.yml                              all settings of the training vocab.spm | vocab.txt
 *     the joint vocabulary, or vocab.source.*, vocab.target.*          two model.safetensors
 *     the parameters last saved average.safetensors                     their exponential average,
 *     if one is kept optimizer.safetensors                   moments best-METRIC.safetensors
 *     the parameters that were best on the validation set progress.json
 *     where the training stands metrics.jsonl                           a line for each display,
 *     validation and save checkpoints/                            the same after updates of certain
 *     numbers: wengert/train/checkpoint.h
 */
#ifndef WG_TRAIN_FOLDER_H
#define WG_TRAIN_FOLDER_H

#include "wengert/text/vocabulary.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WG_FILE_CONFIG "config.yml"
#define WG_FILE_MODEL "model.safetensors"
#define WG_FILE_AVERAGE "average.safetensors"
#define WG_FILE_OPTIMIZER "optimizer.safetensors"
#define WG_FILE_PROGRESS "progress.json"
#define WG_FILE_METRICS "metrics.jsonl"
#define WG_FOLDER_CHECKPOINTS "checkpoints"

/** "folder/name", the caller's to free; name by printf's rules.  NULL without memory. */
WG_API char *wg_folder_path(const char *folder, const char *format, ...) WG_PRINTF(2, 3);
WG_API bool wg_folder_has(const char *folder, const char *name);
/** Makes the folder and those above it that are missing. */
WG_API WG_MUST_USE wg_status wg_folder_make(const char *folder, char *message, size_t message_size);

/** Source and target vocabulary; a joint one stands in both places. */
typedef struct wg_vocabularies {
    wg_vocabulary *side[2];
} wg_vocabularies;

WG_API bool wg_vocabularies_exist(const char *folder);
WG_API WG_MUST_USE wg_status wg_vocabularies_open(wg_vocabularies *out, const char *folder,
                                                  char *message, size_t message_size);
/** From two files; target NULL, or the source's path again: one for both sides. */
WG_API WG_MUST_USE wg_status wg_vocabularies_read(wg_vocabularies *out, const char *source,
                                                  const char *target, char *message,
                                                  size_t message_size);
/** WG_EINVAL, with a message, unless the files have the vocabularies that the folder has; else as
 * wg_vocabularies_read. */
WG_API WG_MUST_USE wg_status wg_vocabularies_expect(const char *folder, const char *source,
                                                    const char *target, char *message,
                                                    size_t message_size);
/** Takes the place of vocabularies that were there. */
WG_API WG_MUST_USE wg_status wg_vocabularies_save(const wg_vocabularies *v, const char *folder,
                                                  char *message, size_t message_size);
/** Frees both and sets them to NULL. */
WG_API void wg_vocabularies_free(wg_vocabularies *v);

#ifdef __cplusplus
}
#endif
#endif
