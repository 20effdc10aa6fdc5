/* The files in checkpoints/: names, numbers, what is kept and what is moved away. */
#ifndef WG_TRAIN_CHECKPOINT_FILES_H
#define WG_TRAIN_CHECKPOINT_FILES_H

#include "wengert/train/checkpoint.h"

#include <stdbool.h>

/* progress-N.json, model-N.safetensors, ... */
typedef enum wgi_file_kind {
    WGI_FILE_PROGRESS = 0,
    WGI_FILE_MODEL,
    WGI_FILE_STOPPED,
    WGI_FILE_AVERAGE,
    WGI_FILE_OPTIMIZER,
    WGI_FILE_KINDS
} wgi_file_kind;

/* The path of that file of checkpoint N, the caller's to free; NULL without memory. */
char *wgi_checkpoint_path(const char *folder, wgi_file_kind kind, int64_t number);
/* The same of a file that exists: for WGI_FILE_MODEL it may be that of WGI_FILE_STOPPED.  *path is
 * NULL if there is none. */
wg_status wgi_checkpoint_find(char **path, const char *folder, wgi_file_kind kind, int64_t number,
                              wg_error *error);

/* Numbers of checkpoints, ascending; the caller frees n. */
typedef struct wgi_numbers {
    int64_t *n; /* [count] */
    size_t count, room;
} wgi_numbers;
/* Of all files of that kind; none if there is no folder checkpoints/. */
wg_status wgi_checkpoint_numbers(wgi_numbers *out, const char *folder, wgi_file_kind kind,
                                 wg_error *error);

/* Fails if checkpoints/ is a link: training in the folder would write files elsewhere, and remove
 * those of another training. */
wg_status wgi_checkpoint_check_place(const char *folder, wg_error *error);

/* Makes folder/name, which may have several parts, but not the folder: one that was renamed or
 * removed meanwhile is not made anew (folder.c). */
wg_status wgi_folder_make_in(const char *folder, const char *name, wg_error *error);
/* Whether files could hold the store's tensors, so that wgi_checkpoint_save would write them; their
 * numbers are not looked at. */
wg_status wgi_checkpoint_check(const char *folder, const wg_store *store,
                               const wg_checkpoint_options *options, wg_error *error);
/* wg_checkpoint_save in a folder that is there (checkpoint.c). */
wg_status wgi_checkpoint_save(const char *folder, const wg_store *store, wg_progress *p,
                              const wg_checkpoint_options *options, wg_checkpoint_reason reason,
                              wg_error *error);

/* Removes the file if there is one. */
wg_status wgi_checkpoint_remove(const char *folder, wgi_file_kind kind, int64_t number,
                                wg_error *error);
/* Keeps the last two checkpoints and the last `keep` models, and removes older ones, as well as
 * temporary files of dead processes.  What cannot be removed stays. */
void wgi_checkpoint_tidy(const char *folder, int64_t keep);
/* Moves checkpoints after `update` to checkpoints/damaged/, and removes those that were never
 * complete; *moved: there was one to move. */
wg_status wgi_checkpoint_set_aside(const char *folder, int64_t update, bool *moved,
                                   wg_error *error);

/* Moves the best model by that metric to checkpoints/damaged/; *moved: there was one. */
wg_status wgi_checkpoint_set_best_aside(const char *folder, const char *metric, bool *moved,
                                        wg_error *error);

enum { WGI_NAME_SIZE = 256 }; /* of a file, without its folder, with the 0 at its end */

/* Of a folder without a checkpoint: the name of a file of weights, which a new training would
 * overwrite, or start without; "" if there is none.  In a folder where a training began and died
 * before its first checkpoint, its best weights do not count. */
wg_status wgi_checkpoint_find_stray(const char *folder, char name[WGI_NAME_SIZE], wg_error *error);

#endif
