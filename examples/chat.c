/* One question, one streamed answer: chat MODEL.gguf "Name three rivers." */
#include <llm.h>
#include <stdio.h>
#include <string.h>

static bool print_event(void *user, const llm_event *event) {
    (void)user;
    if (event->type == LLM_EVENT_ANSWER) fwrite(event->text, 1, event->length, stdout);
    fflush(stdout);
    return true; /* false would stop the answer */
}

int main(int argc, char **argv) {
    llm_error err = {0};
    llm_model *model = NULL;
    llm_chat *chat = NULL;
    llm_chat_options options = {0}; /* all zero: the defaults, temperature 0 */
    options.n_predict = 200;
    if (argc != 3) return fprintf(stderr, "usage: chat MODEL.gguf QUESTION\n"), 2;

    llm_status status = llm_model_load(argv[1], NULL, &model, &err);
    if (status == LLM_OK) status = llm_chat_create(model, &options, &chat, &err);
    if (status == LLM_OK) status = llm_chat_send(chat, argv[2], strlen(argv[2]), print_event, NULL, NULL, &err);
    if (status == LLM_OK)
        printf("\n");
    else
        fprintf(stderr, "%s: %s\n", llm_status_text(status), err.message);
    llm_model_free(model); /* any order: the chat keeps what it needs */
    llm_chat_free(chat);
    return status == LLM_OK ? 0 : 1;
}
