#include "core/top.h"
#include <algorithm>

namespace llm {

namespace {

bool better(const llm_candidate &x, const llm_candidate &y) {
    return x.logit > y.logit || (x.logit == y.logit && x.id < y.id);
}

void offer(top_list *list, llm_candidate next) {
    if (list->n < list->k) {
        list->best[list->n++] = next;
    } else {
        if (!better(next, list->best[0])) return;
        std::pop_heap(list->best, list->best + list->n, better);
        list->best[list->n - 1] = next;
    }
    std::push_heap(list->best, list->best + list->n, better);
}

} // namespace

void top_offer(top_list *list, llm_token first_id, const float *logits, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (list->n == list->k && logits[i] < list->best[0].logit) continue;
        offer(list, {first_id + (llm_token)i, logits[i]});
    }
}

void top_merge(top_list *list, const top_list *other) {
    for (uint32_t i = 0; i < other->n; i++) offer(list, other->best[i]);
}

void top_sort(top_list *list) { std::sort_heap(list->best, list->best + list->n, better); }

} // namespace llm
