/* Queries on nodes and boxes that several parts of a picture share. */
#include "graph/picture/internal.h"

#include <string.h>

bool wgi_pic_phase_shown(const wg_picture *p, wg_phase phase)
{
    return !p->options.phases || (p->options.phases >> phase & 1);
}

bool wgi_pic_is_leaf(const wg_node *n)
{
    return n->op->flags & WG_OP_LEAF && n->n_out == 1 && n->out[0]->name;
}

bool wgi_pic_fill_value(const wg_node *n, double *value)
{
    for (int i = 0; n->op->flags & WG_OP_FILL && i < n->op->n_attrs; i++)
        if (n->op->attrs[i].kind == WG_ATTR_REAL) {
            memcpy(value, (const char *)n->attrs + n->op->attrs[i].offset, sizeof *value);
            return true;
        }
    return false;
}

size_t wg_picture_box_count(const wg_picture *p)
{
    size_t count = 0;
    for (const wgi_pic_box *b = p ? p->boxes : NULL; b; b = b->next)
        count += !b->merged;
    return count;
}
