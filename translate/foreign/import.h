/* The import of a model: what is found out, step by step, and all that does not fit. */
#ifndef WG_TRANSLATE_FOREIGN_IMPORT_H
#define WG_TRANSLATE_FOREIGN_IMPORT_H

#include "files/weights.h"
#include "translate/folder.h"
#include "translate/foreign/facts.h"
#include "translate/foreign/layout.h"
#include "wengert/translate/foreign.h"

typedef struct wgi_import {
    const wg_foreign_options *options;
    const wgi_layout *layout;
    char *folder, *path; /* of the weights; the file */
    wg_safetensors *file;
    bool *used; /* [tensors of the file] */
    char prefix[WGI_FOREIGN_NAME];
    wgi_facts facts;
    wg_settings settings; /* of the new model */
    /* The matrices that may be shared; NULL: the file has none.  Two of them may be one. */
    const wg_file_tensor *source, *target, *output, *output_bias;
    const wg_file_tensor *positions[2]; /* learned ones of encoder and decoder */
    bool has_biases;                    /* some tensor of a layer is a bias */
    bool contradicts;                   /* the settings are not those of the tensors */
    wg_vocabularies vocabularies;
    wg_store *store;
    wg_foreign_report *report;
    wg_error *error;
    wg_error refused; /* all that does not fit; its status is then WG_EDATA, or WG_ENOMEM */
} wgi_import;

/* ---- tensors.c ------------------------------------------------------------------------------- */

/* Adds a line about something that does not fit. */
void wgi_import_refuse(wgi_import *im, const char *format, ...) WG_PRINTF(2, 3);
/* The same where a call has failed with `why`, which may be a lack of memory. */
void wgi_import_refuse_for(wgi_import *im, const wg_error *why, const char *format, ...)
    WG_PRINTF(3, 4);
/* Adds a line to the report. */
void wgi_import_tell(wgi_import *im, const char *format, ...) WG_PRINTF(2, 3);

/* The tensor that has our tensor `ours` or a part of it, which is then used, and its row of the
 * layout; NULL without it.  If the file has it under several names, they must be equal. */
const wg_file_tensor *wgi_import_get(wgi_import *im, const char *ours, const wgi_layout_row **row);
/* The same bits in the same shape. */
bool wgi_import_equal(const wg_file_tensor *a, const wg_file_tensor *b);
/* Its shape without axes of size 1 at either end, but at least `rank` axes. */
wg_shape wgi_import_shape(const wg_file_tensor *t, int rank);
/* Element i as a number: data may be unaligned. */
double wgi_import_number(const wg_file_tensor *t, int64_t i);

/* ---- network.c: the settings ----------------------------------------------------------------- */

/* From config.json, the shapes of tensors, and what is usual. */
void wgi_import_network(wgi_import *im);

/* ---- words.c --------------------------------------------------------------------------------- */

/* The vocabularies, of as many tokens as the embeddings have rows. */
wg_status wgi_import_vocabularies(wgi_import *im);

/* ---- fill.c ---------------------------------------------------------------------------------- */

/* Fills a store from the tensors; refuses all that do not fit. */
wg_status wgi_import_fill(wgi_import *im);

#endif
