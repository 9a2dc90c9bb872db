// The commands of the `llm` binary. A command is one row of the table in main.cpp and one function in its own file.
#pragma once

// Exit statuses shared by all commands.
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

struct command {
    const char *name;
    const char *summary;
    const char *examples[2];
    int (*run)(const command &self, int argc, char **argv); // argv[0] is the command's name; returns the exit status
};

int run_chat(const command &self, int argc, char **argv);
int run_run(const command &self, int argc, char **argv);
int run_tokenize(const command &self, int argc, char **argv);
int run_logits(const command &self, int argc, char **argv);
int run_info(const command &self, int argc, char **argv);
int run_bench(const command &self, int argc, char **argv);
int run_doctor(const command &self, int argc, char **argv);
int run_synth(const command &self, int argc, char **argv);
int run_template(const command &self, int argc, char **argv);
int run_grammar(const command &self, int argc, char **argv);
int run_pack(const command &self, int argc, char **argv);
