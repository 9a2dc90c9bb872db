#include "run/library.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/stat.h>

namespace llm_test {

void expect_ok(llm_status status, const llm_error &err) {
    if (status != LLM_OK) throw std::runtime_error(std::string(llm_status_text(status)) + ": " + err.message);
}

std::string own_data(const std::string &name) { return std::string(LLM_SOURCE_DIR) + "/tests/data/" + name; }

std::string user_model(const std::string &file) {
    auto named = [](const char *variable) {
        const char *value = getenv(variable);
        return std::string(value ? value : "");
    };
    std::string folder = named("LLM_MODELS");
    if (folder.empty() && !named("XDG_DATA_HOME").empty()) folder = named("XDG_DATA_HOME") + "/llm/models";
    if (folder.empty()) folder = named("HOME") + "/.local/share/llm/models";
    return folder + "/" + file;
}

bool file_exists(const std::string &path) {
    struct stat s;
    return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

model_handle load_model(const std::string &path, const char *tier) {
    llm_error err = {};
    llm_model *model = nullptr;
    llm_model_options o = {};
    o.cpu_tier = tier;
    expect_ok(llm_model_load(path.c_str(), &o, &model, &err), err);
    return model_handle(model);
}

llm_model_info model_info(const llm_model *model) {
    llm_error err = {};
    llm_model_info info = {};
    expect_ok(llm_model_get_info(model, &info, &err), err);
    return info;
}

context_handle make_context(llm_model *model, const llm_context_options &options) {
    llm_error err = {};
    llm_context *context = nullptr;
    expect_ok(llm_context_create(model, &options, &context, &err), err);
    return context_handle(context);
}

static void decode(llm_context *context, const llm_token *tokens, size_t n, llm_seq seq, const uint8_t *want) {
    llm_error err = {};
    std::vector<llm_seq> seqs(n, seq);
    llm_batch b = {};
    b.n_tokens = (uint32_t)n;
    b.tokens = tokens;
    b.seq = seqs.data();
    b.want = want;
    expect_ok(llm_decode(context, &b, &err), err);
}

std::vector<float> logits_in_steps(llm_context *context, const ids &tokens, uint32_t n_vocab, size_t step,
                                   llm_seq seq) {
    std::vector<float> all;
    if (step == 0) step = tokens.size();
    std::vector<uint8_t> want(step, LLM_WANT_LOGITS);
    for (size_t first = 0; first < tokens.size(); first += step) {
        size_t n = std::min(step, tokens.size() - first);
        decode(context, tokens.data() + first, n, seq, want.data());
        for (size_t i = 0; i < n; i++) {
            const float *row = llm_logits(context, (int32_t)i);
            all.insert(all.end(), row, row + n_vocab);
        }
    }
    return all;
}

std::vector<float> logits_of(llm_context *context, const ids &tokens, uint32_t n_vocab, llm_seq seq) {
    return logits_in_steps(context, tokens, n_vocab, 0, seq);
}

const float *feed(llm_context *context, const ids &tokens, llm_seq seq) {
    decode(context, tokens.data(), tokens.size(), seq, nullptr);
    return llm_logits(context, LLM_LAST);
}

ids random_ids(size_t n, uint32_t n_vocab, uint64_t seed) {
    ids out;
    for (uint64_t state = seed * 2 + 1; out.size() < n;) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        out.push_back((llm_token)((state >> 33) % n_vocab));
    }
    return out;
}

bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

size_t best_of(const float *logits, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static double log_sum_exp(const float *row, size_t n) {
    double best = row[best_of(row, n)], sum = 0;
    for (size_t i = 0; i < n; i++) sum += std::exp((double)row[i] - best);
    return best + std::log(sum);
}

double surprise(const float *logits, size_t n, size_t id) { return log_sum_exp(logits, n) - (double)logits[id]; }

distance distance_of(const float *ours, const float *expected, size_t n_rows, size_t n_vocab) {
    distance d;
    double squares = 0, centred = 0;
    for (size_t r = 0; r < n_rows; r++, ours += n_vocab, expected += n_vocab) {
        double our_sum = log_sum_exp(ours, n_vocab), their_sum = log_sum_exp(expected, n_vocab), mean = 0, kl = 0;
        for (size_t i = 0; i < n_vocab; i++) mean += ((double)ours[i] - (double)expected[i]) / (double)n_vocab;
        for (size_t i = 0; i < n_vocab; i++) {
            double off = (double)ours[i] - (double)expected[i], theirs = (double)expected[i] - their_sum;
            d.max_abs = std::isnan(off) ? INFINITY : std::max(d.max_abs, std::fabs(off));
            squares += off * off;
            centred += (off - mean) * (off - mean);
            kl += std::exp(theirs) * (theirs - ((double)ours[i] - our_sum));
        }
        d.kl_mean += kl / (double)n_rows;
    }
    d.rms = std::sqrt(squares / (double)(n_rows * n_vocab));
    d.rms_centred = std::sqrt(centred / (double)(n_rows * n_vocab));
    return d;
}

double perplexity(llm_context *context, uint32_t n_vocab, const ids &text, uint32_t window, llm_token bos) {
    double sum = 0;
    size_t n = 0;
    for (size_t first = 0; first + window <= text.size(); first += window) {
        ids tokens(text.begin() + (ptrdiff_t)first, text.begin() + (ptrdiff_t)(first + window));
        if (bos >= 0) tokens[0] = bos;
        llm_error err = {};
        expect_ok(llm_seq_clear(context, 0, &err), err);
        std::vector<uint8_t> want(window, LLM_WANT_NOTHING);
        for (uint32_t j = window / 2; j + 1 < window; j++) want[j] = LLM_WANT_LOGITS;
        decode(context, tokens.data(), window, 0, want.data());
        for (uint32_t j = window / 2; j + 1 < window; j++, n++)
            sum += surprise(llm_logits(context, (int32_t)j), n_vocab, (size_t)tokens[j + 1]);
    }
    return std::exp(sum / (double)n);
}

} // namespace llm_test
