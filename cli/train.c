/* wengert train: trains a Transformer or a language model, or resumes a training run. */
#include "cli/model.h"
#include "cli/progress.h"
#include "cli/stop.h"
#include "cli/threads.h"
#include "graph/flag.h"
#include "wengert/distributed/ranks.h"
#include "wengert/train/checkpoint.h"
#include "wengert/translate/folder.h"
#include "wengert/translate/trainer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DUMP_CONFIG = 1000, DISTRIBUTED };

static const struct argp_option table[] = {
    {"dump-config", DUMP_CONFIG, 0, 0, "print all settings as YAML and exit", 1},
    {"distributed", DISTRIBUTED, "ENGINE", 0,
     "train on all processes that `mpirun' has started with this command: mpi, openmpi or mpich",
     1},
    {0},
};

typedef struct request {
    settings_args args;
    bool dump;
    const char *engine; /* NULL: this process alone */
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->args; break;
    case DUMP_CONFIG: r->dump = true; break;
    case DISTRIBUTED: r->engine = arg; break;
    case ARGP_KEY_ARG: settings_args_model(&r->args, arg, state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* A folder keeps its vocabularies: other --vocabs are refused instead of silently ignored. */
static int check_vocabularies(const wg_settings *asked)
{
    wg_error error;
    bool exist;
    if (!asked->model || asked->overwrite || !asked->vocabs[0])
        return EXIT_OK;
    wg_status status = wg_vocabularies_exist(asked->model, &exist, &error);
    if (status != WG_OK || !exist)
        return complain_error(&error);
    status = wg_vocabularies_expect(asked->model, asked->vocabs[0], asked->vocabs[1], &error);
    if (status != WG_OK)
        complain("--vocabs: %s%s", error.text,
                 status == WG_EINVAL ? "; use --overwrite to train from scratch" : "");
    return exit_code(status);
}

/* --overwrite keeps no settings.  Whoever gives no texts in place of those that the old model was
 * trained on, and does not ask for the built-in ones, means to keep them. */
static int check_overwrite(const wg_settings *asked)
{
    wg_settings old = {0};
    wg_error unread;
    bool has_texts = asked->train_sets[0] || asked->train_set ||
                     wg_settings_given(asked, wg_option_find("numbers"));
    if (!asked->overwrite || !asked->model || has_texts ||
        wg_folder_settings(&old, asked->model, &unread) != WG_OK)
        return EXIT_OK;
    const char *text = old.train_set ? old.train_set : old.train_sets[0];
    if (text)
        complain("--overwrite: expected all settings, since those of %s are not kept, got no "
                 "--%s, which was %s",
                 asked->model, old.train_set ? "train-set" : "train-sets", text);
    wg_settings_free(&old);
    return text ? EXIT_USAGE : EXIT_OK;
}

/* A training whose settings are gone can be resumed by the options that it began with. */
static void note_lost_settings(const char *folder)
{
    wg_error error;
    bool exists = false;
    if (wg_checkpoint_exists(folder, &exists, &error) == WG_OK && exists)
        complain("%s has a training run, but no " WG_FILE_CONFIG ": give all of its settings again",
                 folder);
}

/* The settings of the model in the folder, overridden by `asked`; without a model, `asked`. */
static int merge_settings(wg_settings *s, wg_settings *asked)
{
    wg_error error;
    bool is_model = false;
    int code = EXIT_OK;
    if (asked->model && !asked->overwrite)
        code = model_exists(asked->model, &is_model);
    if (code == EXIT_OK && !is_model && asked->model && !asked->overwrite)
        note_lost_settings(asked->model);
    if (code == EXIT_OK && !is_model) {
        *s = *asked;
        *asked = (wg_settings){0};
        return EXIT_OK;
    }
    if (code == EXIT_OK)
        code = model_settings(s, asked->model);
    if (code != EXIT_OK)
        return code;
    wg_status status = wg_settings_override(s, asked, &error);
    if (status == WG_EINVAL)
        complain("%s has a different model: %s; use --overwrite with all settings to train from "
                 "scratch",
                 asked->model, error.text);
    return status == WG_EINVAL ? exit_code(status) : complain_error(&error);
}

/* All ranks fail with the same message: one of them prints it. */
static void complain_once(const wg_ranks *ranks, const char *text)
{
    if (!ranks || wg_ranks_rank(ranks) == 0)
        complain("%s", text);
}

/* Texts of a resumed run that are not there: it may have begun in another folder. */
static void note_relative(const settings_args *given, const wg_settings *s)
{
    const struct {
        const char *path, *option;
    } texts[] = {{s->train_set, "train-set"},      {s->train_sets[0], "train-sets"},
                 {s->train_sets[1], "train-sets"}, {s->valid_set, "valid-set"},
                 {s->valid_sets[0], "valid-sets"}, {s->valid_sets[1], "valid-sets"}};
    for (size_t i = 0; i < WG_COUNT(texts); i++) {
        const char *path = texts[i].path;
        if (!path || *path == '/' || settings_args_value(given, texts[i].option) ||
            access(path, F_OK) == 0)
            continue;
        complain("%s is looked for from the current folder: start the run where it began, or give "
                 "--%s again",
                 path, texts[i].option);
        return;
    }
}

static int train(const wg_settings *s, wg_ranks *ranks)
{
    /* static, since the thread that writes it outlives this call */
    static stop_request asked;
    wg_error error;
    progress p = progress_on(stderr, s->quiet);
    wg_trainer *t = NULL;
    if (check_threads((long)s->threads) != EXIT_OK)
        return EXIT_RUN;
    stop_on_signals(&asked);
    wg_status status =
        wg_translation_trainer_on(&t, s, &(wg_listener){progress_tell, &p}, ranks, &error);
    stop_gently(&asked);
    if (status != WG_OK)
        complain_once(ranks, error.text);
    else if ((status = wg_trainer_run(t, &asked.signal_number)) != WG_OK) {
        progress_end(&p);
        complain_once(ranks, wg_trainer_message(t));
    }
    progress_end(&p);
    wg_trainer_free(t);
    int got = wgi_flag(&asked.signal_number);
    stop_at_once();
    if (status == WG_OK && got) {
        complain("stopped by %s; run the same command to resume", strsignal(got));
        return 128 + got;
    }
    return exit_code(status);
}

/* The same, once the other processes are there. */
static int train_on(const wg_settings *s, const char *engine)
{
    wg_ranks *ranks = NULL;
    wg_error error;
    if (engine && wg_ranks_open(&ranks, engine, &error) != WG_OK) {
        complain("--distributed: %s", error.text);
        return exit_code(error.status);
    }
    int code = train(s, ranks);
    wg_ranks_close(ranks);
    return code;
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
        "[FOLDER]",
        "Trains a Transformer on parallel text or, with --type lm, a language model on one text; "
        "or resumes a training run.\v"
        "The folder --model keeps the whole state of the run; the same command resumes it.  "
        "Without --train-sets the model learns to translate number phrases from English to "
        "German.  A preset overrides the defaults shown here; --dump-config prints the settings "
        "in effect.",
        children,
        NULL,
        NULL};
    code = parse_arguments(&argp, argc, argv, ARGP_IN_ORDER, &r);
    if (code == EXIT_OK && wg_settings_init(&asked) != WG_OK) {
        complain("out of memory");
        code = EXIT_RUN;
    }
    if (code == EXIT_OK)
        code = settings_args_apply(&r.args, &asked);
    if (code == EXIT_OK)
        code = check_overwrite(&asked);
    if (code == EXIT_OK)
        code = check_vocabularies(&asked);
    if (code == EXIT_OK)
        code = merge_settings(&s, &asked);
    if (code == EXIT_OK && r.dump)
        code = exit_code(wg_settings_write_yaml(&s, stdout));
    else if (code == EXIT_OK && !s.model) {
        complain("no model folder given; use --model FOLDER");
        code = EXIT_USAGE;
    } else if (code == EXIT_OK) {
        settings_args_note_idle(&r.args, &s, r.engine);
        code = train_on(&s, r.engine);
        if (code == EXIT_IO && !r.engine)
            note_relative(&r.args, &s);
    }
    wg_settings_free(&asked);
    wg_settings_free(&s);
    settings_args_free(&r.args);
    return code;
}
