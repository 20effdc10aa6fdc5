/* Positions: what sinusoids are, and how models with several kinds of positions learn and go on to
 * longer sentences. */
#include "paper/experiments.h"
#include "paper/training.h"

#include <math.h>

/* ---- PE(p + k) = M_k PE(p) ------------------------------------------------------------------- */

enum { WIDTH = 64, DRAWN = 64, OFFSET = 8 };

/* Element [i, j] of M_k: pairs (sin wp, cos wp) are turned by the angle wk, where PE(k) has its
 * sine and cosine. */
static double turn(int64_t k, int64_t i, int64_t j)
{
    if (i / 2 != j / 2)
        return 0;
    double sine = wg_sinusoid(WG_POSITIONS_INTERLEAVED, k, i / 2 * 2, WIDTH),
           cosine = wg_sinusoid(WG_POSITIONS_INTERLEAVED, k, i / 2 * 2 + 1, WIDTH);
    return i == j ? cosine : i < j ? sine : -sine;
}

/* The largest |PE(p + k) - M_k PE(p)| over positions and offsets. */
static double largest_error(void)
{
    enum { POSITIONS = 1000 };
    double max = 0;
    for (int64_t k = 1; k <= 256; k *= 4)
        for (int64_t p = 0; p < POSITIONS; p++)
            for (int64_t i = 0; i < WIDTH; i++) {
                double sum = 0;
                for (int64_t j = i / 2 * 2; j < i / 2 * 2 + 2; j++)
                    sum += turn(k, i, j) * wg_sinusoid(WG_POSITIONS_INTERLEAVED, p, j, WIDTH);
                max = fmax(max, fabs(sum - wg_sinusoid(WG_POSITIONS_INTERLEAVED, p + k, i, WIDTH)));
            }
    return max;
}

static void draw_sinusoids(paper_run *r)
{
    paper_panel *p = paper_add_panel(r->report, "PE(p), d = 64", "element of PE", "position p");
    double *x = paper_add_picture(p, DRAWN, WIDTH);
    for (int64_t i = 0; x && i < DRAWN * WIDTH; i++)
        x[i] = wg_sinusoid(WG_POSITIONS_INTERLEAVED, i / WIDTH, i % WIDTH, WIDTH);
    p = paper_add_panel(r->report, "the matrix M of PE(p + 8) = M PE(p)", "element of PE(p)",
                        "element of PE(p + 8)");
    x = paper_add_picture(p, WIDTH, WIDTH);
    for (int64_t i = 0; x && i < WIDTH * WIDTH; i++)
        x[i] = turn(OFFSET, i / WIDTH, i % WIDTH);
    p = paper_add_panel(r->report, "PE(p) PE(p + k) / |PE(p)|^2, whatever p", "offset k", "");
    paper_curve *c = paper_add_curve(p, "d = 64");
    for (int64_t k = -DRAWN; k <= DRAWN; k++) {
        double sum = 0;
        for (int64_t i = 0; i < WIDTH; i++)
            sum += wg_sinusoid(WG_POSITIONS_INTERLEAVED, DRAWN, i, WIDTH) *
                   wg_sinusoid(WG_POSITIONS_INTERLEAVED, DRAWN + k, i, WIDTH) / (WIDTH / 2.0);
        paper_point(p, c, (double)k, sum, 0);
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

enum { KINDS = 3, LENGTHS = 7, LONGEST = 2 /* test of the longest sentences of training */ };
static const int test_lengths[LENGTHS] = {6, 9, 12, 13, 14, 16, 20};

static void set_variants(paper_training *variant, bool small)
{
    static const char *const names[KINDS] = {"sinusoids", "learned", "rotary"};
    static const wg_positions kinds[KINDS] = {WG_POSITIONS_INTERLEAVED, WG_POSITIONS_LEARNED,
                                              WG_POSITIONS_ROTARY};
    for (int i = 0; i < KINDS; i++) {
        paper_training *t = &variant[i];
        *t = paper_training_usual(small);
        t->name = names[i];
        t->task.order = PAPER_REVERSED;
        t->task.shortest = 4;
        t->task.longest = test_lengths[LONGEST];
        t->net.positions = kinds[i];
        t->net.max_positions = test_lengths[LENGTHS - 1] + 1;
        t->tests = LENGTHS;
        for (int k = 0; k < LENGTHS; k++) {
            t->test[k] = t->task;
            t->test[k].shortest = t->test[k].longest = test_lengths[k];
        }
    }
}

static void add_lengths(paper_run *r, const paper_training *variant, const paper_results *x)
{
    static const char *const columns[] = {"positions", "6 words", "9",  "12",
                                          "13",        "14",      "16", "20"};
    paper_table *t =
        paper_add_table(r->report, "Right tokens by the length of a sentence; trained on 4 to 12",
                        columns, WG_COUNT(columns));
    paper_panel *p = paper_add_panel(r->report, "token accuracy; trained on 4 to 12 words",
                                     "words of a sentence", paper_score_unit(PAPER_ACCURACY));
    for (int i = 0; i < KINDS; i++) {
        paper_curve *c = paper_add_curve(p, "%s", variant[i].name);
        paper_row(t);
        paper_words(t, "%s", variant[i].name);
        for (int k = 0; k < LENGTHS; k++) {
            paper_spread s = paper_score_of(x, i, k, PAPER_ACCURACY);
            paper_mean(t, s, 3);
            paper_point(p, c, test_lengths[k], s.mean, s.deviation);
        }
    }
}

static void judge(paper_run *r, const paper_results *x)
{
    const int beyond = 5; /* 16 words, where 12 were the longest */
    paper_spread sines = paper_score_of(x, 0, LONGEST, PAPER_ACCURACY),
                 learned = paper_score_of(x, 1, LONGEST, PAPER_ACCURACY);
    double further[KINDS];
    for (int i = 0; i < KINDS; i++)
        further[i] = paper_score_of(x, i, beyond, PAPER_ACCURACY).mean;
    paper_found(r->report, fabs(sines.mean - learned.mean) < 0.02,
                "At 12 words, the longest of the training, sinusoids have %.3f of the tokens right "
                "and learned positions %.3f.",
                sines.mean, learned.mean);
    paper_found(r->report, further[0] > 0.9 * sines.mean,
                "At 16 words, which no training had, sinusoids have %.3f right, learned positions "
                "%.3f and rotary ones %.3f.",
                further[0], further[1], further[2]);
}

wg_status paper_positions(paper_run *r)
{
    paper_training variant[KINDS];
    paper_results x;
    double error = largest_error();
    draw_sinusoids(r);
    paper_found(r->report, error < 1e-12,
                "PE(p + k) = M PE(p) with a matrix M that depends on k alone, made of PE(k): the "
                "largest error over 1,000 positions and offsets up to 256 is %.1g.",
                error);
    set_variants(variant, r->small);
    wg_status status = paper_train(r, variant, KINDS, r->small ? 1 : 5, &x);
    if (status == WG_OK) {
        add_lengths(r, variant, &x);
        judge(r, &x);
    }
    paper_results_free(&x);
    return status;
}
