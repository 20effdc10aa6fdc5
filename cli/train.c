/* wengert train: trains a Transformer, or goes on with it. */
#include "cli/model.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "wengert/train/folder.h"

#include <stdlib.h>
#include <string.h>

enum { DUMP_CONFIG = 1000 };

static const struct argp_option table[] = {
    {"dump-config", DUMP_CONFIG, 0, 0,
     "write all settings as YAML to standard output, and do nothing else", 1},
    {0},
};

typedef struct request {
    settings_args args;
    bool dump;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->args; break;
    case DUMP_CONFIG: r->dump = true; break;
    case ARGP_KEY_ARG: argp_error(state, "what is '%s'?", arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* A folder with vocabularies keeps them: others, asked for by --vocabs, would be left out in
 * silence. */
static int check_vocabularies(const wg_settings *asked)
{
    char message[1000];
    if (!asked->model || asked->overwrite || !asked->vocabs[0] ||
        !wg_vocabularies_exist(asked->model))
        return EXIT_OK;
    wg_status status = wg_vocabularies_expect(asked->model, asked->vocabs[0], asked->vocabs[1],
                                              message, sizeof message);
    if (status != WG_OK)
        complain("--vocabs: %s%s", message, status == WG_EINVAL ? "; --overwrite trains anew" : "");
    return exit_code(status);
}

/* Of a folder that has a model, its settings, over which `asked` is laid; else what was asked
 * for. */
static int settle(wg_settings *s, wg_settings *asked)
{
    char message[2000];
    if (!asked->model || asked->overwrite || !wg_folder_has(asked->model, WG_FILE_CONFIG)) {
        *s = *asked;
        *asked = (wg_settings){0};
        return EXIT_OK;
    }
    int code = model_settings(s, asked->model);
    if (code != EXIT_OK)
        return code;
    wg_status status = wg_settings_override(s, asked, message, sizeof message);
    if (status != WG_OK)
        complain("%s has another model: %s; --overwrite trains anew", asked->model, message);
    return exit_code(status);
}

static int train(const wg_settings *s)
{
    static volatile int
        signal_number; /* static, since the thread that writes it outlives this call */
    char message[1000];
    progress p = progress_on(stderr, s->quiet);
    wg_trainer *t = NULL;
    stop_on_signals(&signal_number);
    wg_status status =
        wg_trainer_create(&t, s, &(wg_listener){progress_tell, &p}, message, sizeof message);
    if (status != WG_OK)
        complain("%s", message);
    else if ((status = wg_trainer_run(t, &signal_number)) != WG_OK) {
        progress_end(&p);
        complain("%s", wg_trainer_message(t));
    }
    progress_end(&p);
    wg_trainer_free(t);
    if (status == WG_OK && signal_number) {
        complain("stopped by %s; the same command goes on from here", strsignal(signal_number));
        return 128 + signal_number;
    }
    return exit_code(status);
}

int command_train(int argc, char **argv)
{
    request r = {0};
    wg_settings asked = {0}, s = {0};
    int code = settings_args_init(&r.args, WG_FOR_TRAINING);
    if (code != EXIT_OK)
        return code;
    const struct argp_child children[] = {{&r.args.argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        table,
        parse,
        "",
        "Trains a Transformer from two files of sentences, or goes on with one.\v"
        "All that a training is stands in the folder --model; the same command goes on where it "
        "was stopped. "
        "Without --train-sets it learns to translate number phrases, English to German.  Presets "
        "override the defaults that are "
        "told here; --dump-config shows what holds.",
        children,
        NULL,
        NULL};
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &r) != 0)
        return EXIT_USAGE;
    code = exit_code(wg_settings_init(&asked));
    if (code == EXIT_OK)
        code = settings_args_apply(&r.args, &asked);
    if (code == EXIT_OK)
        code = check_vocabularies(&asked);
    if (code == EXIT_OK)
        code = settle(&s, &asked);
    if (code == EXIT_OK && r.dump)
        code = exit_code(wg_settings_write_yaml(&s, stdout));
    else if (code == EXIT_OK && !s.model) {
        complain("train: where to? --model FOLDER");
        code = EXIT_USAGE;
    } else if (code == EXIT_OK)
        code = train(&s);
    wg_settings_free(&asked);
    wg_settings_free(&s);
    settings_args_free(&r.args);
    return code;
}
