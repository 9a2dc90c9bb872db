#include "run/sampler.h"
#include "core/fmath.h"
#include <algorithm>
#include <math.h>

namespace llm {

namespace {

constexpr uint32_t DEFAULT_WINDOW = 64, MAX_WINDOW = 1u << 20;

struct range_check {
    const char *name;
    float llm_sampler_options::*field;
    float least, most;
};
const range_check ranges[] = {
    {"temperature", &llm_sampler_options::temperature, 0, 100},
    {"top_p", &llm_sampler_options::top_p, 0, 1},
    {"min_p", &llm_sampler_options::min_p, 0, 1},
    {"repeat_penalty", &llm_sampler_options::repeat_penalty, 0, 100},
    {"frequency_penalty", &llm_sampler_options::frequency_penalty, -100, 100},
    {"presence_penalty", &llm_sampler_options::presence_penalty, -100, 100},
};

bool better(const llm_candidate &x, const llm_candidate &y) {
    return x.logit > y.logit || (x.logit == y.logit && x.id < y.id);
}

// Bijective mixing of 64 bits (the finaliser of SplitMix64; Steele, Lea, Flood 2014).
uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

llm_status check_logits(const std::vector<llm_candidate> &candidates, llm_error *err) {
    bool any = false;
    for (const llm_candidate &c : candidates) {
        if (c.logit != c.logit || c.logit == INFINITY)
            return fail(err, LLM_ERR_NUMERIC, "the logit of token %d is %g", c.id, (double)c.logit);
        any = any || c.logit != -INFINITY;
    }
    return any ? LLM_OK : fail(err, LLM_ERR_NUMERIC, "no token has a finite logit");
}

bool penalised(const llm_sampler_options &o) {
    return (o.repeat_penalty != 0 && o.repeat_penalty != 1) || o.frequency_penalty != 0 || o.presence_penalty != 0;
}

void penalise(const sampler *s, llm_candidate *c) {
    const llm_sampler_options &o = s->options;
    size_t count = (size_t)std::count(s->recent.begin(), s->recent.end(), c->id);
    if (count == 0) return;
    if (o.repeat_penalty != 0) c->logit = c->logit > 0 ? c->logit / o.repeat_penalty : c->logit * o.repeat_penalty;
    c->logit = c->logit - (float)count * o.frequency_penalty;
    c->logit = c->logit - o.presence_penalty;
}

// Candidates are mostly in id order and complete; then a recent token's candidate is found at once.
void apply_penalties(sampler *s) {
    if (!penalised(s->options)) return;
    std::vector<llm_candidate> &all = s->candidates;
    for (size_t i = 0; i < s->recent.size(); i++) {
        llm_token id = s->recent[i];
        if (std::find(s->recent.begin(), s->recent.begin() + (ptrdiff_t)i, id) != s->recent.begin() + (ptrdiff_t)i)
            continue;
        llm_candidate *c = nullptr;
        if ((size_t)id < all.size() && all[(size_t)id].id == id) c = &all[(size_t)id];
        for (size_t k = 0; !c && k < all.size(); k++)
            if (all[k].id == id) c = &all[k];
        if (c) penalise(s, c);
    }
}

float weight_of(float logit, float best, float temperature) { return exp_f32((logit - best) / temperature); }

// Sorts the best `n` to the front.
void sort_best(std::vector<llm_candidate> &all, size_t n) {
    n = std::min(n, all.size());
    std::partial_sort(all.begin(), all.begin() + (ptrdiff_t)n, all.end(), better);
}

// Length of the shortest sorted prefix whose probability reaches p. Sorts no more than it needs.
size_t nucleus(std::vector<llm_candidate> &all, size_t *n_sorted, float p) {
    float best = all[0].logit;
    double total = 0, sum = 0;
    for (const llm_candidate &c : all) total += (double)weight_of(c.logit, best, 1.0f);
    for (size_t i = 0; i < all.size(); i++) {
        if (i == *n_sorted) sort_best(all, *n_sorted = *n_sorted * 8);
        sum += (double)weight_of(all[i].logit, best, 1.0f);
        if (sum >= (double)p * total) return i + 1;
    }
    return all.size();
}

size_t above_minimum(const std::vector<llm_candidate> &all, size_t n, float min_p) {
    size_t kept = 1;
    while (kept < n && weight_of(all[kept].logit, all[0].logit, 1.0f) >= min_p) kept++;
    return kept;
}

// Cuts the candidates to those that may be drawn, best first.
void truncate(sampler *s) {
    const llm_sampler_options &o = s->options;
    std::vector<llm_candidate> &all = s->candidates;
    size_t n_sorted = o.top_k ? std::min<size_t>(o.top_k, all.size()) : std::min<size_t>(64, all.size());
    sort_best(all, n_sorted);
    if (o.top_k) all.resize(n_sorted);
    bool by_p = o.top_p > 0 && o.top_p < 1;
    if (by_p)
        all.resize(nucleus(all, &n_sorted, o.top_p));
    else if (n_sorted < all.size())
        sort_best(all, all.size());
    if (o.min_p > 0) all.resize(above_minimum(all, all.size(), o.min_p));
}

llm_token draw(const sampler *s, uint64_t position) {
    const std::vector<llm_candidate> &all = s->candidates;
    float best = all[0].logit, t = s->options.temperature;
    double total = 0, sum = 0;
    for (const llm_candidate &c : all) total += (double)weight_of(c.logit, best, t);
    double target = random_uniform(s->options.seed, position, 0) * total;
    for (const llm_candidate &c : all) {
        sum += (double)weight_of(c.logit, best, t);
        if (sum > target) return c.id;
    }
    return all[0].id;
}

llm_status pick(sampler *s, uint64_t position, llm_token *out, llm_error *err) {
    LLM_TRY(check_logits(s->candidates, err));
    apply_penalties(s);
    if (s->options.temperature == 0) {
        *out = std::min_element(s->candidates.begin(), s->candidates.end(), better)->id;
        return LLM_OK;
    }
    truncate(s);
    *out = draw(s, position);
    return LLM_OK;
}

// Penalties as they are usually set only lower logits: then a token below the best k that were never made stays below.
bool only_lowers(const llm_sampler_options &o) {
    return (o.repeat_penalty == 0 || o.repeat_penalty >= 1) && o.frequency_penalty >= 0 && o.presence_penalty >= 0;
}

} // namespace

uint32_t sampler_needs(const sampler *s) {
    const llm_sampler_options &o = s->options;
    const uint32_t kept = o.temperature == 0 ? 1 : o.top_k;
    if (!penalised(o) || !kept) return kept;
    return only_lowers(o) ? kept + o.penalty_window : 0;
}

double random_uniform(uint64_t seed, uint64_t position, uint64_t draw) {
    uint64_t x = mix(seed + 0x9e3779b97f4a7c15ull);
    x = mix(x ^ (position + 0x9e3779b97f4a7c15ull) * 0xd1342543de82ef95ull);
    x = mix(x ^ (draw + 0x9e3779b97f4a7c15ull) * 0xaf251af3b0f025b5ull);
    return (double)(x >> 11) * 0x1p-53;
}

llm_status sampler_init(sampler *s, const llm_sampler_options *options, llm_error *err) {
    for (const range_check &r : ranges) {
        float value = options->*r.field;
        if (!(value >= r.least && value <= r.most))
            return fail(err, LLM_ERR_ARGUMENT, "%s is %g; expected %g to %g", r.name, (double)value, (double)r.least,
                        (double)r.most);
    }
    if (options->penalty_window > MAX_WINDOW)
        return fail(err, LLM_ERR_ARGUMENT, "penalty_window is %u; at most %u are possible", options->penalty_window,
                    MAX_WINDOW);
    s->options = *options;
    if (!s->options.penalty_window) s->options.penalty_window = DEFAULT_WINDOW;
    s->recent.clear();
    s->recent.reserve(s->options.penalty_window);
    s->n_accepted = 0;
    return LLM_OK;
}

void sampler_reset(sampler *s) {
    s->recent.clear();
    s->n_accepted = 0;
}

void sampler_accept(sampler *s, llm_token id) {
    if (s->recent.size() < s->options.penalty_window)
        s->recent.push_back(id);
    else
        s->recent[s->n_accepted % s->options.penalty_window] = id;
    s->n_accepted++;
}

llm_status sampler_sample(sampler *s, const float *logits, size_t n_vocab, uint64_t position, llm_token *out,
                          llm_error *err) {
    s->candidates.resize(n_vocab);
    for (size_t i = 0; i < n_vocab; i++) s->candidates[i] = {(llm_token)i, logits[i]};
    return pick(s, position, out, err);
}

llm_status sampler_sample_candidates(sampler *s, const llm_candidate *candidates, size_t n, uint64_t position,
                                     llm_token *out, llm_error *err) {
    s->candidates.assign(candidates, candidates + n);
    return pick(s, position, out, err);
}

} // namespace llm
