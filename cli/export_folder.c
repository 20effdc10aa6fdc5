/* A trained translator for other engines: the encoder, which is run once, the decoder, which is run
 * once for each token, and the vocabularies as lists of tokens. */
#include "cli/export.h"
#include "graph/json.h"
#include "wengert/train/folder.h"
#include "wengert/translate/translator.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* source [B, S], source_lengths [B]: memory [B, S, d] */
static void build_encoder(wg_graph *g, const wg_transformer_config *c, const export_sizes *s)
{
    wg_transformer m = wg_transformer_begin(g, c, WG_MODE_INFERENCE);
    wg_value *tokens = wg_input(g, "source", WG_I32, WG_SHAPE(s->sentences, s->length));
    wg_value *lengths = wg_input(g, "source_lengths", WG_I32, WG_SHAPE(s->sentences));
    wg_output(wg_transformer_encode(&m, tokens, lengths), "memory");
}

/* target_in [B, T], of which the tokens up to `position` [1] count; memory and its lengths: logits
 * [B, V] of the token after that. */
static void build_decoder(wg_graph *g, const wg_transformer_config *c, const export_sizes *s)
{
    wg_transformer m = wg_transformer_begin(g, c, WG_MODE_INFERENCE);
    wg_value *target = wg_input(g, "target_in", WG_I32, WG_SHAPE(s->sentences, s->length));
    wg_value *position = wg_input(g, "position", WG_I32, WG_SHAPE(1));
    wg_value *memory =
        wg_input(g, "memory", c->dtype, WG_SHAPE(s->sentences, s->length, c->d_model));
    wg_value *lengths = wg_input(g, "source_lengths", WG_I32, WG_SHAPE(s->sentences));
    wg_value *states = wg_transformer_decode(&m, target, memory, lengths);
    wg_value *logits = wg_transformer_logits(&m, wg_take(states, position, 1));
    wg_output(wg_reshape(logits, WG_SHAPE(s->sentences, c->target_vocabulary)), "logits");
}

static int write_graph(const char *folder, const char *name,
                       void (*build)(wg_graph *, const wg_transformer_config *,
                                     const export_sizes *),
                       const wg_translator *t, const export_sizes *sizes)
{
    wg_error error = {.status = WG_ENOMEM, .text = "out of memory"};
    wg_graph *g = wg_graph_new();
    char *path = wg_folder_path(folder, "%s", name);
    const wg_onnx_export_options o = {.store = wg_translator_store(t)};
    build(g, wg_translator_config(t), sizes);
    wg_status status = path ? wg_onnx_export(g, path, &o, &error) : WG_ENOMEM;
    free(path);
    wg_graph_free(g);
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

static void put_tokens(wgi_json *j, const char *key, const wg_vocabulary *v)
{
    wgi_json_begin(j, key, '[');
    for (int32_t i = 0; i < wg_vocabulary_size(v); i++)
        wgi_json_text(j, NULL, wg_vocabulary_piece(v, i));
    wgi_json_end(j, ']');
}

typedef struct described {
    const wg_translator *translator;
    const export_sizes *sizes;
} described;

static void put_description(FILE *f, const void *context)
{
    const described *d = context;
    const wg_vocabulary *from = wg_translator_vocabulary(d->translator, 0),
                        *into = wg_translator_vocabulary(d->translator, 1);
    wgi_json j = {.file = f};
    wgi_json_begin(&j, NULL, '{');
    wgi_json_whole(&j, "sentences", d->sizes->sentences);
    wgi_json_whole(&j, "length", d->sizes->length);
    wgi_json_whole(&j, "source_end", wg_vocabulary_eos(from));
    wgi_json_whole(&j, "source_unknown", wg_vocabulary_unk(from));
    wgi_json_whole(&j, "target_begin", wg_vocabulary_bos(into));
    wgi_json_whole(&j, "target_end", wg_vocabulary_eos(into));
    put_tokens(&j, "source", from);
    put_tokens(&j, "target", into);
    wgi_json_end(&j, '}');
    fputc('\n', f);
}

static int write_description(const char *folder, const wg_translator *t, const export_sizes *sizes)
{
    char *path = wg_folder_path(folder, "model.json");
    if (!path) {
        complain("out of memory");
        return EXIT_RUN;
    }
    int code = write_stream(path, put_description, &(described){t, sizes});
    free(path);
    return code;
}

/* Has the folder a model.json of put_description?  Whatever cannot be read is none. */
static bool is_description(const char *folder)
{
    static const char begins[] = "{\n  \"sentences\": ";
    char bytes[sizeof begins] = "", *path = wg_folder_path(folder, "%s", "model.json");
    FILE *f = path ? fopen(path, "rbe") : NULL;
    bool is = f && fread(bytes, 1, sizeof begins - 1, f) == sizeof begins - 1 &&
              strcmp(bytes, begins) == 0;
    if (f)
        fclose(f);
    free(path);
    return is;
}

static bool is_empty(const char *folder, const char *name)
{
    struct stat s;
    char *path = wg_folder_path(folder, "%s", name);
    bool is = path && stat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_size == 0;
    free(path);
    return is;
}

/* Files of these names are replaced where an export has written them, which its model.json tells,
 * and otherwise stay. */
static int check_folder(const char *to)
{
    static const char *const names[] = {"model.json", "encoder.onnx", "decoder.onnx"};
    wg_error error;
    bool exists = false;
    wg_status status = WG_OK;
    for (int i = 0; i < 3 && status == WG_OK; i++) {
        status = wg_folder_has(to, names[i], &exists, &error);
        exists = exists && !is_empty(to, names[i]); /* which a failed export leaves */
        if (status == WG_OK && exists && i == 0 && is_description(to))
            return EXIT_OK;
        if (status == WG_OK && exists) {
            complain("%s: it has a file %s that no export has written; export into another folder",
                     to, names[i]);
            return EXIT_USAGE;
        }
    }
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

int export_folder(const char *folder, const char *to, const char *weights,
                  const export_sizes *sizes)
{
    wg_error error;
    wg_translator *t;
    const wg_translator_options o = {.weights = weights};
    wg_status status = wg_translator_open(&t, folder, &o, &error);
    int code = status == WG_OK ? check_folder(to) : complain_error(&error);
    if (code == EXIT_OK && wg_folder_make(to, &error) != WG_OK)
        code = complain_error(&error);
    if (code == EXIT_OK)
        code = write_description(to, t, sizes);
    if (code == EXIT_OK)
        code = write_graph(to, "encoder.onnx", build_encoder, t, sizes);
    if (code == EXIT_OK)
        code = write_graph(to, "decoder.onnx", build_decoder, t, sizes);
    wg_translator_free(t);
    return code;
}
