/* use < POINTS: says to which spiral each point "x y" of the input belongs. */
#include "network.h"

#include <stdio.h>

int main(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *point = wg_input(g, "point", WG_F32, WG_SHAPE(1, 2)); /* a batch of one */
    wg_value *p = wg_output(wg_softmax(network(point), -1), "probabilities");
    wg_plan *plan;
    if (wg_plan_create(&plan, g, NULL) != WG_OK) {
        fprintf(stderr, "%s\n", wg_graph_message(g));
        return 1;
    }
    wg_error error;
    if (wg_store_load_weights(wg_plan_store(plan), "run/best-accuracy.safetensors", NULL, NULL,
                              &error) != WG_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    float *xy = wg_plan_f32(plan, point);
    const float *probability = wg_plan_f32(plan, p);
    while (scanf("%f %f", &xy[0], &xy[1]) == 2) {
        if (wg_plan_run(plan, 0) != WG_OK) {
            fprintf(stderr, "%s\n", wg_plan_message(plan));
            return 1;
        }
        printf("%5.2f %5.2f:", xy[0], xy[1]);
        for (int c = 0; c < CLASSES; c++)
            printf("  spiral %d %.3f", c, probability[c]);
        printf("\n");
    }
    wg_plan_free(plan);
    wg_graph_free(g);
    return 0;
}
