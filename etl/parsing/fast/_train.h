/* Training: the same features as at run time, with weights in floating point. */
#ifndef FAST_TRAIN_H
#define FAST_TRAIN_H

#define NO_LABEL 255

static uint32_t all_rows(const Sentence *s, uint32_t i, uint32_t *rows) {
    uint32_t n = 0;
    static const int OFFSETS[GROUPS] = {0, -1, 1, -2, 2};
    for (int group = 0; group < GROUPS; group++)
        n += word_rows(word(s, (int64_t)i + OFFSETS[group]), group, rows + n);
    n += neighbour_rows(s, i, rows + n);
    return n + history_rows(s, i, rows + n);
}

/* train_tags(labels, order): an averaged perceptron over the sentences of the last split text, in
   the given order; a token labelled 255 is tagged but not learned from. Returns float32 weights. */
static PyObject *extractor_train_tags(Extractor *x, PyObject *arguments) {
    Py_buffer labels, order;
    if (!PyArg_ParseTuple(arguments, "y*y*", &labels, &order)) return NULL;
    size_t size = (size_t)CLASSES << TAG_BITS;
    float *w = calloc(size, sizeof *w);
    double *sums = calloc(size, sizeof *sums);
    PyObject *out = NULL;
    if (!w || !sums || labels.len != (Py_ssize_t)x->token_count) {
        PyErr_SetString(PyExc_ValueError, "expected a label for each token");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    const uint8_t *label = labels.buf;
    const uint32_t *sentences = order.buf;
    double now = 1;
    for (Py_ssize_t place = 0; place < order.len / 4; place++) {
        if (sentences[place] >= x->open_count) continue;
        uint32_t first = x->opens[sentences[place]];
        Sentence s = sentence(x, sentences[place]);
        for (uint32_t i = 0; i < s.n; i++) {
            uint32_t rows[MAX_ROWS * 2], n = all_rows(&s, i, rows);
            float scores[CLASSES] = {0};
            for (uint32_t r = 0; r < n; r++) {
                FETCH(w + (size_t)rows[r] * CLASSES);
                FETCH(w + (size_t)rows[r] * CLASSES + CLASSES / 2);
            }
            for (uint32_t r = 0; r < n; r++) {
                const float *row = w + (size_t)rows[r] * CLASSES;
                for (int k = 0; k < CLASSES; k++) scores[k] += row[k];
            }
            int best = 0;
            for (int k = 1; k < CLASSES; k++)
                if (scores[k] > scores[best]) best = k;
            s.tokens[i].tag = (uint8_t)best;
            now += 1;
            int truth = label[first + i];
            if (truth == NO_LABEL || truth == best || truth >= CLASSES) continue;
            for (uint32_t r = 0; r < n; r++) {
                size_t row = (size_t)rows[r] * CLASSES;
                w[row + (size_t)truth] += 1;
                w[row + (size_t)best] -= 1;
                sums[row + (size_t)truth] += now;
                sums[row + (size_t)best] -= now;
            }
        }
    }
    for (size_t k = 0; k < size; k++) w[k] -= (float)(sums[k] / now);
    Py_END_ALLOW_THREADS
    out = PyBytes_FromStringAndSize((const char *)w, (Py_ssize_t)(size * sizeof *w));
done:
    free(w);
    free(sums);
    PyBuffer_Release(&labels);
    PyBuffer_Release(&order);
    return out;
}

/* One step of the log-linear model towards hypothesis `truth`. */
typedef struct {
    float *w, *squares; /* AdaGrad's (Duchi et al. 2011) */
    double *sums, now;  /* sum over the steps, for their average */
    float rate;
} Learner;

static void learn_heads(Hypothesis *h, uint32_t count, uint32_t truth, float weight, Learner *l) {
    float scores[MAX_HYPOTHESES], highest = -1e30f, total = 0;
    for (uint32_t k = 0; k < count; k++) {
        scores[k] = 0;
        for (uint32_t r = 0; r < h[k].n; r++) scores[k] += l->w[h[k].rows[r]];
        if (scores[k] > highest) highest = scores[k];
    }
    l->now += 1;
    for (uint32_t k = 0; k < count; k++) total += scores[k] = expf(scores[k] - highest);
    for (uint32_t k = 0; k < count; k++) {
        float slope = weight * ((k == truth) - scores[k] / total);
        if (fabsf(slope) < 1e-4f) continue;
        for (uint32_t r = 0; r < h[k].n; r++) {
            uint32_t row = h[k].rows[r];
            l->squares[row] += slope * slope;
            float change = l->rate * slope / sqrtf(l->squares[row] + 1e-2f);
            l->w[row] += change;
            l->sums[row] += l->now * change;
        }
    }
}

/* train_heads(heads, order, weights, rate): heads has for each token of the last split text the
   noun that it modifies (a token's number, + 2^30 if that noun is a name), -1 for none, -2 if
   unknown. `weights` has one number per sentence. Returns float32 weights, averaged over all
   steps. */
static PyObject *extractor_train_heads(Extractor *x, PyObject *arguments) {
    Py_buffer heads, order, weights;
    float rate;
    if (!PyArg_ParseTuple(arguments, "y*y*y*f", &heads, &order, &weights, &rate)) return NULL;
    size_t size = (size_t)1 << HEAD_BITS;
    Learner l = {calloc(size, sizeof(float)), calloc(size, sizeof(float)),
                 calloc(size, sizeof(double)), 0, rate};
    PyObject *out = NULL;
    if (!l.w || !l.squares || !l.sums || !x->has_model || heads.len != 4 * (Py_ssize_t)x->token_count
        || weights.len != 4 * (Py_ssize_t)x->open_count) {
        PyErr_SetString(PyExc_ValueError, "expected a tagger, a head for each token and a weight "
                                          "for each sentence");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    const int32_t *head = heads.buf;
    const uint32_t *sentences = order.buf;
    const float *weight = weights.buf;
    for (uint32_t k = 0; k < x->open_count; k++) {
        Sentence s = sentence(x, k);
        tag_sentence(&x->model, &s, x->edge);
    }
    for (Py_ssize_t place = 0; place < order.len / 4; place++) {
        uint32_t number = sentences[place];
        if (number >= x->open_count) continue;
        uint32_t first = x->opens[number];
        Sentence s = sentence(x, number);
        for (uint32_t i = 0; i < s.n; i++) {
            int32_t gold = head[first + i];
            if (gold == -2 || !is_candidate(&x->model, &s, i)) continue;
            uint32_t count = hypotheses(&x->model, &s, i, x->h), truth = 0;
            int proper = gold >= 1 << 30;
            if (proper) gold -= 1 << 30;
            if (gold >= 0) {
                for (uint32_t k = 1; k < count; k++)
                    if (x->h[k].noun == gold - (int32_t)first && x->h[k].proper == proper) truth = k;
                if (truth == 0) continue;
            }
            if (count > 1) learn_heads(x->h, count, truth, weight[number], &l);
        }
    }
    if (l.now > 0)
        for (size_t k = 0; k < size; k++) l.w[k] -= (float)(l.sums[k] / l.now);
    Py_END_ALLOW_THREADS
    out = PyBytes_FromStringAndSize((const char *)l.w, (Py_ssize_t)(size * sizeof(float)));
done:
    free(l.w);
    free(l.squares);
    free(l.sums);
    PyBuffer_Release(&heads);
    PyBuffer_Release(&order);
    PyBuffer_Release(&weights);
    return out;
}

/* features(i): the feature rows of token i of the last parsed text, as in training, and the
   scores that the tagger computes from its sums. */
static PyObject *extractor_features(Extractor *x, PyObject *arguments) {
    unsigned int i;
    if (!PyArg_ParseTuple(arguments, "I", &i)) return NULL;
    if (i >= x->token_count || !x->has_model) return PyErr_SetString(PyExc_IndexError, "no such token"), NULL;
    uint32_t k = x->open_count;
    while (k > 0 && x->opens[k - 1] > i) k--;
    uint32_t first = x->opens[k - 1], rows[MAX_ROWS * 2];
    Sentence s = sentence(x, k - 1);
    /* The head finder has changed tags, so tag again. */
    tag_sentence(&x->model, &s, x->edge);
    uint32_t n = all_rows(&s, i - first, rows);
    int16_t scores[CLASSES] = {0};
    uint32_t own[MAX_ROWS], m = neighbour_rows(&s, i - first, own);
    m += history_rows(&s, i - first, own + m);
    static const int OFFSETS[GROUPS] = {0, -1, 1, -2, 2};
    for (int group = 0; group < GROUPS; group++)
        add_sums(&s, (int64_t)(i - first) + OFFSETS[group], group, x->edge, scores);
    add_rows(x->model.tag, own, m, scores);
    return Py_BuildValue("y#y#", (const char *)rows, (Py_ssize_t)(n * 4), (const char *)scores,
                         (Py_ssize_t)sizeof scores);
}
#endif
