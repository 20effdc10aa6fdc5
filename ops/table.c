#include "wengert/ops/table.h"

#include <string.h>

static const wg_op *const table[] = {
#define WG_OP(kind, name) &wg_op_##name,
#include "wengert/ops/ops.def"
#undef WG_OP
};

const wg_op *wg_op_at(size_t i)
{
    return i < WG_COUNT(table) ? table[i] : NULL;
}

const wg_op *wg_op_find(const char *name)
{
    for (size_t i = 0; name && i < WG_COUNT(table); i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}
