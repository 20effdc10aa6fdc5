/* Configurations: the named ones, and what can be built. */
#include "models/internal.h"
#include "graph/error.h"

#include <string.h>

/* tiny and small are for small corpora: the sizes of Wu et al. 2021 ("Good for Misconceived
 * Reasons") on Multi30k.  base and big are those of Vaswani et al. 2017, table 3, with the eps of
 * their code, tensor2tensor. */
/* clang-format off */
static const wg_transformer_config configs[] = {
    {.name = "tiny",  .d_model = 128,  .d_ff = 256,  .heads = 4,
     .encoder_layers = 4, .decoder_layers = 4, .max_positions = 1024, .norm_eps = 1e-5,
     .attention_bias = true, .activation = WG_ACTIVATION_RELU,
     .label_smoothing = 0.1, .dropout = 0.3, .dtype = WG_F32},
    {.name = "small", .d_model = 512,  .d_ff = 1024, .heads = 4,
     .encoder_layers = 6, .decoder_layers = 6, .max_positions = 1024, .norm_eps = 1e-5,
     .attention_bias = true, .activation = WG_ACTIVATION_RELU,
     .label_smoothing = 0.1, .dropout = 0.3, .dtype = WG_F32},
    {.name = "base",  .d_model = 512,  .d_ff = 2048, .heads = 8,
     .encoder_layers = 6, .decoder_layers = 6, .max_positions = 1024, .norm_eps = 1e-6,
     .attention_bias = true, .activation = WG_ACTIVATION_RELU,
     .label_smoothing = 0.1, .dropout = 0.1, .dtype = WG_F32},
    {.name = "big",   .d_model = 1024, .d_ff = 4096, .heads = 16,
     .encoder_layers = 6, .decoder_layers = 6, .max_positions = 1024, .norm_eps = 1e-6,
     .attention_bias = true, .activation = WG_ACTIVATION_RELU,
     .label_smoothing = 0.1, .dropout = 0.3, .dtype = WG_F32},
};
/* clang-format on */

const wg_transformer_config *wg_transformer_config_at(size_t i)
{
    return i < WG_COUNT(configs) ? &configs[i] : NULL;
}

const wg_transformer_config *wg_transformer_find(const char *name)
{
    for (size_t i = 0; name && i < WG_COUNT(configs); i++)
        if (strcmp(configs[i].name, name) == 0)
            return &configs[i];
    return NULL;
}

/* ---- what can be built ----------------------------------------------------------------------- */

/* Checks that each field is in its range; reports the first that is not. */
static wg_status check_ranges(const wg_transformer_config *c, wg_error *error)
{
    enum { MAX = 1 << 30 };
    const struct {
        const char *field;
        int64_t value, min, max;
    } whole[] = {
        {"source_vocabulary", c->source_vocabulary, c->encoder_layers != 0, MAX},
        {"target_vocabulary", c->target_vocabulary, 1, MAX},
        {"d_model", c->d_model, 1, MAX},
        {"d_ff", c->d_ff, 1, MAX},
        {"heads", c->heads, 1, MAX},
        {"d_k", c->d_k, 0, MAX},
        {"d_v", c->d_v, 0, MAX},
        {"encoder_layers", c->encoder_layers, 0, MAX},
        {"decoder_layers", c->decoder_layers, 1, MAX},
        {"max_positions", c->max_positions, 1, MAX},
        {"first_position", c->first_position, 0, MAX},
        {"positions", c->positions, WG_POSITIONS_INTERLEAVED, WG_POSITIONS_PAPER_HALVES},
        {"norm", c->norm, WG_LAYERNORM, WG_RMSNORM},
        {"attention", c->attention, WG_ATTENTION_DOT, WG_ATTENTION_UNSCALED},
        {"attention_window", c->attention_window, 0, MAX},
        {"activation", c->activation, WG_ACTIVATION_RELU, WG_ACTIVATION_SILU},
        {"tying", c->tying, WG_TIED_ALL, WG_UNTIED},
        {"final_norm", c->final_norm, WG_FINAL_NORM_PRE, WG_FINAL_NORM_NEVER},
        {"smoothing_spread", c->smoothing_spread, WG_SMOOTH_UNIFORM, WG_SMOOTH_OFF_TARGET},
    };
    const struct {
        const char *field;
        double value;
    } below_one[] = {
        {"label_smoothing", c->label_smoothing},
        {"dropout", c->dropout},
        {"attention_dropout", c->attention_dropout},
        {"activation_dropout", c->activation_dropout},
        {"norm_eps", c->norm_eps},
    };
    for (size_t i = 0; i < WG_COUNT(whole); i++)
        if (whole[i].value < whole[i].min || whole[i].value > whole[i].max)
            return wgi_error_set(error, WG_EINVAL, "%s is %lld, must be from %lld to %lld",
                                 whole[i].field, (long long)whole[i].value, (long long)whole[i].min,
                                 (long long)whole[i].max);
    for (size_t i = 0; i < WG_COUNT(below_one); i++)
        if (!(below_one[i].value >= 0 && below_one[i].value < 1))
            return wgi_error_set(error, WG_EINVAL, "%s is %g, must be in [0, 1)",
                                 below_one[i].field, below_one[i].value);
    return WG_OK;
}

wg_status wg_transformer_check(const wg_transformer_config *c, wg_error *error)
{
    wgi_error_clear(error);
    if (!c)
        return wgi_error_set(error, WG_EINVAL, "there is no configuration");
    wg_status status = check_ranges(c, error);
    if (status != WG_OK)
        return status;
    long long d = c->d_model, heads = c->heads;
    long long d_k = c->d_k ? c->d_k : d / heads;
    if (d % heads != 0 && !(c->d_k && c->d_v))
        return wgi_error_set(
            error, WG_EINVAL,
            "heads is %lld, must divide d_model, which is %lld, unless d_k and d_v are given",
            heads, d);
    if (d % 2 != 0 && wg_positions_are_sinusoids(c->positions))
        return wgi_error_set(error, WG_EINVAL,
                             "d_model is %lld, must be even where positions are sines and cosines",
                             d);
    if (d_k % 2 != 0 && c->positions == WG_POSITIONS_ROTARY)
        return wgi_error_set(error, WG_EINVAL,
                             "d_k is %lld%s, must be even where positions are rotary", d_k,
                             c->d_k ? "" : " (d_model / heads)");
    if (c->positions == WG_POSITIONS_ROTARY && c->attention == WG_ATTENTION_ADDITIVE)
        return wgi_error_set(
            error, WG_EINVAL,
            "positions that are rotary show in products of queries and keys, which additive "
            "attention does not take");
    if (c->attention_window && c->attention == WG_ATTENTION_ADDITIVE)
        return wgi_error_set(error, WG_EINVAL,
                             "attention_window is %lld, must be 0 where attention is additive",
                             (long long)c->attention_window);
    if (c->encoder_layers && c->tying == WG_TIED_ALL &&
        c->source_vocabulary != c->target_vocabulary)
        return wgi_error_set(
            error, WG_EINVAL,
            "tying of all embeddings, but source_vocabulary is %lld, target_vocabulary %lld",
            (long long)c->source_vocabulary, (long long)c->target_vocabulary);
    if (c->dtype && c->dtype != WG_F32 && c->dtype != WG_F64)
        return wgi_error_set(error, WG_EINVAL, "dtype is %s, must be f32 or f64",
                             wg_dtype_name(c->dtype));
    return WG_OK;
}
