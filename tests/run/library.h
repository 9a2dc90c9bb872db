// The library as a program uses it: handles that free themselves, and runs that give logits. A failing call is a
// failing test with the library's own sentence.
#pragma once
#include "llm.h"
#include "test.h"
#include <memory>
#include <string>
#include <vector>

namespace llm_test {

template <class T, void (*release)(T *)> struct releaser {
    void operator()(T *object) const { release(object); }
};
using model_handle = std::unique_ptr<llm_model, releaser<llm_model, llm_model_free>>;
using context_handle = std::unique_ptr<llm_context, releaser<llm_context, llm_context_free>>;
using sampler_handle = std::unique_ptr<llm_sampler, releaser<llm_sampler, llm_sampler_free>>;
using chat_handle = std::unique_ptr<llm_chat, releaser<llm_chat, llm_chat_free>>;

using ids = std::vector<llm_token>;

// Throws the library's sentence: Catch2 reports it as the failure of the test.
void expect_ok(llm_status status, const llm_error &err);

// A file of tests/data.
std::string own_data(const std::string &name);
// A model that users fetch: LLM_MODELS, else llm/models in the user's data folder.
std::string user_model(const std::string &file);
bool file_exists(const std::string &path);

model_handle load_model(const std::string &path, const char *tier = nullptr);
llm_model_info model_info(const llm_model *model);

context_handle make_context(llm_model *model, const llm_context_options &options);
inline llm_context_options context_options(uint32_t n_ctx, llm_kv_type kv = LLM_KV_F16) {
    llm_context_options o = {};
    o.n_ctx = n_ctx;
    o.kv_type_k = o.kv_type_v = kv;
    return o;
}

// Appends tokens to a sequence and returns the logits of all of them, [n, n_vocab].
std::vector<float> logits_of(llm_context *context, const ids &tokens, uint32_t n_vocab, llm_seq seq = 0);
// The same in decodes of `step` tokens; step 0: in one.
std::vector<float> logits_in_steps(llm_context *context, const ids &tokens, uint32_t n_vocab, size_t step,
                                   llm_seq seq = 0);
// A decode that must succeed, for the logits of the last token only.
const float *feed(llm_context *context, const ids &tokens, llm_seq seq = 0);

// Reproducible ids below n_vocab.
ids random_ids(size_t n, uint32_t n_vocab, uint64_t seed);

bool same_bits(const std::vector<float> &a, const std::vector<float> &b);
size_t best_of(const float *logits, size_t n); // ties: the smaller id

// How far logits are from expected ones.
struct distance {
    double max_abs = 0, rms = 0, rms_centred = 0, kl_mean = 0; // KL(expected || ours); centred: rows minus their mean
};
distance distance_of(const float *ours, const float *expected, size_t n_rows, size_t n_vocab);
// -ln of the probability of `id`.
double surprise(const float *logits, size_t n, size_t id);

// Perplexity by windows that do not overlap, of which the second half is scored; bos < 0: the first id stays.
double perplexity(llm_context *context, uint32_t n_vocab, const ids &text, uint32_t window, llm_token bos);

} // namespace llm_test
