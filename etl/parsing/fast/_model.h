/* Tags and heads: sums of weights selected by hashed features. The same functions compute the
   features in training and at run time; at run time, features of a single word are summed once per
   distinct word. Sums are of integers, so results are the same on every machine. */
#ifndef FAST_MODEL_H
#define FAST_MODEL_H

#include "_text.h"

#define TAG_BITS 18
#define HEAD_BITS 19
#define MAX_ROWS 64
#define MAX_SENTENCE 300
#define BEHIND 12 /* tokens after the adjective that are searched for its noun */
#define AHEAD 4   /* tokens before it */
#define MAX_HYPOTHESES (2 * (BEHIND + AHEAD) + 1)

/* Penn tags that the model distinguishes; etl/parsing/fast/model.py names them. */
enum { CC, CD, DT, EX, FW, IN, JJ, JJR, JJS, MD, NN, NNS, NNP, POS, PRP, PRPS, RB, RBR, RP, TO, UH,
       VB, VBD, VBG, VBN, VBP, VBZ, WDT, WRB, STOP, COMMA, PUNCT };

typedef struct {
    const int8_t *tag;  /* 2^TAG_BITS rows of CLASSES */
    const int8_t *head; /* 2^HEAD_BITS */
    int32_t near_adjective, near_noun, near_name; /* maximum distance of a tag's score from the best */
    int32_t bias;                                 /* added to the score of "no noun" */
} Model;

typedef struct {
    const Vocabulary *v;
    Token *tokens;
    uint32_t n;
} Sentence;

static const Type BEFORE = {.exact = 11, .low = 11, .suffix = {11, 11, 11, 11, 11}, .shape = 11,
                            .mask = 0x8000, .cluster = 0xFFFE};
static const Type AFTER = {.exact = 13, .low = 13, .suffix = {13, 13, 13, 13, 13}, .shape = 13,
                           .mask = 0x8001, .cluster = 0xFFFF};
#define NO_TAG 33u

static inline const Type *word(const Sentence *s, int64_t i) {
    return i < 0 ? &BEFORE : i >= (int64_t)s->n ? &AFTER : &s->v->types[s->tokens[i].type];
}

static inline uint32_t tag_row(uint64_t template, uint64_t a, uint64_t b) {
    return (uint32_t)(mix(a + template * 0x632BE59BD9B4E019ull, b) >> (64 - TAG_BITS));
}

static inline uint32_t head_row(uint64_t template, uint64_t a, uint64_t b) {
    return (uint32_t)(mix(a + template * 0x632BE59BD9B4E019ull, b + 77) >> (64 - HEAD_BITS));
}

/* -------------------------------------------------------------------------- features of tags */

enum { CURRENT, PREVIOUS, NEXT, PREVIOUS2, NEXT2, GROUPS };

static uint32_t word_rows(const Type *t, int group, uint32_t *out) {
    uint32_t n = 0;
    uint64_t base = 100 * (uint64_t)(group + 1);
    out[n++] = tag_row(base, t->low, 0);
    out[n++] = tag_row(base + 1, t->mask, 0);
    out[n++] = tag_row(base + 2, t->suffix[1], 0);
    out[n++] = tag_row(base + 16, t->cluster, 0);
    if (group == PREVIOUS2 || group == NEXT2) return n;
    out[n++] = tag_row(base + 3, t->suffix[2], 0);
    out[n++] = tag_row(base + 4, t->shape, 0);
    if (group != CURRENT) return n;
    out[n++] = tag_row(base + 5, 1, 0);
    if (t->capital) out[n++] = tag_row(base + 6, t->exact, 0);
    out[n++] = tag_row(base + 7, t->suffix[0], 0);
    out[n++] = tag_row(base + 8, t->suffix[3], 0);
    out[n++] = tag_row(base + 9, t->suffix[4], 0);
    for (uint32_t k = 0; k < 3; k++) out[n++] = tag_row(base + 10 + k, t->prefix[k], 0);
    out[n++] = tag_row(base + 13, t->suffix[1], t->shape);
    out[n++] = tag_row(base + 14, t->suffix[2], t->mask);
    out[n++] = tag_row(base + 15, t->shape, t->mask);
    out[n++] = tag_row(base + 17, t->cluster, t->suffix[2]);
    out[n++] = tag_row(base + 18, t->cluster, t->shape);
    return n;
}

static uint32_t neighbour_rows(const Sentence *s, uint32_t i, uint32_t *out) {
    const Type *t = word(s, i), *before = word(s, (int64_t)i - 1), *after = word(s, (int64_t)i + 1);
    uint32_t n = 0, first = i == 0 || word(s, (int64_t)i - 1)->kind == OPENING;
    out[n++] = tag_row(20, before->low, t->low);
    out[n++] = tag_row(21, t->low, after->low);
    out[n++] = tag_row(22, before->mask, t->mask);
    out[n++] = tag_row(23, t->mask, after->mask);
    out[n++] = tag_row(24, (uint64_t)before->mask << 16 | after->mask, t->mask);
    out[n++] = tag_row(25, first, t->shape);
    out[n++] = tag_row(26, t->suffix[2], after->mask);
    out[n++] = tag_row(27, before->low, after->low);
    out[n++] = tag_row(29, before->cluster, t->cluster);
    out[n++] = tag_row(30, t->cluster, after->cluster);
    if (first && t->capital) out[n++] = tag_row(28, t->low, 0);
    return n;
}

static uint32_t history_rows(const Sentence *s, uint32_t i, uint32_t *out) {
    const Type *t = word(s, i), *after = word(s, (int64_t)i + 1);
    uint64_t one = i > 0 ? s->tokens[i - 1].tag : NO_TAG, two = i > 1 ? s->tokens[i - 2].tag : NO_TAG;
    uint64_t both = one << 8 | two;
    uint32_t n = 0;
    out[n++] = tag_row(40, one, 0);
    out[n++] = tag_row(41, both, 0);
    out[n++] = tag_row(42, one, t->low);
    out[n++] = tag_row(43, one, t->mask);
    out[n++] = tag_row(44, one, t->suffix[2]);
    out[n++] = tag_row(45, one, after->low);
    out[n++] = tag_row(46, one, (uint64_t)t->mask << 16 | after->mask);
    out[n++] = tag_row(47, both, t->mask);
    out[n++] = tag_row(48, both, t->low);
    out[n++] = tag_row(49, both, after->mask);
    out[n++] = tag_row(50, one, t->cluster);
    out[n++] = tag_row(51, one, (uint64_t)t->mask << 16 | after->cluster);
    return n;
}

static void add_rows(const int8_t *weights, const uint32_t *rows, uint32_t n, int16_t *scores) {
    for (uint32_t r = 0; r < n; r++) {
        const int8_t *row = weights + (size_t)rows[r] * CLASSES;
        for (int k = 0; k < CLASSES; k++) scores[k] = (int16_t)(scores[k] + row[k]);
    }
}

/* Called for each new distinct word: its score contributions at each position. */
static void sum_word(const Model *model, Vocabulary *v, uint32_t type) {
    uint32_t rows[MAX_ROWS];
    int16_t *sums = v->sums + (size_t)type * GROUPS * CLASSES;
    memset(sums, 0, GROUPS * CLASSES * sizeof *sums);
    for (int group = 0; group < GROUPS; group++)
        add_rows(model->tag, rows, word_rows(&v->types[type], group, rows), sums + group * CLASSES);
}

static inline void add_sums(const Sentence *s, int64_t i, int group, const int16_t *edge,
                            int16_t *scores) {
    const int16_t *sums = i < 0 ? edge : i >= (int64_t)s->n ? edge + GROUPS * CLASSES
                          : s->v->sums + (size_t)s->tokens[i].type * GROUPS * CLASSES;
    sums += group * CLASSES;
    for (int k = 0; k < CLASSES; k++) scores[k] = (int16_t)(scores[k] + sums[k]);
}

static inline int16_t short_margin(int best, int other) {
    return (int16_t)(best - other > 30000 ? 30000 : best - other);
}

static void settle(Token *token, const int16_t *scores) {
    int best = 0;
    for (int k = 1; k < CLASSES; k++)
        if (scores[k] > scores[best]) best = k;
    int adjective = scores[JJ];
    if (scores[JJR] > adjective) adjective = scores[JJR];
    if (scores[JJS] > adjective) adjective = scores[JJS];
    int noun = scores[NN] > scores[NNS] ? scores[NN] : scores[NNS];
    token->tag = (uint8_t)best;
    token->adjective = short_margin(scores[best], adjective);
    token->noun = short_margin(scores[best], noun);
    token->name = short_margin(scores[best], scores[NNP]);
    token->readings = (uint8_t)((adjective == scores[JJ] ? JJ : adjective == scores[JJR] ? JJR : JJS)
                             | (noun == scores[NN] ? 0 : 64));
    token->head = -1;
    token->proper = token->governs = 0;
}

/* A token as an adjective and as a noun, whatever its best tag. */
static inline int adjective_tag(const Token *t) { return t->readings & 31; }
static inline int noun_tag(const Token *t) { return t->readings & 64 ? NNS : NN; }

/* If the compiler supports it, a second version with wider vectors, chosen at load time. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) \
    && !defined(PORTABLE)
#define CLONED __attribute__((target_clones("avx2", "default")))
#else
#define CLONED
#endif

#if defined(__GNUC__) || defined(__clang__)
#define FETCH(p) __builtin_prefetch(p)
#else
#define FETCH(p) ((void)(p))
#endif

static void fetch_rows(const int8_t *weights, const uint32_t *rows, uint32_t n) {
    for (uint32_t r = 0; r < n; r++) FETCH(weights + (size_t)rows[r] * CLASSES);
}

CLONED static void tag_sentence(const Model *model, const Sentence *s, const int16_t *edge) {
    /* The rows of the next token's neighbours are prefetched while a token is scored. */
    uint32_t here[2][MAX_ROWS], count[2];
    count[0] = neighbour_rows(s, 0, here[0]);
    for (uint32_t i = 0; i < s->n; i++) {
        int16_t scores[CLASSES] = {0};
        uint32_t *rows = here[i & 1], n = count[i & 1], *following = here[(i + 1) & 1];
        uint32_t history = history_rows(s, i, rows + n);
        fetch_rows(model->tag, rows + n, history);
        n += history;
        if (i + 1 < s->n) {
            count[(i + 1) & 1] = neighbour_rows(s, i + 1, following);
            fetch_rows(model->tag, following, count[(i + 1) & 1]);
        }
        add_sums(s, i, CURRENT, edge, scores);
        add_sums(s, (int64_t)i - 1, PREVIOUS, edge, scores);
        add_sums(s, (int64_t)i + 1, NEXT, edge, scores);
        add_sums(s, (int64_t)i - 2, PREVIOUS2, edge, scores);
        add_sums(s, (int64_t)i + 2, NEXT2, edge, scores);
        add_rows(model->tag, rows, n, scores);
        settle(&s->tokens[i], scores);
    }
}

/* ------------------------------------------------------------------------- features of heads */

typedef struct {
    int32_t noun; /* token of the sentence; -1: it modifies no noun */
    uint8_t proper;
    uint32_t n, rows[MAX_ROWS];
} Hypothesis;

static inline uint64_t tag_at(const Sentence *s, int64_t i) {
    return i < 0 ? 34 : i >= (int64_t)s->n ? 35 : s->tokens[i].tag;
}

static inline uint64_t step(int margin) {
    return margin <= 0 ? 0 : margin < 20 ? 1 : margin < 50 ? 2 : margin < 100 ? 3 : 4;
}

static int is_noun(uint64_t tag) { return tag == NN || tag == NNS || tag == NNP; }
static int is_verb(uint64_t tag) { return (tag >= VB && tag <= VBZ) || tag == MD; }

/* What is between two tokens, as bits: verb, preposition, conjunction, comma, determiner,
   other punctuation, and up to three nouns. */
static uint64_t between(const Sentence *s, int64_t from, int64_t to) {
    uint64_t bits = 0, nouns = 0;
    for (int64_t k = from; k < to; k++) {
        uint64_t tag = tag_at(s, k);
        if (is_verb(tag)) bits |= 1;
        if (tag == IN || tag == TO || tag == WDT || tag == WRB) bits |= 2;
        if (tag == CC) bits |= 4;
        if (tag == COMMA) bits |= 8;
        if (tag == DT || tag == PRPS || tag == POS || tag == PRP) bits |= 16;
        if (tag == PUNCT || tag == STOP) bits |= 32;
        if (is_noun(tag) && nouns < 3) nouns++;
    }
    return bits | nouns << 6;
}

static uint64_t tags_between(const Sentence *s, int64_t from, int64_t to) {
    uint64_t hash = 3;
    for (int64_t k = from; k < to; k++) {
        uint64_t tag = tag_at(s, k);
        hash = hash * 67 + (tag == JJR || tag == JJS ? JJ : tag == NNS ? NN : tag) + 1;
    }
    return hash;
}

static void none_rows(const Sentence *s, int64_t i, Hypothesis *h) {
    const Type *t = word(s, i), *before = word(s, i - 1), *after = word(s, i + 1);
    uint64_t one = tag_at(s, i - 1), two = tag_at(s, i - 2), next = tag_at(s, i + 1),
             next2 = tag_at(s, i + 2), own = s->tokens[i].tag, far = step(s->tokens[i].adjective);
    uint32_t n = 0, *out = h->rows;
    h->noun = -1;
    h->proper = 0;
    out[n++] = head_row(1, own, far);
    out[n++] = head_row(2, t->low, 0);
    out[n++] = head_row(3, one, own);
    out[n++] = head_row(4, next, own);
    out[n++] = head_row(5, one << 8 | two, own);
    out[n++] = head_row(6, next << 8 | next2, own);
    out[n++] = head_row(7, one << 8 | next, own << 4 | far);
    out[n++] = head_row(8, before->low, 0);
    out[n++] = head_row(9, after->low, 0);
    out[n++] = head_row(10, t->low, next);
    out[n++] = head_row(11, t->low, one);
    out[n++] = head_row(12, t->suffix[2], own << 4 | far);
    out[n++] = head_row(13, t->shape, i == 0);
    out[n++] = head_row(14, before->low, t->low);
    out[n++] = head_row(15, t->low, after->low);
    out[n++] = head_row(16, t->mask, own << 4 | far);
    out[n++] = head_row(17, t->low, far);
    out[n++] = head_row(18, one << 16 | next << 8 | next2, own);
    out[n++] = head_row(19, t->shape, next << 8 | one);
    out[n++] = head_row(20, before->low, next);
    out[n++] = head_row(21, t->cluster, next << 8 | one);
    out[n++] = head_row(22, before->cluster, t->cluster);
    out[n++] = head_row(23, t->cluster, after->cluster);
    out[n++] = head_row(24, t->cluster, own << 4 | far);
    h->n = n;
}

static void noun_rows(const Sentence *s, int64_t i, int64_t j, int proper, Hypothesis *h) {
    const Type *t = word(s, i), *noun = word(s, j), *after = word(s, j + 1);
    int64_t low = i < j ? i + 1 : j + 1, high = i < j ? j : i;
    uint64_t distance = (uint64_t)(j - i + 8), own = s->tokens[i].tag,
             kind = s->tokens[j].tag | (uint64_t)proper << 6,
             next = tag_at(s, j + 1), next2 = tag_at(s, j + 2), one = tag_at(s, i - 1),
             bits = between(s, low, high), path = tags_between(s, low, high),
             far = step(proper ? s->tokens[j].name : s->tokens[j].noun),
             mine = step(s->tokens[i].adjective), right = i < j;
    uint32_t n = 0, *out = h->rows;
    h->noun = (int32_t)j;
    h->proper = (uint8_t)proper;
    out[n++] = head_row(50, distance, proper);
    out[n++] = head_row(51, bits, right << 8 | kind);
    out[n++] = head_row(52, path, right << 8 | kind);
    out[n++] = head_row(53, next, distance << 8 | kind);
    out[n++] = head_row(54, next << 8 | next2, bits << 1 | right);
    out[n++] = head_row(55, path, next << 8 | kind);
    out[n++] = head_row(56, own, bits << 8 | kind);
    out[n++] = head_row(57, t->low, noun->low);
    out[n++] = head_row(58, noun->low, right << 1 | (uint64_t)proper);
    out[n++] = head_row(59, t->low, bits << 1 | right);
    out[n++] = head_row(60, noun->low, next << 1 | right);
    out[n++] = head_row(61, noun->low, is_noun(next) ? after->low : 0);
    out[n++] = head_row(62, t->suffix[2], noun->suffix[2]);
    out[n++] = head_row(63, far, kind << 8 | mine << 4 | is_noun(next));
    out[n++] = head_row(64, one, bits << 8 | next);
    out[n++] = head_row(65, path, one << 8 | next);
    out[n++] = head_row(66, t->low, distance << 8 | next);
    out[n++] = head_row(67, noun->shape, t->shape << 2 | (uint64_t)proper << 1 | right);
    out[n++] = head_row(68, noun->mask, far << 8 | kind);
    out[n++] = head_row(69, t->low, mine << 1 | right);
    out[n++] = head_row(70, noun->suffix[2], next << 8 | kind);
    out[n++] = head_row(71, word(s, i + 1)->low, bits << 8 | next);
    out[n++] = head_row(72, t->suffix[1], mine << 8 | own);
    out[n++] = head_row(73, after->low, kind << 1 | right);
    out[n++] = head_row(74, is_noun(next) ? after->low : 0, t->low);
    out[n++] = head_row(75, path, own << 16 | next2 << 8 | next);
    out[n++] = head_row(76, t->cluster, noun->cluster);
    out[n++] = head_row(77, noun->cluster, is_noun(next) ? after->cluster : 0);
    out[n++] = head_row(78, t->cluster, is_noun(next) ? after->cluster : 0);
    out[n++] = head_row(79, t->cluster, bits << 1 | right);
    out[n++] = head_row(80, noun->cluster, next << 8 | kind);
    out[n++] = head_row(81, t->cluster, mine << 8 | own);
    out[n++] = head_row(82, word(s, i + 1)->cluster, word(s, j - 1)->cluster);
    h->n = n;
}

static int is_candidate(const Model *model, const Sentence *s, int64_t i) {
    return s->tokens[i].adjective <= model->near_adjective && word(s, i)->alnum;
}

/* The hypotheses for token `i`: no noun first, then the nouns near it. */
static uint32_t hypotheses(const Model *model, const Sentence *s, int64_t i, Hypothesis *out) {
    uint32_t count = 1;
    int64_t from = i - AHEAD < 0 ? 0 : i - AHEAD;
    int64_t to = i + BEHIND + 1 > (int64_t)s->n ? (int64_t)s->n : i + BEHIND + 1;
    none_rows(s, i, &out[0]);
    for (int64_t j = from; j < to; j++) {
        if (j == i || !word(s, j)->alnum) continue;
        if (s->tokens[j].noun <= model->near_noun) noun_rows(s, i, j, 0, &out[count++]);
        if (s->tokens[j].name <= model->near_name) noun_rows(s, i, j, 1, &out[count++]);
    }
    return count;
}

static void find_heads(const Model *model, const Sentence *s, Hypothesis *h) {
    for (uint32_t i = 0; i < s->n; i++) {
        if (!is_candidate(model, s, i)) continue;
        uint32_t count = hypotheses(model, s, i, h), best = 0;
        if (count == 1) continue;
        int32_t highest = 0;
        for (uint32_t k = 0; k < count; k++) {
            int32_t score = k ? 0 : model->bias;
            for (uint32_t r = 0; r < h[k].n; r++) score += model->head[h[k].rows[r]];
            if (k == 0 || score > highest) highest = score, best = k;
        }
        s->tokens[i].head = h[best].noun;
        s->tokens[i].proper = h[best].proper;
    }
    /* Tags follow the heads: a noun is common if any adjective's head reads it so. */
    for (uint32_t i = 0; i < s->n; i++)
        if (s->tokens[i].head >= 0) s->tokens[s->tokens[i].head].governs |= 1u << s->tokens[i].proper;
    for (uint32_t i = 0; i < s->n; i++) {
        Token *t = &s->tokens[i];
        if (t->governs) {
            t->head = -1; /* a token that an adjective modifies is not an adjective itself */
            if (!(t->governs & 1))
                t->tag = NNP;
            else if (t->tag != NN && t->tag != NNS)
                t->tag = (uint8_t)noun_tag(t);
        } else if (t->head >= 0 && t->tag != JJ && t->tag != JJR && t->tag != JJS)
            t->tag = (uint8_t)adjective_tag(t);
    }
}
#endif
