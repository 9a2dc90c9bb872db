#include "model/synth.h"
#include "gguf/gguf.h"
#include "quant/format.h"
#include <math.h>
#include <string.h>

namespace llm {

namespace {

struct shape_row {
    const char *name, *architecture;
    uint32_t n_layer, n_embd, n_ff, n_head, n_head_kv, n_vocab, n_ctx;
    float rope_base;
    bool tied, qkv_bias;
};
// From the configuration files that were published with the models.
// clang-format off
const shape_row shapes[] = {
    {"tiny-256",     "llama", 1,  256,  512,   4,  2,  320,    512,    10000.0f,   false, false}, // nobody's: for tests
    {"stories-15m",  "llama", 6,  288,  768,   6,  6,  32000,  256,    10000.0f,   true,  false},
    {"smol-135m",    "llama", 30, 576,  1536,  9,  3,  49152,  2048,   10000.0f,   true,  false},
    {"qwen2-0.5b",   "qwen2", 24, 896,  4864,  14, 2,  151936, 32768,  1000000.0f, true,  true},
    {"llama-3.2-1b", "llama", 16, 2048, 8192,  32, 8,  128256, 131072, 500000.0f,  true,  false},
    {"llama-3-8b",   "llama", 32, 4096, 14336, 32, 8,  128256, 8192,   500000.0f,  false, false},
    {"llama-2-7b",   "llama", 32, 4096, 11008, 32, 32, 32000,  4096,   10000.0f,   false, false},
};
// clang-format on

// What a type name means for a tensor: a format for all but the output matrix, which most files keep in Q6_K. The
// exceptions: plain numbers and Q8_0 throughout; Q4_K_M keeps half of the sensitive tensors in Q6_K.
struct type_row {
    const char *name;
    format_id base, sensitive, head;
};
const type_row exceptions[] = {
    {"F32", FORMAT_F32, FORMAT_F32, FORMAT_F32},       {"F16", FORMAT_F16, FORMAT_F16, FORMAT_F16},
    {"BF16", FORMAT_BF16, FORMAT_BF16, FORMAT_BF16},   {"Q8_0", FORMAT_Q8_0, FORMAT_Q8_0, FORMAT_Q8_0},
    {"Q4_K_M", FORMAT_Q4_K, FORMAT_Q6_K, FORMAT_Q6_K},
};

struct tensor_plan {
    std::string name;
    const block_format *format;
    uint64_t cols, rows; // rows 0: a vector of ones
};

struct synth {
    const shape_row *shape;
    type_row type;
    gguf_writer *w;
    uint64_t random;
    std::vector<tensor_plan> tensors;
};

uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state ^ (*state >> 29);
}

bool same_name(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a | 32) != (*b | 32)) return false;
    return *a == *b;
}

template <class Row, size_t N> const Row *find_row(const Row (&rows)[N], const char *name) {
    for (const Row &row : rows)
        if (same_name(row.name, name)) return &row;
    return nullptr;
}
template <class Row, size_t N> std::string names_of(const Row (&rows)[N]) {
    std::string all;
    for (const Row &row : rows) all += (all.empty() ? "" : ", ") + std::string(row.name);
    return all;
}

bool find_type(const char *name, type_row *out) {
    const type_row *row = find_row(exceptions, name);
    const block_format *format = format_by_name(name);
    if (row)
        *out = *row;
    else if (format && format_supported(format))
        *out = {format->name, format->id, format->id, FORMAT_Q6_K};
    else
        return false;
    return true;
}
std::string names_of_types() {
    std::string all;
    for (const block_format *f = format_table(nullptr); f->name; f++)
        if (format_supported(f)) all += f->name + std::string(", ");
    return all + "Q4_K_M";
}

// The format asked for, or what divides the row: Q8_0, else F16.
const block_format *fitting(format_id id, uint64_t cols) {
    for (format_id candidate : {id, FORMAT_Q8_0})
        if (cols % format_by_id(candidate)->block_size == 0) return format_by_id(candidate);
    return format_by_id(FORMAT_F16);
}

void add(synth *s, std::string name, format_id id, uint64_t cols, uint64_t rows) {
    const block_format *format = rows ? fitting(id, cols) : format_by_id(FORMAT_F32);
    s->tensors.push_back({std::move(name), format, cols, rows});
}

void add_layer(synth *s, uint32_t i) {
    const shape_row *h = s->shape;
    uint64_t embd = h->n_embd, kv = embd / h->n_head * h->n_head_kv, ff = h->n_ff;
    format_id base = s->type.base, sensitive = i % 2 ? base : s->type.sensitive;
    std::string p = "blk." + std::to_string(i) + ".";
    add(s, p + "attn_norm.weight", FORMAT_F32, embd, 0);
    add(s, p + "attn_q.weight", base, embd, embd);
    add(s, p + "attn_k.weight", base, embd, kv);
    add(s, p + "attn_v.weight", sensitive, embd, kv);
    if (h->qkv_bias) {
        add(s, p + "attn_q.bias", FORMAT_F32, embd, 0);
        add(s, p + "attn_k.bias", FORMAT_F32, kv, 0);
        add(s, p + "attn_v.bias", FORMAT_F32, kv, 0);
    }
    add(s, p + "attn_output.weight", base, embd, embd);
    add(s, p + "ffn_norm.weight", FORMAT_F32, embd, 0);
    add(s, p + "ffn_gate.weight", base, embd, ff);
    add(s, p + "ffn_up.weight", base, embd, ff);
    add(s, p + "ffn_down.weight", sensitive, ff, embd);
}

void plan_tensors(synth *s) {
    const shape_row *h = s->shape;
    add(s, "token_embd.weight", h->tied ? s->type.head : s->type.base, h->n_embd, h->n_vocab);
    for (uint32_t i = 0; i < h->n_layer; i++) add_layer(s, i);
    add(s, "output_norm.weight", FORMAT_F32, h->n_embd, 0);
    if (!h->tied) add(s, "output.weight", s->type.head, h->n_embd, h->n_vocab);
}

// The letter that stands for a byte in byte-level vocabularies: printable Latin-1 is itself, the rest is moved above
// U+0100 (the GPT-2 vocabulary's rule).
std::string byte_letter(int byte) {
    auto printable = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
    int code = byte;
    if (!printable(byte)) {
        code = 256;
        for (int b = 0; b < byte; b++) code += !printable(b);
    }
    if (code < 128) return std::string(1, (char)code);
    return {(char)(0xC0 | code >> 6), (char)(0x80 | (code & 63))};
}

// All bytes, two merges of letters, fillers that no text gives, and an end token.
void write_vocabulary(synth *s) {
    std::vector<std::string> tokens;
    for (int b = 0; b < 256; b++) tokens.push_back(byte_letter(b));
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

void write_metadata(synth *s) {
    const shape_row *h = s->shape;
    std::string a = std::string(h->architecture) + ".";
    gguf_writer_set_string(s->w, "general.architecture", h->architecture);
    gguf_writer_set_string(s->w, "general.name", std::string("random weights, shape ") + h->name);
    gguf_writer_set_u32(s->w, a + "block_count", h->n_layer);
    gguf_writer_set_u32(s->w, a + "context_length", h->n_ctx);
    gguf_writer_set_u32(s->w, a + "embedding_length", h->n_embd);
    gguf_writer_set_u32(s->w, a + "feed_forward_length", h->n_ff);
    gguf_writer_set_u32(s->w, a + "attention.head_count", h->n_head);
    gguf_writer_set_u32(s->w, a + "attention.head_count_kv", h->n_head_kv);
    gguf_writer_set_f32(s->w, a + "attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_writer_set_f32(s->w, a + "rope.freq_base", h->rope_base);
    gguf_writer_set_u32(s->w, a + "rope.dimension_count", h->n_embd / h->n_head);
    gguf_writer_set_u32(s->w, a + "vocab_size", h->n_vocab);
    write_vocabulary(s);
    for (const tensor_plan &t : s->tensors) {
        uint64_t dimensions[2] = {t.cols, t.rows};
        gguf_writer_add_tensor(s->w, t.name, t.format->id, t.rows ? 2 : 1, dimensions);
    }
}

// Uniform in [-1, 1] times a size that keeps the sums of a row near one.
void random_row(synth *s, float *row, uint64_t n) {
    float size = sqrtf(3.0f / (float)n);
    for (uint64_t i = 0; i < n; i++)
        row[i] = size * ((float)(int32_t)(uint32_t)(next_random(&s->random) >> 32) * 0x1p-31f);
}

// For formats without a quantiser: random bits under one scale, which after a first draw is set so that the values have
// the size of random_row's.
void random_blocks(synth *s, const block_format *format, uint8_t *row, uint64_t n) {
    const size_t bytes = format_bytes(format, n);
    for (size_t i = 0; i < bytes; i++) row[i] = (uint8_t)(next_random(&s->random) >> 32);
    std::vector<float> values(n);
    float scale = 1;
    for (int draw = 0; draw < 2; draw++) {
        for (size_t at = 0; at < bytes; at += format->block_bytes) format->set_scales(row + at, scale, scale);
        format->dequantise(row, values.data(), n);
        float sum = 0;
        for (float v : values) sum += v * v;
        if (sum > 0) scale = scale / sqrtf(sum);
    }
}

// Rows are drawn from a pool of quantised ones: quantising 10^9 values would take most of a minute, and speed does not
// depend on which rows are equal.
constexpr uint64_t POOL_ROWS = 64;

llm_status write_matrix(synth *s, const tensor_plan &t, llm_error *err) {
    size_t row_bytes = format_bytes(t.format, t.cols);
    uint64_t n = t.rows < POOL_ROWS ? t.rows : POOL_ROWS;
    std::vector<float> row(t.cols);
    std::vector<uint8_t> pool(n * row_bytes);
    for (uint64_t i = 0; i < n; i++) {
        random_row(s, row.data(), t.cols);
        if (t.format->quantise)
            t.format->quantise(row.data(), pool.data() + i * row_bytes, t.cols);
        else
            random_blocks(s, t.format, pool.data() + i * row_bytes, t.cols);
    }
    for (uint64_t i = 0; i < t.rows; i++) {
        uint64_t from = i < n ? i : next_random(&s->random) % n;
        LLM_TRY(gguf_writer_write(s->w, pool.data() + from * row_bytes, row_bytes, err));
    }
    return LLM_OK;
}

llm_status write_tensor(synth *s, const tensor_plan &t, llm_error *err) {
    if (t.rows) return write_matrix(s, t, err);
    bool bias = t.name.find(".bias") != std::string::npos;
    std::vector<float> values(t.cols, bias ? 0.01f : 1.0f);
    return gguf_writer_write(s->w, values.data(), values.size() * sizeof(float), err);
}

llm_status write_file(synth *s, const progress *steps, llm_error *err) {
    write_metadata(s);
    LLM_TRY(gguf_writer_begin_data(s->w, err));
    for (size_t i = 0; i < s->tensors.size(); i++) {
        if (!go_on(steps, (float)i / (float)s->tensors.size()))
            return fail(err, LLM_CANCELLED, "writing was cancelled");
        LLM_TRY(write_tensor(s, s->tensors[i], err));
    }
    return LLM_OK;
}

} // namespace

const char *synth_shape_name(size_t index) {
    return index < sizeof shapes / sizeof *shapes ? shapes[index].name : nullptr;
}

llm_status synth_write(const char *shape, const char *format, uint64_t seed, const char *path, const progress *steps,
                       llm_error *err) {
    synth s = {find_row(shapes, shape), {}, nullptr, seed * 2 + 1, {}};
    if (!s.shape)
        return fail(err, LLM_ERR_NOT_FOUND, "shape \"%s\" is not known; there are %s", shape, names_of(shapes).c_str());
    if (!find_type(format, &s.type))
        return fail(err, LLM_ERR_NOT_FOUND, "format \"%s\" is not known here; there are %s", format,
                    names_of_types().c_str());
    plan_tensors(&s);
    LLM_TRY(gguf_writer_open(path, &s.w, err));
    llm_status status = write_file(&s, steps, err);
    if (status == LLM_OK) return gguf_writer_finish(s.w, err);
    gguf_writer_abandon(s.w);
    return status;
}

} // namespace llm
