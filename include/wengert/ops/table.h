/* The table of built-in ops. */
#ifndef WG_OPS_TABLE_H
#define WG_OPS_TABLE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Declares the op of a line of ops.def: wg_op_add, ... */
#define WG_OP(kind, name) extern WG_API const wg_op wg_op_##name;
#include "wengert/ops/ops.def"
#undef WG_OP

/** The i-th built-in op in the order of ops.def, NULL past the end. */
WG_API const wg_op *wg_op_at(size_t i);
/** The built-in op of that name, or NULL. */
WG_API const wg_op *wg_op_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
