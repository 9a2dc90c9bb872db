// The best candidates of a row of logits, kept while the row is being computed, so that nobody has to store it and look
// through it again. Order: larger logit first, then smaller id; what a list ends up with does not depend on the order
// of the offers.
#pragma once
#include "core/status.h"

namespace llm {

struct top_list {
    llm_candidate *best; // [k], a heap: the worst kept one in front
    uint32_t n, k;
};

void top_offer(top_list *list, llm_token first_id, const float *logits, size_t n);
void top_merge(top_list *list, const top_list *other);
void top_sort(top_list *list); // best first; nothing may be offered afterwards

} // namespace llm
