#include "common.h"
#include "model_path.h"
#include "text.h"
#include <chrono>
#include <errno.h>
#include <random>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// clang-format off
void add_output_options(option_table &rows, common_options &options) {
    rows.insert(rows.end(), {
        {"--json", &options.json, "", "JSON on stdout"},
        {"-v,--verbose", &options.verbose, "", "say more on stderr"},
        {"-q,--quiet", &options.quiet, "", "only errors on stderr"},
    });
}

void add_load_options(option_table &rows, common_options &options) {
    rows.insert(rows.end(), {
        {"-m,--model", &options.model, "FILE", "GGUF file (default: LLM_MODEL, else the default or the bundled model)"},
        {"--mem-limit", &options.mem_limit, "SIZE", "refuse to take more memory, such as 2G"},
        {"--cpu", &options.cpu, "TIER", "CPU code: avx512, avx2, ref, ... (default: best, or LLM_CPU)"},
        {"--tokenizer-pre", &options.tokenizer_pre, "NAME", "split text as this pre-tokenizer does where the file's is unknown"},
    });
}

void add_model_options(option_table &rows, common_options &options) {
    add_load_options(rows, options);
    rows.push_back({"-t,--threads", &options.n_threads, "N", "threads (default: one per usable fast core, see llm doctor)"});
}

void add_context_options(option_table &rows, common_options &options) {
    rows.insert(rows.end(), {
        {"-c,--context", &options.n_ctx, "N", "context size in tokens (default: at most 4096)"},
        {"--kv-type", &options.kv_type, "TYPE",
         "cache precision: f16, f32, q8_0, q4_0 (default f16), or K:V, such as q8_0:f16"},
    });
}

void add_sampling_options(option_table &rows, sampling_options &options) {
    rows.insert(rows.end(), {
        {"--temp", &options.temperature, "X", "temperature, 0: always the likeliest token (default 0.7; 0.4 for models below a billion parameters)"},
        {"--top-k", &options.top_k, "N", "only the N likeliest, 0: off (default 40)"},
        {"--top-p", &options.top_p, "X", "only the likeliest with this probability together, 1: off (default 0.9)"},
        {"--min-p", &options.min_p, "X", "only those this likely compared with the best, 0: off (default 0)"},
        {"--repeat-penalty", &options.repeat_penalty, "X", "against repetition, 1: off (default 1.1)"},
        {"-s,--seed", &options.seed, "N", "seed of the randomness: same seed, same text (default: random)"},
        {"--stop", &options.stops, "TEXT", "end the answer before this text; may be given several times"},
    });
}
// clang-format on

int report(const llm_error &err) {
    fprintf(stderr, "llm: %s\n", err.message[0] ? harmless(err.message).c_str() : llm_status_text(err.code));
    return err.code == LLM_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

int report_failure(const std::string &sentence) {
    fprintf(stderr, "llm: %s\n", harmless(sentence).c_str());
    return EXIT_FAILED;
}

static void log_to_stderr(void *user, llm_log_level level, const char *line) {
    auto options = static_cast<const common_options *>(user);
    llm_log_level most = options->verbose ? LLM_LOG_DEBUG : options->quiet ? LLM_LOG_ERROR : LLM_LOG_WARNING;
    if (level <= most) fprintf(stderr, "llm: %s\n", harmless(line).c_str());
}

int find_model(const common_options &options, std::string &path) {
    std::string origin, sentence;
    if (!choose_model(options.model, path, origin, sentence)) return report_failure(sentence);
    if (!origin.empty() && !options.quiet)
        fprintf(stderr, "llm: using the %s model %s\n", origin.c_str(), harmless(path).c_str());
    return EXIT_OK;
}

int load_model(const common_options &options, bool vocab_only, loaded_model &out) {
    if (int status = find_model(options, out.path)) return status;
    progress_bar bar{"loading", stderr_is_terminal() && !options.quiet};
    const char *cpu = options.cpu.empty() ? getenv("LLM_CPU") : options.cpu.c_str();
    llm_model_options load = {};
    load.size = sizeof load;
    load.n_threads = options.n_threads;
    load.cpu_tier = cpu && *cpu ? cpu : nullptr;
    load.mem_limit = options.mem_limit.bytes;
    load.vocab_only = vocab_only;
    load.tokenizer_pre = options.tokenizer_pre.empty() ? nullptr : options.tokenizer_pre.c_str();
    load.progress = progress_step;
    load.progress_user = &bar;
    load.log = log_to_stderr;
    load.log_user = const_cast<common_options *>(&options);
    llm_model *model = nullptr;
    llm_error err = {};
    llm_status status = llm_model_load(out.path.c_str(), &load, &model, &err);
    progress_clear(bar);
    out.model.reset(model);
    out.load_seconds = seconds_now() - bar.begin;
    return status == LLM_OK ? EXIT_OK : report(err);
}

static bool kv_type_of(const std::string &name, llm_kv_type &out) {
    static const struct {
        const char *name;
        llm_kv_type type;
    } types[] = {{"f16", LLM_KV_F16}, {"f32", LLM_KV_F32}, {"q8_0", LLM_KV_Q8_0}, {"q4_0", LLM_KV_Q4_0}};
    for (const auto &t : types)
        if (name == t.name) {
            out = t.type;
            return true;
        }
    return false;
}

int context_options_from(const common_options &options, const llm_model *model, llm_context_options &out) {
    out = {};
    out.size = sizeof out;
    out.n_ctx = options.n_ctx;
    out.n_threads = options.n_threads;
    const size_t colon = options.kv_type.find(':');
    const std::string type_k = options.kv_type.substr(0, colon);
    const std::string type_v = colon == std::string::npos ? type_k : options.kv_type.substr(colon + 1);
    if (!kv_type_of(type_k, out.kv_type_k) || !kv_type_of(type_v, out.kv_type_v)) {
        fprintf(stderr, "llm: --kv-type wants f16, f32, q8_0, q4_0 or two of them as K:V, not \"%s\"\n",
                options.kv_type.c_str());
        return EXIT_USAGE;
    }
    if (!options.mem_limit.bytes) return EXIT_OK;
    llm_model_info info = {};
    info.size = sizeof info;
    llm_error err = {};
    if (llm_model_get_info(model, &info, &err) != LLM_OK) return report(err);
    // The limit is for both together; the model has taken its part. One byte stands for "nothing left": 0 is no limit.
    out.mem_limit = options.mem_limit.bytes > info.weight_bytes ? options.mem_limit.bytes - info.weight_bytes : 1;
    return EXIT_OK;
}

static float default_temperature(const llm_model *model) {
    llm_model_info info = {};
    info.size = sizeof info;
    bool small = llm_model_get_info(model, &info, nullptr) == LLM_OK && info.n_params < 1000000000;
    return small ? 0.4f : 0.7f;
}

llm_sampler_options sampler_options_from(const sampling_options &options, const llm_model *model, uint64_t seed) {
    llm_sampler_options out = {};
    out.size = sizeof out;
    out.temperature = options.temperature ? *options.temperature : default_temperature(model);
    out.top_k = options.top_k;
    out.top_p = options.top_p;
    out.min_p = options.min_p;
    out.repeat_penalty = options.repeat_penalty;
    out.seed = seed;
    return out;
}

std::vector<llm_string> strings_from(const std::vector<std::string> &strings) {
    std::vector<llm_string> out;
    for (const std::string &text : strings) out.push_back({text.data(), text.size()});
    return out;
}

uint64_t choose_seed(const sampling_options &options) {
    return options.seed ? *options.seed : static_cast<uint64_t>(std::random_device()());
}

uint32_t tokenize_flags(bool add_special, bool parse_special) {
    uint32_t flags = 0;
    if (add_special) flags |= LLM_TOKENIZE_ADD_SPECIAL;
    if (parse_special) flags |= LLM_TOKENIZE_PARSE_SPECIAL;
    return flags;
}

llm_status tokenize(const llm_model *model, std::string_view text, uint32_t flags, std::vector<llm_token> &ids,
                    llm_error *err) {
    size_t n = 0;
    llm_status status = llm_tokenize(model, text.data(), text.size(), flags, nullptr, 0, &n, err);
    if (status != LLM_ERR_TOO_SMALL) return status;
    ids.resize(n);
    return llm_tokenize(model, text.data(), text.size(), flags, ids.data(), ids.size(), &n, err);
}

bool read_file(const std::string &path, std::string &bytes) {
    FILE *file = path == "-" ? stdin : fopen(path.c_str(), "rb");
    if (file == stdin && isatty(STDIN_FILENO)) fprintf(stderr, "reading the text from the terminal; Ctrl-D ends it\n");
    if (!file) return report_failure("cannot open " + path + ": " + strerror(errno)), false;
    char part[65536];
    errno = 0;
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;) bytes.append(part, n);
    int error = ferror(file) ? errno : 0;
    if (file != stdin) fclose(file);
    return error ? (report_failure("cannot read " + path + ": " + strerror(error)), false) : true;
}

std::string usage_text(const llm_result &result) {
    char text[200];
    double rate = result.generate_seconds > 0 ? result.n_generated / result.generate_seconds : 0;
    snprintf(text, sizeof text, "%u tokens in %.1f s (%.1f tokens/s), prompt %u (%u cached), context %u of %u",
             result.n_generated, result.generate_seconds, rate, result.n_prompt, result.n_cached, result.n_used,
             result.n_ctx);
    return text;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint64_t peak_resident_bytes() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    return static_cast<uint64_t>(usage.ru_maxrss);
#else
    return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

bool stderr_is_terminal() {
    const char *name = getenv("TERM");
    return isatty(STDERR_FILENO) && !(name && strcmp(name, "dumb") == 0);
}

void progress_show(progress_bar &bar, float fraction) {
    int percent = static_cast<int>(fraction * 100);
    if (!bar.enabled || percent == bar.shown_percent || seconds_now() - bar.begin < 1) return;
    bar.shown_percent = percent;
    fprintf(stderr, "\r%s %3d %%", bar.title, percent);
    fflush(stderr);
}

void progress_clear(progress_bar &bar) {
    if (bar.shown_percent >= 0) fprintf(stderr, "\r\x1b[K");
    bar.shown_percent = -1;
}

bool progress_step(void *bar, float fraction) {
    progress_show(*static_cast<progress_bar *>(bar), fraction);
    return true;
}

int choose_template(const std::string &given, template_choice &out) {
    out = {};
    std::string names;
    for (size_t i = 0; const char *name = llm_chat_template_name(i); i++) {
        if (given == name) return out.name = given, EXIT_OK;
        names += (i ? ", " : "") + std::string(name);
    }
    if (given.empty()) return EXIT_OK;
    if (access(given.c_str(), F_OK) != 0)
        return report_failure("\"" + given + "\" is no file, and no built-in chat template (" + names + ")");
    if (!read_file(given, out.source)) return EXIT_FAILED;
    return out.source.empty() ? report_failure("the chat template in " + given + " is empty") : EXIT_OK;
}
