// The `llm` binary: finds the command and runs it.
#include "command.h"
#include "llm.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <string>
#include <vector>

// clang-format off
static const command commands[] = {
    {"chat", "Talk with a model.",
     {"llm chat", "llm chat -p \"Name three rivers.\" --temp 0"}, run_chat},
    {"run", "Continue a text, without a chat template.",
     {"llm run -p \"Once upon a time\" -n 100", "llm run --ids 1,403,407 -n 16 --temp 0 --json"}, run_run},
    {"tokenize", "Text to token ids and back.",
     {"llm tokenize -p \"Hello, world\"", "echo '{\"text\": \"Hello\"}' | llm tokenize --jsonl"}, run_tokenize},
    {"template", "Render a chat template.",
     {"llm template --context conversation.json", "llm template --file chat.jinja --context - --now 2025-07-26T14:05:09 < conversation.json"}, run_template},
    {"grammar", "Check a text against a grammar or a JSON schema.",
     {"llm grammar --file list.gbnf < text.txt", "llm grammar --schema person.json < person-1.json"}, run_grammar},
    {"logits", "Write the logits of every token of an input.",
     {"llm logits --tokens 1,2,3 -o out.f32", "llm logits --tokens 1,2,3 --split 2,1 --kv-type f32 --hash"}, run_logits},
    {"info", "Show what a model file holds.",
     {"llm info model.gguf", "llm info model.gguf --check --json"}, run_info},
    {"bench", "Measure prompt and generation speed.",
     {"llm bench --shape llama-3.2-1b --type Q4_0 -p 16,512 --depth 0,4096 -t 1,2 --json", "llm bench --compare before.json after.json"}, run_bench},
    {"doctor", "Show what this machine gives and what was chosen from it.",
     {"llm doctor", "llm doctor -t 1 --json"}, run_doctor},
    {"synth", "Write a model of random weights with a known shape.",
     {"llm synth --shape smol-135m --type Q4_0 -o random.gguf", "llm synth --list"}, run_synth},
    {"pack", "Write a model in the layout that loads at once.",
     {"llm pack model.gguf model-packed.gguf", "llm pack model.gguf model-packed.gguf --json"}, run_pack},
};
// clang-format on

static const command *find_command(const char *name) {
    for (const command &candidate : commands)
        if (strcmp(candidate.name, name) == 0) return &candidate;
    return nullptr;
}

static int print_overview() {
    printf("llm %s: run language models from GGUF files\n\n"
           "usage: llm [COMMAND] [options]     without a command: llm chat\n\ncommands:\n",
           llm_version());
    for (const command &row : commands) printf("  %-10s %s\n", row.name, row.summary);
    printf("\n`llm COMMAND --help` lists a command's options.\n"
           "Without -m: the file in LLM_MODEL, else the default model where it was fetched, else the bundled one.\n");
    return EXIT_OK;
}

static int unknown_command(const char *name) {
    fprintf(stderr, "llm: unknown command \"%s\"; there are", name);
    for (const command &row : commands) fprintf(stderr, " %s", row.name);
    fprintf(stderr, "\n");
    return EXIT_USAGE;
}

static int show_help(int argc, char **argv) {
    const command *chosen = argc > 2 ? find_command(argv[2]) : nullptr;
    if (argc > 2 && !chosen) return unknown_command(argv[2]);
    if (!chosen) return print_overview();
    char option[] = "--help";
    char *arguments[] = {argv[2], option, nullptr};
    return chosen->run(*chosen, 2, arguments);
}

static int run_command(int argc, char **argv) {
    std::string first = argc > 1 ? argv[1] : "";
    if (first == "help") return show_help(argc, argv);
    if (first == "-h" || first == "--help") return print_overview();
    if (first == "--version") return printf("llm %s, arithmetic %d\n", llm_version(), LLM_ARITH_VERSION), EXIT_OK;
    if (argc > 1 && first[0] != '-') {
        const command *chosen = find_command(argv[1]);
        return chosen ? chosen->run(*chosen, argc - 1, argv + 1) : unknown_command(argv[1]);
    }
    return commands[0].run(commands[0], argc, argv); // options without a command belong to the chat
}

int main(int argc, char **argv) {
    int status = run_command(argc, argv);
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (!written && status == EXIT_OK) {
        fprintf(stderr, "llm: cannot write to the standard output: %s\n", strerror(errno));
        return EXIT_FAILED;
    }
    return status;
}
