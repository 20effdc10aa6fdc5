#include "translate/foreign/layout.h"
#include "graph/error.h"
#include "wengert/translate/foreign.h"

#include <string.h>

/* clang-format off */

/* Options that have one value in every program. */
#define LAYERS_OF_ALL \
    {"norm", "layer"}, {"attention", "dot"}, {"gated", "false"}, {"d-k", "0"}, {"d-v", "0"}

/* ---- torch.nn.Transformer -------------------------------------------------------------------- */

/* Its encoder and decoder; the names around them are those that we write, then those of PyTorch's
 * tutorial "Language Translation with nn.Transformer", and other common ones. */
static const wgi_layout_row torch_rows[] = {
    {"@/layer#/self_attn/q/%", "@.layers.#.self_attn.in_proj_%", 0, 3},
    {"@/layer#/self_attn/k/%", "@.layers.#.self_attn.in_proj_%", 1, 3},
    {"@/layer#/self_attn/v/%", "@.layers.#.self_attn.in_proj_%", 2, 3},
    {"@/layer#/self_attn/out/%", "@.layers.#.self_attn.out_proj.%", 0, 0},
    {"@/layer#/cross_attn/q/%", "@.layers.#.multihead_attn.in_proj_%", 0, 3},
    {"@/layer#/cross_attn/k/%", "@.layers.#.multihead_attn.in_proj_%", 1, 3},
    {"@/layer#/cross_attn/v/%", "@.layers.#.multihead_attn.in_proj_%", 2, 3},
    {"@/layer#/cross_attn/out/%", "@.layers.#.multihead_attn.out_proj.%", 0, 0},
    {"@/layer#/ff/inner/%", "@.layers.#.linear1.%", 0, 0},
    {"@/layer#/ff/outer/%", "@.layers.#.linear2.%", 0, 0},
    {"@/layer#/norm1/~", "@.layers.#.norm1.%", 0, 0},
    {"@/layer#/norm2/~", "@.layers.#.norm2.%", 0, 0},
    {"@/layer#/norm3/~", "@.layers.#.norm3.%", 0, 0},
    {"@/norm/~", "@.norm.%", 0, 0},
    {WGI_SOURCE_EMBEDDING, "src_embedding.weight", 0, 0},
    {WGI_SOURCE_EMBEDDING, "src_tok_emb.embedding.weight", 0, 0},
    {WGI_SOURCE_EMBEDDING, "src_tok_emb.weight", 0, 0},
    {WGI_SOURCE_EMBEDDING, "src_embed.weight", 0, 0},
    {WGI_SOURCE_EMBEDDING, "encoder_embedding.weight", 0, 0},
    {WGI_SOURCE_EMBEDDING, "embedding.weight", 0, 0},
    {WGI_TARGET_EMBEDDING, "tgt_embedding.weight", 0, 0},
    {WGI_TARGET_EMBEDDING, "tgt_tok_emb.embedding.weight", 0, 0},
    {WGI_TARGET_EMBEDDING, "tgt_tok_emb.weight", 0, 0},
    {WGI_TARGET_EMBEDDING, "trg_embedding.weight", 0, 0},
    {WGI_TARGET_EMBEDDING, "tgt_embed.weight", 0, 0},
    {WGI_TARGET_EMBEDDING, "decoder_embedding.weight", 0, 0},
    {WGI_TARGET_EMBEDDING, "embedding.weight", 0, 0},
    {WGI_OUTPUT_WEIGHT, "generator.weight", 0, 0},
    {WGI_OUTPUT_WEIGHT, "fc_out.weight", 0, 0},
    {WGI_OUTPUT_WEIGHT, "lm_head.weight", 0, 0},
    {WGI_OUTPUT_BIAS, "generator.bias", 0, 0},
    {WGI_OUTPUT_BIAS, "fc_out.bias", 0, 0},
    {WGI_OUTPUT_BIAS, "lm_head.bias", 0, 0},
    {"encoder/positions/weight", "src_positions.weight", 0, 0},
    {"decoder/positions/weight", "tgt_positions.weight", 0, 0},
    {WGI_POSITIONS, "positional_encoding.pos_embedding", 0, 0},
    {WGI_POSITIONS, "positional_encoding.pe", 0, 0},
    {WGI_POSITIONS, "pos_encoder.pe", 0, 0},
    {NULL, NULL, 0, 0},
};

static const char *const torch_ignored[] = {NULL};

/* The tutorial puts both marks around the source; options of the constructor that the weights do
 * not show have its defaults. */
static const wgi_layout_pair torch_defaults[] = {
    {"positions", "interleaved"}, {"first-position", "0"}, {"source-marks", "both"},
    {"decoder-start", "bos"}, {"activation", "relu"}, {"norm-eps", "1e-5"}, {NULL, NULL},
};

static const wgi_layout_pair torch_keys[] = {
    {"nhead", "heads"}, {"norm_first", "pre-norm"}, {"layer_norm_eps", "norm-eps"},
    {"d_model", "d-model"}, {"dim_feedforward", "d-ff"}, {"num_encoder_layers", "encoder-layers"},
    {"num_decoder_layers", "decoder-layers"}, {"activation", "activation"}, {"dropout", "dropout"},
    {NULL, NULL},
};

static const wgi_layout_pair torch_able[] = {
    LAYERS_OF_ALL,
    {"positions", "interleaved|halves|paper-halves|learned"}, {NULL, NULL},
};

static const wgi_layout torch = {
    .name = "torch",
    .prefix = "",
    .rows = torch_rows,
    .ignored = torch_ignored,
    .defaults = torch_defaults,
    .keys = torch_keys,
    .able = torch_able,
    .lists = {{"vocab.source.spm", "vocab.source.txt", "vocab.spm", "vocab.txt", "vocab.json"},
              {"vocab.target.spm", "vocab.target.txt", "vocab.spm", "vocab.txt", "vocab.json"}},
};

/* ---- fairseq --------------------------------------------------------------------------------- */

/* Rows of fairseq that Hugging Face's Marian has as well: its code began as a copy of fairseq's. */
#define FAIRSEQ_AND_MARIAN \
    {"@/layer#/self_attn/q/%", "@.layers.#.self_attn.q_proj.%", 0, 0}, \
    {"@/layer#/self_attn/k/%", "@.layers.#.self_attn.k_proj.%", 0, 0}, \
    {"@/layer#/self_attn/v/%", "@.layers.#.self_attn.v_proj.%", 0, 0}, \
    {"@/layer#/self_attn/out/%", "@.layers.#.self_attn.out_proj.%", 0, 0}, \
    {"@/layer#/cross_attn/q/%", "@.layers.#.encoder_attn.q_proj.%", 0, 0}, \
    {"@/layer#/cross_attn/k/%", "@.layers.#.encoder_attn.k_proj.%", 0, 0}, \
    {"@/layer#/cross_attn/v/%", "@.layers.#.encoder_attn.v_proj.%", 0, 0}, \
    {"@/layer#/cross_attn/out/%", "@.layers.#.encoder_attn.out_proj.%", 0, 0}, \
    {"@/layer#/ff/inner/%", "@.layers.#.fc1.%", 0, 0}, \
    {"@/layer#/ff/outer/%", "@.layers.#.fc2.%", 0, 0}, \
    {"@/layer#/norm1/~", "@.layers.#.self_attn_layer_norm.%", 0, 0}, \
    {"encoder/layer#/norm2/~", "encoder.layers.#.final_layer_norm.%", 0, 0}, \
    {"decoder/layer#/norm2/~", "decoder.layers.#.encoder_attn_layer_norm.%", 0, 0}, \
    {"decoder/layer#/norm3/~", "decoder.layers.#.final_layer_norm.%", 0, 0}, \
    {WGI_SOURCE_EMBEDDING, "encoder.embed_tokens.weight", 0, 0}, \
    {WGI_SOURCE_EMBEDDING, "shared.weight", 0, 0}, \
    {WGI_TARGET_EMBEDDING, "decoder.embed_tokens.weight", 0, 0}, \
    {WGI_TARGET_EMBEDDING, "shared.weight", 0, 0}, \
    {WGI_POSITIONS, "@.embed_positions.weight", 0, 0}

static const wgi_layout_row fairseq_rows[] = {
    FAIRSEQ_AND_MARIAN,
    {"@/layer#/self_attn/q/%", "@.layers.#.self_attn.in_proj_%", 0, 3}, /* before 2019 */
    {"@/layer#/self_attn/k/%", "@.layers.#.self_attn.in_proj_%", 1, 3},
    {"@/layer#/self_attn/v/%", "@.layers.#.self_attn.in_proj_%", 2, 3},
    {"@/layer#/cross_attn/q/%", "@.layers.#.encoder_attn.in_proj_%", 0, 3},
    {"@/layer#/cross_attn/k/%", "@.layers.#.encoder_attn.in_proj_%", 1, 3},
    {"@/layer#/cross_attn/v/%", "@.layers.#.encoder_attn.in_proj_%", 2, 3},
    {"@/layer#/norm1/~", "@.layers.#.layer_norms.0.%", 0, 0},
    {"@/layer#/norm2/~", "@.layers.#.layer_norms.1.%", 0, 0},
    {"@/layer#/norm3/~", "@.layers.#.layer_norms.2.%", 0, 0},
    {"@/norm/~", "@.layer_norm.%", 0, 0},
    {WGI_OUTPUT_WEIGHT, "decoder.output_projection.weight", 0, 0},
    {WGI_OUTPUT_WEIGHT, "decoder.embed_out", 0, 0},
    {WGI_OUTPUT_WEIGHT, "lm_head.weight", 0, 0},
    {WGI_OUTPUT_BIAS, "decoder.output_projection.bias", 0, 0},
    {WGI_POSITIONS, "@.embed_positions.weights", 0, 0},
    {NULL, NULL, 0, 0},
};

static const char *const fairseq_ignored[] = {
    "@.version", "@.embed_positions._float_tensor", NULL};

static const wgi_layout_pair fairseq_defaults[] = {
    {"positions", "halves"}, {"first-position", "2"}, {"source-marks", "end"},
    {"decoder-start", "eos"}, {"activation", "relu"}, {"norm-eps", "1e-5"}, {NULL, NULL},
};

static const wgi_layout_pair fairseq_keys[] = {
    {"encoder_embed_dim", "d-model"}, {"encoder_ffn_embed_dim", "d-ff"},
    {"encoder_attention_heads", "heads"}, {"decoder_embed_dim", "d-model"},
    {"decoder_ffn_embed_dim", "d-ff"}, {"decoder_attention_heads", "heads"},
    {"encoder_layers", "encoder-layers"}, {"decoder_layers", "decoder-layers"},
    {"encoder_normalize_before", "pre-norm"}, {"decoder_normalize_before", "pre-norm"},
    {"activation_fn", "activation"}, {"activation_function", "activation"},
    {"no_scale_embedding", "unscaled-embeddings"}, {"scale_embedding", "!unscaled-embeddings"},
    {"dropout", "dropout"}, {"attention_dropout", "attention-dropout"},
    {"activation_dropout", "activation-dropout"}, {"relu_dropout", "activation-dropout"},
    {"encoder_ffn_dim", "d-ff"}, {"decoder_ffn_dim", "d-ff"}, {"d_model", "d-model"},
    {NULL, NULL},
};

static const wgi_layout_pair fairseq_able[] = {
    LAYERS_OF_ALL,
    {"positions", "halves|learned"}, {"first-position", "2"}, {"source-marks", "end"},
    {"decoder-start", "eos"}, {"final-norm", "pre-norm"}, {"output-bias", "false"}, {NULL, NULL},
};

static const wgi_layout fairseq = {
    .name = "fairseq",
    .prefix = "",
    .rows = fairseq_rows,
    .ignored = fairseq_ignored,
    .defaults = fairseq_defaults,
    .keys = fairseq_keys,
    .able = fairseq_able,
    .lists = {{"dict.source.txt", "dict.%s.txt", "dict.txt"},
              {"dict.target.txt", "dict.%s.txt", "dict.txt"}},
    .pieces = {{"source.spm", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model"},
               {"target.spm", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model"}},
    .first_row = 2,
    .pre_norm_if_final = true,
    .special_first = true,
};

/* ---- Hugging Face's Marian ------------------------------------------------------------------- */

static const wgi_layout_row marian_rows[] = {
    FAIRSEQ_AND_MARIAN,
    {WGI_OUTPUT_WEIGHT, "/lm_head.weight", 0, 0},
    {WGI_OUTPUT_BIAS, "/final_logits_bias", 0, 0},
    {NULL, NULL, 0, 0},
};

static const char *const marian_ignored[] = {NULL};

static const wgi_layout_pair marian_defaults[] = {
    {"positions", "paper-halves"}, {"first-position", "0"}, {"source-marks", "end"},
    {"decoder-start", "pad"}, {"activation", "gelu"}, {"norm-eps", "1e-5"},
    {"length-penalty", "length"}, {"normalize", "1"}, {NULL, NULL},
};

static const wgi_layout_pair marian_keys[] = {
    {"d_model", "d-model"}, {"encoder_layers", "encoder-layers"},
    {"decoder_layers", "decoder-layers"}, {"encoder_ffn_dim", "d-ff"}, {"decoder_ffn_dim", "d-ff"},
    {"encoder_attention_heads", "heads"}, {"decoder_attention_heads", "heads"},
    {"activation_function", "activation"}, {"scale_embedding", "!unscaled-embeddings"},
    {"dropout", "dropout"}, {"attention_dropout", "attention-dropout"},
    {"activation_dropout", "activation-dropout"}, {"num_beams", "beam-size"},
    {"length_penalty", "normalize"}, {NULL, NULL},
};

static const wgi_layout_pair marian_able[] = {
    LAYERS_OF_ALL,
    {"pre-norm", "false"}, {"final-norm", "pre-norm|never"}, {"source-marks", "end"},
    {"positions", "interleaved|halves|paper-halves|learned"}, {NULL, NULL},
};

static const wgi_layout marian = {
    .name = "marian",
    .prefix = "model.",
    .rows = marian_rows,
    .ignored = marian_ignored,
    .defaults = marian_defaults,
    .keys = marian_keys,
    .able = marian_able,
    .lists = {{"vocab.json", "source_vocab.json", "vocab.yml"},
              {"target_vocab.json", "vocab.json", "vocab.yml"}},
    .pieces = {{"source.spm"}, {"target.spm"}},
    .needs_pieces = true,
    .shares_one_name = true,
    .writes_positions = true,
    .has_zero_bias = true,
};

/* clang-format on */

/* ---- all ------------------------------------------------------------------------------------- */

static const wgi_layout *const layouts[] = {&torch, &fairseq, &marian};

const char *wg_foreign_layout_at(size_t i)
{
    return i < WG_COUNT(layouts) ? layouts[i]->name : NULL;
}

const wgi_layout *wgi_layout_find(const char *name, wg_error *error)
{
    if (name && strcmp(name, "pytorch") == 0)
        name = "torch";
    for (size_t i = 0; i < WG_COUNT(layouts); i++)
        if (name && strcmp(layouts[i]->name, name) == 0)
            return layouts[i];
    wgi_error_set(error, WG_EINVAL, "expected a layout, torch, fairseq or marian, got '%s'",
                  name ? name : "");
    return NULL;
}

bool wgi_layout_keeps(const wg_option *o)
{
    return o->group == WG_GROUP_SEARCH ? (o->use & WG_FOR_TRAINING) != 0
                                       : (o->use & WG_FOR_IMPORT) && o->group != WG_GROUP_FILES;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* What the placeholders of a pattern stand for. */
typedef struct capture {
    const char *stack, *layer;
    int stack_size, layer_size;
    bool bias;
} capture;

/* The bytes of `name` that one character of a pattern stands for; 0: it does not fit. */
static size_t take(char c, const char *name, capture *found)
{
    switch (c) {
    case '@':
        found->stack = name;
        found->stack_size = 7;
        return strncmp(name, "encoder", 7) == 0 || strncmp(name, "decoder", 7) == 0 ? 7 : 0;
    case '#':
        found->layer = name;
        found->layer_size = (int)strspn(name, "0123456789");
        return (size_t)found->layer_size;
    case '%':
    case '~':
        found->bias = strcmp(name, "bias") == 0;
        return found->bias || strcmp(name, c == '%' ? "weight" : "gain") == 0 ? strlen(name) : 0;
    default: return *name == c;
    }
}

static bool capture_name(const char *pattern, const char *name, capture *found)
{
    for (; *pattern; pattern++) {
        size_t n = take(*pattern, name, found);
        if (n == 0)
            return false;
        name += n;
    }
    return *name == '\0';
}

bool wgi_layout_name(char to[WGI_FOREIGN_NAME], const wgi_layout_row *row, const char *name)
{
    capture c = {.stack = "", .layer = ""};
    size_t used = 0;
    if (!capture_name(row->ours, name, &c))
        return false;
    for (const char *at = row->theirs; *at && used < WGI_FOREIGN_NAME; at++) {
        size_t room = WGI_FOREIGN_NAME - used;
        int n = *at == '@'   ? snprintf(to + used, room, "%.*s", c.stack_size, c.stack)
                : *at == '#' ? snprintf(to + used, room, "%.*s", c.layer_size, c.layer)
                : *at == '%' ? snprintf(to + used, room, "%s", c.bias ? "bias" : "weight")
                             : snprintf(to + used, room, "%c", *at);
        used += (size_t)n;
    }
    return used < WGI_FOREIGN_NAME;
}

int wgi_layout_parts(wgi_layout_part parts[3], const char *name)
{
    static const char fused[] = "/qkv/", single[] = "qkv";
    const char *at = strstr(name, fused);
    int n = at ? 3 : 1;
    for (int i = 0; i < n; i++) {
        parts[i].index = i;
        parts[i].count = n;
        if (at)
            snprintf(parts[i].name, sizeof parts[i].name, "%.*s/%c/%s", (int)(at - name), name,
                     single[i], at + sizeof fused - 1);
        else
            snprintf(parts[i].name, sizeof parts[i].name, "%s", name);
    }
    return n;
}
