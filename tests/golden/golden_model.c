#include "tests/golden/golden_model.h"
#include "tests/golden/golden_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool golden_model_fail(golden_model *m, const char *format, ...)
{
    va_list args;
    if (m->reason[0])
        return false;
    va_start(args, format);
    vsnprintf(m->reason, sizeof m->reason, format, args);
    va_end(args);
    return false;
}

/* ---- metadata -------------------------------------------------------------------------------- */

static const char *text(golden_model *m, const char *key)
{
    const char *note = wg_safetensors_note(m->file, key);
    if (!note)
        golden_model_fail(m, "the metadata have no \"%s\"", key);
    return note ? note : "";
}

static double number(golden_model *m, const char *key, const char *in)
{
    char *end;
    double x = strtod(in, &end);
    if (end == in || (*end && *end != ' ' && *end != ',') || !isfinite(x))
        golden_model_fail(m, "metadata \"%s\": \"%s\" is no number", key, in);
    return x;
}

static double real(golden_model *m, const char *key, double otherwise)
{
    return wg_safetensors_note(m->file, key) ? number(m, key, text(m, key)) : otherwise;
}

static bool truth(golden_model *m, const char *key)
{
    const char *t = text(m, key);
    bool yes = strcmp(t, "True") == 0 || strcmp(t, "true") == 0 || strcmp(t, "1") == 0;
    bool no = strcmp(t, "False") == 0 || strcmp(t, "false") == 0 || strcmp(t, "0") == 0;
    if (!yes && !no)
        golden_model_fail(m, "metadata \"%s\": \"%s\" is neither True nor False", key, t);
    return yes;
}

typedef struct word {
    const char *name;
    int value;
} word;

static int one_of(golden_model *m, const char *key, const word *words)
{
    const char *t = text(m, key);
    for (; words->name; words++)
        if (strcmp(t, words->name) == 0)
            return words->value;
    golden_model_fail(m, "metadata \"%s\": nothing is known of \"%s\"", key, t);
    return 0;
}

static double assigned(golden_model *m, const char *list, const char *name)
{
    const char *at = strstr(list, name);
    if (!at)
        golden_model_fail(m, "metadata \"adam\": \"%s\" has no %s", list, name);
    return at ? number(m, "adam", at + strlen(name)) : 0;
}

static void read_notes(golden_model *m)
{
    static const word activations[] = {
        {"relu", WG_ACTIVATION_RELU},           {"gelu", WG_ACTIVATION_GELU},
        {"gelu_tanh", WG_ACTIVATION_GELU_TANH}, {"gelu_new", WG_ACTIVATION_GELU_TANH},
        {"silu", WG_ACTIVATION_SILU},           {"swish", WG_ACTIVATION_SILU},
        {"tanh", WG_ACTIVATION_TANH},           {NULL, 0}};
    static const word positions[] = {
        {"interleaved", WG_POSITIONS_INTERLEAVED}, {"halves", WG_POSITIONS_HALVES}, {NULL, 0}};
    wg_transformer_config *c = &m->config;
    c->heads = (int64_t)number(m, "heads", text(m, "heads"));
    c->activation = one_of(m, "activation", activations);
    if (wg_safetensors_note(m->file, "positions"))
        c->positions = one_of(m, "positions", positions);
    c->pre_norm = truth(m, "norm_first");
    c->norm_eps = real(m, "layer_norm_eps", 1e-5);
    c->label_smoothing = real(m, "smoothing", 0);
    const char *loss = wg_safetensors_note(m->file, "loss");
    if (loss && (strstr(loss, "V-1") || strstr(loss, "V - 1") || strstr(loss, "off-target")))
        c->smoothing_spread = WG_SMOOTH_OFF_TARGET;
    if (loss && strncmp(loss, "mean", 4) != 0)
        golden_model_fail(m, "metadata \"loss\": \"%s\" is no mean", loss);
    if (real(m, "dropout", 0) != 0)
        golden_model_fail(m, "metadata \"dropout\" is %g, must be 0", real(m, "dropout", 0));
    m->pad = (int64_t)real(m, "pad", 0);
    if (m->steps) {
        const char *adam = text(m, "adam");
        m->adam = (wg_adam_options){.beta1 = assigned(m, adam, "beta1="),
                                    .beta2 = assigned(m, adam, "beta2="),
                                    .eps = assigned(m, adam, "eps=")};
        /* zero would mean the default */
        if (!m->reason[0] && !(m->adam.beta1 > 0 && m->adam.beta2 > 0 && m->adam.eps > 0))
            golden_model_fail(m, "metadata \"adam\": \"%s\", all must be above 0", adam);
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* The tensor of that name, which must have that rank (-1: any); NULL and a failure if there is
 * none. */
static const wg_file_tensor *tensor(golden_model *m, const char *name, int rank)
{
    const wg_file_tensor *t = wg_safetensors_find(m->file, name);
    if (!t)
        golden_model_fail(m, "the file has no tensor \"%s\"", name);
    else if (rank >= 0 && t->shape.rank != rank)
        golden_model_fail(m, "tensor \"%s\" has %d axes, must have %d", name, t->shape.rank, rank);
    else
        return t;
    return NULL;
}

static int64_t size(golden_model *m, const char *name, int rank, int axis)
{
    const wg_file_tensor *t = tensor(m, name, rank);
    return t ? t->shape.dim[axis] : 0;
}

/* How many layers "param.STACK.layers.I." the stack has. */
static int64_t count_layers(const golden_model *m, const char *stack)
{
    char prefix[64];
    size_t n = (size_t)snprintf(prefix, sizeof prefix, "param.%s.layers.", stack);
    int64_t layers = 0;
    for (size_t i = 0; i < wg_safetensors_count(m->file); i++) {
        const char *name = wg_safetensors_at(m->file, i)->name;
        int64_t layer = strncmp(name, prefix, n) == 0 ? strtol(name + n, NULL, 10) + 1 : 0;
        layers = layer > layers ? layer : layers;
    }
    return layers;
}

/* What the metadata say of a size must be so. */
static void agree(golden_model *m, const char *key, int64_t value)
{
    if (wg_safetensors_note(m->file, key) && real(m, key, 0) != (double)value)
        golden_model_fail(m, "metadata \"%s\" is %s, but the tensors have %lld", key, text(m, key),
                          (long long)value);
}

static void read_sizes(golden_model *m)
{
    wg_transformer_config *c = &m->config;
    c->source_vocabulary = c->target_vocabulary = size(m, "param.embedding.weight", 2, 0);
    c->d_model = size(m, "param.embedding.weight", 2, 1);
    c->d_ff = size(m, "param.encoder.layers.0.linear1.weight", 2, 0);
    c->encoder_layers = count_layers(m, "encoder");
    c->decoder_layers = count_layers(m, "decoder");
    m->batch = size(m, "in.src", 2, 0);
    m->source = size(m, "in.src", 2, 1);
    m->target = size(m, "in.tgt_in", 2, 1);
    m->steps = wg_safetensors_find(m->file, "train.lr") ? size(m, "train.lr", 1, 0) : 0;
    const struct {
        const char *key;
        int64_t value;
    } sizes[] = {
        {"vocab", c->source_vocabulary},
        {"d", c->d_model},
        {"ff", c->d_ff},
        {"layers", c->encoder_layers},
        {"batch", m->batch},
        {"src", m->source},
        {"tgt", m->target},
        {"steps", m->steps},
        {"encoder_layers", c->encoder_layers},
        {"decoder_layers", c->decoder_layers},
    };
    for (size_t i = 0; i < WG_COUNT(sizes) && !m->reason[0]; i++)
        agree(m, sizes[i].key, sizes[i].value);
    if (size(m, "in.tgt_in", 2, 0) != m->batch || size(m, "in.tgt_out", 2, 0) != m->batch ||
        size(m, "in.tgt_out", 2, 1) != m->target)
        golden_model_fail(m, "in.src, in.tgt_in and in.tgt_out are of different sizes");
    if (m->steps && size(m, "train.loss_before_step", 1, 0) != m->steps)
        golden_model_fail(m, "train.lr and train.loss_before_step are of different lengths");
}

bool golden_model_read(golden_model *m, const wg_safetensors *file)
{
    *m = (golden_model){.file = file};
    m->config = *wg_transformer_find("base");
    m->config.name = "golden";
    m->config.dropout = 0;
    m->config.dtype = WG_F64;
    read_sizes(m);
    if (!m->reason[0])
        read_notes(m);
    return !m->reason[0];
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Of a layer: our name, PyTorch's, and which third of its rows. */
static const struct {
    const char *ours, *theirs;
    int third; /* -1: all */
} layer_names[] = {
    {"self_attn/q/weight", "self_attn.in_proj_weight", 0},
    {"self_attn/k/weight", "self_attn.in_proj_weight", 1},
    {"self_attn/v/weight", "self_attn.in_proj_weight", 2},
    {"self_attn/q/bias", "self_attn.in_proj_bias", 0},
    {"self_attn/k/bias", "self_attn.in_proj_bias", 1},
    {"self_attn/v/bias", "self_attn.in_proj_bias", 2},
    {"self_attn/out/weight", "self_attn.out_proj.weight", -1},
    {"self_attn/out/bias", "self_attn.out_proj.bias", -1},
    {"cross_attn/q/weight", "multihead_attn.in_proj_weight", 0},
    {"cross_attn/k/weight", "multihead_attn.in_proj_weight", 1},
    {"cross_attn/v/weight", "multihead_attn.in_proj_weight", 2},
    {"cross_attn/q/bias", "multihead_attn.in_proj_bias", 0},
    {"cross_attn/k/bias", "multihead_attn.in_proj_bias", 1},
    {"cross_attn/v/bias", "multihead_attn.in_proj_bias", 2},
    {"cross_attn/out/weight", "multihead_attn.out_proj.weight", -1},
    {"cross_attn/out/bias", "multihead_attn.out_proj.bias", -1},
    {"ff/inner/weight", "linear1.weight", -1},
    {"ff/inner/bias", "linear1.bias", -1},
    {"ff/outer/weight", "linear2.weight", -1},
    {"ff/outer/bias", "linear2.bias", -1},
    {"norm1/gain", "norm1.weight", -1},
    {"norm1/bias", "norm1.bias", -1},
    {"norm2/gain", "norm2.weight", -1},
    {"norm2/bias", "norm2.bias", -1},
    {"norm3/gain", "norm3.weight", -1},
    {"norm3/bias", "norm3.bias", -1},
};
static const struct {
    const char *ours, *theirs;
} model_names[] = {
    {"embedding/weight", "embedding.weight"},   {"encoder/norm/gain", "encoder.norm.weight"},
    {"encoder/norm/bias", "encoder.norm.bias"}, {"decoder/norm/gain", "decoder.norm.weight"},
    {"decoder/norm/bias", "decoder.norm.bias"},
};

/* PyTorch's name of our parameter, into `theirs`; "" if there is none.  Returns which third it is,
 * or -1. */
static int translate(const char *ours, char *theirs, size_t size)
{
    char stack[16], rest[64];
    int layer;
    theirs[0] = '\0';
    for (size_t i = 0; i < WG_COUNT(model_names); i++)
        if (strcmp(ours, model_names[i].ours) == 0)
            snprintf(theirs, size, "%s", model_names[i].theirs);
    if (sscanf(ours, "%15[a-z]/layer%d/%63s", stack, &layer, rest) != 3)
        return -1;
    for (size_t i = 0; i < WG_COUNT(layer_names); i++)
        if (strcmp(rest, layer_names[i].ours) == 0) {
            snprintf(theirs, size, "%s.layers.%d.%s", stack, layer, layer_names[i].theirs);
            return layer_names[i].third;
        }
    return -1;
}

golden_part golden_model_part(golden_model *m, const char *kind, const wg_value *parameter)
{
    char theirs[128], name[160], is[160], must[160];
    int third = translate(parameter->name, theirs, sizeof theirs);
    snprintf(name, sizeof name, "%s.%s", kind, theirs);
    const wg_file_tensor *t = wg_safetensors_find(m->file, name);
    if (!t)
        return (golden_part){0};
    wg_shape whole = parameter->shape;
    whole.dim[0] *= third < 0 ? 1 : 3;
    if (!wg_shape_equal(&t->shape, &whole)) {
        golden_model_fail(m, "tensor \"%s\" is %s, must be %s", name,
                          wg_shape_text(&t->shape, is, sizeof is),
                          wg_shape_text(&whole, must, sizeof must));
        return (golden_part){0};
    }
    return (golden_part){t, third < 0 ? 0 : third * wg_shape_count(&parameter->shape)};
}

bool golden_model_all_used(golden_model *m, wg_value *const *parameters, size_t n)
{
    char theirs[128];
    for (size_t i = 0; i < wg_safetensors_count(m->file); i++) {
        const char *name = wg_safetensors_at(m->file, i)->name;
        bool used = strncmp(name, "param.", 6) != 0;
        for (size_t k = 0; k < n && !used; k++) {
            translate(parameters[k]->name, theirs, sizeof theirs);
            used = strcmp(name + 6, theirs) == 0;
        }
        if (!used)
            return golden_model_fail(m, "the model has no parameter \"%s\"", name);
    }
    return true;
}
