/* A bidirectional LSTM tags each word of a sentence, reading it from both ends.
 *
 *     bilstm_tagger               trains for some seconds
 *     bilstm_tagger MODEL.svg     draws the model
 *
 * A tag says where a word stands among its equals: the first of them (Begin), one between (Inside),
 * the last (End), or the only one (Single).  So it depends on what is on the left and on what is on
 * the right, at any distance.  Sentences have 4 to 16 words and are padded.  Exits with 0 if 98 %
 * of the words of new sentences are tagged right. */
#include "wengert.h"

#include <err.h>
#include <stdio.h>

enum { T = 16, SHORTEST = 4, WORDS = 8, TAGS = 4, D = 32, HIDDEN = 48, PADDING = -1 };
enum { TRAINING = 6400, OTHERS = 400, BATCH = 32, EPOCHS = 10 };

/* ---- the language ---------------------------------------------------------------------------- */

static int tag_of(const int32_t *word, int length, int t)
{
    enum { SINGLE, BEGIN, END, INSIDE };
    bool before = false, after = false;
    for (int s = 0; s < length; s++) {
        before = before || (s < t && word[s] == word[t]);
        after = after || (s > t && word[s] == word[t]);
    }
    return before ? (after ? INSIDE : END) : after ? BEGIN : SINGLE;
}

/* Example i: words [T], their number, tags [T]. */
static wg_status write_sentence(void *others, int64_t epoch, int64_t i, void *const *to,
                                wg_error *error)
{
    int32_t *word = to[0], *length = to[1], *tag = to[2];
    uint64_t random = (uint64_t)(2 * i + (others != NULL));
    (void)epoch;
    (void)error;
    for (int t = 0; t < T; t++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        word[t] = (int32_t)((random >> 33) % WORDS);
    }
    *length = SHORTEST + (int32_t)((random >> 40) % (T - SHORTEST + 1));
    for (int t = 0; t < T; t++)
        tag[t] = t < *length ? tag_of(word, *length, t) : PADDING;
    return WG_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* words [B, T], lengths [B]: logits [B, T, TAGS].  The backward direction begins at the last word
 * of each sentence. */
static wg_value *tagger(wg_value *words, wg_value *lengths)
{
    const wg_recurrent_layer_options both = {.direction = WG_READ_BOTH, .lengths = lengths};
    wg_value *x = wg_embedding_layer("words", words, WORDS, D, WG_F32);
    wg_value *h = wg_recurrent_layer("lstm", WG_LSTM, x, HIDDEN, &both).y; /* [B, T, 2 HIDDEN] */
    return wg_dense("tags", h, TAGS, WG_ACTIVATION_NONE);
}

static wg_value *model(void *context, const wg_model_step *step)
{
    const wg_cross_entropy_attrs words = {.use_ignore = true, .ignore = PADDING};
    wg_value *tag = wg_step_input(step, "tag");
    wg_value *logits = tagger(wg_step_input(step, "word"), wg_step_input(step, "length"));
    (void)context;
    wg_step_metric(step, "accuracy", wg_accuracy(logits, tag, &words), WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, tag, NULL, &words);
}

/* What the trained model can do; 0 if that is enough. */
static int judge(wg_trainer *t)
{
    double accuracy = wg_trainer_metric(t, "accuracy");
    printf("%.2f %% of the words of %d other sentences have the right tag\n", 100 * accuracy,
           OTHERS);
    return !(accuracy >= 0.98);
}

int main(int argc, char **argv)
{
    const wg_field fields[] = {{.name = "word", .dtype = WG_I32, .shape = WG_SHAPE(T)},
                               {.name = "length", .dtype = WG_I32, .shape = WG_SCALAR},
                               {.name = "tag", .dtype = WG_I32, .shape = WG_SHAPE(T)}};
    wg_examples training = {fields, 3, TRAINING, .read = write_sentence, .batch = BATCH},
                others = training;
    others.count = OTHERS;
    others.context = &others;
    others.batch = OTHERS; /* one batch: the accuracy is over all words */
    const wg_trainer_options options = {
        .model = model,
        .train = &training,
        .valid = &others,
        .optimizer = {.clip_norm = 1},
        .schedule = {WG_SCHEDULE_COSINE, .rate = 0.01, .warmup = 20},
        .after = {EPOCHS, 'e'},
        .validate = {1, 'e'},
        .metrics = "accuracy",
        .seed = 1,
        .listener = {wg_print_event, stdout},
    };
    wg_error error;
    wg_trainer *t;
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options picture = {.title = "bilstm"};
    wg_status status = argc > 1 ? wg_trainer_draw(t, argv[1], &picture) : wg_trainer_run(t, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    int code = argc > 1 ? 0 : judge(t);
    wg_trainer_free(t);
    return code;
}
