/* The values of options, checked: numbers, and lists of shapes. */
#ifndef WG_CLI_VALUES_H
#define WG_CLI_VALUES_H

#include "cli/cli.h"
#include "wengert/graph/op.h"

#include <float.h>

/* An integer; argp_error unless it is in [min, max]. */
long number_argument(const struct argp_state *state, const char *option, const char *text, long min,
                     long max);
/* Bytes: "512M", "2G", "0"; argp_error for anything else. */
size_t bytes_argument(const struct argp_state *state, const char *option, const char *text);
/* The seed of --seed: any 64 bits. */
uint64_t seed_argument(const struct argp_state *state, const char *text);
/* A number; argp_error, which says the `range` in words, unless it is in [min, max]. */
double real_argument(const struct argp_state *state, const char *option, const char *text,
                     double min, double max, const char *range);
#define ABOVE_0 DBL_TRUE_MIN                  /* as a min */
#define BELOW_1 (1 - (double)DBL_EPSILON / 2) /* as a max */

/* The operands "4096x512,512x2048@9,scalar" with their shapes and, behind an @, the size of the
 * range that integers are from; false if it is no such list. */
bool parse_shapes(const char *text, wg_sample_operand in[WG_MAX_SAMPLE_OPERANDS], int *n);

#endif
