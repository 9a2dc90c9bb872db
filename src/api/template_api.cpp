#include "api/objects.h"
#include "text/jinja/jinja.h"
#include <string.h>

using namespace llm;

struct llm_template {
    jinja_handle compiled;
};

static void give_place(const jinja_place &from, llm_place *to) {
    if (to) *to = {from.line, from.column};
}

llm_status llm_template_create(const char *source, size_t length, llm_template **out, llm_place *place,
                               llm_error *err) {
    return api_run(err, [&] {
        if (!out || (!source && length)) return fail(err, LLM_ERR_ARGUMENT, "source or out is NULL");
        *out = nullptr;
        std::unique_ptr<llm_template> made(new llm_template);
        jinja_place at;
        const llm_status status = jinja_compile({source ? source : "", length}, &made->compiled, &at, err);
        give_place(at, place);
        if (status == LLM_OK) *out = made.release();
        return status;
    });
}

void llm_template_free(llm_template *chat_template) { delete chat_template; }

static llm_status give_rendering(const jinja_result &result, char *text, uint8_t *marks, size_t capacity,
                                 size_t *text_length, llm_error *err) {
    const size_t n = result.text.size(), fits = n < capacity ? n : capacity;
    if (text_length) *text_length = n;
    if (fits) memcpy(text, result.text.data(), fits);
    for (size_t i = 0; marks && i < fits; i++) marks[i] = !result.marks.empty() && result.marks[i];
    if (n <= capacity) return LLM_OK;
    return fail(err, LLM_ERR_TOO_SMALL, "the buffer holds %zu; %zu are needed", capacity, n);
}

llm_status llm_template_render(const llm_template *chat_template, const char *variables, size_t length, const char *now,
                               char *text, uint8_t *marks, size_t capacity, size_t *text_length, llm_place *place,
                               llm_error *err) {
    return api_run(err, [&] {
        if (!chat_template || (!variables && length) || (!text && capacity))
            return fail(err, LLM_ERR_ARGUMENT, "chat_template, variables or text is NULL");
        jinja_time time = jinja_time_now();
        if (now && !jinja_time_parse(now, &time))
            return fail(err, LLM_ERR_ARGUMENT, "the time is \"%s\"; expected the form 2025-07-26T14:05:09", now);
        jinja_result result;
        jinja_place at;
        const llm_status status = jinja_render(chat_template->compiled.get(), {variables ? variables : "", length},
                                               &time, nullptr, &result, &at, err);
        give_place(at, place);
        LLM_TRY(status);
        return give_rendering(result, text, marks, capacity, text_length, err);
    });
}
