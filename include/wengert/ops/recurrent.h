/* Recurrent cells, and their sequences over time, with the weights and gate orders of PyTorch.
 *
 *   rnn    h' = tanh(a)                     a = wi x + bi + wh h + bh
 *
 *   lstm   i, f, g, o = the four parts of a
 *          c' = sigmoid(f) c + sigmoid(i) tanh(g),   h' = sigmoid(o) tanh(c')
 *
 *   gru    r, z, n = the three parts of wi x + bi, and of wh h + bh
 *          r = sigmoid(r_x + r_h),  z = sigmoid(z_x + z_h),  n = tanh(n_x + r n_h)
 *          h' = (1 - z) n + z h
 *
 * With G gates (1, 4 and 3): wi[G H, C], wh[G H, H], bi[G H], bh[G H].  A bias may be NULL. */
#ifndef WG_OPS_RECURRENT_H
#define WG_OPS_RECURRENT_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of rnn, lstm and gru.  Zero means the default in every field. */
typedef struct wg_recurrent_options {
    wg_value *h;  /**< state before the first step, [B, H]; NULL: zeros */
    wg_value *c;  /**< lstm only: cell state before the first step, [B, H]; NULL: zeros */
    bool reverse; /**< from the last step to the first */
    bool relu;    /**< rnn only: relu instead of tanh */
    /** [B] i32 or i64: sequence b has the steps t < lengths[b], and with `reverse` begins at the
     * last of them; NULL: all steps.  Past its end y is 0, its states stay as they are, and x may
     * hold anything, even NaN.  A length outside [0, T] ends the run with WG_EDATA. */
    wg_value *lengths;
} wg_recurrent_options;

/** Attributes of rnn, lstm, gru, their cells, steps and gradients. */
typedef struct wg_recurrent_attrs {
    bool reverse; /**< from the last step to the first */
    bool relu;    /**< rnn only: relu instead of tanh */
} wg_recurrent_attrs;

/** The activation of an rnn cell. */
typedef enum wg_rnn_activation {
    WG_RNN_TANH = 0, /**< h' = tanh(a) */
    WG_RNN_RELU      /**< h' = max(a, 0) */
} wg_rnn_activation;

/** h'[B, H] from x[B, C] and h[B, H]. */
WG_API wg_value *(wg_rnn_cell)(const char *at, wg_value *x, wg_value *h, wg_value *wi, wg_value *wh,
                               wg_value *bi, wg_value *bh, wg_rnn_activation activation);
#define wg_rnn_cell(...) wg_rnn_cell(WG_HERE, __VA_ARGS__)
/** h'[B, H] from x[B, C], h[B, H] and c[B, H]; c' is wg_result_of(h', 1). */
WG_API wg_value *(wg_lstm_cell)(const char *at, wg_value *x, wg_value *h, wg_value *c, wg_value *wi,
                                wg_value *wh, wg_value *bi, wg_value *bh);
#define wg_lstm_cell(...) wg_lstm_cell(WG_HERE, __VA_ARGS__)
/** h'[B, H] from x[B, C] and h[B, H]. */
WG_API wg_value *(wg_gru_cell)(const char *at, wg_value *x, wg_value *h, wg_value *wi, wg_value *wh,
                               wg_value *bi, wg_value *bh);
#define wg_gru_cell(...) wg_gru_cell(WG_HERE, __VA_ARGS__)

/** y[B, T, H], the h' of every step, from x[B, T, C]; T may be 0.  wg_result_of(y, 1) is the
 * h[B, H] after the last step of each sequence, wg_result_of(y, 2) the c[B, H] of lstm.  `options`
 * may be NULL. */
WG_API wg_value *(wg_rnn)(const char *at, wg_value *x, wg_value *wi, wg_value *wh, wg_value *bi,
                          wg_value *bh, const wg_recurrent_options *options);
#define wg_rnn(...) wg_rnn(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_lstm)(const char *at, wg_value *x, wg_value *wi, wg_value *wh, wg_value *bi,
                           wg_value *bh, const wg_recurrent_options *options);
#define wg_lstm(...) wg_lstm(WG_HERE, __VA_ARGS__)
WG_API wg_value *(wg_gru)(const char *at, wg_value *x, wg_value *wi, wg_value *wh, wg_value *bi,
                          wg_value *bh, const wg_recurrent_options *options);
#define wg_gru(...) wg_gru(WG_HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
