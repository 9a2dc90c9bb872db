// What the commands share: the options that mean the same everywhere, and loading a model with what the user should see
// of it.
#pragma once
#include "llm.h"
#include "options.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct common_options {
    std::string model, cpu, tokenizer_pre, kv_type = "f16";
    uint32_t n_ctx = 0, n_threads = 0;
    byte_size mem_limit;
    bool json = false, verbose = false, quiet = false;
};

struct sampling_options {
    std::optional<float> temperature; // see sampler_options_from
    float top_p = 0.9f, min_p = 0, repeat_penalty = 1.1f;
    uint32_t top_k = 40;
    std::optional<uint64_t> seed;
    std::vector<std::string> stops;
};

// Appends the rows for these options to a command's own. Groups can be left out where they mean nothing.
void add_output_options(option_table &rows, common_options &options);
void add_model_options(option_table &rows, common_options &options);
void add_load_options(option_table &rows, common_options &options); // the same without the number of threads
void add_context_options(option_table &rows, common_options &options);
void add_sampling_options(option_table &rows, sampling_options &options);

template <auto Free> struct freed_by {
    template <typename T> void operator()(T *object) const { Free(object); }
};
using model_ptr = std::unique_ptr<llm_model, freed_by<llm_model_free>>;
using context_ptr = std::unique_ptr<llm_context, freed_by<llm_context_free>>;
using sampler_ptr = std::unique_ptr<llm_sampler, freed_by<llm_sampler_free>>;
using chat_ptr = std::unique_ptr<llm_chat, freed_by<llm_chat_free>>;
using file_ptr = std::unique_ptr<llm_file, freed_by<llm_file_free>>;

// "llm: <sentence>" on stderr; the exit status that fits the error (a refused argument is wrong usage).
int report(const llm_error &err);
int report_failure(const std::string &sentence); // returns EXIT_FAILED

// The file a command takes (see model_path.h), saying which on stderr unless the user named it. An exit status.
int find_model(const common_options &options, std::string &path);

struct loaded_model {
    std::string path;
    double load_seconds = 0;
    model_ptr model;
};
// Finds and loads the model with a progress bar; an exit status. `options` must live as long as the model.
int load_model(const common_options &options, bool vocab_only, loaded_model &out);

// 0, or EXIT_USAGE with a sentence when the KV type is unknown.
int context_options_from(const common_options &options, const llm_model *model, llm_context_options &out);
// Small models lose the thread at the usual temperature and go round in circles at a low one. Of 6 stories by
// SmolLM2-135M 3 never ended at temperature 0.2 (its card's) with a repeat penalty of 1.05 or 1.1, none at 0.4 with 1.1;
// answers to plain questions were alike.
llm_sampler_options sampler_options_from(const sampling_options &options, const llm_model *model, uint64_t seed);
std::vector<llm_string> strings_from(const std::vector<std::string> &strings); // borrows
// The seed asked for, else a random one (32 bits: every JSON reader keeps those exactly).
uint64_t choose_seed(const sampling_options &options);

uint32_t tokenize_flags(bool add_special, bool parse_special);
llm_status tokenize(const llm_model *model, std::string_view text, uint32_t flags, std::vector<llm_token> &ids,
                    llm_error *err);

// A whole file, "-" for stdin. False and a reported sentence on failure.
bool read_file(const std::string &path, std::string &bytes);

// A chat template as it is named on the command line: a built-in one, or a file in Jinja.
struct template_choice {
    std::string name, source;
};
int choose_template(const std::string &given, template_choice &out); // an exit status

// "12 tokens in 0.4 s (30.1 tokens/s), prompt 85 (40 cached), context 97 of 4096"
std::string usage_text(const llm_result &result);

double seconds_now();
uint64_t peak_resident_bytes();
bool stderr_is_terminal();

// A bar on stderr that appears when work has taken a second, on terminals only.
struct progress_bar {
    const char *title;
    bool enabled;
    double begin = seconds_now();
    int shown_percent = -1;
};
void progress_show(progress_bar &bar, float fraction);
void progress_clear(progress_bar &bar);
bool progress_step(void *bar, float fraction); // an llm_progress_callback
