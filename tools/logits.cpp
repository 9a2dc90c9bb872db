// llm logits: the logits of every token of an input, as a file or as one hash. The contract of equal bits is checked
// with it: by other splits, threads, tiers and company in the batch.
#include "common.h"
#include "interrupt.h"
#include "json.h"
#include <algorithm>
#include <errno.h>
#include <filesystem>
#include <numeric>
#include <random>
#include <stdio.h>
#include <string.h>

struct logits_options {
    common_options common;
    number_list tokens, split;
    uint32_t n_beside = 0;
    std::optional<uint64_t> seed;
    std::string output;
    bool hash = false;
};

// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
static uint64_t fnv1a(uint64_t hash, const void *data, size_t n) {
    auto bytes = static_cast<const unsigned char *>(data);
    for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * 0x100000001B3u;
    return hash;
}
static const uint64_t fnv1a_start = 0xCBF29CE484222325u;

struct logits_sink {
    FILE *file;
    uint64_t hash = fnv1a_start;
    bool hashing;
};

// Batch sizes of the calls. By default so many tokens a call that its logits stay below 64 MiB: the split changes no
// bit.
static int batch_sizes(const command &self, const logits_options &options, size_t n_vocab, std::vector<size_t> &sizes) {
    size_t n_tokens = options.tokens.size();
    if (options.split.empty()) {
        size_t most = std::max<size_t>(1, (size_t(64) << 20) / (n_vocab * sizeof(float)));
        for (size_t left = n_tokens; left; left -= sizes.back()) sizes.push_back(std::min(left, most));
        return EXIT_OK;
    }
    for (int32_t size : options.split) {
        if (size < 1) return usage_error(self, "--split wants sizes of at least 1");
        sizes.push_back(static_cast<size_t>(size));
    }
    size_t sum = std::accumulate(sizes.begin(), sizes.end(), size_t(0));
    if (sum == n_tokens) return EXIT_OK;
    return usage_error(self, "--split adds up to " + std::to_string(sum) + " tokens, --tokens has " +
                                 std::to_string(n_tokens));
}

struct batch_arrays {
    std::vector<llm_token> tokens;
    std::vector<llm_seq> seq;
    std::vector<uint8_t> want;
    std::vector<int32_t> wanted; // places in the batch of the tokens asked about
};

static void push(batch_arrays &batch, llm_token id, llm_seq seq) {
    if (seq == 0) batch.wanted.push_back(static_cast<int32_t>(batch.tokens.size()));
    batch.tokens.push_back(id);
    batch.seq.push_back(seq);
    batch.want.push_back(seq == 0 ? LLM_WANT_LOGITS : LLM_WANT_NOTHING);
}

// The tokens of one call, mixed with n_beside random ones of a second sequence in a random order.
static batch_arrays make_batch(const int32_t *tokens, size_t n, size_t n_beside, uint32_t n_vocab,
                               std::mt19937 &random) {
    batch_arrays batch;
    for (size_t i = 0, beside = n_beside; i < n || beside;) {
        bool other = beside && random() % (n - i + beside) < beside;
        if (other) {
            push(batch, static_cast<llm_token>(random() % n_vocab), 1);
            beside--;
        } else {
            push(batch, tokens[i++], 0);
        }
    }
    return batch;
}

static int decode_one(llm_context *context, const batch_arrays &arrays, size_t n_vocab, logits_sink &sink) {
    llm_batch batch = {};
    batch.size = sizeof batch;
    batch.n_tokens = static_cast<uint32_t>(arrays.tokens.size());
    batch.tokens = arrays.tokens.data();
    batch.seq = arrays.seq.data();
    batch.want = arrays.want.data();
    llm_error err = {};
    llm_status status = llm_decode(context, &batch, &err);
    if (status == LLM_CANCELLED) return EXIT_INTERRUPTED;
    if (status != LLM_OK) return report(err);
    for (int32_t place : arrays.wanted) {
        const float *row = llm_logits(context, place);
        if (!row) return report_failure("no logits for token " + std::to_string(place) + " of a batch");
        if (sink.hashing) sink.hash = fnv1a(sink.hash, row, n_vocab * sizeof(float));
        if (sink.file && fwrite(row, sizeof(float), n_vocab, sink.file) != n_vocab)
            return report_failure(std::string("cannot write the logits: ") + strerror(errno));
    }
    return EXIT_OK;
}

static int decode_all(const command &self, const logits_options &options, const llm_model *model, llm_context *context,
                      logits_sink &sink) {
    llm_model_info info = {};
    info.size = sizeof info;
    llm_error err = {};
    if (llm_model_get_info(model, &info, &err) != LLM_OK) return report(err);
    std::vector<size_t> sizes;
    if (int status = batch_sizes(self, options, info.n_vocab, sizes)) return status;
    std::mt19937 random(static_cast<uint32_t>(options.seed.value_or(1)));
    interruptible guard(context);
    double begin = seconds_now();
    size_t at = 0;
    for (size_t size : sizes) {
        batch_arrays batch = make_batch(&options.tokens[at], size, options.n_beside, info.n_vocab, random);
        if (int status = decode_one(context, batch, info.n_vocab, sink)) return status;
        at += size;
    }
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(sink.hash));
    if (options.common.json)
        print_json([&](json_writer &json) {
            if (options.hash) json_field(json, "hash", hash);
            json_field(json, "n_tokens", options.tokens.size());
            json_field(json, "n_vocab", info.n_vocab);
            json_field(json, "tier", info.cpu_tier);
            json_field(json, "seconds", seconds_now() - begin);
        });
    else if (options.hash)
        printf("%s\n", hash);
    return EXIT_OK;
}

static int create_context(const logits_options &options, llm_model *model, context_ptr &out) {
    llm_context_options context_options;
    if (int status = context_options_from(options.common, model, context_options)) return status;
    size_t calls = std::max<size_t>(1, options.split.size());
    size_t needed = std::max(options.tokens.size(), options.n_beside * calls);
    if (!context_options.n_ctx) context_options.n_ctx = static_cast<uint32_t>(needed);
    context_options.n_seq_max = options.n_beside ? 2 : 1;
    llm_context *context = nullptr;
    llm_error err = {};
    if (llm_context_create(model, &context_options, &context, &err) != LLM_OK) return report(err);
    out.reset(context);
    return EXIT_OK;
}

static int write_logits(const command &self, const logits_options &options) {
    loaded_model loaded;
    context_ptr context;
    if (int status = load_model(options.common, false, loaded)) return status;
    if (int status = create_context(options, loaded.model.get(), context)) return status;
    bool to_file = !options.output.empty() && options.output != "-";
    // Opened last: a model that does not load leaves an older output alone.
    FILE *file = to_file ? fopen(options.output.c_str(), "wb") : options.output == "-" ? stdout : nullptr;
    if (to_file && !file) return report_failure("cannot write " + options.output + ": " + strerror(errno));
    logits_sink sink{file, fnv1a_start, options.hash};
    int status = decode_all(self, options, loaded.model.get(), context.get(), sink);
    if (to_file && fclose(file) != 0 && status == EXIT_OK)
        status = report_failure("cannot write " + options.output + ": " + strerror(errno));
    std::error_code error;
    if (to_file && status != EXIT_OK && std::filesystem::is_regular_file(options.output, error))
        remove(options.output.c_str());
    return status;
}

int run_logits(const command &self, int argc, char **argv) {
    logits_options options;
    // clang-format off
    option_table rows = {
        {"--tokens", &options.tokens, "IDS", "the input: 1,2,3"},
        {"-o,--output", &options.output, "FILE", "float32 [tokens, vocabulary], little-endian; - for stdout"},
        {"--hash", &options.hash, "", "print FNV-1a (64 bit) over the bytes of all logits, 16 hex digits"},
        {"--split", &options.split, "SIZES", "tokens of each call, such as 2,1 (default: as fits)"},
        {"--beside", &options.n_beside, "N", "mix N random tokens of another sequence into every call"},
        {"-s,--seed", &options.seed, "N", "seed of those tokens (default 1)"},
    };
    // clang-format on
    add_model_options(rows, options.common);
    add_context_options(rows, options.common);
    add_output_options(rows, options.common);
    if (auto status = parse_options(self, rows, argc, argv)) return *status;
    if (options.tokens.empty()) return usage_error(self, "--tokens is needed");
    if (options.output.empty() && !options.hash) return usage_error(self, "-o or --hash is needed");
    if (options.n_beside && options.split.empty()) options.split = {static_cast<int32_t>(options.tokens.size())};

    return write_logits(self, options);
}
