/* Triangles of matrices, and systems of equations with a triangular matrix. */
#ifndef WG_OPS_TRIANGLE_H
#define WG_OPS_TRIANGLE_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A triangle of a matrix, its diagonal included. */
typedef enum wg_triangle {
    WG_LOWER = 0, /**< elements [i, j] with j <= i */
    WG_UPPER      /**< elements [i, j] with j >= i */
} wg_triangle;

/** Attributes of triangle. */
typedef struct wg_triangle_attrs {
    wg_triangle triangle; /**< that is kept */
    int64_t diagonal;     /**< at which it ends: 0 the main one, 1 the next above it, -1 below it */
} wg_triangle_attrs;

/** How wg_triangular_solve reads its matrix, as a set. */
enum {
    WG_TRANSPOSED = 1,   /**< transposed: a' x = b */
    WG_UNIT_DIAGONAL = 2 /**< with ones on the diagonal, whatever is there */
};

/** Attributes of triangular_solve. */
typedef struct wg_triangular_solve_attrs {
    wg_triangle triangle; /**< of a, which alone is read */
    bool transpose;       /**< a' x = b */
    bool unit_diagonal;   /**< the diagonal of a is taken for ones */
} wg_triangular_solve_attrs;

/** y[..., i, j] = x[..., i, j] where j - i <= diagonal, else 0: tril of NumPy and PyTorch.  Any
 * dtype. */
WG_API wg_value *(wg_tril)(const char *at, wg_value *x, int64_t diagonal);
#define wg_tril(...) wg_tril(WG_HERE, __VA_ARGS__)
/** y[..., i, j] = x[..., i, j] where j - i >= diagonal, else 0: triu of NumPy and PyTorch.  Any
 * dtype. */
WG_API wg_value *(wg_triu)(const char *at, wg_value *x, int64_t diagonal);
#define wg_triu(...) wg_triu(WG_HERE, __VA_ARGS__)

/** The x with a x = b for a triangle of a [..., n, n] and b [..., n, k], by substitution; leading
 * axes broadcast.  A b of rank 1 is a vector [n], and x then has no axis k.  `flags` is a set of
 * WG_TRANSPOSED and WG_UNIT_DIAGONAL.  A zero on the diagonal ends the run with WG_EDATA. */
WG_API wg_value *(wg_triangular_solve)(const char *at, wg_value *a, wg_value *b,
                                       wg_triangle triangle, int flags);
#define wg_triangular_solve(...) wg_triangular_solve(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
