// Runs alternate: every round takes each case once, so that a machine that slows down for a while slows all of them.
#include "bench.h"
#include <algorithm>
#include <random>

namespace {

constexpr uint32_t PIECE = 512; // tokens of one call while filling the context: progress is shown between calls

struct measuring {
    const bench_options &options;
    llm_context *context;
    uint32_t n_vocab;
    std::mt19937 random{1};
    progress_bar bar;
    double done = 0, all = 1; // tokens, of prompts a tenth: about the time they take
};

std::vector<llm_token> random_tokens(measuring &m, size_t n) {
    std::vector<llm_token> ids(n);
    for (llm_token &id : ids) id = static_cast<llm_token>(m.random() % m.n_vocab);
    return ids;
}

void advance(measuring &m, double tokens) {
    m.done += tokens;
    progress_show(m.bar, static_cast<float>(std::min(m.done / m.all, 1.0)));
}

llm_status decode(measuring &m, const llm_token *ids, size_t n, const uint8_t *want, llm_error *err) {
    if (n == 0) return LLM_OK;
    llm_batch batch = {};
    batch.size = sizeof batch;
    batch.n_tokens = static_cast<uint32_t>(n);
    batch.tokens = ids;
    batch.want = want;
    return llm_decode(m.context, &batch, err);
}

// Brings the sequence to `depth` tokens, with all threads.
llm_status fill(measuring &m, uint32_t depth, llm_error *err) {
    uint32_t length = static_cast<uint32_t>(llm_seq_length(m.context, 0));
    if (length > depth) return llm_seq_truncate(m.context, 0, depth, err);
    while (length < depth) {
        uint32_t n = std::min(depth - length, PIECE);
        std::vector<llm_token> ids = random_tokens(m, n);
        std::vector<uint8_t> want(n, LLM_WANT_NOTHING);
        if (llm_status status = decode(m, ids.data(), n, want.data(), err)) return status;
        length += n;
        advance(m, n / 10.0);
    }
    return LLM_OK;
}

// How many passes of T tokens one measurement takes: about as long as generating the tokens asked for.
uint32_t n_passes(const measuring &m, const bench_row &row) {
    if (row.kind == bench_kind::prompt) return 1;
    if (row.kind == bench_kind::generation) return row.n;
    return std::max(1u, m.options.n_generate / 2);
}

// One measurement of a case, from a sequence of row.depth tokens: tokens a second.
llm_status run_once(measuring &m, const bench_row &row, double &out, llm_error *err) {
    const uint32_t per_pass = row.kind == bench_kind::generation ? 1 : row.n, passes = n_passes(m, row);
    std::vector<llm_token> ids = random_tokens(m, size_t(passes) * per_pass);
    // Checking drafts needs the logits of all of them; prompts and generation those of the last token.
    std::vector<uint8_t> want(per_pass, row.kind == bench_kind::batch ? LLM_WANT_LOGITS : LLM_WANT_NOTHING);
    want.back() = LLM_WANT_LOGITS;
    double taken = 0;
    for (uint32_t i = 0; i < passes; i++) {
        // Each pass of drafts sees the same context: as after a rejection.
        bool restart = i == 0 || row.kind == bench_kind::batch;
        if (llm_status status = restart ? llm_seq_truncate(m.context, 0, row.depth, err) : LLM_OK) return status;
        double begin = seconds_now();
        if (llm_status status = decode(m, &ids[i * per_pass], per_pass, want.data(), err)) return status;
        taken += seconds_now() - begin;
        advance(m, row.kind == bench_kind::prompt ? row.n / 10.0 : 1);
    }
    out = passes * per_pass / taken;
    return LLM_OK;
}

// All cases that start from `depth`, in rounds. The first round warms up.
llm_status run_rounds(measuring &m, bool prompts, uint32_t depth, std::vector<bench_row> &rows, llm_error *err) {
    for (uint32_t round = 0; round <= m.options.n_repeat; round++)
        for (bench_row &row : rows) {
            if ((row.kind == bench_kind::prompt) != prompts || row.depth != depth) continue;
            double speed = 0;
            if (llm_status status = llm_context_set_threads(m.context, row.n_threads, err)) return status;
            if (llm_status status = run_once(m, row, speed, err)) return status;
            if (round > 0) row.tokens_per_second.push_back(speed);
        }
    return LLM_OK;
}

// From the prompt to the first token of an answer, cold: the first call after creation.
llm_status measure_first_token(measuring &m, bench_result &result, llm_error *err) {
    std::vector<llm_token> ids = random_tokens(m, result.first_token_prompt);
    double begin = seconds_now();
    llm_status status = decode(m, ids.data(), ids.size(), nullptr, err);
    if (const float *logits = status == LLM_OK ? llm_logits(m.context, LLM_LAST) : nullptr) {
        static volatile const float *best;
        best = std::max_element(logits, logits + m.n_vocab);
        (void)best;
    }
    result.first_token_seconds = seconds_now() - begin;
    return status;
}

double expected_work(const measuring &m, const bench_result &result) {
    double work = result.first_token_prompt / 10.0;
    uint32_t deepest = 0;
    for (const bench_row &row : result.rows) {
        deepest = std::max(deepest, row.depth);
        work += (m.options.n_repeat + 1) * (row.kind == bench_kind::prompt ? row.n / 10.0 : n_passes(m, row));
    }
    return work + deepest / 10.0;
}

} // namespace

llm_status bench_measure(const bench_options &options, llm_context *context, uint32_t n_vocab, bench_result &result,
                         llm_error *err) {
    measuring m{
        options, context, n_vocab, std::mt19937(1), {"measuring", stderr_is_terminal() && !options.common.quiet}};
    m.all = expected_work(m, result);
    std::vector<uint32_t> depths; // ascending: the context is filled once
    for (const bench_row &row : result.rows)
        if (row.kind != bench_kind::prompt) depths.push_back(row.depth);
    std::sort(depths.begin(), depths.end());
    depths.erase(std::unique(depths.begin(), depths.end()), depths.end());
    uint32_t most = 0;
    for (const bench_row &row : result.rows) most = std::max(most, row.n_threads);

    llm_status status = measure_first_token(m, result, err);
    if (status == LLM_OK) status = run_rounds(m, true, 0, result.rows, err);
    for (size_t i = 0; i < depths.size() && status == LLM_OK; i++) {
        if (most) status = llm_context_set_threads(context, most, err);
        if (status == LLM_OK) status = fill(m, depths[i], err);
        if (status == LLM_OK) status = run_rounds(m, false, depths[i], result.rows, err);
    }
    progress_clear(m.bar);
    return status;
}
