// The numbers that shape a model, read from metadata by one table and checked by one function; after that the rest of
// the code trusts them.
#pragma once
#include "core/status.h"
#include "gguf/gguf.h"
#include <string>

namespace llm {

enum rope_scaling : uint32_t { ROPE_SCALE_NONE, ROPE_SCALE_LINEAR, ROPE_SCALE_YARN };

// What differs from layer to layer.
struct layer_hparams {
    bool local = false;  // sees a window of keys and turns by local_rope_base
    uint32_t window = 0; // keys that a token sees, itself included; 0: all
};

struct hparams {
    std::string architecture;
    uint64_t n_layer = 0, n_ctx_train = 0, n_embd = 0, n_ff = 0;
    uint64_t n_head = 0, n_head_kv = 0; // n_head_kv defaults to n_head
    uint64_t head_k = 0, head_v = 0;    // default n_embd / n_head
    uint64_t n_rot = 0;                 // default head_k
    uint64_t n_vocab = 0;               // rows of the token embedding
    double norm_eps = 0;
    double attention_scale = 0; // default 1 / sqrt(head_k)
    double rope_freq_base = 10000.0;
    double local_rope_base = 0; // of local layers, whose positions are not scaled; 0: they turn as the others
    rope_scaling scaling = ROPE_SCALE_NONE;
    double scaling_factor = 1.0; // positions are divided by it
    uint64_t scaling_n_ctx = 0;  // trained context before scaling; YaRN
    double scaling_attn_factor = 1.0, yarn_beta_fast = 32.0, yarn_beta_slow = 1.0;
    std::vector<layer_hparams> layers; // [n_layer]
};

// norm_eps comes from one of two keys, by kind of norm.
enum eps_key : uint8_t { EPS_RMS, EPS_LAYER };

// What a family knows and its files may leave unsaid.
struct hparams_rules {
    // Of so many layers all but the last are local, where attention.sliding_window_pattern does not say it; 0: the
    // family has no local layers, whatever the file says.
    uint32_t local_period = 0;
    double local_rope_base = 0; // where rope.freq_base_swa does not say it
};

// Reads `ARCH.*`. Errors name the key, what was expected and what was found.
llm_status hparams_read(const gguf_file *file, const std::string &architecture, eps_key eps, const hparams_rules *rules,
                        hparams *out, llm_error *err);

} // namespace llm
