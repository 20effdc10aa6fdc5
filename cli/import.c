/* wengert import: a model of another program as a folder of ours. */
#include "cli/settings_args.h"
#include "wengert/translate/foreign.h"

#include <string.h>

enum { FROM = 7000, PIECES };

typedef struct request {
    settings_args args;
    const char *from, *path, *pieces[2];
    size_t n_pieces;
} request;

static const struct argp_option table[] = {
    {"from", FROM, "torch|fairseq|marian", 0,
     "whose names the tensors have: torch.nn.Transformer, fairseq, Hugging Face's MarianMTModel",
     WG_GROUP_FILES + 1},
    {"pieces", PIECES, "SOURCE [TARGET]", 0,
     "SentencePiece models that split text into the tokens of --vocabs (default: those beside the "
     "weights)",
     WG_GROUP_FILES + 1},
    {0},
};

/* The word behind the option as well, unless it is an option or the last argument. */
static void take_pieces(request *r, const char *arg, struct argp_state *state)
{
    r->pieces[0] = arg;
    r->pieces[1] = NULL;
    if (state->next < state->argc && state->argv[state->next][0] != '-' &&
        (r->path || state->next + 1 < state->argc))
        r->pieces[1] = state->argv[state->next++];
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->args; break;
    case FROM: r->from = arg; break;
    case PIECES: take_pieces(r, arg, state); break;
    case ARGP_KEY_ARG: take_argument(state, &r->path, "file or folder", arg); break;
    case ARGP_KEY_END:
        if (!r->from || !r->path)
            argp_error(state, "--from LAYOUT and a FILE or FOLDER are needed");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int import_model(const request *r, const wg_settings *s)
{
    wg_error error;
    wg_foreign_report report;
    const wg_foreign_options options = {
        .layout = r->from,
        .path = r->path,
        .pieces = {r->pieces[0], r->pieces[1]},
        .settings = s,
    };
    if (wg_foreign_import(&options, &report, &error) != WG_OK)
        return complain_error(&error);
    printf("%s: %zu tensors of %s\n%s%s", s->model, report.tensors, r->path, report.text,
           *report.text ? "\n" : "");
    return EXIT_OK;
}

int command_import(int argc, char **argv)
{
    request r = {.from = NULL};
    wg_settings s = {0};
    int code = settings_args_init(&r.args, WG_FOR_IMPORT);
    if (code != EXIT_OK)
        return code;
    const struct argp_child children[] = {{&r.args.argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = table,
        .parser = parse,
        .args_doc = "--from LAYOUT FILE|FOLDER --model FOLDER",
        .doc = "Makes a model folder of weights that another program has trained.\v"
               "Weights are a safetensors file; config.json and vocabularies are looked for beside "
               "it.  Options override what config.json says, and tell what it does not, such as "
               "--heads.  Tensors that are missing, unexpected or of another shape are listed, and "
               "nothing is written then.",
        .children = children,
    };
    code = parse_arguments(&argp, argc, argv, ARGP_IN_ORDER, &r);
    if (code == EXIT_OK && wg_settings_init(&s) != WG_OK) {
        complain("out of memory");
        code = EXIT_RUN;
    }
    if (code == EXIT_OK)
        code = settings_args_apply(&r.args, &s);
    if (code == EXIT_OK)
        code = import_model(&r, &s);
    wg_settings_free(&s);
    settings_args_free(&r.args);
    return code;
}
