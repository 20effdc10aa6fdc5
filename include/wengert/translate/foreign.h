/* Models of other programs as folders of ours, and back: docs/weights.md.
 *
 *     wg_settings s;
 *     wg_settings_init(&s);
 *     wg_settings_set(&s, "model", "opus-en-de", &error);
 *     wg_foreign_import(&(wg_foreign_options){"marian", "opus-mt-en-de", .settings = &s}, &report,
 *                       &error);
 *
 * Weights are safetensors files with the names of torch.nn.Transformer ("torch"), of fairseq's
 * Transformer ("fairseq") or of Hugging Face's MarianMTModel ("marian"). */
#ifndef WG_TRANSLATE_FOREIGN_H
#define WG_TRANSLATE_FOREIGN_H

#include "wengert/translate/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The name of the i-th layout, NULL past the end. */
WG_API const char *wg_foreign_layout_at(size_t i);

/** What is imported. */
typedef struct wg_foreign_options {
    const char *layout; /**< a name of wg_foreign_layout_at, or "pytorch" for "torch" */
    const char *path;   /**< a safetensors file, or a folder with a model.safetensors */
    /** SentencePiece models that split the text, source and target (NULL: the same), into the
     * tokens of settings->vocabs; both NULL: those of the folder. */
    const char *pieces[2];
    /** `model` is the folder to make, and `vocabs` the vocabularies (NULL: those next to the
     * weights); options given by name override what the files say. */
    const wg_settings *settings;
} wg_foreign_options;

/** What was done. */
typedef struct wg_foreign_report {
    size_t tensors;           /**< of the file that were read or written */
    char text[WG_ERROR_TEXT]; /**< lines that tell it, with what was left out and why */
} wg_foreign_report;

/** Makes a model folder of another program's model, for wg_translator_open and for training.
 * WG_EDATA: a file is damaged, or does not fit the layout; the error lists all tensors that are
 * missing, unexpected or of another shape, and nothing is written.  WG_EINVAL: there is no such
 * layout, or no folder to make, or it has a model.  WG_ENONFINITE: a weight is NaN or infinite.
 * WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_foreign_import(const wg_foreign_options *options,
                                               wg_foreign_report *report, wg_error *error);

/** Writes the model of a folder into another folder: model.safetensors with the names of the
 * layout, config.json, and vocabularies.  `weights` as in wg_translator_options.  WG_EUNSUPPORTED:
 * the layout cannot have such a model; the error lists all options at fault.  Fails as
 * wg_translator_open does, too, and WG_EINVAL, WG_EIO. */
WG_API WG_MUST_USE wg_status wg_foreign_export(const char *layout, const char *model,
                                               const char *weights, const char *folder,
                                               wg_foreign_report *report, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
