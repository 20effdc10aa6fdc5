/* What a preset sets. */
#ifndef WG_TRANSLATE_PRESETS_H
#define WG_TRANSLATE_PRESETS_H

/* Named sizes and a recipe: options with values as flags would give them, ended by NULL. */
typedef struct wgi_preset {
    const char *name;
    const char *network; /* of wg_transformer_find: the options without a default of their own */
    const char *const (*recipe)[2];
} wgi_preset;

/* What a language model has in place of what presets set for translation; ended by NULL. */
extern const char *const wgi_language_recipe[][2];

/* NULL if there is no preset of that name. */
const wgi_preset *wgi_preset_find(const char *name);

#endif
