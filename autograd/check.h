/* The steps of the gradient check, from the lowest to the highest; gradcheck.c and gradcheck_op.c
 * put them together. */
#ifndef WG_PRIVATE_AUTOGRAD_CHECK_H
#define WG_PRIVATE_AUTOGRAD_CHECK_H

#include "autograd/trial.h"

/* ---- draw.c: random points and cotangents ---------------------------------------------------- */

/* Fills a point from its range: uniform floats, integers, bools. */
void wgi_draw_point(wgi_point *p, uint64_t *random);
/* Fills the point of a parameter or a state as a store would, except that equal numbers are
 * scattered around: at gains of 1 and biases of 0 many a wrong rule is right.  WG_ENOMEM. */
wg_status wgi_draw_initial(wgi_point *p, uint64_t *random);
/* Fills all points at once: floats pairwise distinct and at least 10 h away from each other and
 * from the kinks; with `dyadic` set, also sums of few powers of two, and h is chosen to fit.
 * WG_EINVAL: the ranges are too narrow. */
wg_status wgi_draw_grid(wgi_trial *t, const double *kinks, int n_kinks);
/* Random cotangents for y, of magnitude 0.5 to 1.5; they become inputs and points.  dy has n_y
 * places. */
wg_status wgi_draw_cotangents(wgi_trial *t, int order, wg_value **dy);
/* Weights of a line through a whole leaf, of magnitude 0.5 to 1.5. */
void wgi_draw_weights(double *weight, int64_t count, uint64_t seed);

/* ---- function.c: the function whose differences are taken ------------------------------------ */

/* L(x) = sum_j <c_j, y_j(x)>.  It is never summed up: only changes of the y are wanted, and these
 * are taken before the cotangents enter. */
typedef struct wgi_function {
    const wgi_trial *t;
    wgi_evaluation e;
    const double **y, **c; /* n_y results and their cotangents */
    double *base;          /* all results at the points        */
    double rounding;       /* of the results to double, as a change of L; 0 on dyadic points */
    wg_status status;      /* of the last evaluation           */
} wgi_function;

/* Ready at the trial's points; wgi_function_close is due in any case. */
wg_status wgi_function_open(wgi_function *f, const wgi_trial *t, wg_value *const *dy);
void wgi_function_close(wgi_function *f);
/* L(x) - L(points), for x in the memory of the leaves. */
double wgi_function_change(wgi_function *f);
/* The largest |y| at the points; NaN if one is NaN. */
double wgi_function_size(const wgi_function *f);

/* ---- slopes.c: a derivative and how well it is known ----------------------------------------- */

enum { WGI_RUNGS = 32 };

/* Central differences along a line at a ladder of steps, each a quarter of the one before.  Rungs
 * are computed when they are first needed. */
typedef struct wgi_slopes {
    wgi_function *f;
    double *x;            /* memory of the numbers that move            */
    const double *at;     /* where they are at the trial's points       */
    const double *weight; /* how fast each moves; NULL: one, as it is   */
    int64_t count;        /* of these numbers                           */
    double top;           /* the longest step                           */
    int rungs;
    struct {
        double h, slope, jump; /* jump: right minus left slope          */
        bool known;
    } rung[WGI_RUNGS];
} wgi_slopes;

typedef struct wgi_estimate {
    double value;       /* of the derivative                              */
    double uncertainty; /* an estimated bound of its error                */
    double noise;       /* of L, as seen at short steps                   */
    double step;        /* from which it comes                            */
} wgi_estimate;

/* `unit`: a typical size of the numbers that move. */
void wgi_slopes_start(wgi_slopes *s, const wgi_trial *t, double unit);
/* The value at one fixed step; its uncertainty is that of rounding the results. */
wgi_estimate wgi_slopes_first(wgi_slopes *s, bool four_point);
/* The most certain value of all steps, or of some in the middle. */
wgi_estimate wgi_slopes_best(wgi_slopes *s, bool all);
/* A kink or a jump of the function lies so near that it explains an error of that size. */
bool wgi_slopes_kink(wgi_slopes *s, const wgi_estimate *e, double error);

/* ---- differences.c: one comparison ----------------------------------------------------------- */

/* Compares dx, the gradient by wg_vjp, with differences of <dy, y>; what it finds goes into the
 * report. */
wg_status wgi_compare_differences(wgi_trial *t, int order, wg_value *const *dy,
                                  wg_value *const *dx);

/* ---- blame.c: the rule at fault -------------------------------------------------------------- */

/* What a rule has made of what, as wg_vjp told it. */
typedef struct wgi_record {
    wg_node *node;
    wg_value **dy, **dx; /* node->n_out, node->n_in; NULL means zero */
} wgi_record;

typedef struct wgi_records {
    wgi_record *record;
    size_t count, capacity;
    const wg_grad_hook *hook; /* called first, or NULL */
    bool no_memory;
} wgi_records;

/* The hook that fills a wgi_records, its context. */
void wgi_record_rule(void *context, wg_node *n, wg_value *const *dy, wg_value **dx);
void wgi_records_free(wgi_records *r);

/* Names in report->guilty the node whose rule explains the error at t->worst; leaves it empty if
 * none does. */
wg_status wgi_blame(wgi_trial *t, wgi_records *records);

/* ---- precision.c: kernels that do not compute in f64 ----------------------------------------- */

/* Looks for a kernel outside the library, between wrt and y, whose results in f64 are not those in
 * f32 with more digits, and names it in report->kernel. */
wg_status wgi_find_f32_kernel(wgi_trial *t);

/* ---- sizes.c: numbers of which no differences can be taken ----------------------------------- */

/* Results beyond this are absurd: their rounding errors alone are larger than most numbers. */
#define WGI_ABSURD 1e18

/* Names in report->absurd the first node between wrt and y that makes NaN or such a number. */
wg_status wgi_find_absurd(wgi_trial *t);

/* ---- orders.c: order by order, and the verdict ----------------------------------------------- */

/* WG_EINVAL and a message if the options make no sense. */
wg_status wgi_gradcheck_options_check(const wg_gradcheck_options *o, wg_gradcheck_report *r);
/* Sets formula, step and tolerance for a function as smooth as that. */
void wgi_set_differences(wgi_trial *t, wg_smoothness smoothness);
/* All orders that the options ask for, until one fails. */
wg_status wgi_check_orders(wgi_trial *t);
/* The verdict on what was compared, as the report's verdict and message. */
wg_status wgi_verdict(wgi_trial *t);
/* Puts what the graph's own message says, if it is in error, into the report; returns status. */
wg_status wgi_graph_error(wgi_trial *t, wg_status status);

#endif
