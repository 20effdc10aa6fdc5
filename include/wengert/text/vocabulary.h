/* From text to token ids and back: SentencePiece (bpe or unigram), whole words, or characters.
 *
 * Lines are bytes; NUL and bytes that are not UTF-8 are read as U+FFFD.  A vocabulary is immutable,
 * and several threads may use it at once. */
#ifndef WG_TEXT_VOCABULARY_H
#define WG_TEXT_VOCABULARY_H

#include "wengert/graph/error.h"
#include "wengert/graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A vocabulary: tokens, numbered from 0. */
typedef struct wg_vocabulary wg_vocabulary;

/** The kind of tokens. */
typedef enum wg_vocabulary_kind {
    WG_VOCABULARY_BPE = 0, /**< SentencePiece, byte-pair encoding */
    WG_VOCABULARY_UNIGRAM, /**< SentencePiece, unigram language model */
    WG_VOCABULARY_WORDS,   /**< split at white space; the most frequent ones */
    WG_VOCABULARY_CHARS    /**< Unicode characters */
} wg_vocabulary_kind;

/** How a vocabulary is trained. */
typedef struct wg_vocabulary_options {
    wg_vocabulary_kind kind; /**< 0: WG_VOCABULARY_BPE */
    int64_t size;            /**< maximum number of tokens; more than 4, the special ones */
    /** BPE and unigram: the text is already tokenised.  Pieces then end only at spaces, not where
     * letters meet digits or another script, and mark the end of a word instead of its start, as in
     * subword-nmt.  This gives fewer tokens, and the last part of a compound is the same piece as
     * that word by itself. */
    bool tokenized;
} wg_vocabulary_options;

/** Trains a vocabulary of at most `options->size` tokens from all lines of the files (plain or
 * gzip).  Padding is 0, begin of sentence 1, end 2, unknown 3.  Text is not normalised: decoding
 * returns what was encoded, except for repeated spaces.  Words are split at ASCII white space and
 * joined by one space.  SentencePiece skips lines above 65536 bytes.  The same files give the same
 * vocabulary at any number of threads.
 *
 * The caller frees *out; on failure it is NULL.  WG_EDATA: there is no text; WG_EUNSUPPORTED: built
 * without SentencePiece; WG_EINVAL: an option out of range; WG_EIO; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_vocabulary_train(wg_vocabulary **out,
                                                 const wg_vocabulary_options *options,
                                                 const char *const *files, size_t n_files,
                                                 wg_error *error);
/** The same from lines in memory, each ended by a newline. */
WG_API WG_MUST_USE wg_status wg_vocabulary_train_text(wg_vocabulary **out,
                                                      const wg_vocabulary_options *options,
                                                      const char *text, size_t text_size,
                                                      wg_error *error);
/** Opens a file written by wg_vocabulary_save, any SentencePiece model (of which the kind may also
 * be words or characters), or a list of tokens of another program, which is then a vocabulary of
 * words: fairseq's dict.txt, Hugging Face's vocab.json, Marian's vocab.yml, or a token a line with
 * those for the end of a sentence and for unknown words among them.  The caller frees *out; on
 * failure it is NULL.  WG_EDATA: it is none of these, or is damaged, and the error names the line
 * of a list; WG_EIO. */
WG_API WG_MUST_USE wg_status wg_vocabulary_open(wg_vocabulary **out, const char *path,
                                                wg_error *error);
/** Replaces the file in one step.  BPE and unigram are written as a SentencePiece model
 * (vocab.spm), words and characters as a text with one token per line (vocab.txt). */
WG_API WG_MUST_USE wg_status wg_vocabulary_save(const wg_vocabulary *v, const char *path,
                                                wg_error *error);
/** Frees the vocabulary; NULL is allowed. */
WG_API void wg_vocabulary_free(wg_vocabulary *v);

/** True if both would be saved as the same bytes. */
WG_API bool wg_vocabulary_equal(const wg_vocabulary *a, const wg_vocabulary *b);
/** A hash of what is compared there, the same on every machine. */
WG_API uint64_t wg_vocabulary_hash(const wg_vocabulary *v);
/** The kind of its tokens. */
WG_API wg_vocabulary_kind wg_vocabulary_kind_of(const wg_vocabulary *v);
/** The number of tokens, special ones included: ids are in [0, size). */
WG_API int64_t wg_vocabulary_size(const wg_vocabulary *v);
/** The id of padding; -1 if a foreign model has none. */
WG_API int32_t wg_vocabulary_pad(const wg_vocabulary *v);
/** The id of the begin of a sentence; -1 if a foreign model has none. */
WG_API int32_t wg_vocabulary_bos(const wg_vocabulary *v);
/** The id of the end of a sentence; -1 if a foreign model has none. */
WG_API int32_t wg_vocabulary_eos(const wg_vocabulary *v);
/** The id of unknown tokens; -1 if a foreign model has none. */
WG_API int32_t wg_vocabulary_unk(const wg_vocabulary *v);
/** The token as text, as the vocabulary writes it; NULL outside [0, size). */
WG_API const char *wg_vocabulary_piece(const wg_vocabulary *v, int32_t id);

/** The ids of one line (text[0..size), without its newline), without begin and end of sentence.
 * The caller frees *ids.  WG_EINVAL: an argument is NULL; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_vocabulary_encode(const wg_vocabulary *v, const char *text,
                                                  size_t size, int32_t **ids, size_t *n_ids);
/** The text of ids, without padding, begin and end of sentence.  The caller frees *text.
 * WG_EINVAL: an argument is NULL, or an id outside [0, size); WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_vocabulary_decode(const wg_vocabulary *v, const int32_t *ids,
                                                  size_t n_ids, char **text);

#ifdef __cplusplus
}
#endif
#endif
