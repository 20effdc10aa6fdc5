/* The config.json of an exported model. */
#include "translate/foreign/export.h"
#include "graph/json.h"

#include <stdlib.h>
#include <string.h>

static void put_truth(wgi_json *j, const char *key, bool truth)
{
    wgi_json_plain(j, key, truth ? "true" : "false");
}

/* The option of a key: '!' is its opposite.  WG_ENOMEM. */
static wg_status put_option(wgi_json *j, const char *key, const char *option, const wg_settings *s)
{
    bool opposite = *option == '!';
    const wg_option *o = wg_option_find(option + opposite);
    char *value = NULL;
    if (wg_settings_get(s, o, &value) != WG_OK)
        return WG_ENOMEM;
    bool is_text = o->kind == WG_OPTION_CHOICE || o->kind == WG_OPTION_TEXT;
    if (opposite)
        put_truth(j, key, strcmp(value, "true") != 0);
    else if (is_text)
        wgi_json_text(j, key, value);
    else
        wgi_json_plain(j, key, value);
    free(value);
    return WG_OK;
}

/* Everything that an import has to know, under the names of our options. */
static wg_status put_ours(wgi_json *j, const wg_settings *s)
{
    const wg_option *o;
    wg_status status = WG_OK;
    wgi_json_begin(j, "wengert", '{');
    for (size_t i = 0; status == WG_OK && (o = wg_option_at(i)); i++) {
        char key[64];
        if (!wgi_layout_keeps(o))
            continue;
        snprintf(key, sizeof key, "%s", o->name);
        for (char *at = key; (at = strchr(at, '-'));)
            *at = '_';
        status = put_option(j, key, o->name, s);
    }
    wgi_json_end(j, '}');
    return status;
}

/* What Hugging Face's MarianMTModel needs beside the keys of the table. */
static void put_marian(wgi_json *j, const wgi_export *x, const wg_settings *s)
{
    const wg_vocabulary *to = x->side[1];
    const wgi_sentence_marks *marks = wgi_translator_marks(x->model);
    int64_t positions = s->net.positions == WG_POSITIONS_LEARNED ? s->net.max_positions : 512;
    wgi_json_text(j, "model_type", "marian");
    wgi_json_begin(j, "architectures", '[');
    wgi_json_text(j, NULL, "MarianMTModel");
    wgi_json_end(j, ']');
    put_truth(j, "is_encoder_decoder", true);
    put_truth(j, "static_position_embeddings", true);
    put_truth(j, "share_encoder_decoder_embeddings", s->net.tying == WG_TIED_ALL);
    put_truth(j, "tie_word_embeddings", s->net.tying != WG_UNTIED);
    wgi_json_whole(j, "vocab_size", wg_vocabulary_size(x->side[0]));
    wgi_json_whole(j, "decoder_vocab_size", wg_vocabulary_size(to));
    wgi_json_whole(j, "max_position_embeddings", positions);
    wgi_json_whole(j, "max_length", positions);
    wgi_json_whole(j, "eos_token_id", marks->eos);
    wgi_json_whole(j, "forced_eos_token_id", marks->eos);
    if (marks->pad >= 0)
        wgi_json_whole(j, "pad_token_id", marks->pad);
    wgi_json_whole(j, "decoder_start_token_id", marks->start);
}

static wg_status put_config(FILE *f, const wgi_export *x, int side)
{
    (void)side;
    const wg_settings *s = wgi_translator_settings(x->model);
    wg_status status = WG_OK;
    wgi_json j = {.file = f};
    wgi_json_begin(&j, NULL, '{');
    if (x->layout->has_zero_bias)
        put_marian(&j, x, s);
    for (const wgi_layout_pair *p = x->layout->keys; p->key && status == WG_OK; p++)
        status = put_option(&j, p->key, p->value, s);
    if (status == WG_OK)
        status = put_ours(&j, s);
    wgi_json_end(&j, '}');
    return status;
}

wg_status wgi_export_config(const wgi_export *x)
{
    return wgi_export_file(x, "config.json", put_config, 0);
}
