/* What a preset sets. */
#ifndef WG_TRAIN_PRESETS_H
#define WG_TRAIN_PRESETS_H

/* Named sizes, and the recipe that goes with them: options and values, as they would be given by
 * flags, to NULL. */
typedef struct wgi_preset {
    const char *name;
    const char *network; /* of wg_transformer_find: the options without a default of their own */
    const char *const (*recipe)[2];
} wgi_preset;

/* NULL if there is none of that name. */
const wgi_preset *wgi_preset_find(const char *name);

#endif
