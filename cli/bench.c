/* wengert bench WHAT: what can be measured. */
#include "cli/measure.h"
#ifdef WG_HAVE_TRAINING
#include "cli/model.h"
#endif
#include "cli/source.h"

#include <string.h>

static const command subjects[] = {
    {"op", "one op, on its scaled-up samples or on given shapes", bench_op},
    {"model", "a run, gradient or step of a model: built in, FOLDER, FILE.wg, FILE.onnx, MODEL.so",
     bench_model},
#ifdef WG_HAVE_TRAINING
    {"train-step", "a complete training step of a Transformer", bench_train_step},
#endif
};
enum { N_SUBJECTS = WG_COUNT(subjects) };

/* A folder with a trained model */
static bool is_model(const char *name)
{
    bool exists = false;
#ifdef WG_HAVE_TRAINING
    if (model_exists(name, &exists) != EXIT_OK)
        return false;
#else
    (void)name;
#endif
    return exists;
}

static const char *subject_name_at(size_t i)
{
    return i < N_SUBJECTS ? subjects[i].name : NULL;
}

static void print_help(FILE *f)
{
    fprintf(f, "Usage: wengert bench WHAT|MODEL [OPTION...]\n\n"
               "Prints the median time of repeated runs and its share of the machine's measured "
               "limits.\n\n");
    for (size_t i = 0; i < N_SUBJECTS; i++)
        fprintf(f, "  %-12s %s\n", subjects[i].name, subjects[i].doc);
    fprintf(f, "\nwengert bench WHAT --help lists the options.  wengert bench MODEL is short for "
               "wengert bench\nmodel MODEL.\n");
}

int command_bench(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    for (size_t i = 0; i < N_SUBJECTS; i++)
        if (strcmp(argv[1], subjects[i].name) == 0) {
            char name[64];
            snprintf(name, sizeof name, "wengert bench %s", subjects[i].name);
            argv[1] = name;
            return subjects[i].run(argc - 1, argv + 1);
        }
    if (is_source(argv[1]) || is_model(argv[1])) {
        char name[] = "wengert bench MODEL";
        argv[0] = name;
        return bench_model(argc, argv);
    }
    complain_unknown("benchmark", argv[1], subject_name_at);
    return EXIT_USAGE;
}
