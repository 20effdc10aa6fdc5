/* look: checks the gradient of the network and draws it, before any training. */
#include "network.h"

#include <stdio.h>

/* A page to open in a browser, and a picture if Graphviz is there */
static bool draw(const wg_graph *g)
{
    wg_error error;
    FILE *page = fopen("model.html", "w");
    bool good = page && wg_graph_write_page(g, "first model", page, &error) == WG_OK;
    if (page && !good)
        fprintf(stderr, "%s\n", error.text);
    if (!page || fclose(page) != 0) {
        perror("model.html");
        good = false;
    }
    if (wg_picture_save(g, "model.svg", NULL, &error) != WG_OK)
        printf("no picture: %s\n", error.text);
    return good;
}

int main(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *point = wg_input(g, "point", WG_F32, WG_SHAPE(8, 2));
    wg_value *label = wg_input(g, "label", WG_I32, WG_SHAPE(8));
    wg_value *loss = wg_cross_entropy(network(point), label, NULL, NULL);
    wg_output(loss, "loss");

    /* Derivatives against finite differences in f64; integers need a range to be drawn from. */
    wg_gradcheck_leaf labels = {label, .lo = 0, .hi = CLASSES};
    wg_gradcheck_options check = {
        .evaluator = wg_plan_evaluator(), .leaves = &labels, .n_leaves = 1};
    wg_gradcheck_report report = {0};
    wg_status status = wg_gradcheck(g, &check, &report);
    printf("gradient: %s\n", report.message);

    wg_grad_all(loss); /* the gradient is drawn too */
    bool drawn = draw(g);
    wg_graph_free(g);
    return status != WG_OK || !drawn;
}
