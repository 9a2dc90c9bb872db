#include "text/chat_template.h"
#include "text/utf8.h"
#include "text/vocab.h"
#include <algorithm>
#include <string.h>

namespace llm {

// What surrounds the content of a message.
struct chat_role {
    const char *role;                     // NULL: all three, the name is written after `before`
    const char *before, *between, *after; // before [role] between CONTENT after
    bool begins_turn, ends_turn;          // BOS before it (see chat_format::bos_each_turn); EOS after it
};

struct chat_row {
    const char *name;
    const char *needs[2];    // all are in a stored template of this format,
    const char *excludes[4]; // and none of these, which are of models that say more than the format does
    const char *tokens[2];   // without a stored template: control tokens that tell the format; NULL: cannot be told
    chat_role roles[3];      // the first that fits counts; unused ones have before == NULL
    bool opens_answer;       // the generation prompt is what stands before an assistant's content
    bool system_in_user;     // the first user message goes on where the system message ended
    bool bos, bos_each_turn, trim; // where no stored template says otherwise
    bool trims_system;             // as it does the others
    // A literal default system message of the stored template stands between these.
    const char *default_before, *default_after;
};

// clang-format off
static const chat_row rows[] = {
    // OpenAI's ChatML, as Qwen, SmolLM2, Hermes and others use it. Phi-4 writes <|im_sep|> instead of the line end.
    {"chatml", {"<|im_start|>", "<|im_end|>"},
     {"<|im_sep|>", "## Metadata", "a function calling AI model", "a set of tools you can use"},
     {"<|im_start|>", "<|im_end|>"},
     {{nullptr, "<|im_start|>", "\n", "<|im_end|>\n", false, false}},
     true, false, false, false, false, false, "<|im_start|>system", "<|im_end|>"},
    // Llama 3: https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-3/
    {"llama3", {"<|start_header_id|>", "<|eot_id|>"}, {"{start_tag}", "with access to functions"}, {"<|start_header_id|>", "<|eot_id|>"},
     {{nullptr, "<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", false, false}},
     true, false, true, false, true, true, nullptr, nullptr},
    // Gemma 1 to 3: https://ai.google.dev/gemma/docs/core/prompt-structure. The vocabulary tells nothing: that of the
    // pretrained models has the same control tokens.
    {"gemma", {"<start_of_turn>", "<end_of_turn>"}, {}, {nullptr, nullptr},
     {{"system", "<start_of_turn>user\n", "", "\n\n", false, false},
      {"user", "<start_of_turn>user\n", "", "<end_of_turn>\n", false, false},
      {"assistant", "<start_of_turn>model\n", "", "<end_of_turn>\n", false, false}},
     true, true, true, false, true, false, nullptr, nullptr},
    // Llama 2: https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-2/
    {"llama2", {"[INST]", "<<SYS>>"}, {"range(0, messages|length)"}, {nullptr, nullptr},
     {{"system", "[INST] <<SYS>>\n", "", "\n<</SYS>>\n\n", true, false},
      {"user", "[INST] ", "", " [/INST]", true, false},
      {"assistant", " ", "", " ", false, true}},
     false, true, true, true, true, true, "system_message = ", ""},
};
// clang-format on

const char *chat_format_name(size_t i) { return i < std::size(rows) ? rows[i].name : nullptr; }

// ------------------------------------------------------------------ recognition

static bool has(std::string_view text, const char *part) { return text.find(part) != std::string_view::npos; }

// The generation prompt goes on with "<think>": no built-in format does.
static bool opens_reasoning(std::string_view text) {
    size_t prompt = text.rfind("add_generation_prompt");
    return prompt != std::string_view::npos && has(text.substr(prompt), "<think>\\n'");
}

static bool fits(const chat_row &row, std::string_view text) {
    for (const char *part : row.needs)
        if (!has(text, part)) return false;
    for (const char *part : row.excludes)
        if (part && has(text, part)) return false;
    return !opens_reasoning(text);
}

static const chat_row *row_of_template(std::string_view text) {
    for (const chat_row &row : rows)
        if (fits(row, text)) return &row;
    return nullptr;
}

static const chat_row *row_of_vocabulary(const tokenizer *t) {
    for (const chat_row &row : rows)
        if (row.tokens[0] && tokenizer_is_control(t, tokenizer_find(t, row.tokens[0])) &&
            tokenizer_is_control(t, tokenizer_find(t, row.tokens[1])))
            return &row;
    return nullptr;
}

static const chat_row *row_of_name(std::string_view name) {
    for (const chat_row &row : rows)
        if (name == row.name) return &row;
    return nullptr;
}

// The value of a literal that starts after its opening quote; false when it does not end in `close` before it ends.
// Escapes are those of Jinja string literals.
static bool read_literal(std::string_view text, char quote, std::string_view close, std::string *out) {
    out->clear();
    for (size_t at = 0; at < text.size(); at++) {
        bool ends = text[at] == quote;
        if (close.empty() ? ends : text.substr(at, close.size()) == close) return true;
        if (ends) return false;
        if (text[at] != '\\' || at + 1 == text.size()) {
            out->push_back(text[at]);
            continue;
        }
        at++;
        out->push_back(text[at] == 'n' ? '\n' : text[at] == 't' ? '\t' : text[at]);
    }
    return false;
}

// A system message written out in the template, like "You are a helpful AI assistant named SmolLM, ...".
static std::string find_default_system(const chat_row *row, std::string_view text) {
    std::string value;
    if (!row->default_before) return value;
    std::string_view before = row->default_before, close = row->default_after;
    for (size_t at = 0; (at = text.find(before, at)) != std::string_view::npos; at++) {
        bool in_literal = !close.empty(); // the mark stands inside of the literal, else before it
        size_t quote_at = in_literal ? at - 1 : at + before.size();
        if (quote_at >= text.size() || (text[quote_at] != '\'' && text[quote_at] != '"')) continue;
        size_t begin = in_literal ? at + before.size() : quote_at + 1;
        if (!read_literal(text.substr(begin), text[quote_at], close, &value)) continue;
        if (in_literal && value.substr(0, 1) == "\n") value.erase(0, 1); // ends the line of the role
        if (!value.empty()) return value;
    }
    return {};
}

// Llama 3.1 and 3.2 begin every system message with two dates. The templates know a date to use where there is no
// clock; a rendering that changes every day would make conversations irreproducible.
static std::string find_system_intro(std::string_view text) {
    const char *cutting = "Cutting Knowledge Date: ", *today = "Today Date: ", *literal = "date_string = \"";
    size_t at = text.find(cutting), date_at = text.find(literal);
    if (at == std::string_view::npos || date_at == std::string_view::npos || !has(text, today)) return {};
    std::string knowledge, date;
    date_at += strlen(literal);
    if (!read_literal(text.substr(at), '"', "", &knowledge) || !read_literal(text.substr(date_at), '"', "", &date))
        return {};
    return knowledge + today + date + "\n\n";
}

static void read_template(chat_format *f, std::string_view text) {
    f->bos = has(text, "bos_token");
    f->bos_each_turn = f->row->bos_each_turn && has(text, "bos_token + '[INST]");
    f->trim = f->row->trim && (has(text, "trim") || has(text, "strip()"));
    f->drops_reasoning = has(text, "split('</think>')") || has(text, "split(\"</think>\")");
    f->refuses_system = has(text, "System role not supported");
    f->default_system = find_default_system(f->row, text);
    f->system_intro = find_system_intro(text);
}

static std::string names_of_formats() {
    std::string all;
    for (const chat_row &row : rows) all += (all.empty() ? "" : ", ") + std::string(row.name);
    return all;
}

llm_status chat_format_find(const char *name, const char *stored_template, const tokenizer *t, chat_format *out,
                            llm_error *err) {
    std::string_view text = stored_template ? stored_template : "";
    const chat_row *stored = row_of_template(text);
    const chat_row *row = name ? row_of_name(name) : text.empty() ? row_of_vocabulary(t) : stored;
    if (!row && name)
        return fail(err, LLM_ERR_TEMPLATE, "chat format \"%s\" is not known; there are %s", name,
                    names_of_formats().c_str());
    if (!row)
        return fail(err, LLM_ERR_TEMPLATE, "the model's %s; name one of %s",
                    text.empty() ? "file stores no chat template and its vocabulary does not tell one"
                                 : "chat template is none of the built-in formats",
                    names_of_formats().c_str());
    *out = chat_format();
    out->row = row;
    out->bos = row->bos;
    out->bos_each_turn = row->bos_each_turn;
    out->trim = row->trim;
    if (row == stored) read_template(out, text);
    out->bos |= tokenizer_adds_bos(t);
    return LLM_OK;
}

// ------------------------------------------------------------------ rendering

static bool is_white_space(uint32_t c) { // as Python's str.strip, which templates call
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static std::string_view trimmed(std::string_view text) {
    const char *first = nullptr, *last = nullptr, *end = text.data() + text.size();
    for (const char *at = text.data(); at != end;) {
        utf8_char c = utf8_next(at, end);
        bool white = c.well_formed && is_white_space(c.code);
        if (!white && !first) first = at;
        at += c.n;
        if (!white) last = at;
    }
    return first ? std::string_view(first, size_t(last - first)) : std::string_view();
}

std::string_view chat_kept_answer(const chat_format *format, std::string_view answer) {
    const std::string_view mark = "</think>";
    size_t at = format->drops_reasoning ? answer.rfind(mark) : std::string_view::npos;
    if (at == std::string_view::npos) return answer;
    answer.remove_prefix(std::min(answer.find_first_not_of('\n', at + mark.size()), answer.size()));
    return answer;
}

static const chat_role *find_role(const chat_row *row, std::string_view name) {
    if (name != "system" && name != "user" && name != "assistant") return nullptr;
    for (const chat_role &role : row->roles)
        if (role.before && (!role.role || name == role.role)) return &role;
    return nullptr;
}

static void add(std::vector<chat_segment> *out, chat_segment::kind_t kind, std::string_view text) {
    if (!text.empty()) out->push_back({kind, std::string(text)});
}

static void begin_message(const chat_role *role, std::string_view name, std::vector<chat_segment> *out) {
    add(out, chat_segment::scaffolding, role->before);
    if (!role->role) add(out, chat_segment::content, name);
    add(out, chat_segment::scaffolding, role->between);
}

static void end_message(const chat_role *role, std::vector<chat_segment> *out) {
    add(out, chat_segment::scaffolding, role->after);
    if (role->ends_turn) out->push_back({chat_segment::eos, {}});
}

static void render_system(const chat_role *role, std::string_view intro, std::string_view content,
                          std::vector<chat_segment> *out) {
    begin_message(role, "system", out);
    add(out, chat_segment::content, intro);
    add(out, chat_segment::content, content);
    end_message(role, out);
}

// Whether a system message stands directly before message k, written or implied.
static bool follows_system(const chat_format *f, const chat_message *messages, size_t k) {
    return k > 0 ? messages[k - 1].role == "system" : !f->default_system.empty();
}

static llm_status render_message(const chat_format *f, const chat_message *messages, size_t k,
                                 std::vector<chat_segment> *out, llm_error *err) {
    const chat_message &message = messages[k];
    const chat_role *role = find_role(f->row, message.role);
    bool system = message.role == "system";
    if (!role || (system && (f->refuses_system || (f->row->system_in_user && k > 0))))
        return fail(err, LLM_ERR_TEMPLATE, "message %zu: the chat format %s has no role \"%.*s\" there", k,
                    f->row->name, int(message.role.size()), message.role.data());
    std::string_view content = message.content;
    if (message.role == "assistant") content = chat_kept_answer(f, content);
    if (f->trim && (!system || f->row->trims_system)) content = trimmed(content);
    bool goes_on = f->row->system_in_user && message.role == "user" && follows_system(f, messages, k);
    if (role->begins_turn && f->bos_each_turn && k > 0 && !goes_on) out->push_back({chat_segment::bos, {}});
    if (system) {
        render_system(role, k == 0 ? std::string_view(f->system_intro) : std::string_view(), content, out);
        return LLM_OK;
    }
    if (!goes_on) begin_message(role, message.role, out);
    add(out, chat_segment::content, content);
    end_message(role, out);
    return LLM_OK;
}

llm_status chat_render(const chat_format *f, const chat_message *messages, size_t n, size_t from,
                       bool add_generation_prompt, std::vector<chat_segment> *out, llm_error *err) {
    size_t n_before = out->size();
    if (from == 0) {
        if (f->bos) out->push_back({chat_segment::bos, {}});
        bool implied = !f->default_system.empty() || !f->system_intro.empty();
        if (implied && (n == 0 || messages[0].role != "system"))
            render_system(find_role(f->row, "system"), f->system_intro, f->default_system, out);
    }
    for (size_t k = from; k < n; k++) {
        llm_status status = render_message(f, messages, k, out, err);
        if (status != LLM_OK) {
            out->resize(n_before);
            return status;
        }
    }
    if (add_generation_prompt && f->row->opens_answer) begin_message(find_role(f->row, "assistant"), "assistant", out);
    return LLM_OK;
}

// ------------------------------------------------------------------ ids

namespace {
// Collects text up to the next control token and tokenizes it as a whole.
struct encoder {
    const tokenizer *t;
    std::vector<int32_t> *ids;
    llm_error *err;
    std::string plain;
    bool continues; // the text collected next goes on a text before it
};
} // namespace

static llm_status flush(encoder *e) {
    tokenize_options options;
    options.continues = e->continues;
    if (!e->plain.empty()) LLM_TRY(tokenize(e->t, e->plain, &options, e->ids, e->err));
    e->plain.clear();
    return LLM_OK;
}

static llm_status push_control(encoder *e, int32_t id) {
    LLM_TRY(flush(e));
    if (id >= 0) e->ids->push_back(id);
    e->continues = false;
    return LLM_OK;
}

static llm_status push_scaffolding(encoder *e, std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        added_match match = added_tokens_find(e->t->added, text, at, true);
        e->plain.append(text.substr(at, match.at - at));
        if (match.id < 0) break;
        LLM_TRY(push_control(e, match.id));
        at = match.at + match.n;
    }
    return LLM_OK;
}

static llm_status encode_segments(encoder *e, const std::vector<chat_segment> &segments) {
    for (const chat_segment &segment : segments) switch (segment.kind) {
        case chat_segment::content: e->plain.append(segment.text); break;
        case chat_segment::scaffolding: LLM_TRY(push_scaffolding(e, segment.text)); break;
        case chat_segment::bos: LLM_TRY(push_control(e, e->t->special.bos)); break;
        case chat_segment::eos: LLM_TRY(push_control(e, e->t->special.eos)); break;
        }
    return flush(e);
}

llm_status chat_encode(const tokenizer *t, const chat_format *format, const chat_message *messages, size_t n,
                       size_t from, bool add_generation_prompt, std::vector<int32_t> *ids, llm_error *err) {
    std::vector<chat_segment> segments;
    LLM_TRY(chat_render(format, messages, n, from, add_generation_prompt, &segments, err));
    size_t n_before = ids->size();
    encoder e{t, ids, err, {}, from > 0};
    llm_status status = encode_segments(&e, segments);
    if (status != LLM_OK) ids->resize(n_before);
    return status;
}

llm_status chat_close_answer(const tokenizer *t, const chat_format *format, int32_t last_id, std::vector<int32_t> *ids,
                             llm_error *err) {
    std::vector<chat_segment> segments;
    end_message(find_role(format->row, "assistant"), &segments);
    std::vector<int32_t> end;
    encoder e{t, &end, err, {}, true};
    LLM_TRY(encode_segments(&e, segments));
    size_t first = 0;
    if (tokenizer_is_eog(t, last_id))
        while (first < end.size() && !tokenizer_is_control(t, end[first])) first++;
    if (first < end.size() && tokenizer_is_eog(t, last_id)) first++;
    ids->insert(ids->end(), end.begin() + ptrdiff_t(first), end.end());
    return LLM_OK;
}

} // namespace llm
