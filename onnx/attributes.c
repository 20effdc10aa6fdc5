/* What the standard says of attributes: their names, words that they may be, and those that must be
 * there. */
#include "onnx/import.h"

#include <string.h>

enum { ANY = INT_MAX };

/* Texts that stand for one of a few things.  Names and words have spaces between. */
static const struct {
    const char *attribute, *ops, *words;
} words[] = {
    {"approximate", "Gelu", "none tanh"},
    {"auto_pad", "AveragePool Conv ConvInteger ConvTranspose LpPool MaxPool QLinearConv",
     "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"coordinate_transformation_mode", "Resize",
     "half_pixel half_pixel_symmetric pytorch_half_pixel tf_half_pixel_for_nn align_corners "
     "asymmetric tf_crop_and_resize"},
    {"direction", "BitShift", "LEFT RIGHT"},
    {"direction", "GRU LSTM RNN", "forward reverse bidirectional"},
    {"keep_aspect_ratio_policy", "Resize", "stretch not_larger not_smaller"},
    {"mode", "DepthToSpace", "DCR CRD"},
    {"mode", "GridSample", "linear nearest cubic bilinear bicubic"},
    {"mode", "Momentum", "standard nesterov"},
    {"mode", "Pad", "constant reflect edge wrap"},
    {"mode", "Resize", "nearest linear cubic"},
    {"mode", "Upsample", "nearest linear bilinear"},
    {"nearest_mode", "Resize", "round_prefer_floor round_prefer_ceil floor ceil"},
    {"padding_mode", "GridSample", "zeros border reflection"},
    {"reduction", "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", "none sum mean"},
    {"reduction", "ScatterElements ScatterND", "none add mul max min"},
    {"round_mode", "Cast CastLike", "up down nearest"},
};

/* Attributes that must be there, from one opset to another; others have a default. */
static const struct {
    const char *attribute, *ops;
    int first, last;
} required[] = {
    {"alpha", "Momentum", 1, ANY},
    {"axis", "Concat", 4, ANY},
    {"beta", "Momentum", 1, ANY},
    {"blocksize", "DepthToSpace SpaceToDepth", 1, ANY},
    {"direction", "BitShift", 1, ANY},
    {"ends", "Slice", 1, 9},
    {"equation", "Einsum", 1, ANY},
    {"k", "TopK", 1, 9},
    {"kernel_shape", "AveragePool MaxPool MaxUnpool", 1, ANY},
    {"kernel_shape", "LpPool", 2, ANY},
    {"mode", "Momentum", 1, ANY},
    {"norm_coefficient", "Momentum", 1, ANY},
    {"num_groups", "GroupNormalization", 1, ANY},
    {"paddings", "Pad", 1, 1},
    {"pads", "Pad", 2, 10},
    {"shape", "RandomNormal RandomUniform", 1, ANY},
    {"size", "LRN", 1, ANY},
    {"starts", "Slice", 1, 9},
    {"to", "Cast", 1, ANY},
};

/* Whether `word` is one of the list. */
static bool is_among(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *w = list; *w; w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");
        if (n == length && strncmp(w, word, n) == 0)
            return true;
        w += n;
    }
    return false;
}

/* "a, b or c" of "a b c" */
static const char *listed(const char *list, char text[WGI_OX_WORDS])
{
    size_t size = 0;
    for (const char *w = list, *end; *w; w = end + (*end == ' ')) {
        end = w + strcspn(w, " ");
        const char *before = w == list ? "" : *end ? ", " : " or ";
        size +=
            (size_t)snprintf(text + size, WGI_OX_WORDS - size, "%s%.*s", before, (int)(end - w), w);
    }
    return text;
}

bool wgi_ox_fail_word(ox_node *n, const char *attribute, const char *list, const char *got)
{
    char text[WGI_OX_WORDS];
    wgi_ox_fail(n, WG_EDATA, "attribute '%s': expected %s, got '%s'", attribute, listed(list, text),
                got);
    return false;
}

/* An auto_pad without letters is what other engines take for NOTSET. */
static bool check_word(ox_node *n, const char *attribute)
{
    for (int i = 0; i < WG_COUNT(words); i++) {
        if (strcmp(words[i].attribute, attribute) != 0 || !is_among(words[i].ops, n->op->name))
            continue;
        const char *got = wgi_ox_word(n, attribute, NULL);
        const bool empty = got && !*got && strcmp(attribute, "auto_pad") == 0;
        if (got && !empty && !is_among(words[i].words, got))
            return wgi_ox_fail_word(n, attribute, words[i].words, got);
    }
    return n->import->status == WG_OK;
}

/* Attributes whose names begin with two underscores are anybody's. */
bool wgi_ox_check_attributes(ox_node *n)
{
    for (size_t i = 0; i < n->proto->n_attribute; i++) {
        const char *name = ox_text(n->proto->attribute[i]->name);
        if (strncmp(name, "__", 2) == 0)
            continue;
        if (!is_among(n->op->attributes, name))
            return wgi_ox_fail(n, WG_EDATA, "there is no attribute '%s' of this op", name);
        if (!check_word(n, name))
            return false;
    }
    for (int i = 0; i < WG_COUNT(required); i++)
        if (n->opset >= required[i].first && n->opset <= required[i].last &&
            is_among(required[i].ops, n->op->name) && !wgi_ox_attribute(n, required[i].attribute))
            return wgi_ox_fail(n, WG_EDATA, "attribute '%s' is missing", required[i].attribute);
    return true;
}
