// What a type name means for each tensor.
//
// The name of a format puts all matrices in it but the head, which published files keep at Q6_K. The names with _S, _M
// and _L are the mixes that llama.cpp's tool llama-quantize writes without an importance matrix: where they spend more
// bits is part of what those names mean to users.
#include "model/synth.h"

namespace llm {

namespace {

enum layer_rule : uint8_t {
    LAYERS_NONE, // ends a list
    LAYERS_ALL,
    LAYERS_FIRST_2,
    LAYERS_FIRST_4,
    LAYERS_SIXTEENTH, // the first of them
    LAYERS_EIGHTH,
    LAYERS_MORE // the first and last eighth, and every third between
};
struct exception_row {
    role id;
    layer_rule layers;
    format_id format;
};

} // namespace

struct synth_mix {
    const char *name;
    format_id base;
    exception_row exceptions[6]; // the first that fits counts
};

namespace {

// clang-format off
const synth_mix mixes[] = {
    {"Q3_K_M", FORMAT_Q3_K, {{ROLE_ATTN_V, LAYERS_FIRST_2, FORMAT_Q5_K}, {ROLE_ATTN_V, LAYERS_ALL, FORMAT_Q4_K},
                             {ROLE_ATTN_OUT, LAYERS_ALL, FORMAT_Q4_K},
                             {ROLE_FFN_DOWN, LAYERS_SIXTEENTH, FORMAT_Q5_K}, {ROLE_FFN_DOWN, LAYERS_ALL, FORMAT_Q4_K}}},
    {"Q3_K_L", FORMAT_Q3_K, {{ROLE_ATTN_V, LAYERS_ALL, FORMAT_Q5_K}, {ROLE_ATTN_OUT, LAYERS_ALL, FORMAT_Q5_K},
                             {ROLE_FFN_DOWN, LAYERS_ALL, FORMAT_Q5_K}}},
    {"Q4_K_S", FORMAT_Q4_K, {{ROLE_ATTN_V, LAYERS_FIRST_4, FORMAT_Q5_K}, {ROLE_FFN_DOWN, LAYERS_EIGHTH, FORMAT_Q5_K}}},
    {"Q4_K_M", FORMAT_Q4_K, {{ROLE_ATTN_V, LAYERS_MORE, FORMAT_Q6_K}, {ROLE_FFN_DOWN, LAYERS_MORE, FORMAT_Q6_K}}},
    {"Q5_K_M", FORMAT_Q5_K, {{ROLE_ATTN_V, LAYERS_MORE, FORMAT_Q6_K}, {ROLE_FFN_DOWN, LAYERS_MORE, FORMAT_Q6_K}}},
};
// What takes the place of a format with larger blocks where rows are no multiple of them.
const struct {
    format_id wanted, instead;
} fallbacks[] = {
    {FORMAT_Q2_K, FORMAT_Q4_0},  {FORMAT_Q3_K, FORMAT_Q4_0},  {FORMAT_Q4_K, FORMAT_Q5_0}, {FORMAT_Q5_K, FORMAT_Q5_1},
    {FORMAT_Q6_K, FORMAT_Q8_0},  {FORMAT_TQ1_0, FORMAT_Q4_0}, {FORMAT_TQ2_0, FORMAT_Q4_0}, {FORMAT_Q1_0, FORMAT_Q4_0},
    {FORMAT_Q2_0, FORMAT_Q4_0},  {FORMAT_NVFP4, FORMAT_Q4_0},
};
// clang-format on

bool chosen(layer_rule rule, uint32_t layer, uint32_t n) {
    switch (rule) {
    case LAYERS_ALL: return true;
    case LAYERS_FIRST_2: return layer < 2;
    case LAYERS_FIRST_4: return layer < 4;
    case LAYERS_SIXTEENTH: return layer < n / 16;
    case LAYERS_EIGHTH: return layer < n / 8;
    case LAYERS_MORE: return layer < n / 8 || layer >= 7 * n / 8 || (layer - n / 8) % 3 == 2;
    default: return false;
    }
}

bool usable(format_id id) { return format_supported(format_by_id(id)); }

bool usable_mix(const synth_mix &mix) {
    for (const exception_row &row : mix.exceptions)
        if (row.layers != LAYERS_NONE && !usable(row.format)) return false;
    return usable(mix.base);
}

const block_format *fitting(format_id id, uint64_t cols) {
    if (cols % format_by_id(id)->block_size == 0) return format_by_id(id);
    for (const auto &row : fallbacks)
        if (row.wanted == id) return format_by_id(row.instead);
    return format_by_id(usable(FORMAT_IQ4_NL) ? FORMAT_IQ4_NL : FORMAT_Q4_0); // IQ formats
}

format_id head_format(const block_format *base, uint64_t cols) {
    if (!base->quantised || base->id == FORMAT_Q8_0) return base->id;
    return cols % base->block_size ? FORMAT_Q8_0 : FORMAT_Q6_K;
}

} // namespace

bool synth_type_find(const char *name, synth_type *out) {
    for (const synth_mix &mix : mixes)
        if (equal_ignoring_case(mix.name, name) && usable_mix(mix)) {
            *out = {format_by_id(mix.base), &mix};
            return true;
        }
    *out = {format_by_name(name), nullptr};
    return out->base && format_supported(out->base);
}

std::string synth_type_names() {
    std::string all;
    for (const block_format *f = format_table(nullptr); f->name; f++)
        if (format_supported(f)) all += (all.empty() ? "" : ", ") + std::string(f->name);
    for (const synth_mix &mix : mixes)
        if (usable_mix(mix)) all += std::string(", ") + mix.name;
    return all;
}

const block_format *synth_format(const synth_type *type, const synth_shape *shape, role id, uint32_t layer,
                                 uint64_t cols) {
    const bool head = id == ROLE_OUTPUT || (id == ROLE_TOKEN_EMBD && shape->tied);
    if (head) return fitting(head_format(type->base, cols), cols);
    for (size_t i = 0; type->mix && type->mix->exceptions[i].layers != LAYERS_NONE; i++) {
        const exception_row &row = type->mix->exceptions[i];
        if (row.id == id && chosen(row.layers, layer, shape->n_layer)) return fitting(row.format, cols);
    }
    return fitting(type->base->id, cols);
}

} // namespace llm
