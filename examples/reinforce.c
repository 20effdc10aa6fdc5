/* Policy gradient (REINFORCE; Williams 1992) learns to balance a pole on a cart.  A loop of one's
 * own, without the trainer: episodes are played by one plan, learnt from by another, and both share
 * a store.
 *
 *     policy    log pi(a | s) = log softmax of a network's two numbers: push left, push right
 *     baseline  v(s), another network's guess of the return R_t = sum of g^k r_(t+k)
 *     loss      mean over steps of  -log pi(a_t | s_t) (R_t - v(s_t)) + (R_t - v(s_t))^2 / 2,
 *               where R_t - v(s_t) in the first term is a number, not differentiated
 *
 *     reinforce             trains, and tells what came of it
 *     reinforce model.svg   draws the loss instead
 *
 * Exits with 0 if the mean length of an episode is below 40 steps before and above 150 after, of
 * 200 at most. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPISODES = 16, STEPS = 200, ALL = EPISODES * STEPS, UPDATES = 80, HIDDEN = 32 };

/* ---- the cart -------------------------------------------------------------------------------- */

/* x, x', angle, angle' */
typedef float state[4];

/* 0.02 s with a force of 10 N to the left (action 0) or right; the equations of Barto, Sutton and
 * Anderson (1983).  False if the pole falls or the cart leaves the track. */
static bool push(state s, int64_t action)
{
    double force = action ? 10 : -10, sine = sin(s[2]), cosine = cos(s[2]);
    double m = (force + 0.05 * s[3] * s[3] * sine) / 1.1;
    double turn = (9.8 * sine - cosine * m) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1));
    double rate[4] = {s[1], m - 0.05 * turn * cosine / 1.1, s[3], turn};
    for (int k = 0; k < 4; k++)
        s[k] += (float)(0.02 * rate[k]);
    return fabsf(s[0]) < 2.4F && fabsf(s[2]) < 0.2095F;
}

static void begin(state s, uint64_t *random)
{
    for (int k = 0; k < 4; k++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        s[k] = (float)((double)(*random >> 33) / 2147483648.0 - 0.5) * 0.1F;
    }
}

/* ---- the graphs ------------------------------------------------------------------------------ */

/* s [B, 4] -> [B, n] */
static wg_value *network(const char *name, wg_value *s, int n)
{
    wg_graph *g = wg_graph_of(s);
    wg_scope_push(g, "%s", name);
    wg_value *h = wg_dense("hidden", s, HIDDEN, WG_ACTIVATION_TANH);
    wg_value *y = wg_dense_with("out", h, n, &(wg_dense_options){.gain = 0.1});
    wg_scope_pop(g);
    return y;
}

/* Plays a step of all episodes: samples from softmax(logits), as the largest of logits + Gumbel
 * noise. */
typedef struct player {
    wg_graph *graph;
    wg_value *s, *action;
    wg_plan *plan;
} player;

static void build_player(player *p)
{
    wg_graph *g = p->graph = wg_graph_new();
    p->s = wg_input(g, "s", WG_F32, WG_SHAPE(EPISODES, 4));
    wg_value *logits = network("policy", p->s, 2);
    wg_value *noise = wg_neg(wg_log(wg_neg(wg_log(wg_uniform_like(logits, 1e-6, 1 - 1e-6)))));
    p->action = wg_output(wg_argmax(wg_add(logits, noise), 1, WG_DROP), "action");
}

/* Learns from the steps of all episodes.  weight: 1, or 0 for those that were not played. */
typedef struct learner {
    wg_graph *graph;
    wg_value *s, *action, *returns, *weight, *loss;
    wg_plan *plan;
} learner;

static void build_learner(learner *l)
{
    wg_graph *g = l->graph = wg_graph_new();
    l->s = wg_input(g, "s", WG_F32, WG_SHAPE(ALL, 4));
    l->action = wg_input(g, "action", WG_I32, WG_SHAPE(ALL));
    l->returns = wg_input(g, "returns", WG_F32, WG_SHAPE(ALL));
    l->weight = wg_input(g, "weight", WG_F32, WG_SHAPE(ALL));
    wg_value *advantage = wg_sub(l->returns, wg_squeeze(network("baseline", l->s, 1), 1));
    wg_value *surprise = wg_cross_entropy(network("policy", l->s, 2), l->action, NULL,
                                          &(wg_cross_entropy_attrs){.reduction = WG_LOSS_NONE});
    wg_value *each =
        wg_add(wg_mul(surprise, wg_stop_gradient(advantage)), wg_scale(wg_square(advantage), 0.5));
    wg_value *sum = wg_sum(wg_mul(each, l->weight), WG_ALL_AXES, WG_DROP);
    l->loss = wg_output(wg_div(sum, wg_sum(l->weight, WG_ALL_AXES, WG_DROP)), "loss");
    wg_gradients d = wg_grad_all(l->loss);
    wg_clip_by_global_norm(d.grads, d.n, 1, d.grads);
    wg_adam_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 0.02), NULL);
}

static void plan(wg_plan **p, wg_graph *g, wg_store *store)
{
    const wg_plan_options options = {.store = store, .seed = 1, .threads = 1};
    if (wg_plan_create(p, g, &options) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
}

static void run(wg_plan *p, uint64_t step)
{
    if (wg_plan_run(p, step) != WG_OK)
        errx(1, "%s", wg_plan_message(p));
}

/* ---- playing and learning -------------------------------------------------------------------- */

/* Plays one round of episodes and writes what the learner needs; returns their mean length. */
static double play(player *p, learner *l, uint64_t round)
{
    state *now = (state *)wg_plan_f32(p->plan, p->s), *s = (state *)wg_plan_f32(l->plan, l->s);
    const int64_t *chosen = wg_plan_i64(p->plan, p->action);
    int32_t *action = wg_plan_i32(l->plan, l->action);
    float *returns = wg_plan_f32(l->plan, l->returns), *weight = wg_plan_f32(l->plan, l->weight);
    bool plays[EPISODES];
    double length = 0;
    uint64_t random = round;
    for (int e = 0; e < EPISODES; e++) {
        begin(now[e], &random);
        plays[e] = true;
    }
    for (int t = 0; t < STEPS; t++) {
        run(p->plan, round * STEPS + (uint64_t)t);
        for (int e = 0; e < EPISODES; e++) {
            int i = e * STEPS + t;
            memcpy(s[i], now[e], sizeof(state));
            action[i] = (int32_t)chosen[e];
            weight[i] = plays[e];
            length += plays[e];
            plays[e] = plays[e] && push(now[e], chosen[e]);
        }
    }
    for (int i = ALL - 1; i >= 0; i--) /* 1 for each step, in hundredths; g = 0.99 */
        returns[i] = weight[i] * (0.01F + 0.99F * ((i + 1) % STEPS ? returns[i + 1] : 0));
    return length / EPISODES;
}

static double mean_length(player *p, learner *l, uint64_t first_round)
{
    enum { ROUNDS = 5 };
    double sum = 0;
    for (uint64_t k = 0; k < ROUNDS; k++)
        sum += play(p, l, first_round + k);
    return sum / ROUNDS;
}

int main(int argc, char **argv)
{
    wg_error error;
    player p;
    learner l;
    build_player(&p);
    build_learner(&l);
    const wg_picture_options forward = {.title = "REINFORCE", .phases = 1u << WG_FORWARD};
    if (argc > 1 && wg_picture_save(l.graph, argv[1], &forward, &error) != WG_OK)
        errx(1, "%s", error.text);
    if (argc > 1)
        return 0;
    wg_store *store = wg_store_new(1);
    plan(&l.plan, l.graph, store);
    plan(&p.plan, p.graph, store);

    double before = mean_length(&p, &l, 1000);
    for (uint64_t update = 1; update <= UPDATES; update++) {
        double length = play(&p, &l, update);
        run(l.plan, update);
        if (update % 10 == 0)
            printf("update %3d  mean length %.1f  loss %.4f\n", (int)update, length,
                   wg_plan_scalar(l.plan, l.loss));
    }
    double after = mean_length(&p, &l, 2000);
    printf("mean length of %d episodes: %.1f steps before, %.1f after\n", 5 * EPISODES, before,
           after);
    wg_plan_free(p.plan);
    wg_plan_free(l.plan);
    wg_store_free(store);
    wg_graph_free(p.graph);
    wg_graph_free(l.graph);
    return !(before < 40 && after > 150);
}
