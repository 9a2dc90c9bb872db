// What families make of metadata: which layers are local, scales, and hostile values, each of which is a status and a
// sentence.
#include "model/edited.h"
#include "model/family.h"
#include "run/library.h"
#include "temporary.h"

using namespace llm;
using namespace llm_test;

namespace {

struct opened {
    model *m = nullptr;
    llm_status status;
    llm_error err = {};
    ~opened() { model_release(m); }
};

void open_edited(const char *base, const gguf_edit &edit, opened *out) {
    temporary_folder folder;
    write_edited(own_data(base), folder / "m.gguf", edit);
    gguf_file file;
    expect_ok(gguf_open((folder / "m.gguf").c_str(), &file, &out->err), out->err);
    model_load_options options;
    out->status = model_load(&file, &options, &out->m, &out->err);
}

gguf_edit with_u32(const char *key, uint32_t value) {
    return {"", [=](gguf_writer *w) { gguf_writer_set_u32(w, key, value); }, ""};
}
gguf_edit with_f32(const char *key, float value) {
    return {"", [=](gguf_writer *w) { gguf_writer_set_f32(w, key, value); }, ""};
}
gguf_edit with_bools(const char *key, const char *bits) {
    return {"", [=](gguf_writer *w) { set_bools(w, key, bits); }, ""};
}

std::string locals(const model *m) {
    std::string bits;
    for (const layer_hparams &layer : m->h.layers) bits += layer.local ? '1' : '0';
    return bits;
}

const char pattern_key[] = "gemma3.attention.sliding_window_pattern";

} // namespace

TEST_CASE("which layers are local is said by the family, a period or an array", "[model]") {
    struct {
        gguf_edit edit;
        const char *locals;
    } const cases[] = {
        {{}, "111110"},
        {with_u32(pattern_key, 2), "101010"},
        {with_u32(pattern_key, 1), "000000"},
        {with_u32(pattern_key, 1u << 31), "111111"},
        {with_bools(pattern_key, "011001"), "011001"},
    };
    for (const auto &c : cases) {
        opened o;
        open_edited("gemma3.gguf", c.edit, &o);
        INFO(o.err.message);
        REQUIRE(o.status == LLM_OK);
        CHECK(locals(o.m) == c.locals);
        graph g;
        model_graph(o.m, &g);
        size_t layer = 0;
        for (const graph_node &node : g.nodes) {
            if (node.op != OP_ATTENTION) continue;
            INFO(c.locals << ", layer " << layer);
            CHECK(node.attention.window == (c.locals[layer++] == '1' ? 16u : 0u));
        }
        CHECK(layer == 6);
    }
}

TEST_CASE("local layers turn by their own base and without scaling", "[model]") {
    for (float base : {0.f, 5000.f}) {
        opened o;
        open_edited("gemma3.gguf", base ? with_f32("gemma3.rope.freq_base_swa", base) : gguf_edit(), &o);
        REQUIRE(o.status == LLM_OK);
        rope_spec all = family_rope(o.m), local = family_local_rope(o.m);
        CHECK(all.frequency[0] == 1.0 / 8);
        CHECK(local.frequency[0] == 1.0);
        CHECK(local.frequency[4] == Approx(1 / std::sqrt(base ? 5000.0 : 10000.0)).epsilon(1e-14));
        CHECK(all.frequency[4] == Approx(1e-3 / 8).epsilon(1e-14));
    }
}

TEST_CASE("the scale of scores is that of the head size or what the file says", "[model]") {
    opened plain, said;
    open_edited("gemma3.gguf", {}, &plain);
    open_edited("gemma3.gguf", with_f32("gemma3.attention.scale", 0.5f), &said);
    CHECK(family_attention(plain.m, 0).scale == 0.25f);
    CHECK(family_attention(said.m, 0).scale == 0.5f);
}

TEST_CASE("hostile metadata and missing norms are named with what was expected", "[model]") {
    struct {
        const char *base;
        gguf_edit edit;
        llm_status status;
        const char *part; // of the sentence
    } const cases[] = {
        {"gemma3.gguf", with_bools(pattern_key, "10101"), LLM_ERR_DAMAGED, "5 truth values"},
        {"gemma3.gguf", with_bools(pattern_key, ""), LLM_ERR_DAMAGED, "0 truth values"},
        {"gemma3.gguf",
         {"",
          [](gguf_writer *w) {
              gguf_writer_set_i32s(w, pattern_key, {1, 0, 1, 0, 1, 0});
          },
          ""},
         LLM_ERR_DAMAGED,
         "expected a truth value for each of 6 layers"},
        {"gemma3.gguf",
         {"",
          [](gguf_writer *w) {
              gguf_writer_set_strings(w, pattern_key, {"a", "b", "c", "d", "e", "f"});
          },
          ""},
         LLM_ERR_DAMAGED,
         "expected a truth value"},
        {"gemma3.gguf",
         {"", [](gguf_writer *w) { gguf_writer_set_string(w, pattern_key, "local"); }, ""},
         LLM_ERR_DAMAGED,
         "sliding_window_pattern"},
        {"gemma3.gguf", with_u32(pattern_key, 0), LLM_ERR_DAMAGED, "expected a number of layers"},
        {"gemma3.gguf", with_u32("gemma3.attention.sliding_window", 0), LLM_ERR_DAMAGED, "expected 1 to"},
        {"gemma3.gguf", with_u32("gemma3.attention.sliding_window", 0xffffffff), LLM_ERR_DAMAGED, "4294967295"},
        {"gemma3.gguf", with_f32("gemma3.attention.sliding_window", 16.5f), LLM_ERR_DAMAGED, "whole number"},
        {"gemma3.gguf", {"gemma3.attention.sliding_window", nullptr, ""}, LLM_ERR_DAMAGED, "is missing"},
        {"gemma3.gguf", with_f32("gemma3.rope.freq_base_swa", NAN), LLM_ERR_DAMAGED, "freq_base_swa"},
        {"gemma3.gguf", with_f32("gemma3.attention.scale", 0), LLM_ERR_DAMAGED, "attention.scale is 0"},
        {"gemma3.gguf", with_f32("gemma3.attn_logit_softcapping", 50), LLM_ERR_UNSUPPORTED, "soft caps"},
        {"gemma3.gguf", with_f32("gemma3.final_logit_softcapping", 30), LLM_ERR_UNSUPPORTED, "soft caps"},
        {"qwen3.gguf", with_u32("qwen3.expert_count", 8), LLM_ERR_UNSUPPORTED, "mixtures of experts"},
        {"qwen3.gguf", with_u32("qwen3.attention.key_length", 0), LLM_ERR_DAMAGED, "key_length is 0"},
        {"qwen3.gguf", with_u32("qwen3.attention.key_length", 8), LLM_ERR_DAMAGED, "attn_q.weight"},
        {"qwen3.gguf", with_u32("qwen3.rope.dimension_count", 15), LLM_ERR_DAMAGED, "rope.dimension_count"},
        {"qwen3.gguf", {"blk.1.attn_q_norm.weight", nullptr, ""}, LLM_ERR_DAMAGED, "blk.1.attn_q_norm.weight"},
        {"qwen3.gguf", {"", nullptr, "blk.0.attn_k_norm.weight"}, LLM_ERR_DAMAGED, "has shape [17]; expected [16]"},
        {"gemma3.gguf", {"blk.5.post_ffw_norm.weight", nullptr, ""}, LLM_ERR_DAMAGED, "blk.5.post_ffw_norm.weight"},
        {"gemma3.gguf", {"", nullptr, "blk.2.post_attention_norm.weight"}, LLM_ERR_DAMAGED, "expected [32]"},
    };
    for (const auto &c : cases) {
        opened o;
        open_edited(c.base, c.edit, &o);
        INFO(c.part << ": " << o.err.message);
        CHECK(o.status == c.status);
        CHECK(std::string(o.err.message).find(c.part) != std::string::npos);
    }
    opened harmless;
    open_edited("gemma3.gguf", with_f32("gemma3.final_logit_softcapping", 0), &harmless);
    CHECK(harmless.status == LLM_OK);
}
