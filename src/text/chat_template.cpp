#include "text/chat_template.h"
#include "text/utf8.h"
#include "text/vocab.h"
#include <algorithm>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace llm {

// ------------------------------------------------------------------ built-in templates

namespace {

struct builtin_template {
    const char *name;
    const char *tokens[2]; // control tokens of a vocabulary that tell it; NULL: cannot be told
    const char *source;
};

// What messages have any of these roles in any order; others are refused.
#define KNOWN_ROLES                                                                                                    \
    "{%- for message in messages %}{%- if message.role not in ['system', 'user', 'assistant'] %}"                      \
    "{{- raise_exception('message ' ~ loop.index0 ~ ': there is no role \"' ~ message.role ~ '\" in this format') }}"  \
    "{%- endif %}{%- endfor %}"
#define SYSTEM_FIRST                                                                                                   \
    "{%- for message in messages %}{%- if message.role == 'system' and not loop.first %}"                              \
    "{{- raise_exception('message ' ~ loop.index0 ~ ': a system message stands first in this format') }}"              \
    "{%- endif %}{%- endfor %}"

const builtin_template builtins[] = {
    // OpenAI's ChatML, as Qwen, SmolLM2, Hermes and others use it.
    {"chatml",
     {"<|im_start|>", "<|im_end|>"},
     KNOWN_ROLES "{%- for message in messages %}"
                 "{{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}"
                 "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"},
    // https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-3/
    {"llama3",
     {"<|start_header_id|>", "<|eot_id|>"},
     KNOWN_ROLES
     "{{- bos_token }}{%- for message in messages %}"
     "{{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\\n\\n' ~ message.content | trim ~ '<|eot_id|>' }}"
     "{%- endfor %}"
     "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}"},
    // Gemma 1 to 3: https://ai.google.dev/gemma/docs/core/prompt-structure. The vocabulary tells nothing: that of the
    // pretrained models has the same control tokens.
    {"gemma",
     {nullptr, nullptr},
     KNOWN_ROLES SYSTEM_FIRST
     "{{- bos_token }}{%- set say = namespace(first='') %}{%- for message in messages %}"
     "{%- if message.role == 'system' %}{%- set say.first = message.content ~ '\\n\\n' %}{%- else %}"
     "{{- '<start_of_turn>' ~ ('model' if message.role == 'assistant' else 'user') ~ '\\n' ~ say.first ~ "
     "message.content | trim ~ '<end_of_turn>\\n' }}{%- set say.first = '' %}{%- endif %}{%- endfor %}"
     "{%- if add_generation_prompt %}{{- '<start_of_turn>model\\n' }}{%- endif %}"},
    // https://www.llama.com/docs/model-cards-and-prompt-formats/meta-llama-2/
    {"llama2",
     {nullptr, nullptr},
     KNOWN_ROLES SYSTEM_FIRST
     "{%- set say = namespace(first='') %}{%- for message in messages %}{%- if message.role == 'system' %}"
     "{%- set say.first = '<<SYS>>\\n' ~ message.content | trim ~ '\\n<</SYS>>\\n\\n' %}"
     "{%- elif message.role == 'user' %}"
     "{{- bos_token ~ '[INST] ' ~ say.first ~ message.content | trim ~ ' [/INST]' }}{%- set say.first = '' %}"
     "{%- else %}{{- ' ' ~ message.content | trim ~ ' ' ~ eos_token }}{%- endif %}{%- endfor %}"},
};

const builtin_template *builtin_of_name(std::string_view name) {
    for (const builtin_template &row : builtins)
        if (name == row.name) return &row;
    return nullptr;
}

const builtin_template *builtin_of_vocabulary(const tokenizer *t) {
    for (const builtin_template &row : builtins)
        if (row.tokens[0] && tokenizer_is_control(t, tokenizer_find(t, row.tokens[0])) &&
            tokenizer_is_control(t, tokenizer_find(t, row.tokens[1])))
            return &row;
    return nullptr;
}

std::string names_of_builtins() {
    std::string all;
    for (const builtin_template &row : builtins) all += (all.empty() ? "" : ", ") + std::string(row.name);
    return all;
}

std::string token_text(const tokenizer *t, int32_t id) {
    return id < 0 || size_t(id) >= t->texts.size() ? std::string() : std::string(t->texts[size_t(id)]);
}

// `whose`: how the sentence of an error begins.
llm_status compile(std::string_view source, const char *whose, chat_format *out, llm_error *err) {
    jinja_handle compiled;
    llm_error inner = {};
    const llm_status status = jinja_compile(source, &compiled, nullptr, &inner);
    if (status != LLM_OK)
        return fail(err, status, "%s cannot be used: %s; another can be given, or one of %s", whose, inner.message,
                    names_of_builtins().c_str());
    out->compiled = std::move(compiled);
    out->source = source;
    return LLM_OK;
}

llm_status use_builtin(const builtin_template *row, chat_format *out, llm_error *err) {
    LLM_TRY(compile(row->source, "the built-in template", out, err));
    out->name = row->name;
    return LLM_OK;
}

} // namespace

const char *chat_format_name(size_t i) { return i < std::size(builtins) ? builtins[i].name : nullptr; }

llm_status chat_format_find(const chat_template_choice *choice, const tokenizer *t, chat_format *out, llm_error *err) {
    *out = chat_format();
    out->bos = token_text(t, t->special.bos);
    out->eos = token_text(t, t->special.eos);
    if (!choice->source.empty()) return compile(choice->source, "the given template", out, err);
    const bool by_name = choice->name && *choice->name;
    const bool stored = !by_name && choice->stored && *choice->stored;
    if (stored) return compile(choice->stored, "the model's chat template", out, err);
    const builtin_template *row = by_name ? builtin_of_name(choice->name) : builtin_of_vocabulary(t);
    if (row) return use_builtin(row, out, err);
    if (by_name)
        return fail(err, LLM_ERR_TEMPLATE, "chat template \"%s\" is not known; there are %s", choice->name,
                    names_of_builtins().c_str());
    return fail(err, LLM_ERR_TEMPLATE,
                "the model's file stores no chat template and its vocabulary does not tell one; name one of %s",
                names_of_builtins().c_str());
}

// ------------------------------------------------------------------ rendering

namespace {

std::string well_formed(std::string_view text) {
    std::string out;
    const char *end = text.data() + text.size();
    for (const char *at = text.data(); at != end;) {
        const utf8_char c = utf8_next(at, end);
        if (c.well_formed)
            out.append(at, c.n);
        else
            out.append("\xEF\xBF\xBD");
        at += c.n;
    }
    return out;
}

using json_text = rapidjson::Writer<rapidjson::StringBuffer>;

void write_string(json_text &json, std::string_view text) {
    const std::string clean = well_formed(text);
    json.String(clean.data(), rapidjson::SizeType(clean.size()));
}
void write_raw(json_text &json, std::string_view value, rapidjson::Type type) {
    json.RawValue(value.data(), value.size(), type);
}

void write_message(json_text &json, const chat_message &message) {
    if (!message.json.empty()) return write_raw(json, message.json, rapidjson::kObjectType);
    json.StartObject();
    json.Key("role");
    write_string(json, message.role);
    json.Key("content");
    write_string(json, message.content);
    json.EndObject();
}

std::string variables_of(const chat_format *f, const chat_message *messages, size_t n, bool add_generation_prompt) {
    rapidjson::StringBuffer buffer;
    json_text json(buffer);
    json.StartObject();
    json.Key("messages");
    json.StartArray();
    for (size_t i = 0; i < n; i++) write_message(json, messages[i]);
    json.EndArray();
    json.Key("add_generation_prompt");
    json.Bool(add_generation_prompt);
    json.Key("bos_token");
    write_string(json, f->bos);
    json.Key("eos_token");
    write_string(json, f->eos);
    if (!f->tools.empty()) {
        json.Key("tools");
        write_raw(json, f->tools, rapidjson::kArrayType);
    }
    if (f->thinking) {
        json.Key("enable_thinking");
        json.Bool(f->thinking > 0);
    }
    json.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

// Control tokens within text[begin, end), which the template wrote.
void find_controls(const tokenizer *t, std::string_view text, size_t begin, size_t end,
                   std::vector<chat_control> *out) {
    const std::string_view part = text.substr(0, end);
    for (size_t at = begin; at < end;) {
        const added_match match = added_tokens_find(t->added, part, at, true);
        if (match.id < 0) return;
        // User-defined tokens are recognised wherever they stand: the tokenizer finds them.
        if (tokenizer_is_control(t, match.id)) out->push_back({match.at, match.n, match.id});
        at = match.at + match.n;
    }
}

void find_all_controls(const tokenizer *t, std::string_view text, std::string_view marks,
                       std::vector<chat_control> *out) {
    for (size_t at = 0; at < text.size();) {
        size_t end = at;
        const bool given = !marks.empty() && marks[at];
        while (end < text.size() && (!marks.empty() && marks[end]) == given) end++;
        if (!given) find_controls(t, text, at, end, out);
        at = end;
    }
}

} // namespace

llm_status chat_render(const chat_format *f, const tokenizer *t, const chat_message *messages, size_t n,
                       bool add_generation_prompt, chat_rendering *out, llm_error *err) {
    const jinja_time now = jinja_time_now();
    jinja_result result;
    LLM_TRY(jinja_render(f->compiled.get(), variables_of(f, messages, n, add_generation_prompt), &now, nullptr, &result,
                         nullptr, err));
    out->controls.clear();
    find_all_controls(t, result.text, result.marks, &out->controls);
    out->text = std::move(result.text);
    return LLM_OK;
}

// ------------------------------------------------------------------ ids

namespace {

bool begins_with_bos(const tokenizer *t, const chat_rendering *r) {
    return !r->controls.empty() && r->controls[0].at == 0 && r->controls[0].id == t->special.bos;
}

llm_status encode_text(const tokenizer *t, std::string_view text, bool continues, std::vector<int32_t> *ids,
                       llm_error *err) {
    tokenize_options options;
    options.continues = continues;
    return text.empty() ? LLM_OK : tokenize(t, text, &options, ids, err);
}

} // namespace

llm_status chat_encode(const tokenizer *t, const chat_rendering *r, const chat_boundary *from,
                       std::vector<int32_t> *ids, std::vector<chat_boundary> *boundaries, llm_error *err) {
    const size_t n_before = ids->size();
    size_t at = from->at;
    bool continues = from->joined;
    std::vector<chat_boundary> found;
    if (at == 0 && tokenizer_adds_bos(t) && t->special.bos >= 0 && !begins_with_bos(t, r))
        ids->push_back(t->special.bos);
    llm_status status = LLM_OK;
    for (const chat_control &control : r->controls) {
        if (control.at < at || status != LLM_OK) continue;
        status = encode_text(t, std::string_view(r->text).substr(at, control.at - at), continues, ids, err);
        ids->push_back(control.id);
        at = control.at + control.n;
        continues = false;
        found.push_back({at, ids->size(), false});
    }
    if (status == LLM_OK) status = encode_text(t, std::string_view(r->text).substr(at), continues, ids, err);
    if (status != LLM_OK) return ids->resize(n_before), status;
    boundaries->insert(boundaries->end(), found.begin(), found.end());
    return LLM_OK;
}

// ------------------------------------------------------------------ transcripts

static void add_boundary(chat_transcript *c, bool joined) {
    c->boundaries.push_back({c->said.text.size(), c->ids.size(), joined});
}

void chat_transcript_add(chat_transcript *c, const tokenizer *t, const int32_t *ids, size_t n) {
    add_boundary(c, true);
    for (size_t i = 0; i < n; i++) {
        const bool control = tokenizer_is_control(t, ids[i]);
        const std::string_view piece = tokenizer_piece(t, ids[i], true);
        if (control) {
            add_boundary(c, true);
            c->said.controls.push_back({c->said.text.size(), piece.size(), ids[i]});
        }
        c->said.text.append(piece);
        c->ids.push_back(ids[i]);
        if (control) add_boundary(c, false);
    }
    add_boundary(c, true);
}

namespace {

size_t common_length(std::string_view a, std::string_view b) {
    const size_t n = std::min(a.size(), b.size());
    return size_t(std::mismatch(a.begin(), a.begin() + ptrdiff_t(n), b.begin()).first - a.begin());
}

// Whether both have the same control tokens before `at`, and none lies across it.
bool same_controls(const std::vector<chat_control> &a, const std::vector<chat_control> &b, size_t at) {
    size_t i = 0;
    for (; i < a.size() && a[i].at < at; i++) {
        if (a[i].at + a[i].n > at || i >= b.size()) return false;
        if (a[i].at != b[i].at || a[i].n != b[i].n || a[i].id != b[i].id) return false;
    }
    return i >= b.size() || b[i].at >= at;
}

} // namespace

llm_status chat_transcript_make(const tokenizer *t, chat_rendering rendering, const chat_transcript *before,
                                chat_transcript *out, size_t *n_same, llm_error *err) {
    const size_t common = common_length(before->said.text, rendering.text);
    size_t kept = before->boundaries.size();
    while (kept && (before->boundaries[kept - 1].at > common ||
                    !same_controls(before->said.controls, rendering.controls, before->boundaries[kept - 1].at)))
        kept--;
    const chat_boundary from = kept ? before->boundaries[kept - 1] : chat_boundary{0, 0, false};
    chat_transcript made;
    made.ids.assign(before->ids.begin(), before->ids.begin() + ptrdiff_t(from.n_ids));
    made.boundaries.assign(before->boundaries.begin(), before->boundaries.begin() + ptrdiff_t(kept));
    LLM_TRY(chat_encode(t, &rendering, &from, &made.ids, &made.boundaries, err));
    made.said = std::move(rendering);
    *n_same = from.n_ids;
    *out = std::move(made);
    return LLM_OK;
}

} // namespace llm
