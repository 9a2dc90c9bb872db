// Picks a token from logits. Chain: penalties, top-k, top-p, min-p (on the probabilities at temperature 1), temperature,
// draw. Randomness is a function of (seed, position): no state, so the same seed gives the same text however the tokens
// were batched or drafted.
#pragma once
#include "core/status.h"
#include <vector>

namespace llm {

struct sampler {
    llm_sampler_options options = {};
    std::vector<llm_token> recent;        // ring of the last penalty_window tokens
    size_t n_accepted = 0;
    std::vector<llm_candidate> candidates;// scratch, kept between calls
};

llm_status sampler_init(sampler *s, const llm_sampler_options *options, llm_error *err);
void sampler_reset(sampler *s);
void sampler_accept(sampler *s, llm_token id);
llm_status sampler_sample(sampler *s, const float *logits, size_t n_vocab, uint64_t position, llm_token *out,
                          llm_error *err);
llm_status sampler_sample_candidates(sampler *s, const llm_candidate *candidates, size_t n, uint64_t position,
                                     llm_token *out, llm_error *err);

// How many of the best candidates decide the next token as all of them would; 0: all are needed.
uint32_t sampler_needs(const sampler *s);

// Uniform in [0, 1), 53 bits.
double random_uniform(uint64_t seed, uint64_t position, uint64_t draw);

} // namespace llm
