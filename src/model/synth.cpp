#include "model/synth.h"
#include "core/fmath.h"
#include "model/family.h"
#include "model/random_weights.h"
#include "text/byte_letters.h"
#include <deque>
#include <string.h>

namespace llm {

namespace {

struct synth {
    const synth_shape *shape;
    uint64_t seed;
    std::vector<synth_tensor> tensors;
    std::deque<random_weights> pools; // one per format and deviation
    gguf_writer *w = nullptr;
};

hparams hparams_of(const synth_shape *shape) {
    hparams h;
    h.architecture = shape->architecture;
    h.n_layer = shape->n_layer;
    h.n_ctx_train = shape->n_ctx;
    h.n_embd = shape->n_embd;
    h.n_ff = shape->n_ff;
    h.n_head = shape->n_head;
    h.n_head_kv = shape->n_head_kv;
    h.head_k = h.head_v = h.n_rot = shape->head;
    h.n_vocab = shape->n_vocab;
    h.norm_eps = (double)shape->norm_eps;
    h.rope_freq_base = (double)shape->rope_base;
    return h;
}

bool wanted(const synth_shape *shape, const family_weight &weight) {
    switch (weight.id) {
    case ROLE_OUTPUT: return !shape->tied;
    case ROLE_ROPE_FREQS: return shape->rope_stretch > 0;
    case ROLE_ATTN_Q_BIAS:
    case ROLE_ATTN_K_BIAS:
    case ROLE_ATTN_V_BIAS: return weight.required || shape->qkv_bias;
    default: return weight.required;
    }
}

synth_tensor tensor_of(const synth_shape *shape, const synth_type *type, const hparams *h, role id, uint32_t layer) {
    const role_row *row = role_find(id);
    std::string name = role_is_per_layer(id) ? layer_name(layer, row->name) : row->name;
    if (row->kind == ROLE_VECTOR) return {id, name, format_by_id(FORMAT_F32), dimension_of(h, row->rows), 0};
    uint64_t rows = dimension_of(h, row->rows), cols = dimension_of(h, row->cols);
    return {id, name, synth_format(type, shape, id, layer, cols), cols, rows};
}

// All bytes, two merges of letters, fillers that no text gives, and an end token: a vocabulary that every runtime
// loads.
void write_vocabulary(synth *s) {
    std::vector<std::string> tokens;
    for (uint16_t letter : letters.letter_of) {
        if (letter < 0x80)
            tokens.push_back(std::string(1, (char)letter));
        else
            tokens.push_back({(char)(0xC0 | letter >> 6), (char)(0x80 | (letter & 63))});
    }
    tokens.push_back("th");
    tokens.push_back("he");
    while (tokens.size() + 1 < s->shape->n_vocab) tokens.push_back("<unused" + std::to_string(tokens.size()) + ">");
    tokens.push_back("<|end|>");
    std::vector<int32_t> kinds(tokens.size(), 1);
    for (size_t i = 258; i < kinds.size(); i++) kinds[i] = i + 1 == kinds.size() ? 3 : 5; // control, unused
    gguf_writer_set_string(s->w, "tokenizer.ggml.model", "gpt2");
    gguf_writer_set_string(s->w, "tokenizer.ggml.pre", "qwen2");
    gguf_writer_set_strings(s->w, "tokenizer.ggml.tokens", tokens);
    gguf_writer_set_i32s(s->w, "tokenizer.ggml.token_type", kinds);
    gguf_writer_set_strings(s->w, "tokenizer.ggml.merges", {"t h", "h e"});
    gguf_writer_set_u32(s->w, "tokenizer.ggml.eos_token_id", s->shape->n_vocab - 1);
    gguf_writer_set_u32(s->w, "tokenizer.ggml.bos_token_id", s->shape->n_vocab - 1);
    gguf_writer_set_bool(s->w, "tokenizer.ggml.add_bos_token", false);
}

void write_numbers(synth *s) {
    const synth_shape *h = s->shape;
    bool rms = family_eps(family_find(h->architecture)) == EPS_RMS;
    const synth_key common[] = {
        {"block_count", (double)h->n_layer, true},
        {"context_length", (double)h->n_ctx, true},
        {"embedding_length", (double)h->n_embd, true},
        {"feed_forward_length", (double)h->n_ff, true},
        {"attention.head_count", (double)h->n_head, true},
        {"attention.head_count_kv", (double)h->n_head_kv, true},
        {"attention.key_length", (double)h->head, true},
        {"attention.value_length", (double)h->head, true},
        {"rope.dimension_count", (double)h->head, true},
        {"vocab_size", (double)h->n_vocab, true},
        {"rope.freq_base", (double)h->rope_base, false},
        {rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", (double)h->norm_eps, false},
        {nullptr, 0, false},
    };
    for (const synth_key *list : {common, h->more})
        for (const synth_key *k = list; k && k->key; k++) {
            std::string key = std::string(h->architecture) + "." + k->key;
            if (k->integer)
                gguf_writer_set_u32(s->w, key, (uint32_t)k->value);
            else
                gguf_writer_set_f32(s->w, key, (float)k->value);
        }
}

void write_header(synth *s) {
    gguf_writer_set_string(s->w, "general.architecture", s->shape->architecture);
    gguf_writer_set_string(s->w, "general.name", std::string("random weights, shape ") + s->shape->name);
    write_numbers(s);
    write_vocabulary(s);
    for (const synth_tensor &t : s->tensors) {
        uint64_t dimensions[2] = {t.cols, t.rows};
        gguf_writer_add_tensor(s->w, t.name, t.format->id, t.rows ? 2 : 1, dimensions);
    }
}

// Llama 3.1's rule for contexts beyond 8192: pairs that turn more than 4 times within them keep their frequency, those
// that turn less than once are slowed down by `stretch`, those between by something between.
double rope_factor(const synth_shape *shape, uint64_t pair) {
    double slowness = exp2_f64(log2_f64((double)shape->rope_base) * 2 * (double)pair / shape->head);
    double turns = 8192 / (6.283185307179586477 * slowness);
    double keep = turns >= 4 ? 1 : turns <= 1 ? 0 : (turns - 1) / 3;
    return 1 / ((1 - keep) / (double)shape->rope_stretch + keep);
}

// Gains are 1, biases small. A norm of what a layer adds has a gain that makes it outweigh the embedding (deviation_of),
// which families with such norms scale up.
float vector_value(const synth_tensor &t) {
    if (t.name.find(".bias") != std::string::npos) return 0.01f;
    return t.id == ROLE_ATTN_POST_NORM || t.id == ROLE_FFN_POST_NORM ? 16.0f : 1.0f;
}

llm_status write_vector(synth *s, const synth_tensor &t, llm_error *err) {
    std::vector<float> values(t.cols, vector_value(t));
    if (t.id == ROLE_ROPE_FREQS)
        for (size_t i = 0; i < values.size(); i++) values[i] = (float)rope_factor(s->shape, i);
    return gguf_writer_write(s->w, values.data(), values.size() * sizeof(float), err);
}

// Matrices keep the size of what passes through them, and the head spreads logits with a deviation of 3, as trained
// models do. What layers add outweighs the embedding they start from: a tied head would otherwise see the token that it
// was given and repeat it for ever.
double deviation_of(const synth_tensor &t) {
    const double keep = 1 / sqrt_f64((double)t.cols);
    switch (t.id) {
    case ROLE_TOKEN_EMBD:
    case ROLE_OUTPUT: return 3 * keep;
    case ROLE_ATTN_OUT:
    case ROLE_FFN_DOWN: return 8 * keep;
    default: return keep;
    }
}

llm_status find_pool(synth *s, const synth_tensor &t, const random_weights **out, llm_error *err) {
    const double deviation = deviation_of(t);
    for (const random_weights &pool : s->pools)
        if (pool.format == t.format && pool.deviation == deviation) return *out = &pool, LLM_OK;
    s->pools.emplace_back();
    *out = &s->pools.back();
    return random_weights_make(t.format, deviation, s->seed ^ s->pools.size() << 56, &s->pools.back(), err);
}

llm_status write_matrix(synth *s, const synth_tensor &t, uint64_t seed, llm_error *err) {
    const random_weights *pool = nullptr;
    LLM_TRY(find_pool(s, t, &pool, err));
    const size_t row_bytes = format_bytes(t.format, t.cols);
    const uint64_t step = (4u << 20) / row_bytes + 1;
    std::vector<uint8_t> piece(row_bytes * step);
    random_bits bits = {seed};
    for (uint64_t row = 0; row < t.rows; row += step) {
        const uint64_t n = t.rows - row < step ? t.rows - row : step;
        for (uint64_t i = 0; i < n; i++) random_weights_row(pool, &bits, t.cols, &piece[i * row_bytes]);
        LLM_TRY(gguf_writer_write(s->w, piece.data(), n * row_bytes, err));
    }
    return LLM_OK;
}

llm_status write_file(synth *s, const progress *steps, llm_error *err) {
    write_header(s);
    LLM_TRY(gguf_writer_begin_data(s->w, err));
    random_bits seeds = {s->seed};
    for (size_t i = 0; i < s->tensors.size(); i++) {
        if (!go_on(steps, (float)i / (float)s->tensors.size()))
            return fail(err, LLM_CANCELLED, "writing was cancelled");
        const synth_tensor &t = s->tensors[i];
        LLM_TRY(t.rows ? write_matrix(s, t, seeds.next(), err) : write_vector(s, t, err));
    }
    return LLM_OK;
}

std::string shape_names() {
    std::string all;
    for (size_t i = 0; synth_shape_at(i); i++) all += (i ? ", " : "") + std::string(synth_shape_at(i)->name);
    return all;
}

llm_status find(const char *shape, const char *type, const synth_shape **out_shape, synth_type *out_type,
                llm_error *err) {
    *out_shape = synth_shape_find(shape);
    if (!*out_shape)
        return fail(err, LLM_ERR_NOT_FOUND, "shape \"%s\" is not known; there are %s", shape, shape_names().c_str());
    if (synth_type_find(type, out_type)) return LLM_OK;
    return fail(err, LLM_ERR_NOT_FOUND, "type \"%s\" is not known here; there are %s", type,
                synth_type_names().c_str());
}

uint64_t window_of(const synth_shape *shape) {
    for (const synth_key *k = shape->more; k && k->key; k++)
        if (strcmp(k->key, "attention.sliding_window") == 0) return (uint64_t)k->value;
    return 0;
}

} // namespace

void synth_tensors(const synth_shape *shape, const synth_type *type, std::vector<synth_tensor> *out) {
    const hparams h = hparams_of(shape);
    const family *kind = family_find(shape->architecture);
    for (bool per_layer : {false, true})
        for (uint32_t layer = 0; layer < (per_layer ? shape->n_layer : 1); layer++)
            for (size_t i = 0; const family_weight *weight = family_weight_at(kind, i); i++)
                if (role_is_per_layer(weight->id) == per_layer && wanted(shape, *weight))
                    out->push_back(tensor_of(shape, type, &h, weight->id, layer));
}

llm_status synth_cost(const char *shape_name, const char *type_name, const backend *b, model_cost *out,
                      llm_error *err) {
    const synth_shape *shape;
    synth_type type;
    LLM_TRY(find(shape_name, type_name, &shape, &type, err));
    std::vector<synth_tensor> tensors;
    synth_tensors(shape, &type, &tensors);
    *out = model_cost();
    for (const synth_tensor &t : tensors) {
        const bool head = t.id == ROLE_OUTPUT || (t.id == ROLE_TOKEN_EMBD && shape->tied);
        if (t.rows)
            cost_add(out, b, t.id, head, t.format, t.rows, t.cols);
        else
            out->n_params += t.cols;
    }
    const uint32_t period = family_find(shape->architecture)->rules.local_period;
    for (uint32_t i = 1; i <= shape->n_layer; i++)
        cost_add_cache(out, b, {shape->n_head_kv, shape->head, shape->head},
                       period && i % period ? window_of(shape) : 0);
    return LLM_OK;
}

llm_status synth_write(const char *shape, const char *type_name, uint64_t seed, const char *path, const progress *steps,
                       llm_error *err) {
    synth s = {nullptr, seed, {}, {}, nullptr};
    synth_type type;
    LLM_TRY(find(shape, type_name, &s.shape, &type, err));
    synth_tensors(s.shape, &type, &s.tensors);
    LLM_TRY(gguf_writer_open(path, &s.w, err));
    llm_status status = write_file(&s, steps, err);
    if (status == LLM_OK) return gguf_writer_finish(s.w, err);
    gguf_writer_abandon(s.w);
    return status;
}

} // namespace llm
