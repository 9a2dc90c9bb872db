// Whole passes: every step of a plan on the fast tiers against the reference backend, bit by bit.
#include "backend/ref/ref.h"
#include "test.h"
#include "tiers.h"
#include "tiny_model.h"

using namespace llm;

namespace {

const block_format *format(format_id id) { return format_by_id(id); }

// Prompts of two sequences in one pass, then a pass of single tokens, then one that wants no output, then a few tokens.
std::vector<tiny_batch> some_batches(const tiny_shape &shape, uint32_t prompt) {
    random_source r = {7};
    uint32_t length[2] = {0, 0};
    std::vector<tiny_batch> batches(4);
    tiny_add_run(&batches[0], &r, 0, prompt, &length[0], shape.n_vocab);
    tiny_add_run(&batches[0], &r, 1, prompt / 2 + 1, &length[1], shape.n_vocab);
    tiny_add_run(&batches[1], &r, 1, 1, &length[1], shape.n_vocab);
    tiny_add_run(&batches[1], &r, 0, 1, &length[0], shape.n_vocab);
    tiny_add_run(&batches[2], &r, 0, 3, &length[0], shape.n_vocab);
    batches[2].outputs.clear();
    tiny_add_run(&batches[3], &r, 0, 5, &length[0], shape.n_vocab);
    return batches;
}

std::vector<std::vector<float>> run_all(tiny_model *m, const backend *b, const std::vector<tiny_batch> &batches,
                                        uint32_t max_tokens, uint32_t n_threads) {
    tiny_session s;
    random_source order = {n_threads};
    tiny_open(&s, m, b, max_tokens, 2, max_tokens + 64);
    std::vector<std::vector<float>> results;
    for (const tiny_batch &batch : batches) results.push_back(tiny_run(&s, batch, n_threads, &order));
    CHECK(s.bad.load() == UINT32_MAX);
    return results;
}

void compare_with_reference(const tiny_shape &shape, uint32_t prompt, const std::string &what) {
    tiny_model m;
    tiny_build(&m, shape, 99);
    const std::vector<tiny_batch> batches = some_batches(shape, prompt);
    const auto expected = run_all(&m, &backend_ref, batches, 2 * prompt + 2, 1);
    for (const backend *b : pass_backends())
        for (uint32_t n_threads : {1, 3}) {
            const auto found = run_all(&m, b, batches, 2 * prompt + 2, n_threads);
            for (size_t i = 0; i < batches.size(); i++) {
                INFO(what << ": " << b->name << ", " << n_threads << " threads, pass " << i);
                CHECK(first_difference(expected[i], found[i]) == "");
            }
        }
}

} // namespace

TEST_CASE("a pass gives the reference's bits in every format", "[cpu]") {
    for (const block_format *f : panel_formats()) {
        tiny_shape shape = {f, f};
        shape.n_embd = 256;
        shape.n_ff = 512;
        shape.n_vocab = 70;
        compare_with_reference(shape, 11, f->name);
    }
}

TEST_CASE("odd shapes, norms, biases and activations give the reference's bits", "[cpu]") {
    const block_format *q8 = format(FORMAT_Q8_0), *f32 = format(FORMAT_F32), *f16 = format(FORMAT_F16);
    for (const block_format *f : {q8, f32}) {
        tiny_shape shape = {f, f16};
        compare_with_reference(shape, 9, "plain");
        shape.n_ff = 172;
        compare_with_reference(shape, 9, "172 columns");
        shape.norm = NORM_LAYER;
        shape.biases = shape.positions = true;
        shape.gated = false;
        shape.act = ACT_GELU_TANH;
        shape.n_rot = 0;
        compare_with_reference(shape, 20, "like gpt2");
        shape.n_embd = 96;
        shape.n_ff = 320;
        shape.n_vocab = 17;
        compare_with_reference(shape, 3, "small vocabulary");
    }
}

TEST_CASE("attention of any head size, grouping and cache type gives the reference's bits", "[cpu]") {
    struct {
        uint32_t n_head, n_head_kv, head_k, head_v, n_rot;
        kv_element k, v;
    } const cases[] = {
        {8, 4, 8, 8, 8, KV_F16, KV_F16},      {4, 4, 16, 16, 8, KV_F32, KV_F32},  {3, 1, 20, 24, 10, KV_F16, KV_F32},
        {10, 1, 64, 64, 64, KV_F16, KV_F16},  {6, 2, 40, 80, 40, KV_F32, KV_F16}, {5, 5, 4, 4, 2, KV_F16, KV_F16},
        {14, 2, 32, 128, 32, KV_F16, KV_F16}, {66, 1, 8, 8, 8, KV_F16, KV_F16},
        {8, 4, 64, 64, 64, KV_Q8_0, KV_Q8_0}, {6, 2, 32, 32, 32, KV_Q4_0, KV_Q4_0},
        {3, 1, 20, 24, 10, KV_Q8_0, KV_Q4_0}, {10, 1, 96, 80, 40, KV_Q4_0, KV_F16},
        {4, 4, 8, 8, 8, KV_F16, KV_Q8_0},     {5, 1, 256, 256, 64, KV_Q8_0, KV_F32},
    };
    for (const auto &c : cases)
        for (rope_style style : {ROPE_NEIGHBOURS, ROPE_HALVES}) {
            tiny_shape shape = {format(FORMAT_Q8_0), format(FORMAT_F32)};
            shape.n_head = c.n_head;
            shape.n_head_kv = c.n_head_kv;
            shape.head_k = c.head_k;
            shape.head_v = c.head_v;
            shape.n_rot = c.n_rot;
            shape.type_k = c.k;
            shape.type_v = c.v;
            shape.rope = style;
            compare_with_reference(shape, 70,
                                   std::to_string(c.n_head) + " heads of " + std::to_string(c.head_k) + " and " +
                                       std::to_string(c.head_v));
        }
}

TEST_CASE("norms of heads, norms after a part and scaled embeddings give the reference's bits", "[cpu]") {
    for (const block_format *f : {format(FORMAT_Q8_0), format(FORMAT_Q5_0), format(FORMAT_F32)})
        for (uint32_t head : {16, 32, 80, 20, 256})
            for (bool joined : {true, false}) {
                tiny_shape shape = {f, format(head == 20 ? FORMAT_F32 : FORMAT_Q8_0)};
                if (head == 20) shape.n_embd = 40; // nothing to quantise
                shape.n_head = head == 80 ? 5 : 2;
                shape.n_head_kv = 1;
                shape.head_k = shape.head_v = head;
                shape.n_rot = head == 80 ? 20 : head;
                shape.rope = ROPE_HALVES;
                shape.embd_scale = 25.298221f;
                shape.act = ACT_GELU_TANH;
                shape.head_norms = shape.post_norms = true;
                shape.pre_norms = head != 32;
                if (!joined) shape.eps_of_k = 1e-5f;
                compare_with_reference(shape, 9, std::string(joined ? "joined, " : "single, ") + std::to_string(head));
            }
}

TEST_CASE("the planner joins what is one pass over a row or a head", "[cpu]") {
    tiny_shape shape = {format(FORMAT_Q8_0), format(FORMAT_Q8_0)};
    shape.head_norms = shape.post_norms = true;
    tiny_model m;
    tiny_build(&m, shape, 3);
    for (weight &w : m.weights) w.data = &w; // there is one
    plan program;
    REQUIRE(plan_build(&m.g, backend_target(&backend_ref), 8, &program, nullptr) == LLM_OK);
    uint32_t n_joined = 0;
    for (const plan_step &s : program.steps) {
        CHECK(s.op != OP_ADD);
        CHECK(s.op != OP_QUANTISE);
        CHECK(s.op != OP_GLU);
        if (s.op == OP_NORM) n_joined += s.residual >= 0;
        if (s.op == OP_ROPE_STORE) n_joined += s.q_gain && s.k_gain;
    }
    CHECK(n_joined == 3);
}

TEST_CASE("segments of keys are merged in the reference's order", "[cpu]") {
    tiny_shape shape = {format(FORMAT_F32), format(FORMAT_F32)};
    shape.n_embd = 32;
    shape.n_ff = 32;
    shape.n_head = 2;
    shape.n_head_kv = 1;
    compare_with_reference(shape, 2100, "2100 keys");
    shape.type_k = KV_Q8_0;
    shape.type_v = KV_Q4_0;
    compare_with_reference(shape, 2100, "2100 quantised keys");
}

TEST_CASE("windows of any size give the reference's bits", "[cpu]") {
    tiny_shape shape = {format(FORMAT_Q8_0), format(FORMAT_F32)};
    for (uint32_t window : {1, 2, 17, 63, 64, 65, 100}) {
        shape.window = window;
        compare_with_reference(shape, 150, "150 keys, window " + std::to_string(window));
    }
    shape = {format(FORMAT_F32), format(FORMAT_F32)};
    shape.n_embd = shape.n_ff = 32;
    shape.n_head = 2;
    shape.n_head_kv = 1;
    for (uint32_t window : {70, 1024, 1500}) {
        shape.window = window;
        compare_with_reference(shape, 1300, "1300 keys, window " + std::to_string(window));
    }
}

TEST_CASE("blocks behind the window may be gone", "[cpu]") {
    tiny_shape shape = {format(FORMAT_Q8_0), format(FORMAT_F32)};
    shape.window = 70;
    tiny_model m;
    tiny_build(&m, shape, 4);
    auto run = [&](const backend *b, bool drop) {
        random_source r = {5}, order = {2};
        tiny_session s;
        tiny_open(&s, &m, b, 100, 1, 1200);
        std::vector<float> all;
        for (uint32_t length = 0; length < 1100;) {
            tiny_batch batch;
            if (drop && length >= shape.window)
                for (uint32_t i = 0; (i + 1) * KV_BLOCK <= length + 1 - shape.window; i++) s.tables[0][i] = nullptr;
            tiny_add_run(&batch, &r, 0, length % 3 == 0 ? 100 : 1, &length, shape.n_vocab);
            const std::vector<float> some = tiny_run(&s, batch, 2, &order);
            all.insert(all.end(), some.begin(), some.end());
        }
        return all;
    };
    const auto expected = run(&backend_ref, false);
    CHECK(first_difference(expected, run(&backend_ref, true)) == "");
    for (const test_tier &tier : test_tiers()) CHECK(first_difference(expected, run(tier.b, true)) == "");
}

TEST_CASE("a token sees itself and the window - 1 keys before it", "[cpu]") {
    constexpr uint32_t N = 140;
    tiny_shape shape = {format(FORMAT_F32), format(FORMAT_F32)};
    auto logits_of_last = [&](uint32_t window, uint32_t changed) {
        tiny_model m;
        shape.window = window;
        tiny_build(&m, shape, 3);
        random_source r = {8}, order = {1};
        tiny_batch batch;
        uint32_t length = 0;
        tiny_add_run(&batch, &r, 0, N, &length, shape.n_vocab);
        batch.outputs = {N - 1};
        if (changed < N) batch.tokens[changed] = (batch.tokens[changed] + 1) % int32_t(shape.n_vocab);
        tiny_session s;
        tiny_open(&s, &m, &backend_ref, N, 1, N);
        return tiny_run(&s, batch, 1, &order);
    };
    for (uint32_t window : {1, 5, 64, 76, 77, 139}) {
        const auto plain = logits_of_last(window, N);
        CAPTURE(window);
        CHECK(first_difference(plain, logits_of_last(window, N - window - 1)) == "");
        CHECK(first_difference(plain, logits_of_last(window, N - window)) != "");
    }
    CHECK(first_difference(logits_of_last(0, N), logits_of_last(N, N)) == "");
}

TEST_CASE("a pass reports the step that meets an infinite value", "[cpu]") {
    tiny_shape shape = {format(FORMAT_Q8_0), format(FORMAT_F32)};
    for (const test_tier &tier : test_tiers()) {
        tiny_model m;
        tiny_build(&m, shape, 5);
        float huge = 1e30f; // its square overflows in the first norm
        memcpy(m.files[0].data(), &huge, 4);
        tiny_session s;
        random_source order = {1};
        tiny_open(&s, &m, tier.b, 4, 1, 64);
        tiny_batch batch = {{0}, {0}, {1}, {0}, {0}, {0}, {0}};
        tiny_run(&s, batch, 1, &order);
        INFO(tier.b->name);
        REQUIRE(s.bad.load() != UINT32_MAX);
        CHECK(std::string(s.program.steps[s.bad.load()].name) == "attn_norm");
    }
}
