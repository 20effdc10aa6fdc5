/* Colours by kind of box: pale fills, a line of the same hue. */
#include "graph/picture/internal.h"

#include <math.h>

/* clang-format off */
static const wgi_pic_colours leaves[] = {
    {"parameter", "#d3ecd9", "#3f8f57", "#1d3b27"},
    {"state",     "#e3e6d2", "#7d8450", "#34371f"},
    {"input",     "#ffffff", "#22313f", "#22313f"},
};
/* Of a family without colours: those of OTHER. */
static const wgi_pic_colours families[] = {
    [WG_FAMILY_OTHER]          = {"other op",       "#f0ece6", "#a29684", "#3c372f"},
    [WG_FAMILY_LINEAR_ALGEBRA] = {"linear algebra", "#d5e5fa", "#3d74b8", "#16304f"},
    [WG_FAMILY_ATTENTION]      = {"attention",      "#d3efec", "#2b8a83", "#123c39"},
    [WG_FAMILY_CONVOLUTION]    = {"convolution",    "#cfe3ee", "#34789b", "#153444"},
    [WG_FAMILY_UPSAMPLING]     = {"upsampling",     "#dfe9d6", "#6f8a55", "#2f3f1e"},
    [WG_FAMILY_POOLING]        = {"pooling",        "#e0edd2", "#74974f", "#2f3f1e"},
    [WG_FAMILY_RECURRENT]      = {"recurrent",      "#d9dcf7", "#5560b8", "#22274f"},
    [WG_FAMILY_NORMALISATION]  = {"normalisation",  "#e7def8", "#7e62b8", "#332552"},
    [WG_FAMILY_ACTIVATION]     = {"activation",     "#ffe7a8", "#b8860b", "#4b390d"},
    [WG_FAMILY_ELEMENTWISE]    = {"elementwise",    "#fff2cf", "#c2962c", "#4b390d"},
    [WG_FAMILY_FUSED]          = {"fused",          "#e6e9d9", "#7f8a5a", "#31371f"},
    [WG_FAMILY_COMPARISON]     = {"comparison",     "#f6f2d8", "#a39a3f", "#413d17"},
    [WG_FAMILY_LOGIC]          = {"logic",          "#f6f2d8", "#a39a3f", "#413d17"},
    [WG_FAMILY_SELECTION]      = {"selection",      "#f6f2d8", "#a39a3f", "#413d17"},
    [WG_FAMILY_REDUCTION]      = {"reduction",      "#fde0ca", "#cb7a34", "#502c0d"},
    [WG_FAMILY_LOSS]           = {"loss",           "#fad7dc", "#bd4459", "#4e1722"},
    [WG_FAMILY_RANDOM]         = {"random",         "#f4deee", "#a85a90", "#44203a"},
    [WG_FAMILY_OPTIMIZER]      = {"optimizer",      "#ead9cd", "#8b5e3c", "#3c2716"},
    [WG_FAMILY_INDEXING]       = {"indexing",       "#dfe6ee", "#6d8299", "#273442"},
    [WG_FAMILY_MOVEMENT]       = {"movement",       "#edeff2", "#98a2ad", "#363d44"},
    [WG_FAMILY_LEAF]           = {"constant",       "#f7f7f4", "#a9a99c", "#3a3a34"},
};
static const wgi_pic_colours scope  = {"scope",    "#f5f8fb", "#5b6f84", "#1f2d3a"};
static const wgi_pic_colours output = {"output",   "#34495e", "#22313f", "#ffffff"};
/* clang-format on */

static const wgi_pic_colours *family_colours(wg_family family)
{
    bool has_own = (size_t)family < WG_COUNT(families) && families[family].fill;
    return &families[has_own ? family : WG_FAMILY_OTHER];
}

static const wgi_pic_colours *leaf_colours(const wg_op *op)
{
    return op->flags & WG_OP_PARAMETER ? &leaves[0]
           : op->flags & WG_OP_STATE   ? &leaves[1]
           : op->flags & WG_OP_INPUT   ? &leaves[2]
                                       : family_colours(WG_FAMILY_OTHER);
}

const wgi_pic_colours *wgi_pic_op_colours(const wg_op *op)
{
    bool outer = op->flags & (WG_OP_PARAMETER | WG_OP_STATE | WG_OP_INPUT);
    return outer ? leaf_colours(op) : family_colours(op->family);
}

const wgi_pic_colours *wgi_pic_box_colours(const wgi_pic_box *b)
{
    switch (b->kind) {
    case WGI_BOX_SCOPE:
    case WGI_BOX_GHOST: return &scope;
    case WGI_BOX_OUTPUTS: return &output;
    case WGI_BOX_LEAVES: return leaf_colours(b->nodes[0]->op);
    case WGI_BOX_OP: return family_colours(b->nodes[0]->op->family);
    }
    return family_colours(WG_FAMILY_OTHER);
}

const wgi_pic_colours *wgi_pic_colours_at(size_t i)
{
    static const wgi_pic_colours *const ends[] = {&families[WG_FAMILY_OTHER], &scope, &output};
    enum { OWN = WG_COUNT(families) - 1 }; /* all but OTHER */
    if (i < WG_COUNT(leaves))
        return &leaves[i];
    i -= WG_COUNT(leaves);
    if (i < OWN)
        return &families[i + 1];
    i -= OWN;
    return i < WG_COUNT(ends) ? ends[i] : NULL;
}

const char *wgi_pic_heat_colour(double share, char text[8])
{
    static const int cold[3] = {255, 255, 255}, hot[3] = {226, 74, 51};
    double t =
        share > 0 ? sqrt(share < 1 ? share : 1) : 0; /* the root spreads the many small shares */
    int rgb[3];
    for (int i = 0; i < 3; i++)
        rgb[i] = (int)(cold[i] + (hot[i] - cold[i]) * t + 0.5);
    snprintf(text, 8, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
    return text;
}
