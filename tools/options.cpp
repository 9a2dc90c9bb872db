#include "options.h"
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <stdio.h>

// "1.5G" to bytes. Units are powers of 1024, as memory is counted.
static bool read_bytes(const std::string &text, byte_size &out) {
    char *end = nullptr;
    double number = strtod(text.c_str(), &end);
    static const std::string units = "KMGT";
    size_t unit = *end ? units.find(static_cast<char>(toupper(*end))) : std::string::npos;
    double factor = 1;
    if (unit != std::string::npos) {
        factor = std::pow(1024.0, static_cast<double>(unit + 1));
        end++;
    }
    std::string rest = end;
    bool good = end != text.c_str() && (rest.empty() || rest == "B" || rest == "iB" || rest == "b");
    if (!good || !(number >= 0) || number * factor > 9e18) return false;
    out.bytes = static_cast<uint64_t>(number * factor);
    return true;
}

static bool read_numbers(const std::string &text, number_list &out) {
    const char *at = text.data(), *end = at + text.size();
    while (at < end) {
        if (*at == ',' || isspace(static_cast<unsigned char>(*at))) {
            at++;
            continue;
        }
        int32_t number = 0;
        std::from_chars_result result = std::from_chars(at, end, number);
        if (result.ec != std::errc()) return false;
        at = result.ptr;
        out.push_back(number);
    }
    return true;
}

// Adds one row to CLI11's parser, by the type of its target.
struct row_adder {
    CLI::App &app;
    const option_row &row;

    void operator()(bool *target) const { app.add_flag(row.names, *target); }
    void operator()(byte_size *target) const {
        take([target](const std::string &text) { return read_bytes(text, *target); }, "a size such as 512M or 2G");
    }
    void operator()(number_list *target) const {
        take([target](const std::string &text) { return read_numbers(text, *target); }, "numbers such as 1,2,3");
    }
    void operator()(std::optional<std::string> *target) const {
        take([target](const std::string &text) { return *target = text, true; }, "");
    }
    void operator()(std::optional<uint64_t> *target) const { take_number(target); }
    void operator()(std::optional<float> *target) const { take_number(target); }
    void operator()(std::vector<std::string> *target) const {
        app.add_option(row.names, *target)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    void operator()(string_pair *target) const {
        auto set = [target](const std::vector<std::string> &values) { *target = {values[0], values[1]}; };
        app.add_option_function<std::vector<std::string>>(row.names, set)->expected(2);
    }
    template <typename T> void operator()(T *target) const { app.add_option(row.names, *target); }

    template <typename Number> void take_number(std::optional<Number> *target) const {
        auto read = [target](const std::string &text) {
            Number number = 0;
            std::from_chars_result result = std::from_chars(text.data(), text.data() + text.size(), number);
            *target = number;
            return result.ec == std::errc() && result.ptr == text.data() + text.size();
        };
        take(read, "a number");
    }
    template <typename Read> void take(Read read, const char *wanted) const {
        std::string name = row.names;
        app.add_option_function<std::string>(name, [read, wanted, name](const std::string &text) {
            if (!read(text))
                throw CLI::ValidationError(name, "wants " + std::string(wanted) + ", not \"" + text + "\"");
        });
    }
};

static bool is_positional(const option_row &row) { return row.names[0] != '-'; }

static void print_help(const command &self, const option_table &rows) {
    printf("usage: llm %s [options]", self.name);
    for (const option_row &row : rows)
        if (is_positional(row)) printf(" [%s]", row.value);
    printf("\n%s\n\noptions:\n", self.summary);
    for (const option_row &row : rows) {
        std::string left = is_positional(row) ? "" : row.names;
        if (*row.value) left += left.empty() ? row.value : std::string(" ") + row.value;
        printf("  %-27s %s%s\n", left.c_str(), left.size() > 27 ? "\n                              " : "", row.help);
    }
    printf("  %-27s %s\n\nexamples:\n  %s\n  %s\n", "-h,--help", "this text", self.examples[0], self.examples[1]);
}

int usage_error(const command &self, const std::string &sentence) {
    fprintf(stderr, "llm: %s; `llm %s --help` lists the options\n", sentence.c_str(), self.name);
    return EXIT_USAGE;
}

// CLI11 begins some sentences with a capital and writes some over two lines; ours follow "llm: ".
static std::string one_line(std::string text) {
    if (text.size() > 1 && islower(static_cast<unsigned char>(text[1]))) text[0] = static_cast<char>(tolower(text[0]));
    for (char &c : text)
        if (c == '\n' || c == '\r') c = ' ';
    while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
    return text;
}

std::optional<int> parse_options(const command &self, const option_table &rows, int argc, char **argv) {
    CLI::App app;
    app.set_help_flag();
    bool help = false;
    try {
        app.add_flag("-h,--help", help);
        for (const option_row &row : rows) std::visit(row_adder{app, row}, row.target);
        app.parse(argc, argv);
    } catch (const CLI::Error &error) {
        if (!help) return usage_error(self, one_line(error.what()));
    }
    if (!help) return std::nullopt;
    print_help(self, rows);
    return EXIT_OK;
}
