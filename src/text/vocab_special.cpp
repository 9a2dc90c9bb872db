// Special tokens: which they are, what ends a generation, what tokenize() adds and recognises.
#include "text/encode.h"
#include "text/vocab_load.h"

namespace llm {

// Texts that end a generation wherever the vocabulary has them as control tokens. A user-defined token of such a text
// counts as control: files that store it so would let a user's text end the turn.
namespace {
struct end_text {
    const char *text;
    bool ends_turn;        // candidates for `eot` when the file names none, in this order
    const char *only_with; // not NULL: only where this text is a control token too
    const char *not_with;  // not NULL: not where this text is a control token
    const char *nor_with;  // the same
};
} // namespace
// clang-format off
static const end_text end_texts[] = {
    {"<|eot_id|>", true, nullptr, nullptr, nullptr},
    {"<|im_end|>", true, nullptr, nullptr, nullptr},
    {"<|end|>", true, nullptr, "<|return|>", "<|flush|>"}, // there (gpt-oss, Solar) it only parts messages of one turn
    {"<end_of_turn>", true, nullptr, nullptr, nullptr},
    {"<|end_of_turn|>", true, nullptr, nullptr, nullptr},
    {"<|endoftext|>", true, nullptr, nullptr, nullptr},
    {"<|end_of_text|>", true, nullptr, nullptr, nullptr},
    {"<|eom_id|>", false, nullptr, nullptr, nullptr},
    {"<|return|>", false, nullptr, nullptr, nullptr},
    {"<|call|>", false, nullptr, nullptr, nullptr},
    {"<EOT>", true, nullptr, nullptr, nullptr},
    {"_<EOT>", true, nullptr, nullptr, nullptr},
    {"[EOT]", true, nullptr, nullptr, nullptr},
    {"[EOS]", false, nullptr, nullptr, nullptr},
    {"<eos>", false, nullptr, nullptr, nullptr},
    {"<turn|>", false, nullptr, nullptr, nullptr},
    {"<end_of_utterance>", true, nullptr, nullptr, nullptr},
    {"<\xEF\xBD\x9C" "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>", true, nullptr, nullptr, nullptr},
    {"</s>", false, "<s>", nullptr, nullptr}, // elsewhere (gemma3, qwen3) it is HTML like others
    {"<|flush|>", false, "<|calls|>", nullptr, nullptr},
    {"<|calls|>", false, "<|flush|>", nullptr, nullptr},
    {"<|tool_response>", false, nullptr, nullptr, nullptr},
    {"[e~[", false, nullptr, nullptr, nullptr},
    {"<|fim_pad|>", false, nullptr, nullptr, nullptr},
    {"<fim-pad>", false, nullptr, nullptr, nullptr},
    {"<fim_pad>", false, nullptr, nullptr, nullptr},
    {"<PAD>", false, nullptr, nullptr, nullptr},
    {"[PAD]", false, nullptr, nullptr, nullptr},
    {"<|fim_repo|>", false, nullptr, nullptr, nullptr},
    {"<|repo_name|>", false, nullptr, nullptr, nullptr},
    {"<fim-repo>", false, nullptr, nullptr, nullptr},
    {"<reponame>", false, nullptr, nullptr, nullptr},
    {"<|file_sep|>", false, nullptr, nullptr, nullptr},
};
// clang-format on

static bool is_control_text(const tokenizer *t, const char *text) {
    return is_type(t, find_text(t, text), token_type::control);
}

static int32_t read_id(vocab_loader *l, const char *key, int32_t fallback) {
    const gguf_value *value = gguf_find(l->file, key);
    if (!value) return fallback < int32_t(l->t->texts.size()) ? fallback : -1;
    uint64_t id = gguf_u64_or(l->file, key, UINT64_MAX);
    if (id < l->t->texts.size()) return int32_t(id);
    if (id != UINT64_MAX && id != UINT32_MAX) // -1 is a common way to say none
        log_line(l->log, LLM_LOG_WARNING, "%s is %llu, but there are %zu tokens: ignored", key, (unsigned long long)id,
                 l->t->texts.size());
    return -1;
}

static bool is_end(const tokenizer *t, const end_text &end, int32_t id) {
    if (!is_type(t, id, token_type::control) && !is_type(t, id, token_type::user_defined)) return false;
    if (end.only_with && !is_control_text(t, end.only_with)) return false;
    return !(end.not_with && is_control_text(t, end.not_with)) && !(end.nor_with && is_control_text(t, end.nor_with));
}

static void mark_ends(tokenizer *t) {
    for (const end_text &end : end_texts) {
        int32_t id = find_text(t, end.text);
        if (!is_end(t, end, id)) continue;
        t->types[size_t(id)] = token_type::control;
        t->flags[size_t(id)] |= TOKEN_ENDS_GENERATION;
        if (end.ends_turn && t->special.eot < 0) t->special.eot = id;
    }
    for (int32_t id : {t->special.eos, t->special.eot})
        if (id >= 0) t->flags[size_t(id)] |= TOKEN_ENDS_GENERATION;
}

// The token of a line end. Kinds without one name the padding token, as the file format's reference does.
int32_t vocab_find_line_end(const tokenizer *t) {
    std::vector<int32_t> ids;
    switch (t->kind) {
    case vocab_kind::wordpiece: return t->special.pad;
    case vocab_kind::unigram: {
        encode_scratch scratch;
        if (encode_unigram(t, "\n", true, &scratch, &ids, nullptr) != LLM_OK || ids.empty()) return t->special.pad;
        return ids[0];
    }
    case vocab_kind::raw:
        if (int32_t id = find_text(t, "\n"); id >= 0) return id;
        break;
    default: break;
    }
    return t->byte_ids['\n'];
}

void vocab_read_special(vocab_loader *l) {
    tokenizer *t = l->t;
    const kind_row *kind = l->kind;
    int32_t cls = read_id(l, "tokenizer.ggml.cls_token_id", kind->bos); // BERT's name for it
    t->special.bos = read_id(l, "tokenizer.ggml.bos_token_id", t->kind == vocab_kind::wordpiece ? cls : kind->bos);
    t->special.eos = read_id(l, "tokenizer.ggml.eos_token_id", kind->eos);
    t->special.unk = read_id(l, "tokenizer.ggml.unknown_token_id", kind->unk);
    t->special.sep = read_id(l, "tokenizer.ggml.seperator_token_id", kind->sep); // spelt so in the format
    t->special.pad = read_id(l, "tokenizer.ggml.padding_token_id", kind->pad);
    t->special.eot = read_id(l, "tokenizer.ggml.eot_token_id", -1);
    mark_ends(t);
    int32_t eom = read_id(l, "tokenizer.ggml.eom_token_id", -1);
    if (eom >= 0) t->flags[size_t(eom)] |= TOKEN_ENDS_GENERATION;
}

void vocab_read_additions(vocab_loader *l) {
    tokenizer *t = l->t;
    const kind_row *kind = l->kind;
    uint8_t of_pre = l->row ? l->row->flags : 0;
    t->add_bos = gguf_bool_or(l->file, "tokenizer.ggml.add_bos_token", kind->add_bos || of_pre & PRE_ADD_BOS);
    t->add_eos = gguf_bool_or(l->file, "tokenizer.ggml.add_eos_token", kind->add_eos);
    t->add_sep = gguf_bool_or(l->file, "tokenizer.ggml.add_sep_token", kind->add_sep || of_pre & PRE_ADD_SEP);
    t->add_space_prefix = (t->kind == vocab_kind::spm || t->kind == vocab_kind::unigram) &&
                          gguf_bool_or(l->file, "tokenizer.ggml.add_space_prefix", t->kind == vocab_kind::spm);
}

// White space beside special tokens that their own tokenizers strip. GGUF does not say so: Phi-3's after its special
// tokens ("rstrip"), three aside; before the mask token ("lstrip") of the RoBERTa kind, of XLM-R's and of ModernBERT.
void vocab_mark_space_eaters(vocab_loader *l) {
    tokenizer *t = l->t;
    bool phi3 = t->kind == vocab_kind::spm && l->architecture == "phi3";
    bool masks = t->kind == vocab_kind::unigram || (l->row && l->row->flags & PRE_MASK_EATS_SPACE);
    if (!phi3 && !masks) return;
    for (size_t i = 0; i < t->texts.size(); i++) {
        std::string_view text = t->texts[i];
        if (t->types[i] != token_type::control && t->types[i] != token_type::user_defined) continue;
        if (masks && (text == "<mask>" || text == "[MASK]")) t->flags[i] |= TOKEN_EATS_SPACE_BEFORE;
        if (phi3 && t->types[i] == token_type::control && text != "<unk>" && text != "<s>" && text != "<|endoftext|>")
            t->flags[i] |= TOKEN_EATS_SPACE_AFTER;
    }
}

// A literal U+2581 in a text is a space to SentencePiece vocabularies, in added tokens too: tokenize() replaces it
// first.
void vocab_collect_added(tokenizer *t) {
    std::vector<added_token> tokens;
    string_block plain;
    for (size_t i = 0; i < t->texts.size(); i++) {
        bool control = is_special_type(t, int32_t(i));
        if (!control && t->types[i] != token_type::user_defined) continue;
        if (marks_are_spaces(t))
            append_with_spaces(t->texts[i], &plain.bytes);
        else
            plain.bytes.append(t->texts[i]);
        plain.end.push_back(uint32_t(plain.bytes.size()));
        tokens.push_back({{}, int32_t(i), control});
    }
    for (size_t i = 0; i < tokens.size(); i++) tokens[i].text = plain[i];
    added_tokens_build(&t->added, tokens);
}

} // namespace llm
