/* Words and sentences: from bytes to tokens, by the Penn Treebank conventions as used in the
   English Web Treebank. How a run of characters without white space is cut depends only on the
   run, so it is computed once for each distinct run and cached in a table. */
#ifndef FAST_TEXT_H
#define FAST_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LETTER = 1, NUMBER = 2, UPPER = 4, LOWER = 8, ALNUM = 16 };
enum { WORD, PERIOD, END_MARK, ELLIPSIS, CLOSING, OPENING, TITLE, ABBREVIATION, HYPHEN, OTHER };
#define CHUNK_BYTES 500
/* For a word that is not valid UTF-8: each byte becomes a three-byte character. */
#define WORD_ROOM (CHUNK_BYTES * 3 + 8)
#define TYPES_AT_ONCE (1u << 16)
#define ARENA_AT_ONCE ((size_t)24 << 20)
#define CLASSES 32

typedef struct {
    const uint8_t *classes;   /* of each character of the basic plane */
    const uint16_t *lowered;  /* its lower-case form */
    const uint32_t *lexicon;  /* sorted hashes of lower-cased words */
    const uint16_t *masks;    /* their parts of speech, one bit each */
    uint32_t lexicon_size;
    const uint32_t *cluster_hash; /* sorted hashes of the words that have a cluster */
    const uint16_t *cluster_of;   /* their clusters, from 1 */
    uint32_t cluster_size;
    const uint8_t *words;     /* exceptions of lemmas: form, kind, lemma, each ended by NUL */
    const uint32_t *word_hash, *word_at;
    uint32_t word_count;
} Data;

typedef struct {
    uint64_t exact; /* the hash of the form: first, for `grow_index` */
    uint64_t low, suffix[5], prefix[3], shape;
    uint32_t at, length;         /* of the form, in the arena */
    uint32_t low_at, low_length; /* lower-cased, digits unchanged */
    uint32_t noun_at, noun_length, adjective_at, adjective_length; /* lemmas; length 0: not computed yet */
    uint16_t mask, cluster; /* cluster; 0: a rare word */
    uint8_t kind, capital, small, alnum, starter, digit;
} Type;

typedef struct {
    uint64_t hash; /* first, for `grow_index` */
    uint32_t at, length, first, count;
} Chunk;

typedef struct {
    uint32_t offset, length;
    int32_t type;
} Piece;

typedef struct {
    uint32_t begin, end; /* bytes of the document */
    int32_t type;
    uint8_t space_after, tag, readings;
    uint8_t proper;  /* whether its head is read as a name */
    uint8_t governs; /* 1: the head of an adjective as a common noun, 2: as a name */
    int16_t adjective, noun, name; /* their distance from the best tag's score */
    int32_t head;    /* the token of the noun that it modifies, within the sentence; else -1 */
} Token;

typedef struct {
    const Data *data;
    uint8_t *arena;
    size_t arena_used, arena_size;
    Type *types;
    int16_t *sums; /* five vectors per type, if the tagger needs them */
    uint32_t type_count, type_room;
    uint32_t *type_index, type_slots;
    Chunk *chunks;
    uint32_t chunk_count, chunk_room;
    uint32_t *chunk_index, chunk_slots;
    Piece *pieces;
    uint32_t piece_count, piece_room;
    void (*on_type)(void *, uint32_t);
    void *owner;
    int failed; /* out of memory */
} Vocabulary;

static inline uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t x = (a ^ (b + 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93ull;
    return x ^ (x >> 29);
}

static uint64_t hash_bytes(const uint8_t *p, size_t n) {
    uint64_t h = 0xCBF29CE484222325ull ^ n;
    while (n >= 8) {
        uint64_t part = 0;
        for (int k = 7; k >= 0; k--) part = part << 8 | p[k];
        h = mix(h, part);
        p += 8;
        n -= 8;
    }
    uint64_t part = 0;
    for (size_t k = n; k-- > 0;) part = part << 8 | p[k];
    return mix(h, part);
}

typedef struct {
    uint32_t code;
    uint16_t at;
    uint8_t class;
} Character;

static uint32_t decode(const uint8_t *p, const uint8_t *end, uint32_t *size) {
    uint32_t c = p[0], need = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    *size = 1;
    if (c < 0x80) return c;
    if (c < 0xC2 || c > 0xF4 || (size_t)(end - p) <= need) return 0xFFFD;
    c &= 0x3Fu >> need;
    for (uint32_t k = 1; k <= need; k++) {
        if ((p[k] & 0xC0) != 0x80) return 0xFFFD;
        c = c << 6 | (p[k] & 0x3F);
    }
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000) || (need == 2 && c < 0x800)
        || (need == 3 && c < 0x10000))
        return 0xFFFD;
    *size = need + 1;
    return c;
}

static uint8_t class_of(const Data *data, uint32_t code) {
    if (code < 0x10000) return data->classes[code];
    if ((code >= 0x1D400 && code < 0x1D800) || (code >= 0x20000 && code < 0x32000))
        return LETTER | ALNUM;
    return 0;
}

static uint32_t put_code(uint8_t *out, uint32_t c) {
    if (c < 0x80) return out[0] = (uint8_t)c, 1;
    if (c < 0x800) return out[0] = (uint8_t)(0xC0 | c >> 6), out[1] = (uint8_t)(0x80 | (c & 63)), 2;
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 63));
        out[2] = (uint8_t)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 63));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 63));
    out[3] = (uint8_t)(0x80 | (c & 63));
    return 4;
}

/* ------------------------------------------------------------------------------- tables */

static int reserve(void **memory, size_t wanted, size_t unit) {
    void *larger = realloc(*memory, wanted * unit);
    if (larger == NULL) return 0;
    *memory = larger;
    return 1;
}

/* Makes room for `count` items; `room` is how many fit now. */
static int has_room(void **items, uint32_t *room, uint32_t count, size_t unit) {
    if (count <= *room) return 1;
    uint32_t larger = count * 2 + 4096;
    if (!reserve(items, larger, unit)) return 0;
    *room = larger;
    return 1;
}

static uint32_t keep_bytes(Vocabulary *v, const uint8_t *p, size_t n) {
    if (v->arena_used + n + 8 > v->arena_size) {
        size_t size = v->arena_size * 2 + n + 4096;
        if (size > UINT32_MAX || !reserve((void **)&v->arena, size, 1)) return v->failed = 1, 0;
        v->arena_size = size;
    }
    memcpy(v->arena + v->arena_used, p, n);
    v->arena_used += n;
    return (uint32_t)(v->arena_used - n);
}

static void forget(Vocabulary *v) {
    v->arena_used = 0;
    v->type_count = v->chunk_count = v->piece_count = 0;
    if (v->type_index) memset(v->type_index, 0, v->type_slots * sizeof *v->type_index);
    if (v->chunk_index) memset(v->chunk_index, 0, v->chunk_slots * sizeof *v->chunk_index);
}

static void release(Vocabulary *v) {
    free(v->arena);
    free(v->types);
    free(v->sums);
    free(v->type_index);
    free(v->chunks);
    free(v->chunk_index);
    free(v->pieces);
}

/* The place of the first hash that is not below `key` in a sorted table. */
static uint32_t place_of(const uint32_t *hashes, uint32_t size, uint32_t key) {
    uint32_t low = 0, high = size;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (hashes[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The value of a word in a table sorted by hashes; 0 if it is not there. */
static uint16_t listed(const uint32_t *hashes, const uint16_t *values, uint32_t size, uint64_t hash) {
    uint32_t key = (uint32_t)(hash >> 32), low = place_of(hashes, size, key);
    return low < size && hashes[low] == key ? values[low] : 0;
}

static uint16_t mask_of(const Data *data, uint64_t hash) {
    return listed(data->lexicon, data->masks, data->lexicon_size, hash);
}

/* Lists of ASCII words, each followed by a space, for `in_list`. */
static int in_list(const char *list, const uint8_t *word, uint32_t n) {
    for (const char *p = list; *p;) {
        const char *end = strchr(p, ' ');
        if ((uint32_t)(end - p) == n && memcmp(p, word, n) == 0) return 1;
        p = end + 1;
    }
    return 0;
}

static const char TITLES[] =
    "mr. mrs. ms. dr. prof. rev. gen. sen. rep. reps. gov. lt. col. capt. cmdr. sgt. maj. adm. hon. "
    "st. ft. mt. vs. v. e.g. i.e. eg. ie. cf. fig. figs. no. nos. vol. pp. eq. approx. ca. al. viz. "
    "messrs. mme. mlle. pres. supt. sec. art. ";
static const char ABBREVIATIONS[] =
    "etc. inc. corp. co. ltd. jr. sr. bros. jan. feb. mar. apr. jun. jul. aug. sept. sep. oct. nov. "
    "dec. mon. tue. tues. wed. thu. thur. thurs. fri. sat. sun. a.m. p.m. ave. blvd. rd. dept. est. "
    "assn. univ. u.s. u.k. u.n. d.c. ph.d. ed. eds. ext. tel. lb. lbs. oz. hr. hrs. min. max. misc. "
    "attn. dist. fla. calif. ariz. mass. penn. pa. va. tex. wash. ill. mich. minn. conn. colo. ore. "
    "wis. ala. ga. la. md. n.y. n.j. l.a. b.c. a.d. ";
static const char STARTERS[] =
    "the a an this that these those he she it we they i you in on at by for from with to of as if "
    "when while after before since because although though but and or so yet however what where why "
    "how who there here his her its their our my your no not all some many most one another each "
    "such then now also ";

static uint64_t shape_of(const Character *c, uint32_t n) {
    uint64_t shape = 7;
    int last = 0;
    for (uint32_t k = 0, runs = 0; k < n && runs < 10; k++) {
        int sign = c[k].class & UPPER    ? 'X'
                   : c[k].class & LETTER ? 'x'
                   : c[k].class & NUMBER ? 'd'
                   : c[k].code < 128     ? (int)c[k].code
                                         : '?';
        if (sign != last || k == 1) shape = shape * 131 + (uint64_t)sign, runs++;
        last = sign;
    }
    return shape;
}

static int is_one_of(uint32_t code, const uint16_t *codes) {
    for (; *codes; codes++)
        if (*codes == code) return 1;
    return 0;
}

static const uint16_t OPENERS[] = {'(', '[', '{', '<', 0x201C, 0x2018, 0xAB, 0x201E, 0x2039, 0};
static const uint16_t CLOSERS[] = {')', ']', '}', '>', 0x201D, 0xBB, 0x203A, 0x201F, 0};
static const uint16_t HYPHENS[] = {'-', 0x2010, 0x2011, 0x2013, 0};
/* Em dash; figure dash, bar, and the line of a box where they stand for it. */
static const uint16_t DASHES[] = {0x2014, 0x2012, 0x2015, 0x2500, 0};
static const uint16_t ENDS[] = {'!', '?', 0x203D, 0xFF01, 0xFF1F, 0x3002, 0};

static uint8_t kind_of(const Character *c, uint32_t n, const uint8_t *low, uint32_t size) {
    if (c[0].code == '.' && n == 1) return PERIOD;
    if ((c[0].code == '.' && n > 1 && c[1].code == '.') || c[0].code == 0x2026) return ELLIPSIS;
    if (is_one_of(c[0].code, ENDS)) return END_MARK;
    if (n == 1 && is_one_of(c[0].code, HYPHENS)) return HYPHEN;
    if (c[0].code == '"' || c[0].code == '\'' || c[0].code == 0x2019 || is_one_of(c[0].code, CLOSERS))
        return n <= 2 && !(c[n - 1].class & ALNUM) ? CLOSING : WORD;
    if (is_one_of(c[0].code, OPENERS) || (n == 2 && c[0].code == '`')) return OPENING;
    if (c[n - 1].code == '.') {
        if (in_list(TITLES, low, size)) return TITLE;
        if (n == 2 && (c[0].class & UPPER)) return TITLE;
        return ABBREVIATION;
    }
    for (uint32_t k = 0; k < n; k++)
        if (c[k].class & (LETTER | NUMBER)) return WORD;
    return OTHER;
}

static int32_t add_type(Vocabulary *v, const uint8_t *bytes, const Character *c, uint32_t n,
                        uint32_t at, uint32_t length, uint64_t exact) {
    if (v->type_count == v->type_room) {
        uint32_t room = v->type_room * 2 + 1024;
        if (!reserve((void **)&v->types, room, sizeof(Type))
            || !reserve((void **)&v->sums, room, 5 * CLASSES * sizeof(int16_t)))
            return v->failed = 1, 0;
        v->type_room = room;
    }
    Type *t = &v->types[v->type_count];
    memset(t, 0, sizeof *t);
    uint8_t low[WORD_ROOM], normal[WORD_ROOM];
    uint32_t size = 0, starts[CHUNK_BYTES + 1];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t code = c[k].code < 0x10000 ? v->data->lowered[c[k].code] : c[k].code;
        starts[k] = size;
        if (c[k].code == 0xFFFD) code = 0xFFFD;
        size += put_code(low + size, code);
        if (c[k].class & ALNUM) t->alnum = 1;
        if (c[k].class & NUMBER) t->digit = 1;
    }
    starts[n] = size;
    memcpy(normal, low, size);
    for (uint32_t k = 0; k < size; k++)
        if (normal[k] >= '0' && normal[k] <= '9') normal[k] = '0';
        else if (normal[k] == 0xE2 && k + 2 < size && normal[k + 1] == 0x80 && normal[k + 2] == 0x99)
            normal[k] = normal[k + 1] = normal[k + 2] = '\'';
    t->exact = exact;
    t->at = keep_bytes(v, bytes + at, length);
    t->length = length;
    t->low_at = keep_bytes(v, low, size);
    t->low_length = size;
    t->low = hash_bytes(normal, size);
    for (uint32_t k = 0; k < 5; k++)
        t->suffix[k] = n > k + 1 ? hash_bytes(normal + starts[n - k - 1], size - starts[n - k - 1])
                                 : 0;
    for (uint32_t k = 0; k < 3; k++) t->prefix[k] = n > k + 1 ? hash_bytes(normal, starts[k + 1]) : 0;
    t->shape = shape_of(c, n);
    uint64_t word = hash_bytes(low, size);
    t->mask = mask_of(v->data, word);
    t->cluster = listed(v->data->cluster_hash, v->data->cluster_of, v->data->cluster_size, word);
    t->kind = kind_of(c, n, low, size);
    t->capital = (c[0].class & UPPER) != 0;
    t->small = (c[0].class & LOWER) != 0;
    t->starter = t->capital && in_list(STARTERS, low, size);
    return (int32_t)v->type_count++;
}

/* Grows the hash table `index` of `count` items, each of which begins with its hash, if needed. */
static int grow_index(uint32_t **index, uint32_t *slots, const void *items, uint32_t count,
                      size_t unit) {
    if (*slots && count * 2 < *slots) return 1;
    uint32_t larger = 1u << 14;
    while (larger / 2 <= count) larger *= 2;
    free(*index);
    *index = calloc(larger, sizeof **index);
    *slots = *index ? larger : 0;
    if (!*index) return 0;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t hash;
        memcpy(&hash, (const char *)items + k * unit, sizeof hash);
        uint32_t slot = (uint32_t)hash & (larger - 1);
        while ((*index)[slot]) slot = (slot + 1) & (larger - 1);
        (*index)[slot] = k + 1;
    }
    return 1;
}

static int32_t type_of(Vocabulary *v, const uint8_t *bytes, const Character *c, uint32_t n,
                       uint32_t length) {
    uint32_t at = c[0].at;
    uint64_t exact = hash_bytes(bytes + at, length);
    if (!grow_index(&v->type_index, &v->type_slots, v->types, v->type_count, sizeof(Type)))
        return v->failed = 1, 0;
    uint32_t mask = v->type_slots - 1, slot = (uint32_t)exact & mask;
    for (; v->type_index[slot]; slot = (slot + 1) & mask) {
        Type *t = &v->types[v->type_index[slot] - 1];
        if (t->exact == exact && t->length == length
            && memcmp(v->arena + t->at, bytes + at, length) == 0)
            return (int32_t)v->type_index[slot] - 1;
    }
    int32_t type = add_type(v, bytes, c, n, at, length, exact);
    if (v->failed) return 0;
    v->type_index[slot] = (uint32_t)type + 1;
    if (v->on_type) v->on_type(v->owner, (uint32_t)type);
    return type;
}

/* ------------------------------------------------------------------------------- tokens */

typedef struct {
    Vocabulary *v;
    const uint8_t *bytes;
    Character c[CHUNK_BYTES + 1]; /* one more, at the end */
    uint32_t n;
} Cutter;

static void add_piece(Cutter *k, uint32_t from, uint32_t to) {
    Vocabulary *v = k->v;
    if (from >= to || v->failed) return;
    if (!has_room((void **)&v->pieces, &v->piece_room, v->piece_count + 1, sizeof(Piece))) {
        v->failed = 1;
        return;
    }
    uint32_t at = k->c[from].at, length = k->c[to].at - at;
    int32_t type = type_of(v, k->bytes, k->c + from, to - from, length);
    v->pieces[v->piece_count++] = (Piece){at, length, type};
}

static int lower_ascii(const Cutter *k, uint32_t at) {
    uint32_t c = k->c[at].code;
    if (c == 0x2019) return '\'';
    return c >= 'A' && c <= 'Z' ? (int)c + 32 : c < 128 ? (int)c : 1;
}

static int same(const Cutter *k, uint32_t from, uint32_t to, const char *word) {
    size_t n = strlen(word);
    if (to - from != n) return 0;
    for (size_t i = 0; i < n; i++)
        if (lower_ascii(k, from + (uint32_t)i) != word[i]) return 0;
    return 1;
}

static int ends_with(const Cutter *k, uint32_t from, uint32_t to, const char *word) {
    size_t n = strlen(word);
    return to - from > n && same(k, to - (uint32_t)n, to, word);
}

/* The number of digits at the end of a word of the lexicon that are the raised mark of a reference
   ("people7"), which is no token; 0 if there are none, as in "mp3". */
static uint32_t raised_digits(const Cutter *k, uint32_t from, uint32_t to) {
    uint8_t low[64];
    uint32_t digits = 0, size = 0;
    while (digits < to - from && (k->c[to - digits - 1].class & (NUMBER | LETTER)) == NUMBER) digits++;
    uint32_t letters = to - from - digits;
    if (!digits || digits > 3 || letters < 4 || letters > sizeof low) return 0;
    for (uint32_t i = from; i < from + letters; i++) {
        uint32_t code = k->c[i].code;
        if (code >= 128 || !(k->c[i].class & LETTER) || (i > from && !(k->c[i].class & LOWER)))
            return 0;
        low[size++] = (uint8_t)lower_ascii(k, i);
    }
    return mask_of(k->v->data, hash_bytes(low, size)) ? digits : 0;
}

/* A word without punctuation around it: contractions are cut. */
static void add_word(Cutter *k, uint32_t from, uint32_t to) {
    static const char *const CLITICS[] = {"'s", "'m", "'d", "'ll", "'re", "'ve", NULL};
    static const char *const TWO[] = {"cannot", "gonna", "wanna", "gotta", NULL};
    static const char *const UNITS[] = {"am", "pm", "km", "kg", "cm", "mm", "mi", "mph", "lb",
                                        "lbs", "gb", "mb", "kb", "hz", "khz", "mhz", "ghz", NULL};
    if (ends_with(k, from, to, "n't")) {
        add_piece(k, from, to - 3);
        add_piece(k, to - 3, to);
        return;
    }
    for (int i = 0; CLITICS[i]; i++)
        if (ends_with(k, from, to, CLITICS[i])) {
            uint32_t cut = to - (uint32_t)strlen(CLITICS[i]);
            add_piece(k, from, cut);
            add_piece(k, cut, to);
            return;
        }
    for (int i = 0; TWO[i]; i++)
        if (same(k, from, to, TWO[i])) {
            add_piece(k, from, from + 3);
            add_piece(k, from + 3, to);
            return;
        }
    if (k->c[from].class & NUMBER)
        for (int i = 0; UNITS[i]; i++)
            if (ends_with(k, from, to, UNITS[i])) {
                uint32_t cut = to - (uint32_t)strlen(UNITS[i]);
                if (k->c[cut - 1].class & NUMBER) {
                    add_piece(k, from, cut);
                    add_piece(k, cut, to);
                    return;
                }
            }
    add_piece(k, from, to - raised_digits(k, from, to));
}

/* Prefixes that keep their hyphen. */
static const char AFFIXES[] =
    "e- co- non- anti- pre- post- mid- ex- re- semi- multi- pro- sub- inter- intra- micro- mini- "
    "neo- ultra- un- de- bi- tri- counter- pseudo- quasi- socio- psycho- electro- geo- bio- eco- "
    "trans- super- meta- infra- extra- over- under- ";

static int keeps_hyphen(const Cutter *k, uint32_t from, uint32_t hyphen) {
    uint8_t prefix[16];
    uint32_t n = 0;
    if (k->c[hyphen].code != '-' || hyphen - from > 9) return 0;
    for (uint32_t i = from; i <= hyphen && n < sizeof prefix; i++)
        prefix[n++] = (uint8_t)lower_ascii(k, i);
    return in_list(AFFIXES, prefix, n);
}

/* Whether a part of a chunk has only the numbers of references: "2", "2,13", "2-4". */
static int only_numbers(const Cutter *k, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        if (!(k->c[i].class & NUMBER) && k->c[i].code != ',' && !is_one_of(k->c[i].code, HYPHENS))
            return 0;
    return from < to && to - from < 8;
}

/* The end of the piece that begins at `from`; `*gap` is the length of the separator after it. */
static uint32_t next_cut(const Cutter *k, uint32_t from, uint32_t to, uint32_t *gap) {
    for (uint32_t i = from + 1; i + 1 < to; i++) {
        uint32_t code = k->c[i].code;
        uint8_t before = k->c[i - 1].class, after = k->c[i + 1].class;
        uint32_t run = 1;
        if (code < 128 && (k->c[i].class & ALNUM)) continue;
        while (i + run < to && k->c[i + run].code == code) run++;
        *gap = run;
        if (i + run >= to) return to;
        after = k->c[i + run].class;
        if ((code == '-' && run > 1) || is_one_of(code, DASHES) || (code == '.' && run > 1)
            || code == 0x2026)
            return i;
        if (run > 1) {
            i += run - 1;
            continue;
        }
        if (is_one_of(code, HYPHENS) && (before & (LETTER | NUMBER)) && (after & (LETTER | NUMBER))
            && !((before & NUMBER) && (after & NUMBER)) && !keeps_hyphen(k, from, i))
            return i;
        if (is_one_of(code, HYPHENS) && k->c[i - 1].code == '.' && (after & LETTER)) return i;
        if ((code == '/' || code == ',' || code == ':' || code == ';') && (before & LETTER)
            && (after & LETTER) && !(code == '/' && to - from <= 3))
            return i;
        /* The mark of a reference, which is no token: "story,2", "garden.1". */
        if ((code == ',' || code == ';' || code == '.') && (before & LOWER) && i - from > 3
            && only_numbers(k, i + 1, to))
            return i;
        if (code == '.' && i - from > 2 && (before & LOWER) && (after & UPPER)) return i;
        if (code == '(' || code == ')' || code == '[' || code == ']' || code == '"' || code == '<'
            || code == '>' || code == '=' || code == 0x201C || code == 0x201D || code == '?'
            || code == '!')
            return i;
    }
    return to;
}

/* Whether a character is punctuation that is peeled off beside a separator. */
static int separates(Character c) {
    static const uint16_t MARKS[] = {'-',  '.', ',', ';',    ':',    '!', '?',
                                     '\'', '"', '*', 0x2019, 0x2026, 0};
    return is_one_of(c.code, MARKS) || is_one_of(c.code, DASHES) || is_one_of(c.code, OPENERS)
           || is_one_of(c.code, CLOSERS);
}

static int is_address(const Cutter *k, uint32_t from, uint32_t to) {
    int dots = 0;
    if (to - from > 4 && same(k, from, from + 4, "www.")) return 1;
    for (uint32_t i = from; i < to; i++) {
        uint32_t code = k->c[i].code;
        if (code == ':' && i + 2 < to && k->c[i + 1].code == '/' && k->c[i + 2].code == '/') return 1;
        if (code == '@' && i > from && i + 1 < to) {
            for (uint32_t j = i; j < to; j++) dots += k->c[j].code == '.';
            if (dots) return 1;
        }
    }
    return ends_with(k, from, to, ".com") || ends_with(k, from, to, ".org")
           || ends_with(k, from, to, ".net") || ends_with(k, from, to, ".edu")
           || ends_with(k, from, to, ".gov");
}

/* Where the address in a part begins: `to` if it has none. Words before a bracket or a quote are not
   part of it: "wall](http://x.org". */
static uint32_t address_start(const Cutter *k, uint32_t from, uint32_t to) {
    if (!is_address(k, from, to)) return to;
    uint32_t scheme = from, start = from;
    while (scheme < to && k->c[scheme].code != ':' && k->c[scheme].code != '@') scheme++;
    for (uint32_t i = from; i < scheme; i++)
        if (is_one_of(k->c[i].code, OPENERS) || is_one_of(k->c[i].code, CLOSERS) || k->c[i].code == '"')
            start = i + 1;
    return start;
}

/* The number of leading characters that are separate punctuation. */
static uint32_t leading(const Cutter *k, uint32_t from, uint32_t to) {
    uint32_t code = k->c[from].code, run = 1;
    if (k->c[from].class & (LETTER | NUMBER)) return 0;
    while (from + run < to && k->c[from + run].code == code) run++;
    if (code == '.' || code == '*' || code == '=' || code == '_' || code == '!' || code == '?'
        || code == '~' || code == '#' || code == '+')
        return run == 1 && from + 1 < to && (code == '.' || code == '+' || code == '_')
                       && (k->c[from + 1].class & (NUMBER | LETTER))
                   ? 0
                   : run;
    if (code == '-') return run == 1 && from + 1 < to && (k->c[from + 1].class & NUMBER) ? 0 : run;
    if (code == '`' || code == '\'' || code == ',') {
        if (run >= 2) return 2;
        if (code == '\'' && from + 1 < to) {
            if (k->c[from + 1].class & NUMBER) return 0;
            if (same(k, from + 1, to, "em") || same(k, from + 1, to, "til")
                || same(k, from + 1, to, "tis") || same(k, from + 1, to, "twas")
                || same(k, from + 1, to, "cause") || same(k, from, to, "'s")
                || same(k, from, to, "'d") || same(k, from, to, "'ll") || same(k, from, to, "'re")
                || same(k, from, to, "'ve") || same(k, from, to, "'m"))
                return 0;
        }
        return 1;
    }
    if (code == 0x2019 && from + 1 < to) return to - from <= 3 || (k->c[from + 1].class & NUMBER) ? 0 : 1;
    if (code == '@' || code == '&' || code == '\\' || code == '/' || code == '%') return from + 1 < to ? code == '/' || code == '%' : 1;
    if (code == ':' || code == ';') /* an emoticon */
        return to - from <= 3 && from + 1 < to && !(k->c[from + 1].class & LETTER && to - from == 3)
                       && k->c[from + 1].code != '"'
                   ? 0
                   : 1;
    return 1;
}

/* Whether a word keeps its final period. */
static int keeps_period(const Cutter *k, uint32_t from, uint32_t to) {
    uint8_t low[24];
    uint32_t n = to - from, dots = 0;
    if (n == 2) return (k->c[from].class & UPPER) && k->c[from].code != 'I';
    for (uint32_t i = from; i + 1 < to; i++) dots += k->c[i].code == '.';
    if (dots) { /* U.S., p.m., Ph.D. */
        uint32_t longest = 0, run = 0;
        for (uint32_t i = from; i + 1 < to; i++) {
            if (k->c[i].code == '.')
                run = 0;
            else if (!(k->c[i].class & LETTER))
                return 0;
            else if (++run > longest)
                longest = run;
        }
        return longest <= 2 && k->c[to - 2].code != '.';
    }
    if (n >= sizeof low) return 0;
    for (uint32_t i = 0; i < n; i++) low[i] = (uint8_t)lower_ascii(k, from + i);
    /* Ordinary words if they begin with a lower-case letter. */
    if (!(k->c[from].class & UPPER)
        && in_list("no. sun. sat. mar. max. min. la. md. pa. ill. mass. ore. wash. ed. art. sec. "
                   "pres. rep. gen. co. ",
                   low, n))
        return 0;
    return in_list(TITLES, low, n) || in_list(ABBREVIATIONS, low, n);
}

/* The number of trailing characters that are separate punctuation. */
static uint32_t trailing(const Cutter *k, uint32_t from, uint32_t to) {
    uint32_t code = k->c[to - 1].code, run = 1;
    if (k->c[to - 1].class & (LETTER | NUMBER)) return 0;
    while (to - run > from && k->c[to - run - 1].code == code) run++;
    if (code == '.') return run > 1 ? run : keeps_period(k, from, to) ? 0 : 1;
    if (code == '!' || code == '?' || code == '-' || code == '*' || code == '=' || code == '_'
        || code == '~')
        return run;
    if (code == '\'' || code == '`') return run >= 2 ? 2 : 1;
    if (code == '+' || code == '#') return 0;
    return 1;
}

static void cut_middle(Cutter *k, uint32_t from, uint32_t to);

/* A part of a chunk: the punctuation at its beginning and end, and what is between them. */
static void cut_part(Cutter *k, uint32_t from, uint32_t to) {
    uint32_t peeled, ends[CHUNK_BYTES], count = 0;
    while (from < to && (peeled = leading(k, from, to))) {
        add_piece(k, from, from + peeled);
        from += peeled;
    }
    while (to > from && (peeled = trailing(k, from, to))) {
        ends[count++] = to;
        to -= peeled;
    }
    ends[count] = to;
    uint32_t address = from < to ? address_start(k, from, to) : to;
    cut_middle(k, from, address);
    add_piece(k, address, to);
    while (count-- > 0) add_piece(k, ends[count + 1], ends[count]);
}

/* What is between the punctuation around a part: words, cut at the separators between them. */
static void cut_middle(Cutter *k, uint32_t from, uint32_t to) {
    uint32_t gap = 0;
    int whole = 1;
    while (from < to) {
        uint32_t cut = next_cut(k, from, to, &gap);
        /* Punctuation before or behind a separator is none of the word's: "garden.[1", "life,—he". */
        if (whole && cut >= to)
            add_word(k, from, to);
        else if ((cut < to && separates(k->c[cut - 1])) || (!whole && separates(k->c[from])))
            cut_part(k, from, cut);
        else
            add_word(k, from, cut);
        if (cut >= to) return;
        add_piece(k, cut, cut + gap);
        uint32_t mark = k->c[cut].code;
        from = cut + gap;
        whole = 0;
        if ((mark == ',' || mark == ';' || mark == '.' || mark == '"' || mark == 0x201D)
            && only_numbers(k, from, to))
            return;
    }
}

static void cut_chunk(Cutter *k) { cut_part(k, 0, k->n); }

static uint32_t chunk_of(Vocabulary *v, const uint8_t *bytes, uint32_t length) {
    uint64_t hash = hash_bytes(bytes, length);
    if (!grow_index(&v->chunk_index, &v->chunk_slots, v->chunks, v->chunk_count, sizeof(Chunk)))
        return v->failed = 1, 0;
    uint32_t mask = v->chunk_slots - 1, slot = (uint32_t)hash & mask;
    for (; v->chunk_index[slot]; slot = (slot + 1) & mask) {
        Chunk *chunk = &v->chunks[v->chunk_index[slot] - 1];
        if (chunk->hash == hash && chunk->length == length
            && memcmp(v->arena + chunk->at, bytes, length) == 0)
            return v->chunk_index[slot] - 1;
    }
    if (!has_room((void **)&v->chunks, &v->chunk_room, v->chunk_count + 1, sizeof(Chunk)))
        return v->failed = 1, 0;
    Cutter k = {v, bytes, {{0, 0, 0}}, 0};
    for (uint32_t at = 0, size; at < length; at += size) {
        uint32_t code = decode(bytes + at, bytes + length, &size);
        k.c[k.n++] = (Character){code, (uint16_t)at, class_of(v->data, code)};
    }
    k.c[k.n] = (Character){0, (uint16_t)length, 0};
    uint32_t first = v->piece_count;
    cut_chunk(&k);
    uint32_t at = keep_bytes(v, bytes, length);
    if (v->failed) return 0;
    v->chunks[v->chunk_count] = (Chunk){hash, at, length, first, v->piece_count - first};
    v->chunk_index[slot] = ++v->chunk_count;
    return v->chunk_count - 1;
}

/* The length of the white space at `p`, in bytes; 0 if there is none. */
static inline uint32_t space_at(const uint8_t *p, const uint8_t *end) {
    uint8_t c = p[0];
    if (c <= ' ') return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F) || c == 0;
    if (c < 0xC2) return 0;
    if (c == 0xC2) return end - p > 1 && (p[1] == 0x85 || p[1] == 0xA0) ? 2 : 0;
    if (c == 0xE2 && end - p > 2)
        return (p[1] == 0x80 && ((p[2] >= 0x80 && p[2] <= 0x8A) || p[2] == 0xA8 || p[2] == 0xA9 || p[2] == 0xAF))
                       || (p[1] == 0x81 && p[2] == 0x9F)
                   ? 3
                   : 0;
    if (c == 0xE3 && end - p > 2) return p[1] == 0x80 && p[2] == 0x80 ? 3 : 0;
    if (c == 0xE1 && end - p > 2) return p[1] == 0x9A && p[2] == 0x80 ? 3 : 0;
    return 0;
}

/* ------------------------------------------------------------------------------- sentences */

/* Whether a sentence ends before token `i`; there is a token before it. */
static int opens_sentence(const Vocabulary *v, const Token *tokens, uint32_t i) {
    const Type *now = &v->types[tokens[i].type];
    uint32_t last = i - 1;
    if (!tokens[last].space_after || now->kind == CLOSING || now->kind == PERIOD) {
        if (!tokens[last].space_after) return 0;
        if (now->kind != CLOSING) return 0;
        /* A straight quote opens if a space precedes it and none follows. */
        if (tokens[i].space_after) return 0;
    }
    int closed = 0;
    while (last > 0 && v->types[tokens[last].type].kind == CLOSING && !tokens[last - 1].space_after)
        last--, closed = 1;
    switch (v->types[tokens[last].type].kind) {
    case PERIOD:
        return !now->small;
    case END_MARK:
        return !now->small && !(closed && !now->capital);
    case ELLIPSIS:
        return now->capital || now->kind == OPENING || now->kind == CLOSING;
    case ABBREVIATION:
        return now->starter;
    default:
        return 0;
    }
}
#endif
