/* Newton's method with the whole Hessian fits a peak on a sloping background to noisy points, and
 * says how certain each number is.
 *
 *     y = a exp(-(x - c)^2 / (2 w^2)) + b + s x
 *     f(p) = sum of (y - y_i)^2 / (2 sigma^2),   -log p(points | p) up to a constant
 *
 *     step:  (H + damping) d = gradient,  p <- p - d if that makes f less,  and damping / 30,
 *            else damping * 10            (Levenberg 1944)
 *
 * One iteration, with its decision, is one graph: the loop only runs a plan.  Near the minimum the
 * damping is gone, and each iteration doubles the number of right digits.  H^-1 is the covariance
 * of the result.
 *
 *     newton             fits, and tells how certain it is
 *     newton model.svg   draws the iteration instead
 *
 * Exits with 0 if the gradient falls by ten digits, an iteration has doubled their number, and the
 * result is within four standard errors of the numbers that the points were made of. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>

enum { N = 80, P = 5, STEPS = 40 };

static const char *const names[P] = {"height a", "centre c", "width w", "level b", "slope s"};
static const double made_of[P] = {2, 0.45, 0.08, 0.5, -0.3}, guess[P] = {1, 0.5, 0.15, 0, 0};
static const double sigma = 0.05;

static double normal(uint64_t *random)
{
    double u[2];
    for (int k = 0; k < 2; k++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        u[k] = ((double)(*random >> 33) + 0.5) / 2147483648.0;
    }
    return sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]);
}

/* The curve with parameters p [P] at x [N]. */
static wg_value *curve(wg_value *p, wg_value *x)
{
    wg_value *q = wg_split(p, 0, NULL, P); /* [1] each */
    wg_value *a = q, *c = wg_result_of(q, 1), *w = wg_result_of(q, 2), *b = wg_result_of(q, 3),
             *s = wg_result_of(q, 4);
    wg_value *z = wg_div(wg_sub(x, c), w);
    wg_value *peak = wg_mul(a, wg_exp(wg_scale(wg_square(z), -0.5)));
    return wg_add(peak, wg_add(b, wg_mul(s, x)));
}

static wg_value *misfit(const char *name, wg_value *p, wg_value *x, wg_value *y)
{
    wg_scope_push(wg_graph_of(p), "%s", name);
    wg_value *residual = wg_scale(wg_sub(curve(p, x), y), 1 / sigma);
    wg_value *f = wg_scale(wg_sum(wg_square(residual), WG_ALL_AXES, WG_DROP), 0.5);
    wg_scope_pop(wg_graph_of(p));
    return f;
}

/* What a run of the iteration gives. */
typedef struct iteration {
    wg_value *p, *f, *norm, *damping, *covariance;
} iteration;

static iteration build(wg_graph *g)
{
    iteration it;
    double xs[N], ys[N];
    const double *m = made_of;
    uint64_t random = 1;
    for (int i = 0; i < N; i++) {
        double x = xs[i] = (i + 0.5) / N, z = (x - m[1]) / m[2];
        ys[i] = m[0] * exp(-z * z / 2) + m[3] + m[4] * x + sigma * normal(&random);
    }
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(N), xs),
             *y = wg_constant(g, WG_F64, WG_SHAPE(N), ys);
    wg_value *p = wg_parameter(g, "p", WG_F64, WG_SHAPE(P), wg_values_init(guess, sizeof guess));
    wg_value *damping = wg_state(g, "damping", WG_F64, WG_SCALAR, wg_constant_init(1e3));
    wg_value *f = misfit("f(p)", p, x, y), *gradient, *H;
    wg_name(x, "x");
    wg_name(y, "y");
    wg_grad(f, &p, 1, &gradient);
    wg_hessian(f, &p, 1, NULL, &H);

    wg_value *damped = wg_add(H, wg_mul(damping, wg_eye(g, WG_F64, P)));
    wg_value *d = wg_solve(damped, gradient);
    wg_value *next = wg_sub(p, d), *better = wg_less_equal(misfit("f(next)", next, x, y), f);
    wg_assign(p, wg_where(better, next, p));
    wg_assign(damping, wg_where(better, wg_scale(damping, 1.0 / 30), wg_scale(damping, 10)));

    it.p = p;
    it.f = wg_output(f, "f");
    it.norm = wg_output(wg_vector_norm(gradient, WG_ALL_AXES, WG_DROP, 2), "|gradient|");
    it.damping = damping;
    it.covariance = wg_output(wg_inverse(H), "covariance");
    return it;
}

int main(int argc, char **argv)
{
    wg_error error;
    wg_plan *plan;
    const wg_picture_options forward = {.title = "Newton", .phases = 1u << WG_FORWARD, .depth = 1};
    wg_graph *g = wg_graph_new();
    iteration it = build(g);
    if (argc > 1 && wg_picture_save(g, argv[1], &forward, &error) != WG_OK)
        errx(1, "%s", error.text);
    if (argc > 1)
        return 0;
    if (wg_plan_create(&plan, g, &(wg_plan_options){.threads = 1}) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
    double first = 0, digits = 0; /* by which the gradient has become less */
    bool doubled = false;
    for (int k = 0; k < STEPS && digits < 10; k++) {
        double damping = wg_plan_scalar(plan, it.damping), before = digits;
        if (wg_plan_run(plan, 0) != WG_OK)
            errx(1, "%s", wg_plan_message(plan));
        double norm = wg_plan_scalar(plan, it.norm);
        first = k ? first : norm;
        digits = -log10(norm / first);
        printf("%2d  f %9.3f  |gradient| %.1e = first / 10^%.1f  damping %.0e\n", k,
               wg_plan_scalar(plan, it.f), norm, digits, damping);
        doubled = doubled || (before >= 2 && digits >= 1.7 * before);
    }
    double worst = 0;
    for (int i = 0; i < P; i++) {
        double value = wg_plan_f64(plan, it.p)[i];
        double deviation = sqrt(wg_plan_f64(plan, it.covariance)[i * P + i]);
        printf("%s = %7.4f +- %.4f   (%g)\n", names[i], value, deviation, made_of[i]);
        worst = fmax(worst, fabs(value - made_of[i]) / deviation);
    }
    wg_plan_free(plan);
    wg_graph_free(g);
    return !(digits >= 10 && doubled && worst <= 4);
}
