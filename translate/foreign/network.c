/* The settings of an imported model.  What the user has said counts most, then what config.json
 * says, then what the tensors show, which must not contradict either; what is left is usual for the
 * layout. */
#include "graph/error.h"
#include "translate/foreign/import.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

/* Names of activations elsewhere. */
static const char *activation_named(const char *name)
{
    static const char *const others[][2] = {
        {"swish", "silu"},          {"gelu_new", "gelu-tanh"},
        {"gelu_fast", "gelu-tanh"}, {"gelu_pytorch_tanh", "gelu-tanh"},
        {"gelu_tanh", "gelu-tanh"}, {"gelu_accurate", "gelu-tanh"},
        {"gelu_python", "gelu"},
    };
    for (size_t i = 0; i < WG_COUNT(others); i++)
        if (strcmp(others[i][0], name) == 0)
            return others[i][1];
    return name;
}

/* Sets an option; of one that has been set, only says whether it is the same.  False with an error:
 * it cannot have that value. */
static bool set_or_compare(wgi_import *im, const wg_option *o, const char *value, bool *same,
                           wg_error *error)
{
    wg_settings other;
    wg_status status = wg_settings_init(&other);
    *same = true;
    if (status == WG_OK)
        status = wg_settings_set(&other, o->name, value, error);
    else
        wgi_error_set(error, status, "out of memory");
    if (status == WG_OK && wg_settings_given(&im->settings, o))
        *same = wg_settings_equal(&im->settings, &other, o);
    else if (status == WG_OK)
        status = wg_settings_set(&im->settings, o->name, value, error);
    wg_settings_free(&other);
    return status == WG_OK;
}

/* An option that the tensors show. */
static void show(wgi_import *im, const char *name, const char *value)
{
    wg_error error;
    bool same;
    const wg_option *o = wg_option_find(name);
    char *was = NULL;
    if (!set_or_compare(im, o, value, &same, &error))
        wgi_import_refuse_for(im, &error, "%s", error.text);
    else if (!same) {
        bool known = wg_settings_get(&im->settings, o, &was) == WG_OK;
        im->contradicts = true;
        wgi_import_refuse(im,
                          "%s: expected %s, by the command line or config.json, got %s by the "
                          "tensors",
                          name, known ? was : "another", value);
    }
    free(was);
}

static void show_whole(wgi_import *im, const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    show(im, name, text);
}

static void set_usual(wgi_import *im, const char *name, const char *value)
{
    wg_error error;
    const wg_option *o = wg_option_find(name);
    if (!wg_settings_given(&im->settings, o) &&
        wg_settings_set(&im->settings, name, value, &error) != WG_OK)
        wgi_import_refuse_for(im, &error, "%s", error.text);
}

/* ---- config.json ----------------------------------------------------------------------------- */

/* The option that a key is, and the value that it has there. */
static const wg_option *option_of(const wgi_import *im, const wgi_fact *f,
                                  char value[WGI_FACT_TEXT])
{
    char name[WGI_FACT_TEXT];
    const char *option = NULL;
    for (const wgi_layout_pair *p = im->layout->keys; !f->ours && p->key && !option; p++)
        option = strcmp(p->key, f->key) == 0 ? p->value : NULL;
    for (size_t i = 0; f->ours && i < WGI_FACT_TEXT; i++) {
        name[i] = f->key[i] == '_' ? '-' : f->key[i];
        option = name;
    }
    if (!option)
        return NULL;
    bool opposite = *option == '!';
    const wg_option *o = wg_option_find(option + opposite);
    const char *text = strcmp(option, "activation") == 0 ? activation_named(f->text) : f->text;
    snprintf(value, WGI_FACT_TEXT, "%s",
             !opposite                    ? text
             : strcmp(text, "true") == 0  ? "false"
             : strcmp(text, "false") == 0 ? "true"
                                          : text);
    return o && wgi_layout_keeps(o) ? o : NULL;
}

static void take_facts(wgi_import *im)
{
    for (size_t i = 0; i < im->facts.n; i++) {
        const wgi_fact *f = &im->facts.fact[i];
        char value[WGI_FACT_TEXT];
        wg_error error;
        bool same;
        const wg_option *o = option_of(im, f, value);
        if (!o || wg_settings_given(im->options->settings, o))
            continue;
        if (!set_or_compare(im, o, value, &same, &error))
            wgi_import_refuse_for(im, &error, "config.json: %s: %s", f->key, error.text);
        else if (!same)
            wgi_import_refuse(im,
                              "config.json: %s is %s, but another key says otherwise of %s, "
                              "which is one for encoder and decoder",
                              f->key, f->text, o->name);
    }
}

/* ---- shared matrices ------------------------------------------------------------------------- */

static bool is_zero(const wg_file_tensor *t)
{
    for (int64_t i = 0; t->dtype && i < wg_shape_count(&t->shape); i++)
        if (wgi_import_number(t, i) != 0)
            return false;
    return t->dtype != WG_DTYPE_DEFAULT;
}

/* A layout whose models always have a bias has zeros for one of ours without it. */
static void drop_zero_bias(wgi_import *im)
{
    bool none = wg_settings_given(&im->settings, wg_option_find("output-bias")) &&
                !im->settings.net.output_bias;
    if (none && im->layout->has_zero_bias && im->output_bias && is_zero(im->output_bias))
        im->output_bias = NULL;
}

/* Of a shared matrix, files may have one name only: safetensors has no shared tensors. */
static void find_matrices(wgi_import *im)
{
    im->source = wgi_import_get(im, WGI_SOURCE_EMBEDDING, NULL);
    im->target = wgi_import_get(im, WGI_TARGET_EMBEDDING, NULL);
    im->output = wgi_import_get(im, WGI_OUTPUT_WEIGHT, NULL);
    im->output_bias = wgi_import_get(im, WGI_OUTPUT_BIAS, NULL);
    drop_zero_bias(im);
    if (!im->target)
        im->target = im->output ? im->output : im->source;
    im->source = im->source ? im->source : im->target;
    im->output = im->output ? im->output : im->target;
    if (!im->source) {
        const wgi_layout_row *row = im->layout->rows;
        while (strcmp(row->ours, WGI_SOURCE_EMBEDDING) != 0)
            row++;
        wgi_import_refuse(im, "expected an embedding, such as %s%s, got none", im->prefix,
                          row->theirs);
        return;
    }
    bool output = wgi_import_equal(im->target, im->output);
    bool source = wgi_import_equal(im->source, im->target);
    show(im, "tying", output && source ? "all" : output ? "output" : "none");
    show(im, "output-bias", im->output_bias ? "true" : "false");
    if (im->source->shape.rank == 2)
        show_whole(im, "d-model", im->source->shape.dim[1]);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* The number behind "encoder.layers." in a name, -1 without one. */
static int64_t layer_of(const wgi_import *im, const char *name, const char *stack)
{
    size_t n = strlen(im->prefix);
    char head[40];
    snprintf(head, sizeof head, "%s.layers.", stack);
    if (strncmp(name, im->prefix, n) != 0 || strncmp(name + n, head, strlen(head)) != 0)
        return -1;
    const char *digits = name + n + strlen(head);
    size_t size = strspn(digits, "0123456789");
    return size > 0 && size < 10 ? strtoll(digits, NULL, 10) : -1;
}

static void count_layers(wgi_import *im, const char *stack, const char *option)
{
    int64_t most = -1, count = (int64_t)wg_safetensors_count(im->file);
    for (int64_t i = 0; i < count; i++) {
        int64_t layer = layer_of(im, wg_safetensors_at(im->file, (size_t)i)->name, stack);
        if (layer >= count)
            wgi_import_refuse(im, "tensor %s: expected a layer below %" PRId64 ", the tensors",
                              wg_safetensors_at(im->file, (size_t)i)->name, count);
        else
            most = layer > most ? layer : most;
    }
    show_whole(im, option, most + 1);
}

/* The rows of the first feed-forward matrix that there is. */
static void find_width(wgi_import *im)
{
    const wg_transformer_config *net = &im->settings.net;
    char name[WGI_FOREIGN_NAME];
    const wg_file_tensor *t = NULL;
    for (int decoder = 0; decoder < 2; decoder++)
        for (int i = 0; i < (decoder ? net->decoder_layers : net->encoder_layers) && !t; i++) {
            snprintf(name, sizeof name, "%s/layer%d/ff/inner/weight",
                     decoder ? "decoder" : "encoder", i);
            t = wgi_import_get(im, name, NULL);
        }
    if (t && t->shape.rank == 2)
        show_whole(im, "d-ff", t->shape.dim[0]);
    else
        wgi_import_refuse(im, "expected matrices of feed-forward layers, got none");
}

/* Whether all biases of attention are zero, as those are that an export gives a model without
 * any. */
static bool attention_biases_are_zero(wgi_import *im)
{
    static const char *const of[] = {"encoder/layer%d/self_attn/%s/bias",
                                     "decoder/layer%d/self_attn/%s/bias",
                                     "decoder/layer%d/cross_attn/%s/bias"},
                             *const parts[] = {"q", "k", "v", "out"};
    char name[WGI_FOREIGN_NAME];
    bool zero = true;
    for (int k = 0; k < WG_COUNT(of); k++) {
        int64_t layers = k ? im->settings.net.decoder_layers : im->settings.net.encoder_layers;
        for (int i = 0; i < layers * WG_COUNT(parts); i++) {
            snprintf(name, sizeof name, of[k], i / WG_COUNT(parts), parts[i % WG_COUNT(parts)]);
            const wg_file_tensor *t = wgi_import_get(im, name, NULL);
            zero = zero && (!t || is_zero(t));
        }
    }
    return zero;
}

static void find_biases(wgi_import *im)
{
    for (size_t i = 0; i < wg_safetensors_count(im->file); i++) {
        const char *name = wg_safetensors_at(im->file, i)->name;
        size_t n = strlen(name);
        im->has_biases = im->has_biases ||
                         (strstr(name, ".layers.") && n > 4 && strcmp(name + n - 4, "bias") == 0);
    }
    bool of_attention = wgi_import_get(im, "encoder/layer0/self_attn/q/bias", NULL) ||
                        wgi_import_get(im, "encoder/layer0/self_attn/out/bias", NULL);
    bool none = wg_settings_given(&im->settings, wg_option_find("attention-bias")) &&
                !im->settings.net.attention_bias && attention_biases_are_zero(im);
    show(im, "attention-bias", of_attention && !none ? "true" : "false");
    if (!im->has_biases)
        wgi_import_tell(im, "the layers have no biases: zeros take their place");
}

/* Norms at the ends of the stacks say where the others are, or must agree with it. */
static void find_final_norms(wgi_import *im)
{
    bool encoder = wgi_import_get(im, "encoder/norm/gain", NULL) != NULL;
    bool decoder = wgi_import_get(im, "decoder/norm/gain", NULL) != NULL;
    const wg_option *pre = wg_option_find("pre-norm");
    if (encoder != decoder)
        wgi_import_refuse(im,
                          "expected a norm at the end of both stacks or of none, got one of "
                          "the %s only",
                          encoder ? "encoder" : "decoder");
    if (!wg_settings_given(&im->settings, pre))
        show(im, "pre-norm", encoder && im->layout->pre_norm_if_final ? "true" : "false");
    /* where "pre-norm" is the same network as another, either may have been said */
    const wg_transformer_config *net = &im->settings.net;
    wg_final_norm exact = encoder ? WG_FINAL_NORM_ALWAYS : WG_FINAL_NORM_NEVER;
    bool is_exact =
        wg_settings_given(&im->settings, wg_option_find("final-norm")) && net->final_norm == exact;
    show(im, "final-norm",
         encoder == net->pre_norm && !is_exact ? "pre-norm"
         : encoder                             ? "always"
                                               : "never");
}

/* ---- positions ------------------------------------------------------------------------------- */

/* The rows in which a table is compared with sines and cosines. */
enum { ROWS = 64 };

/* The largest difference between the table from the row of the first token on, and the sines and
 * cosines of kind `kind` from position `first` on. */
static double distance(const wg_file_tensor *t, const wg_shape *s, int64_t first_row, int kind,
                       int64_t first)
{
    double most = 0;
    for (int64_t row = first_row; row < s->dim[0] && row < first_row + ROWS; row++)
        for (int64_t i = 0; i < s->dim[1]; i++) {
            double x = wg_sinusoid(kind, first + row - first_row, i, s->dim[1]);
            double error = fabs(x - wgi_import_number(t, row * s->dim[1] + i));
            most = error <= most ? most : error;
        }
    return most;
}

/* What a table of positions can be off: rounding, and angles that were computed in f32. */
static double tolerance(wg_dtype dtype)
{
    return dtype == WG_BF16 ? 8e-3 : dtype == WG_F16 ? 1e-3 : 2e-5;
}

/* True if the table has sines and cosines; says which. */
static bool are_sinusoids(const wgi_import *im, const wg_file_tensor *t, const wg_shape *s,
                          const char **kind, int64_t *first)
{
    static const struct {
        int kind;
        const char *name;
    } kinds[] = {{WG_POSITIONS_INTERLEAVED, "interleaved"},
                 {WG_POSITIONS_HALVES, "halves"},
                 {WG_POSITIONS_PAPER_HALVES, "paper-halves"}};
    double best = INFINITY;
    int64_t row = im->layout->first_row;
    if (s->dim[1] % 2 != 0 || s->dim[0] <= row + 1)
        return false;
    const int64_t firsts[] = {row, row + 1, row + 2, im->settings.net.first_position};
    for (size_t k = 0; k < WG_COUNT(kinds); k++)
        for (size_t i = 0; i < WG_COUNT(firsts); i++) {
            double d = distance(t, s, row, kinds[k].kind, firsts[i]);
            if (d < best) {
                best = d;
                *kind = kinds[k].name;
                *first = firsts[i];
            }
        }
    return best <= tolerance(t->dtype);
}

/* One table for both stacks, or one each. */
static void find_positions(wgi_import *im)
{
    static const char *const ours[2] = {"encoder/positions/weight", "decoder/positions/weight"};
    int64_t row = im->layout->first_row, first = row;
    for (int i = 0; i < 2; i++) {
        const wg_file_tensor *t = wgi_import_get(im, ours[i], NULL);
        const char *kind = NULL;
        wg_shape s = t ? wgi_import_shape(t, 2) : WG_SCALAR;
        if (!t)
            continue;
        if (s.rank != 2 || s.dim[0] <= row || s.dim[1] < 1 || !t->dtype) {
            wgi_import_refuse(im, "tensor %s: expected a table of positions", t->name);
            continue;
        }
        bool learned = !are_sinusoids(im, t, &s, &kind, &first);
        im->positions[i] = learned ? t : NULL;
        show(im, "positions", learned ? "learned" : kind);
        show_whole(im, "first-position", learned ? row : first);
        if (learned)
            show_whole(im, "max-positions", s.dim[0] - row);
    }
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* What another program's settings say of the training of ours. */
static void set_training(wgi_import *im)
{
    static const wgi_layout_pair usual[] = {
        {"lr-schedule", "constant"},    {"learn-rate", "0.0001"},
        {"mini-batch-words", "4096"},   {"pretrained-model", WG_FILE_MODEL},
        {"fused-projections", "false"}, {NULL, NULL}};
    char text[32];
    for (const wgi_layout_pair *p = usual; p->key; p++)
        set_usual(im, p->key, p->value);
    int64_t longest = wg_settings_longest(&im->settings);
    if (im->settings.net.positions == WG_POSITIONS_LEARNED && longest < im->settings.max_length) {
        snprintf(text, sizeof text, "%" PRId64, longest);
        set_usual(im, "max-length", text);
    }
}

void wgi_import_network(wgi_import *im)
{
    set_usual(im, "preset", "base");
    take_facts(im);
    find_matrices(im);
    count_layers(im, "encoder", "encoder-layers");
    count_layers(im, "decoder", "decoder-layers");
    find_width(im);
    find_biases(im);
    find_final_norms(im);
    find_positions(im);
    if (!wg_settings_given(&im->settings, wg_option_find("heads"))) {
        wgi_import_refuse(im, "expected the number of attention heads, which tensors do not show: "
                              "give --heads N");
        im->settings.net.heads = 1; /* to compare the rest */
    }
    for (const wgi_layout_pair *p = im->layout->defaults; p->key; p++)
        set_usual(im, p->key, p->value);
    set_training(im);
}
