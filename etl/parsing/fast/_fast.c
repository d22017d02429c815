/* Adjective–noun pairs from raw text in one pass: tokens, tags, heads, lemmas, counts. */
#define PY_SSIZE_T_CLEAN
/* One build for Python 3.11 and all later versions: only their stable ABI is used. */
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <math.h>

#include "_model.h"

#define TOKENS_AT_ONCE 65536u
/* Bits of the lexicon (`_MASK_TAGS` of model.py). */
enum { MASK_NOUN = 1, MASK_PLURAL = 2, MASK_ADJECTIVE = 4 | 8 | 16, MASK_NAME = 1 << 12 };

/* --------------------------------------------------------------------------------- lemmas */

static const uint8_t *exception_of(const Data *data, const uint8_t *form, uint32_t n, char kind) {
    uint32_t wanted = (uint32_t)(mix(hash_bytes(form, n), (uint64_t)kind) >> 32);
    uint32_t low = place_of(data->word_hash, data->word_count, wanted);
    for (; low < data->word_count && data->word_hash[low] == wanted; low++) {
        const uint8_t *entry = data->words + data->word_at[low];
        if (entry[0] == (uint8_t)kind && strlen((const char *)entry + 1) == n
            && memcmp(entry + 1, form, n) == 0)
            return entry + n + 2;
    }
    return NULL;
}

static int has_ending(const uint8_t *word, uint32_t n, const char *ending) {
    size_t size = strlen(ending);
    return n > size && memcmp(word + n - size, ending, size) == 0;
}

static uint64_t base_hash(const uint8_t *word, uint32_t n) { return hash_bytes(word, n); }

/* Whether a word in -men is the plural of one in -man: a dictionary word, or a compound with one. */
static int is_of_men(const Data *data, const uint8_t *word, uint32_t n, uint8_t *out) {
    memcpy(out, word, n);
    out[n - 2] = 'a';
    if (has_ending(word, n, "women")) return 1;
    if (mask_of(data, base_hash(out, n)) & MASK_NOUN) return 1;
    if (mask_of(data, base_hash(word, n)) & MASK_NOUN) return 0;
    return n >= 7 && (mask_of(data, base_hash(word, n - 3)) & ~MASK_PLURAL);
}

/* The same for words that the lexicon does not have: few but plurals end so. */
static int is_of_unknown_vowel(const uint8_t *word, uint32_t n) {
    return has_ending(word, n, "kis") || has_ending(word, n, "jis") || has_ending(word, n, "wis");
}

/* Plurals of Latin and other languages that the lexicon lacks, as `_PLURALS` of
   etl/knowledge/inflection.py has them, and "regalia", for which it has "regale". */
static const char *const PLURALS[][2] = {
    {"alveoli", "alveolus"}, {"annuli", "annulus"}, {"calyces", "calyx"}, {"cherubim", "cherub"},
    {"denarii", "denarius"}, {"elytra", "elytron"}, {"emboli", "embolus"},
    {"ephemerides", "ephemeris"}, {"epithelia", "epithelium"}, {"extrema", "extremum"},
    {"foramina", "foramen"}, {"gyri", "gyrus"},
    {"hippocampi", "hippocampus"}, {"homunculi", "homunculus"}, {"lumina", "lumen"},
    {"magi", "magus"}, {"meninges", "meninx"}, {"menisci", "meniscus"},
    {"millennia", "millennium"}, {"mitochondria", "mitochondrion"}, {"mycelia", "mycelium"},
    {"noumena", "noumenon"}, {"nucleoli", "nucleolus"}, {"oxen", "ox"}, {"paparazzi", "paparazzo"},
    {"prolegomena", "prolegomenon"}, {"regalia", "regalia"}, {"seraphim", "seraph"},
    {"simulacra", "simulacrum"}, {"sporangia", "sporangium"}, {"subspecies", "subspecies"},
    {"sulci", "sulcus"}, {"superheroes", "superhero"}, {"taxa", "taxon"}, {"thrombi", "thrombus"},
    {"topoi", "topos"}, {"tumuli", "tumulus"},
    {"villi", "villus"}, {"vivaria", "vivarium"},
    {NULL, NULL},
};

/* Nouns in -ie that the lexicon lacks, as `_IE_NOUNS` of inflection.py has them: by rule, "calories"
   would be the plural of "calory". */
static const char IE_NOUNS[] =
    "aggie auntie aussie baddie beanie bestie biggie bikie boogie bowtie brasserie calorie "
    "charcuterie commie cowrie cutie doobie druggie folkie foodie gillie girlie groupie homie "
    "hoodie hottie indie kelpie kewpie kiddie kilocalorie laddie lassie meanie mudpie newbie "
    "newsie onesie patisserie postie potpie preemie quickie roadie roomie rotisserie rudie "
    "selfie sharpie shortie smartie smoothie softie sweetie talkie techie tootsie townie "
    "trekkie undie veggie wedgie weenie wheelie woodie ";

/* The number of letters at the end of further ones that the singular lacks: "hyphae", "stomata". */
static uint32_t foreign_ending(const uint8_t *word, uint32_t n) {
    if (has_ending(word, n, "mata")) return 2;
    if (has_ending(word, n, "gae")) return 0; /* "reggae" */
    return n > 4 && (has_ending(word, n, "ae") || has_ending(word, n, "teaux"));
}

static const char *foreign_singular(const uint8_t *word, uint32_t n) {
    for (int i = 0; PLURALS[i][0]; i++)
        if (strlen(PLURALS[i][0]) == n && memcmp(PLURALS[i][0], word, n) == 0) return PLURALS[i][1];
    return NULL;
}

static int is_unknown_plural(const uint8_t *word, uint32_t n) {
    return is_of_unknown_vowel(word, n) || foreign_ending(word, n) || foreign_singular(word, n);
}

/* Whether a word in -is or -us is the plural of one without the s: "wikis", "emus". */
static int is_of_vowel(const Data *data, const uint8_t *word, uint32_t n) {
    if (mask_of(data, base_hash(word, n)) & MASK_NOUN) return 0;
    if (mask_of(data, base_hash(word, n - 1)) & MASK_NOUN) return 1;
    return is_of_unknown_vowel(word, n);
}

/* Write the singular of a lower-cased plural, by rule, to `out`, which is large enough. */
static uint32_t singular(const Data *data, const uint8_t *word, uint32_t n, uint8_t *out) {
    if (has_ending(word, n, "men") && n > 3 && is_of_men(data, word, n, out)) return n;
    memcpy(out, word, n);
    unsigned mask = mask_of(data, base_hash(word, n));
    if (!mask && foreign_ending(word, n)) return n - foreign_ending(word, n);
    /* A form that the lexicon has only as a singular is one whatever its tag: "bias". */
    if ((mask & MASK_NOUN) && !(mask & MASK_PLURAL)) return n;
    if (has_ending(word, n, "ies") && n > 4)
        return in_list(IE_NOUNS, word, n - 1) ? n - 1 : (out[n - 3] = 'y', n - 2);
    if (n > 4 && (has_ending(word, n, "us") || has_ending(word, n, "is"))
        && is_of_vowel(data, word, n))
        return n - 1;
    if (has_ending(word, n, "sses") || has_ending(word, n, "xes") || has_ending(word, n, "zzes")
        || has_ending(word, n, "ches") || has_ending(word, n, "shes"))
        return n - 2;
    if (has_ending(word, n, "s") && !has_ending(word, n, "ss") && !has_ending(word, n, "us")
        && !has_ending(word, n, "is"))
        return n - 1;
    return n;
}

/* Write the singular of a lower-cased plural to `out`, which has `room` bytes. */
static uint32_t noun_lemma(const Data *data, const uint8_t *word, uint32_t n, uint8_t *out,
                           uint32_t room) {
    const char *listed = foreign_singular(word, n);
    if (!listed) listed = (const char *)exception_of(data, word, n, 'n');
    if (listed && strlen(listed) < room) {
        memcpy(out, listed, strlen(listed));
        return (uint32_t)strlen(listed);
    }
    /* The last part of a word with a hyphen is its noun: "meta-analyses", "ex-wives". */
    uint32_t start = n;
    while (start && word[start - 1] != '-') start--;
    if (!start || start == n || mask_of(data, base_hash(word, n)))
        return singular(data, word, n, out);
    memcpy(out, word, start);
    return start + noun_lemma(data, word + start, n - start, out + start, room - start);
}

/* The positive of a comparative or superlative: the form without its ending and the spelling
   change, if the lexicon has it as an adjective (bit 2); else the form. */
static uint32_t positive(const Data *data, const uint8_t *word, uint32_t n, uint32_t ending,
                         uint8_t *out) {
    uint32_t stem = n > ending ? n - ending : 0;
    if (stem < 2) return memcpy(out, word, n), n;
    memcpy(out, word, stem);
    if (out[stem - 1] == 'i') {
        out[stem - 1] = 'y';
        if (mask_of(data, base_hash(out, stem)) & 4) return stem;
        out[stem - 1] = 'i';
    }
    if (stem > 2 && out[stem - 1] == out[stem - 2] && (mask_of(data, base_hash(out, stem - 1)) & 4)
        && !(mask_of(data, base_hash(out, stem)) & 4))
        return stem - 1;
    if (mask_of(data, base_hash(out, stem)) & 4) return stem;
    out[stem] = 'e';
    if (mask_of(data, base_hash(out, stem + 1)) & 4) return stem + 1;
    return memcpy(out, word, n), n;
}

static void find_lemma(Vocabulary *v, Type *t, int tag) {
    uint8_t out[WORD_ROOM];
    uint32_t n = t->low_length, *at = tag == NNS ? &t->noun_at : &t->adjective_at;
    uint32_t *length = tag == NNS ? &t->noun_length : &t->adjective_length;
    const uint8_t *word = v->arena + t->low_at;
    const uint8_t *listed =
        tag == NNS ? NULL : exception_of(v->data, word, n, tag == JJR ? 'r' : 's');
    if (tag == NNS)
        n = noun_lemma(v->data, word, n, out, sizeof out);
    else if (listed && strlen((const char *)listed) < sizeof out)
        memcpy(out, listed, n = (uint32_t)strlen((const char *)listed));
    else
        n = positive(v->data, word, n, tag == JJR ? 2 : 3, out);
    *at = keep_bytes(v, out, n);
    *length = n;
}

/* The lower-cased lemma of a token with its tag; for a name, its form. */
static const uint8_t *lemma_of(Vocabulary *v, const Token *token, uint32_t *n) {
    Type *t = &v->types[token->type];
    /* A form that the lexicon has only as a plural is one whatever its tag. */
    int is_plural = token->tag == NN
                    && (t->mask ? (t->mask & MASK_PLURAL) && !(t->mask & MASK_NOUN)
                                : is_unknown_plural(v->arena + t->low_at, t->low_length));
    if (token->tag == NNS || is_plural) {
        if (!t->noun_length) find_lemma(v, t, NNS);
        return *n = t->noun_length, v->arena + t->noun_at;
    }
    if (token->tag == JJR || token->tag == JJS) {
        /* A form is never both comparative and superlative, so one slot is enough. */
        if (!t->adjective_length) find_lemma(v, t, token->tag);
        return *n = t->adjective_length, v->arena + t->adjective_at;
    }
    if (token->tag == NNP) return *n = t->length, v->arena + t->at;
    return *n = t->low_length, v->arena + t->low_at;
}

/* --------------------------------------------------------------------------------- pairs */

typedef struct {
    uint64_t hash; /* first, for `grow_index` */
    uint32_t at;   /* adjective and noun, one after the other */
    uint32_t adjective, noun;
    int64_t count;
} Pair;

enum { HEAD_NOT_NOUN, NO_LETTER, FRAGMENT, REASONS };
static const char *const REASON_NAMES[] = {"head_not_noun", "no_letter_or_digit",
                                           "hyphen_fragment"};

typedef struct {
    PyObject_HEAD
    PyObject *data_owner;
    Data data;
    Model model;
    int has_model;
    Vocabulary v;
    int16_t edge[2 * GROUPS * CLASSES];
    Hypothesis *h;
    Token *tokens;
    uint32_t token_count, token_room;
    uint32_t *opens; /* first token of each sentence */
    uint32_t open_count, open_room;
    /* counting */
    int adjective_by_lemma, noun_by_lemma, lowercase, proper_nouns, plural;
    Pair *pairs;
    uint32_t pair_count, pair_room, *pair_index, pair_slots;
    uint8_t *pair_bytes;
    size_t pair_used, pair_size;
    int64_t sentences, words, amod, counted, left_out[REASONS];
    char sample[REASONS][200];
} Extractor;

static void on_type(void *owner, uint32_t type) {
    Extractor *x = owner;
    if (x->has_model) sum_word(&x->model, &x->v, type);
}

static int add_pair(Extractor *x, const uint8_t *a, uint32_t na, const uint8_t *b, uint32_t nb) {
    uint64_t hash = mix(hash_bytes(a, na), hash_bytes(b, nb));
    if (!grow_index(&x->pair_index, &x->pair_slots, x->pairs, x->pair_count, sizeof(Pair)))
        return 0;
    uint32_t mask = x->pair_slots - 1, slot = (uint32_t)hash & mask;
    for (; x->pair_index[slot]; slot = (slot + 1) & mask) {
        Pair *p = &x->pairs[x->pair_index[slot] - 1];
        if (p->hash == hash && p->adjective == na && p->noun == nb
            && memcmp(x->pair_bytes + p->at, a, na) == 0
            && memcmp(x->pair_bytes + p->at + na, b, nb) == 0)
            return p->count++, 1;
    }
    if (!has_room((void **)&x->pairs, &x->pair_room, x->pair_count + 1, sizeof(Pair))) return 0;
    if (x->pair_used + na + nb > x->pair_size) {
        size_t size = x->pair_size * 2 + na + nb + 65536;
        if (size > UINT32_MAX || !reserve((void **)&x->pair_bytes, size, 1)) return 0;
        x->pair_size = size;
    }
    memcpy(x->pair_bytes + x->pair_used, a, na);
    memcpy(x->pair_bytes + x->pair_used + na, b, nb);
    x->pairs[x->pair_count] = (Pair){hash, (uint32_t)x->pair_used, na, nb, 1};
    x->pair_used += na + nb;
    x->pair_index[slot] = ++x->pair_count;
    return 1;
}

static uint32_t lowered(const Data *data, const uint8_t *p, uint32_t n, uint8_t *out) {
    uint32_t size = 0;
    for (uint32_t at = 0, step; at < n; at += step) {
        uint32_t code = decode(p + at, p + n, &step);
        size += put_code(out + size, code < 0x10000 ? data->lowered[code] : code);
    }
    return size;
}

/* The adjective of a pair: empty (0) without letter or digit. */
static const uint8_t *word_of(Extractor *x, const Token *token, int by_lemma, uint8_t *room,
                              uint32_t *n) {
    Type *t = &x->v.types[token->type];
    if (!by_lemma) {
        *n = x->lowercase ? t->low_length : t->length;
        return x->v.arena + (x->lowercase ? t->low_at : t->at);
    }
    const uint8_t *lemma = lemma_of(&x->v, token, n);
    if (!x->lowercase || token->tag != NNP) return lemma;
    *n = lowered(&x->data, lemma, *n, room);
    return room;
}

static int touches_hyphen(const Extractor *x, uint32_t i) {
    const Token *t = x->tokens;
    if (i > 0 && !t[i - 1].space_after && x->v.types[t[i - 1].type].kind == HYPHEN) return 1;
    return i + 1 < x->token_count && !t[i].space_after
           && x->v.types[t[i + 1].type].kind == HYPHEN;
}

static void leave_out(Extractor *x, int reason, const Token *a, const Token *b) {
    const Type *t = &x->v.types[a->type], *u = &x->v.types[b->type];
    char sample[200];
    size_t n = t->low_length < 90 ? t->low_length : 90, m = u->low_length < 90 ? u->low_length : 90;
    memcpy(sample, x->v.arena + t->low_at, n);
    sample[n] = ' ';
    memcpy(sample + n + 1, x->v.arena + u->low_at, m);
    sample[n + m + 1] = 0;
    if (x->left_out[reason]++ == 0 || strcmp(sample, x->sample[reason]) < 0)
        strcpy(x->sample[reason], sample);
}

static int count_sentence(Extractor *x, uint32_t first, uint32_t n) {
    uint8_t room[WORD_ROOM], other[WORD_ROOM];
    for (uint32_t i = first; i < first + n; i++) {
        Token *a = &x->tokens[i];
        if (a->head < 0) continue;
        Token *b = &x->tokens[first + (uint32_t)a->head];
        x->amod++;
        if ((b->tag == NNP && !x->proper_nouns) || (b->tag == NNS && !x->plural)) {
            leave_out(x, HEAD_NOT_NOUN, a, b);
        } else if (touches_hyphen(x, i) || touches_hyphen(x, first + (uint32_t)a->head)) {
            leave_out(x, FRAGMENT, a, b);
        } else {
            uint32_t na, nb;
            const uint8_t *adjective = word_of(x, a, x->adjective_by_lemma, room, &na);
            /* The arena may move when a lemma is added to it. */
            if (adjective != room) memcpy(room, adjective, na);
            const uint8_t *noun = word_of(x, b, x->noun_by_lemma, other, &nb);
            if (!na || !nb || !x->v.types[a->type].alnum) {
                leave_out(x, NO_LETTER, a, b);
                continue;
            }
            x->counted++;
            if (!add_pair(x, room, na, noun, nb)) return 0;
        }
    }
    return 1;
}

/* --------------------------------------------------------------------------------- text */

static int push_open(Extractor *x, uint32_t at) {
    if (!has_room((void **)&x->opens, &x->open_room, x->open_count + 1, sizeof *x->opens)) return 0;
    x->opens[x->open_count++] = at;
    return 1;
}

/* Tokens and sentences of the text read since `first`; one sentence if `whole`. */
static int split_sentences(Extractor *x, uint32_t first, int whole) {
    uint32_t open = first;
    if (first == x->token_count) return 1;
    x->tokens[x->token_count - 1].space_after = 1;
    if (!push_open(x, first)) return 0;
    for (uint32_t i = first + 1; i < x->token_count; i++)
        if ((!whole && opens_sentence(&x->v, x->tokens + open, i - open))
            || i - open >= MAX_SENTENCE) {
            if (!push_open(x, i)) return 0;
            open = i;
        }
    return 1;
}

static Sentence sentence(const Extractor *x, uint32_t k) {
    uint32_t first = x->opens[k], end = k + 1 < x->open_count ? x->opens[k + 1] : x->token_count;
    return (Sentence){&x->v, x->tokens + first, end - first};
}

static void tag_from(Extractor *x, uint32_t open) {
    for (uint32_t k = open; k < x->open_count; k++) {
        Sentence s = sentence(x, k);
        tag_sentence(&x->model, &s, x->edge);
        find_heads(&x->model, &s, x->h);
    }
}

/* Text without capital letters, in which names look like nouns and adjectives. */
static int is_lower_case(const Extractor *x, uint32_t first) {
    uint32_t words = 0;
    for (uint32_t i = first; i < x->token_count; i++) {
        const Type *t = &x->v.types[x->tokens[i].type];
        if (t->capital) return 0;
        words += t->small;
    }
    return words >= 4;
}

/* Reads nouns and adjectives as names that the lexicon has only as names, and nouns that it does not
   have: in text without capitals, most of these are names. */
static void find_lower_case_names(Extractor *x, uint32_t open) {
    for (uint32_t k = open; k < x->open_count; k++) {
        Sentence s = sentence(x, k);
        for (uint32_t i = 0; i < s.n; i++) {
            Token *a = &s.tokens[i];
            if (a->head < 0) continue;
            Token *noun = &s.tokens[a->head];
            uint16_t mask = x->v.types[noun->type].mask, of_adjective = x->v.types[a->type].mask;
            if (!mask || ((mask & MASK_NAME) && !(mask & MASK_NOUN))) noun->tag = NNP;
            if ((of_adjective & MASK_NAME) && !(of_adjective & MASK_ADJECTIVE)) a->head = -1;
        }
    }
}

static int count_all(Extractor *x) {
    for (uint32_t k = 0; k < x->open_count; k++)
        if (!count_sentence(x, x->opens[k], sentence(x, k).n)) return 0;
    x->sentences += x->open_count;
    x->words += x->token_count;
    x->token_count = x->open_count = 0;
    return 1;
}

enum { KEEP, COUNT, SPLIT_ONLY, LINES_ARE_SENTENCES };

/* Forgets the words of earlier texts if they have become too many. */
static void forget_if_full(Vocabulary *v) {
    if (v->type_count > TYPES_AT_ONCE || v->arena_used > ARENA_AT_ONCE) forget(v);
}

/* Processes the tokens since `first`, if there are any. */
static int finish_part(Extractor *x, uint32_t first, int mode) {
    uint32_t open = x->open_count;
    if (!split_sentences(x, first, mode == LINES_ARE_SENTENCES)) return 0;
    if (mode == KEEP || mode == COUNT) {
        tag_from(x, open);
        if (is_lower_case(x, first)) find_lower_case_names(x, open);
    }
    if (mode == COUNT) {
        if (!count_all(x)) return 0;
        forget_if_full(&x->v);
    }
    return 1;
}

static int read_text(Extractor *x, const uint8_t *p, size_t size, int newline_ends, int mode) {
    const uint8_t *end = p + size, *at = p;
    uint32_t first = x->token_count;
    int ended = 0;
    while (at < end) {
        uint32_t gap, lines = 0;
        const uint8_t *from = at;
        while (at < end && (gap = space_at(at, end))) lines += *at == '\n', at += gap;
        if (at > from && x->token_count > first) x->tokens[x->token_count - 1].space_after = 1;
        ended = lines >= (newline_ends ? 1u : 2u);
        if ((ended || at >= end || x->token_count - first >= TOKENS_AT_ONCE)
            && x->token_count > first) {
            if (!finish_part(x, first, mode)) return 0;
            first = x->token_count;
        }
        if (at >= end) break;
        const uint8_t *start = at;
        while (at < end && at - start < CHUNK_BYTES && !space_at(at, end)) at++;
        /* Do not cut within a character. */
        if (at < end && at - start >= CHUNK_BYTES)
            for (int k = 0; k < 3 && (*at & 0xC0) == 0x80; k++) at--;
        uint32_t chunk = chunk_of(&x->v, start, (uint32_t)(at - start));
        if (x->v.failed) return 0;
        Chunk c = x->v.chunks[chunk];
        if (!has_room((void **)&x->tokens, &x->token_room, x->token_count + c.count, sizeof(Token)))
            return 0;
        for (uint32_t k = 0; k < c.count; k++) {
            Piece piece = x->v.pieces[c.first + k];
            Token *t = &x->tokens[x->token_count++];
            memset(t, 0, sizeof *t);
            t->begin = (uint32_t)(start - p) + piece.offset;
            t->end = t->begin + piece.length;
            t->type = piece.type;
            t->head = -1;
        }
    }
    return x->token_count == first || finish_part(x, first, mode);
}

/* Score contributions of the positions before and after a sentence. */
static void sum_edges(Extractor *x) {
    uint32_t rows[MAX_ROWS];
    memset(x->edge, 0, sizeof x->edge);
    for (int group = 0; group < GROUPS; group++) {
        add_rows(x->model.tag, rows, word_rows(&BEFORE, group, rows), x->edge + group * CLASSES);
        add_rows(x->model.tag, rows, word_rows(&AFTER, group, rows),
                 x->edge + (GROUPS + group) * CLASSES);
    }
}

#include "_train.h"

/* --------------------------------------------------------------------------------- Python */

static int data_buffer(PyObject *data, const char *name, const void **out, Py_ssize_t *size) {
    PyObject *value = PyDict_GetItemString(data, name);
    if (value == NULL || !PyBytes_Check(value)) {
        PyErr_Format(PyExc_ValueError, "data: expected bytes under %s", name);
        return 0;
    }
    *out = PyBytes_AsString(value);
    *size = PyBytes_Size(value);
    return 1;
}

/* The sorted hashes of words, and the value of each. */
static int take_words(PyObject *data, const char *name, const char *value_name,
                      const uint32_t **hashes, const uint16_t **values, uint32_t *size) {
    Py_ssize_t n, m;
    if (!data_buffer(data, name, (const void **)hashes, &n)
        || !data_buffer(data, value_name, (const void **)values, &m))
        return 0;
    *size = (uint32_t)(n / 4);
    if (n != 2 * m)
        PyErr_Format(PyExc_ValueError, "%s and %s differ in length", name, value_name);
    return n == 2 * m;
}

static int take_model(Extractor *x, PyObject *data) {
    Py_ssize_t tag, head, limits;
    const void *numbers;
    if (!data_buffer(data, "tag", (const void **)&x->model.tag, &tag)
        || !data_buffer(data, "head", (const void **)&x->model.head, &head)
        || !data_buffer(data, "limits", &numbers, &limits))
        return 0;
    if (tag != (Py_ssize_t)CLASSES << TAG_BITS || head != (Py_ssize_t)1 << HEAD_BITS || limits != 16) {
        PyErr_SetString(PyExc_ValueError, "the model's tables have other sizes than this code expects");
        return 0;
    }
    int32_t values[4];
    memcpy(values, numbers, sizeof values);
    x->model.near_adjective = values[0];
    x->model.near_noun = values[1];
    x->model.near_name = values[2];
    x->model.bias = values[3];
    x->has_model = 1;
    sum_edges(x);
    return 1;
}

static int extractor_init(Extractor *x, PyObject *arguments, PyObject *names) {
    static char *keywords[] = {"data",      "adjective_by_lemma", "noun_by_lemma",
                               "lowercase", "proper_nouns",       "plural", NULL};
    PyObject *data;
    Py_ssize_t n, m, k;
    x->noun_by_lemma = x->lowercase = x->plural = 1;
    x->adjective_by_lemma = x->proper_nouns = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O!|ppppp", keywords, &PyDict_Type, &data,
                                     &x->adjective_by_lemma, &x->noun_by_lemma, &x->lowercase,
                                     &x->proper_nouns, &x->plural))
        return -1;
    if (x->data_owner) {
        PyErr_SetString(PyExc_RuntimeError, "an Extractor can be initialised only once");
        return -1;
    }
    /* A copy, so that nobody changes the data behind the pointers below. */
    x->data_owner = PyDict_Copy(data);
    if (x->data_owner == NULL) return -1;
    data = x->data_owner;
    if (!data_buffer(data, "classes", (const void **)&x->data.classes, &n)
        || !data_buffer(data, "lowered", (const void **)&x->data.lowered, &m))
        return -1;
    if (n != 65536 || m != 131072) {
        PyErr_SetString(PyExc_ValueError, "classes and lowered: expected 65,536 entries");
        return -1;
    }
    if (!take_words(data, "lexicon", "masks", &x->data.lexicon, &x->data.masks,
                    &x->data.lexicon_size)
        || !take_words(data, "cluster_hash", "clusters", &x->data.cluster_hash,
                       &x->data.cluster_of, &x->data.cluster_size))
        return -1;
    if (!data_buffer(data, "words", (const void **)&x->data.words, &k)
        || !data_buffer(data, "word_hash", (const void **)&x->data.word_hash, &n)
        || !data_buffer(data, "word_at", (const void **)&x->data.word_at, &m))
        return -1;
    x->data.word_count = (uint32_t)(n / 4);
    if (n != m || (k && x->data.words[k - 1] != 0)) {
        PyErr_SetString(PyExc_ValueError, "the exceptions of lemmas are damaged");
        return -1;
    }
    for (uint32_t i = 0; i < x->data.word_count; i++)
        if (x->data.word_at[i] + 3 > (uint32_t)k) {
            PyErr_SetString(PyExc_ValueError, "the exceptions of lemmas are damaged");
            return -1;
        }
    x->v.data = &x->data;
    x->v.owner = x;
    x->v.on_type = on_type;
    x->h = malloc(MAX_HYPOTHESES * sizeof *x->h);
    if (x->h == NULL) return PyErr_NoMemory(), -1;
    if (PyDict_GetItemString(data, "tag") && !take_model(x, data)) return -1;
    return 0;
}

static void extractor_free(Extractor *x) {
    release(&x->v);
    free(x->h);
    free(x->tokens);
    free(x->opens);
    free(x->pairs);
    free(x->pair_index);
    free(x->pair_bytes);
    Py_CLEAR(x->data_owner);
    PyTypeObject *type = Py_TYPE((PyObject *)x);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(x);
    Py_DECREF(type); /* which each object of a type made from a specification holds */
}

static PyObject *run(Extractor *x, PyObject *arguments, int mode) {
    Py_buffer text;
    int newline_ends = 0, ok;
    if (!PyArg_ParseTuple(arguments, "y*|p", &text, &newline_ends)) return NULL;
    if (!x->data_owner || ((mode == KEEP || mode == COUNT) && !x->has_model)) {
        PyBuffer_Release(&text);
        PyErr_SetString(PyExc_RuntimeError, "no model was given");
        return NULL;
    }
    if ((size_t)text.len > (size_t)UINT32_MAX - 16) {
        PyBuffer_Release(&text);
        PyErr_SetString(PyExc_ValueError, "a text must be shorter than 4 GB");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    x->token_count = x->open_count = 0;
    if (mode != SPLIT_ONLY && mode != LINES_ARE_SENTENCES) forget_if_full(&x->v);
    ok = read_text(x, text.buf, (size_t)text.len, newline_ends, mode);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&text);
    if (!ok) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *extractor_feed(Extractor *x, PyObject *arguments) {
    return run(x, arguments, COUNT);
}

static PyObject *extractor_split(Extractor *x, PyObject *arguments) {
    return run(x, arguments, SPLIT_ONLY);
}

static PyObject *extractor_split_lines(Extractor *x, PyObject *arguments) {
    return run(x, arguments, LINES_ARE_SENTENCES);
}

static PyObject *extractor_parse(Extractor *x, PyObject *arguments) {
    return run(x, arguments, KEEP);
}

/* The tokens of the last text: arrays of begin, end, tag, head, space_after and lemma. */
static PyObject *extractor_tokens(Extractor *x, PyObject *ignored) {
    (void)ignored;
    Py_ssize_t n = x->token_count;
    PyObject *begin = PyBytes_FromStringAndSize(NULL, n * 4), *end = PyBytes_FromStringAndSize(NULL, n * 4),
             *tag = PyBytes_FromStringAndSize(NULL, n), *head = PyBytes_FromStringAndSize(NULL, n * 4),
             *space = PyBytes_FromStringAndSize(NULL, n),
             *opens = PyBytes_FromStringAndSize((const char *)x->opens, (Py_ssize_t)x->open_count * 4);
    if (!begin || !end || !tag || !head || !space || !opens) {
        Py_XDECREF(begin), Py_XDECREF(end), Py_XDECREF(tag), Py_XDECREF(head), Py_XDECREF(space),
            Py_XDECREF(opens);
        return NULL;
    }
    char *begins = PyBytes_AsString(begin), *ends = PyBytes_AsString(end),
         *tags = PyBytes_AsString(tag), *heads = PyBytes_AsString(head),
         *spaces = PyBytes_AsString(space);
    for (Py_ssize_t i = 0; i < n; i++) {
        const Token *t = &x->tokens[i];
        memcpy(begins + 4 * i, &t->begin, 4);
        memcpy(ends + 4 * i, &t->end, 4);
        memcpy(heads + 4 * i, &t->head, 4);
        tags[i] = (char)t->tag;
        spaces[i] = (char)t->space_after;
    }
    return Py_BuildValue("NNNNNN", begin, end, tag, head, space, opens);
}

/* The lemma of token i of the last text. */
static PyObject *extractor_lemma(Extractor *x, PyObject *number) {
    Py_ssize_t i = PyNumber_AsSsize_t(number, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred()) return NULL;
    if (i < 0 || i >= (Py_ssize_t)x->token_count) {
        PyErr_SetString(PyExc_IndexError, "no such token");
        return NULL;
    }
    uint32_t n;
    const uint8_t *lemma = lemma_of(&x->v, &x->tokens[i], &n);
    if (x->v.failed) return PyErr_NoMemory();
    return PyUnicode_DecodeUTF8((const char *)lemma, n, "replace");
}

/* The lemma of one word with a tag (the number of a class of the model). */
static PyObject *extractor_lemmatize(Extractor *x, PyObject *arguments) {
    const char *form;
    Py_ssize_t n;
    int tag;
    if (!PyArg_ParseTuple(arguments, "y#i", &form, &n, &tag)) return NULL;
    if (n < 1 || n > CHUNK_BYTES) return PyErr_SetString(PyExc_ValueError, "a word must have 1 to 500 bytes"), NULL;
    Character c[CHUNK_BYTES + 1];
    uint32_t count = 0;
    for (uint32_t at = 0, size; at < (uint32_t)n; at += size) {
        uint32_t code = decode((const uint8_t *)form + at, (const uint8_t *)form + n, &size);
        c[count++] = (Character){code, (uint16_t)at, class_of(&x->data, code)};
    }
    Token token = {.tag = (uint8_t)tag};
    token.type = type_of(&x->v, (const uint8_t *)form, c, count, (uint32_t)n);
    uint32_t size;
    const uint8_t *lemma = x->v.failed ? NULL : lemma_of(&x->v, &token, &size);
    if (x->v.failed) return PyErr_NoMemory();
    return PyUnicode_DecodeUTF8((const char *)lemma, size, "replace");
}

static PyObject *extractor_drain(Extractor *x, PyObject *ignored) {
    (void)ignored;
    Py_ssize_t n = x->pair_count;
    size_t sizes[2] = {0, 0};
    for (Py_ssize_t i = 0; i < n; i++) sizes[0] += x->pairs[i].adjective, sizes[1] += x->pairs[i].noun;
    if (sizes[0] > INT32_MAX || sizes[1] > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "drain before the pairs hold 2 GB");
        return NULL;
    }
    PyObject *offsets[2], *bytes[2], *counts = PyBytes_FromStringAndSize(NULL, n * 8);
    int failed = counts == NULL;
    for (int k = 0; k < 2; k++) {
        offsets[k] = PyBytes_FromStringAndSize(NULL, (n + 1) * 4);
        bytes[k] = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sizes[k]);
        failed |= !offsets[k] || !bytes[k];
    }
    if (failed) {
        Py_XDECREF(counts);
        for (int k = 0; k < 2; k++) Py_XDECREF(offsets[k]), Py_XDECREF(bytes[k]);
        return NULL;
    }
    for (int k = 0; k < 2; k++) {
        char *starts = PyBytes_AsString(offsets[k]), *letters = PyBytes_AsString(bytes[k]);
        int32_t at = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            const Pair *p = &x->pairs[i];
            uint32_t size = k ? p->noun : p->adjective;
            memcpy(starts + 4 * i, &at, 4);
            memcpy(letters + at, x->pair_bytes + p->at + (k ? p->adjective : 0), size);
            at += (int32_t)size;
        }
        memcpy(starts + 4 * n, &at, 4);
    }
    char *numbers = PyBytes_AsString(counts);
    for (Py_ssize_t i = 0; i < n; i++) memcpy(numbers + 8 * i, &x->pairs[i].count, 8);
    x->pair_count = 0;
    x->pair_used = 0;
    if (x->pair_index) memset(x->pair_index, 0, x->pair_slots * sizeof *x->pair_index);
    return Py_BuildValue("nNNNNN", n, offsets[0], bytes[0], offsets[1], bytes[1], counts);
}

static PyObject *extractor_stats(Extractor *x, PyObject *ignored) {
    (void)ignored;
    PyObject *left_out = PyDict_New();
    if (left_out == NULL) return NULL;
    for (int k = 0; k < REASONS; k++) {
        if (!x->left_out[k]) continue;
        PyObject *sample = PyUnicode_DecodeUTF8(x->sample[k], (Py_ssize_t)strlen(x->sample[k]), "replace");
        PyObject *value = sample ? Py_BuildValue("LN", (long long)x->left_out[k], sample) : NULL;
        if (value == NULL || PyDict_SetItemString(left_out, REASON_NAMES[k], value) < 0) {
            Py_XDECREF(value);
            Py_DECREF(left_out);
            return NULL;
        }
        Py_DECREF(value);
    }
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:N}", "sentences", (long long)x->sentences, "tokens",
                         (long long)x->words, "amod", (long long)x->amod, "pairs",
                         (long long)x->counted, "left_out", left_out);
}

static PyObject *extractor_nbytes(Extractor *x, void *ignored) {
    (void)ignored;
    return PyLong_FromSize_t(x->pair_used + (size_t)x->pair_room * sizeof(Pair)
                             + (size_t)x->pair_slots * 4);
}

static PyObject *word_hash(PyObject *module, PyObject *arguments) {
    const char *form;
    Py_ssize_t n;
    int kind = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#|C", &form, &n, &kind)) return NULL;
    uint64_t hash = hash_bytes((const uint8_t *)form, (size_t)n);
    return PyLong_FromUnsignedLong((unsigned long)((kind ? mix(hash, (uint64_t)kind) : hash) >> 32));
}

static PyMethodDef extractor_methods[] = {
    {"feed", (PyCFunction)extractor_feed, METH_VARARGS, "Count the pairs of a text (bytes, newline_ends)."},
    {"parse", (PyCFunction)extractor_parse, METH_VARARGS, "Tokens, tags and heads of a text, for tokens()."},
    {"split", (PyCFunction)extractor_split, METH_VARARGS, "Tokens and sentences of a text, for tokens()."},
    {"split_lines", (PyCFunction)extractor_split_lines, METH_VARARGS, "Tokens of a text, one sentence per paragraph."},
    {"tokens", (PyCFunction)extractor_tokens, METH_NOARGS, "begin, end, tag, head, space_after, first tokens of sentences."},
    {"lemma", (PyCFunction)extractor_lemma, METH_O, "The lemma of a token of the last text."},
    {"lemmatize", (PyCFunction)extractor_lemmatize, METH_VARARGS, "The lemma of a word with a tag."},
    {"drain", (PyCFunction)extractor_drain, METH_NOARGS, "The pairs counted since the last drain."},
    {"stats", (PyCFunction)extractor_stats, METH_NOARGS, "Statistics of the text read so far."},
    {"train_tags", (PyCFunction)extractor_train_tags, METH_VARARGS, "Weights of the tagger."},
    {"train_heads", (PyCFunction)extractor_train_heads, METH_VARARGS, "Weights of the head finder."},
    {"features", (PyCFunction)extractor_features, METH_VARARGS, "Feature rows and tag scores of a token."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef extractor_members[] = {
    {"nbytes", (getter)extractor_nbytes, NULL, "bytes of memory that the pairs hold", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot extractor_slots[] = {
    {Py_tp_doc, "Pairs from text; used by one thread at a time."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_init, extractor_init},
    {Py_tp_dealloc, extractor_free},
    {Py_tp_methods, extractor_methods},
    {Py_tp_getset, extractor_members},
    {0, NULL}};

static PyType_Spec extractor_spec = {.name = "adnominal.etl.parsing.fast._fast.Extractor",
                                     .basicsize = sizeof(Extractor),
                                     .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                     .slots = extractor_slots};

static PyMethodDef module_methods[] = {
    {"word_hash", word_hash, METH_VARARGS, "The hash of a word in the lexicon or, with a kind, in the lemma table."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", "Compiled extraction of pairs from text.", -1,
                             module_methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__fast(void) {
    PyObject *m = PyModule_Create(&module);
    PyObject *type = m ? PyType_FromModuleAndSpec(m, &extractor_spec, NULL) : NULL;
    if (type == NULL || PyModule_AddObjectRef(m, "Extractor", type) < 0
        || PyModule_AddStringConstant(m, "FORMAT", "adnominal-fast-2") < 0
        || PyModule_AddIntConstant(m, "TAG_ROWS", 1 << TAG_BITS) < 0
        || PyModule_AddIntConstant(m, "HEAD_ROWS", 1 << HEAD_BITS) < 0)
        Py_CLEAR(m);
    Py_XDECREF(type);
    return m;
}
