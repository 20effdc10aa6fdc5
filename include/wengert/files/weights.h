/* Saving and loading a store as a safetensors file.
 *
 * To stop and go on, everything and exactly:
 *
 *     wg_store_save(store, "run.safetensors", &error);
 *     wg_store_load(store, "run.safetensors", &error);
 *
 * To use or fine-tune a model, what it needs of a file and no more:
 *
 *     wg_load_report report;
 *     wg_store_load_weights(store, "run.safetensors", NULL, &report, &error);
 *     printf("%s\n", report.text);
 *
 * Both load before or after the plans are made.  A store that has tensors is checked against the
 * file at once, and keeps its tensors where they are.  An empty store takes what the file has;
 * plans made later find their parameters there, or fail with the name of what is missing.
 *
 * The notes of a store (wg_store_set_note) are saved as the file's metadata and loaded with it. */
#ifndef WG_FILES_WEIGHTS_H
#define WG_FILES_WEIGHTS_H

#include "wengert/files/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- everything ------------------------------------------------------------------------------ */

/** Writes every tensor and note of the store; the metadata tell which tensors are states of an
 * optimizer.  Fails as wg_safetensors_write does. */
WG_API WG_MUST_USE wg_status wg_store_save(const wg_store *store, const char *path,
                                           wg_error *error);
/** Fills the store's tensors from the file, which must have the same names, dtypes and shapes:
 * otherwise (WG_EDATA) nothing changes and the error lists all differences for which it has room.
 * An empty store takes all tensors of the file; a plan made later fails with WG_EDATA if it needs
 * another one.  Fails as wg_safetensors_open does, too. */
WG_API WG_MUST_USE wg_status wg_store_load(wg_store *store, const char *path, wg_error *error);

/* ---- the weights of a model ------------------------------------------------------------------ */

/** Which tensors are saved or loaded, and under which names.  Zero means the default in every
 * field. */
typedef struct wg_weights_options {
    /** Only tensors whose names, where they come from, begin with this, such as "encoder/"; NULL:
     * all.  The prefix is not part of their names where they go. */
    const char *from_prefix;
    const char *to_prefix; /**< put before their names where they go; NULL: nothing */
    bool parameters_only;  /**< no states, such as running means; a plan must have used the store */
    /** Loading: parameters that the file lacks keep their values.  Otherwise they are an error,
     * now or when a plan is made. */
    bool allow_missing;
} wg_weights_options;

/** What wg_store_load_weights has done. */
typedef struct wg_load_report {
    size_t loaded;  /**< tensors of the store that were filled */
    size_t ignored; /**< tensors of the file without a place in the store */
    size_t missing; /**< tensors of the store that the file lacks; they keep their values */
    char text[WG_ERROR_TEXT]; /**< the same as a line with names: "FILE: 9 tensors loaded; ..." */
} wg_load_report;

/** Writes parameters and states, but not those of an optimizer: what wg_adam_update and
 * wg_sgd_update, or nodes of the phase WG_UPDATE in general, keep for themselves.  Which these are
 * is known from the plans that have used the store, or from the file that wg_store_save wrote and
 * that filled it.  The options may be NULL.  Fails as wg_safetensors_write does, and with WG_EINVAL
 * for `parameters_only` if no plan has used the store. */
WG_API WG_MUST_USE wg_status wg_store_save_weights(const wg_store *store, const char *path,
                                                   const wg_weights_options *options,
                                                   wg_error *error);
/** Fills what the store has of the file's tensors and ignores the rest, such as the moments of an
 * optimizer.  States that the file lacks, or has in another shape (of another batch size, say),
 * keep their values.  A parameter that the file lacks, unless `allow_missing` is set, or has in
 * another dtype or shape, is an error (WG_EDATA): then nothing changes and the error lists them
 * all.
 *
 * An empty store takes all tensors that the options name; plans made later check them in the same
 * way.  To read no more than needed, make the plan first.
 *
 * The options and the report may be NULL.  Fails as wg_safetensors_open does, too. */
WG_API WG_MUST_USE wg_status wg_store_load_weights(wg_store *store, const char *path,
                                                   const wg_weights_options *options,
                                                   wg_load_report *report, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
