#include "api/objects.h"
#include "text/grammar/grammar.h"

using namespace llm;

struct llm_grammar {
    grammar_handle compiled;
};
struct llm_matcher {
    matcher_handle m;
};

llm_status llm_grammar_create(llm_grammar_kind kind, const char *text, size_t length, llm_grammar **out,
                              llm_error *err) {
    return api_run(err, [&] {
        if (!out || (!text && length)) return fail(err, LLM_ERR_ARGUMENT, "text or out is NULL");
        *out = nullptr;
        std::unique_ptr<llm_grammar> made(new llm_grammar);
        const std::string_view given(text ? text : "", length);
        switch (kind) {
        case LLM_GRAMMAR_GBNF: LLM_TRY(grammar_from_gbnf(given, &made->compiled, err)); break;
        case LLM_GRAMMAR_JSON_SCHEMA: LLM_TRY(grammar_from_schema(given, &made->compiled, err)); break;
        default: return fail(err, LLM_ERR_ARGUMENT, "the kind of the grammar is %d; expected 0 or 1", (int)kind);
        }
        *out = made.release();
        return LLM_OK;
    });
}

void llm_grammar_free(llm_grammar *grammar) { delete grammar; }

llm_status llm_matcher_create(const llm_grammar *grammar, llm_matcher **out, llm_error *err) {
    return api_run(err, [&] {
        if (!grammar || !out) return fail(err, LLM_ERR_ARGUMENT, "grammar or out is NULL");
        *out = nullptr;
        std::unique_ptr<llm_matcher> made(new llm_matcher{matcher_create(grammar->compiled.get())});
        *out = made.release();
        return LLM_OK;
    });
}

void llm_matcher_free(llm_matcher *matcher) { delete matcher; }

void llm_matcher_reset(llm_matcher *matcher) {
    if (!matcher) return;
    api_run(nullptr, [&] {
        matcher_reset(matcher->m.get());
        return LLM_OK;
    });
}

llm_status llm_matcher_accept(llm_matcher *matcher, const char *bytes, size_t length, size_t *n_fit, llm_error *err) {
    return api_run(err, [&] {
        if (!matcher || (!bytes && length)) return fail(err, LLM_ERR_ARGUMENT, "matcher or bytes is NULL");
        size_t n = 0;
        const bool ok = matcher_accept(matcher->m.get(), {bytes ? bytes : "", length}, &n);
        if (n_fit) *n_fit = n;
        if (ok) return LLM_OK;
        if (matcher_gave_up(matcher->m.get()))
            return fail(err, LLM_ERR_UNSUPPORTED, "the grammar is too ambiguous to follow");
        return fail(err, LLM_ERR_REFUSED, "the grammar does not allow byte %zu of the text", n + 1);
    });
}

bool llm_matcher_may_end(const llm_matcher *matcher) { return matcher && matcher_may_end(matcher->m.get()); }
