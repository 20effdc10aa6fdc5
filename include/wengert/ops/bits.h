/* The bits of integers; two operands have the same dtype, and shapes broadcast. */
#ifndef WG_OPS_BITS_H
#define WG_OPS_BITS_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** y = a & b, bit by bit: i32 or i64, negative numbers in two's complement.  Of bools these four
 * are wg_logical_and, wg_logical_or, wg_logical_xor and wg_logical_not. */
WG_API wg_value *(wg_bitwise_and)(const char *at, wg_value *a, wg_value *b);
#define wg_bitwise_and(...) wg_bitwise_and(WG_HERE, __VA_ARGS__)
/** y = a | b, bit by bit. */
WG_API wg_value *(wg_bitwise_or)(const char *at, wg_value *a, wg_value *b);
#define wg_bitwise_or(...) wg_bitwise_or(WG_HERE, __VA_ARGS__)
/** y = a ^ b, bit by bit: the bits in which a and b differ. */
WG_API wg_value *(wg_bitwise_xor)(const char *at, wg_value *a, wg_value *b);
#define wg_bitwise_xor(...) wg_bitwise_xor(WG_HERE, __VA_ARGS__)
/** y = ~x, each bit inverted: -1 - x. */
WG_API wg_value *(wg_bitwise_not)(const char *at, wg_value *x);
#define wg_bitwise_not(...) wg_bitwise_not(WG_HERE, __VA_ARGS__)

/** y = a 2^b, without the bits that do not fit: i32 or i64.  A count b that is negative, or at
 * least the number of bits (32 or 64), gives 0, as in NumPy. */
WG_API wg_value *(wg_bitwise_left_shift)(const char *at, wg_value *a, wg_value *b);
#define wg_bitwise_left_shift(...) wg_bitwise_left_shift(WG_HERE, __VA_ARGS__)
/** y = floor(a / 2^b), an arithmetic shift: -1 stays -1.  A count b that is negative, or at least
 * the number of bits, gives 0 for a >= 0 and -1 for a < 0, as in NumPy. */
WG_API wg_value *(wg_bitwise_right_shift)(const char *at, wg_value *a, wg_value *b);
#define wg_bitwise_right_shift(...) wg_bitwise_right_shift(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
