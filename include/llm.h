/* libllm: run language models from GGUF files inside your program.
 *
 * Two levels. *Conversation* (llm_model_load, llm_chat_create, llm_chat_send, ...): about ten calls for a whole app.
 * *Tokens* (llm_context_create, llm_decode, llm_logits, ...): full control.
 *
 * Rules that hold for every function
 *  - The library never prints, aborts or exits and lets no exception out. Every failure is an llm_status; `err` (may be
 *    NULL) then holds one sentence that names what failed, what was expected and what was found.
 *  - After a failure every out-pointer is NULL or unchanged and every object is as it was before the call.
 *  - Strings are UTF-8 given as pointer and length (bytes may include NUL), or NUL-terminated where no length is taken;
 *    paths are UTF-8.
 *  - Options structs: all zero is the default of every field; a NULL options pointer is all zero. `size` is
 *    sizeof(struct) of the caller's header, or 0 for the layout of version 0.1; fields beyond it count as zero.
 *  - Models, adapters and pools are shared and immutable: use them from any thread. A context, chat or sampler is used
 *    by one call at a time: a second concurrent call returns LLM_ERR_BUSY and changes nothing.
 *  - Objects count references: a context keeps its model alive, so any order of freeing is legal. Freeing an object that
 *    is inside a call on another thread cancels that call, waits for its end, then frees. Freeing NULL does nothing.
 *  - Callbacks run on the thread that made the call. Inside a callback these are legal: llm_cancel, llm_chat_cancel, all
 *    calls on other objects, the *_free functions (also of the object in the call: it is then freed when the call ends),
 *    and functions that only read the model. Everything else on the busy object returns LLM_ERR_BUSY.
 *
 * Numbers: on the CPU the logits of a token are the same bits for any number of threads, any split of the input into
 * batches, any other sequences in the batch and any CPU tier (LLM_ARITH_VERSION names the arithmetic). Randomness is
 * keyed by (seed, position). The floating-point environment of the calling thread is saved, set and restored.
 */
#ifndef LLM_H
#define LLM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(LLM_BUILD)
#define LLM_API __declspec(dllexport)
#elif defined(__GNUC__)
#define LLM_API __attribute__((visibility("default")))
#else
#define LLM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LLM_VERSION_MAJOR 0
#define LLM_VERSION_MINOR 1
/* Version of the arithmetic: logits of equal versions are equal bits. Raised by any change of an order or constant. */
#define LLM_ARITH_VERSION 1

/* ------------------------------------------------------------------ status */

/* X(name, value, text): every code once, with the text llm_status_text gives. */
#define LLM_STATUS_LIST(X)                                                                                             \
    X(LLM_OK, 0, "ok")                                                                                                 \
    X(LLM_CANCELLED, 1, "cancelled")                                                                                   \
    X(LLM_ERR_ARGUMENT, 2, "invalid argument")                                                                         \
    X(LLM_ERR_NOMEM, 3, "out of memory")                                                                               \
    X(LLM_ERR_BUDGET, 4, "over the memory limit")                                                                      \
    X(LLM_ERR_IO, 5, "input/output error")                                                                             \
    X(LLM_ERR_NOT_GGUF, 6, "not a GGUF file")                                                                          \
    X(LLM_ERR_DAMAGED, 7, "damaged file")                                                                              \
    X(LLM_ERR_TOO_NEW, 8, "file is newer than this build")                                                             \
    X(LLM_ERR_UNSUPPORTED, 9, "not supported")                                                                         \
    X(LLM_ERR_CONTEXT_FULL, 10, "context is full")                                                                     \
    X(LLM_ERR_BUSY, 11, "object is in another call")                                                                   \
    X(LLM_ERR_NUMERIC, 12, "result is not finite")                                                                     \
    X(LLM_ERR_MISMATCH, 13, "does not belong to this model")                                                           \
    X(LLM_ERR_TEMPLATE, 14, "chat template error")                                                                     \
    X(LLM_ERR_REFUSED, 15, "operation not possible in this state")                                                     \
    X(LLM_ERR_TOO_SMALL, 16, "buffer too small")                                                                       \
    X(LLM_ERR_NOT_FOUND, 17, "not found")                                                                              \
    X(LLM_ERR_DEVICE_LOST, 18, "device lost")                                                                          \
    X(LLM_ERR_INTERNAL, 19, "internal error")

typedef enum llm_status {
#define LLM_STATUS_ENUM(name, value, text) name = value,
    LLM_STATUS_LIST(LLM_STATUS_ENUM)
#undef LLM_STATUS_ENUM
} llm_status;

/* Filled by the failing call; plain memory of the caller, nothing to free. */
typedef struct llm_error {
    llm_status code;
    char message[500]; /* one sentence, NUL-terminated UTF-8; empty after success */
} llm_error;

LLM_API const char *llm_status_text(llm_status status);
/* "0.1.0" */
LLM_API const char *llm_version(void);

/* ------------------------------------------------------------------ hooks */

typedef enum llm_log_level { LLM_LOG_ERROR, LLM_LOG_WARNING, LLM_LOG_INFO, LLM_LOG_DEBUG } llm_log_level;
/* One line without newline; valid during the call only. May come from several threads, one at a time. */
typedef void (*llm_log_callback)(void *user, llm_log_level level, const char *line);

/* Fraction 0..1 of long work. Return false to stop it: it ends with LLM_CANCELLED. */
typedef bool (*llm_progress_callback)(void *user, float fraction);

/* Large allocations: weights, KV blocks, activations and scratch. Small ones use the C++ heap. */
typedef enum llm_memory_kind { LLM_MEMORY_WEIGHTS, LLM_MEMORY_KV, LLM_MEMORY_ARENA } llm_memory_kind;
typedef struct llm_allocator {
    /* `bytes` aligned to `alignment` (a power of two, at most 2 MiB), or NULL: the call then fails with LLM_ERR_NOMEM */
    void *(*alloc)(void *user, llm_memory_kind kind, size_t bytes, size_t alignment);
    void (*free)(void *user, llm_memory_kind kind, void *memory, size_t bytes);
    void *user;
} llm_allocator;

/* ------------------------------------------------------------------ threads and CPU */

/* Worker threads that contexts can share; calls of several contexts on one pool take turns. */
typedef struct llm_pool llm_pool;
typedef struct llm_pool_options {
    uint32_t size;
    uint32_t n_threads; /* including the calling thread; 0: one per fast core that this process may use, as far as the
                           container's quota covers it; see llm_machine_get_info */
} llm_pool_options;
LLM_API llm_status llm_pool_create(const llm_pool_options *options, llm_pool **out, llm_error *err);
LLM_API void llm_pool_free(llm_pool *pool);
LLM_API uint32_t llm_pool_n_threads(const llm_pool *pool);
/* Operating system ids of the workers (for performance hints), at most `capacity`; returns how many there are. */
LLM_API size_t llm_pool_thread_ids(const llm_pool *pool, int64_t *ids, size_t capacity);

/* Names of the CPU tiers this build has and this machine can run, best first ("avx512", "avx2", "ref"); NULL past the
 * last one. "ref" is portable C, the specification of the arithmetic: slow. */
LLM_API const char *llm_cpu_tier(size_t index);
/* The same of the tiers that this build has and this machine cannot run; *needs (may be NULL) says what they want of the
 * processor and the operating system. */
LLM_API const char *llm_cpu_tier_missing(size_t index, const char **needs);

/* Whether memory is taken in huge pages: as the system is set up, and where it gives them. */
typedef enum llm_huge_pages {
    LLM_HUGE_PAGES_NONE,    /* never, or unknown */
    LLM_HUGE_PAGES_ADVISED, /* where a program asks for them, as this library does */
    LLM_HUGE_PAGES_ALWAYS
} llm_huge_pages;

/* What the machine gives to this process now, and which defaults follow from it. */
typedef struct llm_machine_info {
    uint32_t size;              /* set by the caller as for options */
    const char *cpu_tier;       /* the best this machine can run; static */
    uint32_t n_processors;      /* online */
    uint32_t n_allowed;         /* of them in this process's affinity mask */
    uint32_t n_cores;           /* physical cores that these belong to */
    uint32_t n_fast_cores;      /* of them in the fast class (big cores, performance cores) */
    double quota;               /* processors that the container grants; 0: no limit */
    uint32_t n_threads;         /* default of llm_pool_options, llm_model_options and llm_context_options */
    char n_threads_why[160];    /* half a sentence */
    uint64_t memory_total, memory_available; /* bytes; available: without swapping, within the container's limit;
                                                0: unknown */
    llm_huge_pages huge_pages;
    uint64_t huge_page_bytes;   /* 0: unknown */
    uint64_t huge_bytes_used;   /* memory of this process that is in huge pages now */
} llm_machine_info;
LLM_API llm_status llm_machine_get_info(llm_machine_info *out, llm_error *err);

/* The two limits of this machine, measured now: some 0.3 s and 512 MiB for that time. The prompt speed of a model is at
 * most dot_gmacs over llm_cost's layer_macs, generation at most read_gbps over its token_bytes and the cache in use. */
typedef struct llm_roofline {
    uint32_t size;       /* set by the caller as for options */
    uint32_t n_threads;
    double read_gbps;    /* 10^9 bytes a second read from memory by all threads together, in huge pages where possible */
    double dot_gmacs;    /* 10^9 8-bit multiply-accumulates a second of the tier's own dot instruction; 0: it has none */
    double huge_share;   /* 0..1: how much of the memory that was read lay in huge pages */
} llm_roofline;
/* cpu_tier: NULL: the best; n_threads: 0: the default. */
LLM_API llm_status llm_roofline_measure(const char *cpu_tier, uint32_t n_threads, llm_roofline *out, llm_error *err);

/* ------------------------------------------------------------------ files */

/* What a GGUF file holds, without loading weights. */
typedef struct llm_file llm_file;
typedef struct llm_file_tensor {
    const char *name;
    const char *format;  /* "Q4_0"; "Q4_0 packed" in a packed file */
    uint32_t n_dims;
    uint64_t shape[4];   /* GGUF order: shape[0] is the row length */
    uint64_t bytes;
} llm_file_tensor;
LLM_API llm_status llm_file_open(const char *path, llm_file **out, llm_error *err);
LLM_API void llm_file_free(llm_file *file);
LLM_API uint32_t llm_file_version(const llm_file *file);
LLM_API size_t llm_file_n_metadata(const llm_file *file);
/* Key and printable value (arrays are shortened) of entry i; strings belong to the file. */
LLM_API llm_status llm_file_metadata(const llm_file *file, size_t i, const char **key, const char **value,
                                     llm_error *err);
LLM_API size_t llm_file_n_tensors(const llm_file *file);
LLM_API llm_status llm_file_tensor_at(const llm_file *file, size_t i, llm_file_tensor *out, llm_error *err);
/* Sentences about oddities that do not hinder use; NULL past the last. */
LLM_API const char *llm_file_warning(const llm_file *file, size_t i);

/* Writes a loadable GGUF of random weights with a known shape (and a vocabulary), for measurements. Same seed, same file.
 * shape: a name from llm_shape_name; type: a format, "Q4_0", "Q8_0", "F16", ... (the head is then Q6_K, norms F32), or a
 * mix of formats as files have it, "Q4_K_M". LLM_ERR_NOT_FOUND lists the choices. */
LLM_API llm_status llm_synth(const char *shape, const char *type, uint64_t seed, const char *path,
                             llm_progress_callback progress, void *user, llm_error *err);
LLM_API const char *llm_shape_name(size_t index); /* from small to large; NULL past the last */

/* What running a model costs. */
typedef struct llm_cost {
    uint32_t size;         /* set by the caller as for options */
    uint64_t n_params;
    uint64_t weight_bytes; /* of the matrices, in the layout of the CPU tier */
    uint64_t token_bytes;  /* of those that are read whole to generate a token: without embeddings that are looked up */
    uint64_t layer_macs;   /* multiply-accumulates of the layers' matrices for one token */
    uint64_t head_macs;    /* of the output matrix for one token whose logits are wanted */
    uint64_t kv_bytes;     /* of the F16 cache for one position, in the layers that see all positions */
    uint64_t kv_window_bytes; /* the same in the layers that see the last n_window positions only */
    uint64_t n_window;
} llm_cost;
/* Of a shape and type as for llm_synth, for the best CPU tier. */
LLM_API llm_status llm_shape_get_cost(const char *shape, const char *type, llm_cost *out, llm_error *err);

/* Writes the model at `path` as a packed file: a GGUF whose matrices have the layout in which this library's kernels
 * read them. Loading maps it instead of reading it; results are the same bits, on every tier and machine. Other programs
 * refuse it. `path` is only read; the output appears under its name when it is complete.
 * Errors: those of llm_model_load; LLM_ERR_REFUSED: packed already; LLM_ERR_ARGUMENT: the output is the input;
 * LLM_ERR_IO: no room, and others; LLM_CANCELLED. */
LLM_API llm_status llm_pack(const char *path, const char *out_path, llm_progress_callback progress, void *user,
                            llm_error *err);

/* ------------------------------------------------------------------ models */

typedef struct llm_model llm_model;

typedef struct llm_model_options {
    uint32_t size;
    uint32_t n_threads;          /* for loading, without a pool; 0: as for llm_pool_options */
    llm_pool *pool;              /* may be NULL */
    const char *cpu_tier;        /* NULL: best; else a name from llm_cpu_tier, LLM_ERR_UNSUPPORTED when not to be had */
    uint64_t mem_limit;          /* bytes for weights, mapped ones not counted; LLM_ERR_BUDGET before anything is taken;
                                    0: none */
    bool vocab_only;             /* tokenizer and metadata; no weights needed or loaded */
    const char *tokenizer_pre;   /* overrides an unknown tokenizer.ggml.pre; NULL: as the file says */
    llm_progress_callback progress;
    void *progress_user;
    llm_log_callback log;        /* kept by the model and its contexts */
    void *log_user;
    const llm_allocator *allocator; /* copied; NULL: the system's, huge pages where possible */
    bool no_map;                 /* read a packed file into memory of its own, as other files are */
} llm_model_options;

/* Loads a model. The file is read during the call only and can be removed afterwards.
 * A packed file (llm_pack) is mapped instead, from a path or a descriptor (there when `offset` is a multiple of 64): it
 * loads at once, and processes share its pages. It can be removed too, but must not be changed or cut while the model
 * lives; where it might be, set no_map.
 * Errors: LLM_ERR_IO, _NOT_GGUF, _DAMAGED, _TOO_NEW, _UNSUPPORTED (architecture, format, tokenizer), _BUDGET, _NOMEM,
 * LLM_CANCELLED (progress returned false). Any bytes given as a file end in success or one of these. */
LLM_API llm_status llm_model_load(const char *path, const llm_model_options *options, llm_model **out, llm_error *err);
/* From an open descriptor: `length` bytes at `offset` (0: to the end). The descriptor is only read during the call
 * (by position; its offset is not moved) and stays the caller's. */
LLM_API llm_status llm_model_load_fd(int fd, uint64_t offset, uint64_t length, const llm_model_options *options,
                                     llm_model **out, llm_error *err);
/* From memory of any alignment, which may be released after the call. */
LLM_API llm_status llm_model_load_buffer(const void *data, size_t size, const llm_model_options *options,
                                         llm_model **out, llm_error *err);
LLM_API void llm_model_free(llm_model *model);

typedef struct llm_model_info {
    uint32_t size; /* set by the caller as for options */
    const char *architecture, *name, *cpu_tier; /* belong to the model; "" when unknown */
    const char *chat_template;                  /* as stored in the file; NULL: none */
    uint64_t n_params, weight_bytes, hash;      /* hash: of metadata and tensor headers, names the model in sessions */
    uint32_t n_layer, n_embd, n_vocab, n_ctx_train, n_head, n_head_kv;
} llm_model_info;
LLM_API llm_status llm_model_get_info(const llm_model *model, llm_model_info *out, llm_error *err);
LLM_API llm_status llm_model_get_cost(const llm_model *model, llm_cost *out, llm_error *err);

/* ------------------------------------------------------------------ tokens and text */

typedef int32_t llm_token;

enum { LLM_TOKENIZE_ADD_SPECIAL = 1,    /* BOS, EOS, separator as the vocabulary asks */
       LLM_TOKENIZE_PARSE_SPECIAL = 2   /* control tokens written in the text become control ids; off: user text is text */
};
/* Ids of any bytes. *n_ids is the number of ids also when `capacity` is smaller: then LLM_ERR_TOO_SMALL, and `ids` holds
 * the first `capacity`. ids may be NULL with capacity 0. */
LLM_API llm_status llm_tokenize(const llm_model *model, const char *text, size_t length, uint32_t flags, llm_token *ids,
                                size_t capacity, size_t *n_ids, llm_error *err);
/* Bytes of ids, without control tokens unless show_control. *length as *n_ids above; no NUL is added. */
LLM_API llm_status llm_detokenize(const llm_model *model, const llm_token *ids, size_t n_ids, bool show_control,
                                  char *text, size_t capacity, size_t *length, llm_error *err);
/* Raw bytes of one token (not always whole characters); belongs to the model. Unknown ids give length 0. */
LLM_API const char *llm_token_piece(const llm_model *model, llm_token id, bool show_control, size_t *length);
typedef enum llm_special { LLM_SPECIAL_BOS, LLM_SPECIAL_EOS, LLM_SPECIAL_EOT, LLM_SPECIAL_UNK, LLM_SPECIAL_PAD,
                           LLM_SPECIAL_NL, LLM_SPECIAL_SEP } llm_special;
LLM_API llm_token llm_token_special(const llm_model *model, llm_special which); /* -1: none */
LLM_API bool llm_token_is_eog(const llm_model *model, llm_token id);            /* ends a generation */
LLM_API bool llm_token_is_control(const llm_model *model, llm_token id);
LLM_API bool llm_adds_bos(const llm_model *model);

/* ------------------------------------------------------------------ templates and grammars */

/* A place in a text: line and column from 1; 0: not known. */
typedef struct llm_place {
    uint32_t line, column;
} llm_place;

/* A chat template as model files carry it, in the language of Jinja2. May be rendered by several threads at a time. */
typedef struct llm_template llm_template;
/* LLM_ERR_TEMPLATE: the sentence begins with the place, which *place (may be NULL) holds too. */
LLM_API llm_status llm_template_create(const char *source, size_t length, llm_template **out, llm_place *place,
                                       llm_error *err);
LLM_API void llm_template_free(llm_template *chat_template);
/* variables: a JSON object ("messages", "tools", "add_generation_prompt", ...; keys that do not apply are left out).
 * now: the time that strftime_now shows, "2025-07-26T14:05:09"; NULL: the clock. Buffers as in llm_detokenize; marks
 * (NULL, or as large as text) becomes 1 for bytes that come from the variables and 0 for the template's own, to which
 * bos_token, eos_token and the like and roles of messages count: only these may become control tokens. A template that refuses the conversation gives LLM_ERR_TEMPLATE with its message. */
LLM_API llm_status llm_template_render(const llm_template *chat_template, const char *variables, size_t length,
                                       const char *now, char *text, uint8_t *marks, size_t capacity,
                                       size_t *text_length, llm_place *place, llm_error *err);

/* What a text may look like: GBNF, or a JSON schema. */
typedef enum llm_grammar_kind { LLM_GRAMMAR_GBNF, LLM_GRAMMAR_JSON_SCHEMA } llm_grammar_kind;
typedef struct llm_grammar llm_grammar;
/* LLM_ERR_ARGUMENT: the grammar is wrong; LLM_ERR_UNSUPPORTED: names a keyword of a schema that cannot be enforced. */
LLM_API llm_status llm_grammar_create(llm_grammar_kind kind, const char *text, size_t length, llm_grammar **out,
                                      llm_error *err);
LLM_API void llm_grammar_free(llm_grammar *grammar); /* after its matchers */
/* Follows one text at a time; for one thread. */
typedef struct llm_matcher llm_matcher;
LLM_API llm_status llm_matcher_create(const llm_grammar *grammar, llm_matcher **out, llm_error *err);
LLM_API void llm_matcher_free(llm_matcher *matcher);
LLM_API void llm_matcher_reset(llm_matcher *matcher);
/* Goes on by some bytes. LLM_ERR_REFUSED, and nothing changes: the text cannot go on so; *n_fit (may be NULL) bytes of
 * it could. */
LLM_API llm_status llm_matcher_accept(llm_matcher *matcher, const char *bytes, size_t length, size_t *n_fit,
                                      llm_error *err);
LLM_API bool llm_matcher_may_end(const llm_matcher *matcher); /* the text so far is whole */

/* ------------------------------------------------------------------ contexts: the token level */

/* A context owns KV memory for up to n_seq_max sequences, activations and logits. Any number per model. */
typedef struct llm_context llm_context;
typedef int32_t llm_seq; /* 0 .. n_seq_max-1 */

/* What the cache holds of keys and values; any mixture, any head size (heads are filled up to 32 for Q8_0 and Q4_0).
 * Q8_0 takes half the memory of F16 and Q4_0 a quarter, at some loss: Q8_0 next to none. */
typedef enum llm_kv_type { LLM_KV_F16 = 0, LLM_KV_F32 = 1, LLM_KV_Q8_0 = 2, LLM_KV_Q4_0 = 3 } llm_kv_type;

typedef struct llm_context_options {
    uint32_t size;
    uint32_t n_ctx;       /* positions of one sequence; 0: min(trained, 4096, what mem_limit allows) */
    uint32_t n_batch;     /* tokens of one pass through the model; 0: 512. Larger batches are cut; the bits do not change */
    uint32_t n_seq_max;   /* 0: 1 */
    llm_kv_type kv_type_k, kv_type_v;
    uint32_t n_threads;   /* without a pool; 0: as for llm_pool_options; fewer take part where the work is small */
    llm_pool *pool;       /* may be NULL */
    uint64_t mem_limit;   /* bytes for KV, activations and outputs; LLM_ERR_BUDGET at creation when they cannot fit */
    const llm_allocator *allocator; /* copied; NULL: the model's */
} llm_context_options;

LLM_API llm_status llm_context_create(llm_model *model, const llm_context_options *options, llm_context **out,
                                      llm_error *err);
LLM_API void llm_context_free(llm_context *context);
LLM_API uint32_t llm_context_n_ctx(const llm_context *context);
LLM_API uint32_t llm_context_n_threads(const llm_context *context);
/* Takes effect with the next call; without a pool only. */
LLM_API llm_status llm_context_set_threads(llm_context *context, uint32_t n_threads, llm_error *err);

/* Memory that a model and one context would take, from metadata alone. Bytes. */
typedef struct llm_estimate {
    uint64_t weights;  /* private, held once */
    uint64_t mapped;   /* weights of a packed file that are used in place: shared with other processes, and given back
                          to the system when it is short of memory */
    uint64_t vocab;    /* tokenizer; a close guess */
    uint64_t kv;       /* when all n_ctx positions of all sequences are used; taken in blocks as they fill */
    uint64_t scratch;  /* activations, outputs of one pass, thread scratch */
    uint64_t load_peak;/* beyond weights and vocab, while loading */
    uint32_t n_ctx;    /* the context size that was counted */
} llm_estimate;
LLM_API llm_status llm_estimate_memory(const char *path, const llm_model_options *model_options,
                                       const llm_context_options *context_options, llm_estimate *out, llm_error *err);

/* What is wanted of a token of a batch; flags. */
enum { LLM_WANT_NOTHING = 0, LLM_WANT_LOGITS = 1, LLM_WANT_HIDDEN = 2, LLM_WANT_TOP = 4 };

/* Input of one decode. Arrays belong to the caller, are read during the call only, and have n_tokens entries unless
 * said otherwise. Each token is appended to its sequence: the k-th token of a sequence in the batch takes the k-th place
 * after the sequence's end. */
typedef struct llm_batch {
    uint32_t size;
    uint32_t n_tokens;
    const llm_token *tokens;   /* NULL: `embd` holds the input of every token */
    const float *embd;         /* [n_tokens, n_embd_rows, n_embd]; with `tokens`, rows of tokens with id -1 */
    uint32_t n_embd_rows;      /* 0 or 1; more for models that take extra rows per image token (deepstack) */
    const int32_t *pos;        /* [n_tokens, n_pos] positions for the rotary embedding; NULL: the place in the sequence */
    uint32_t n_pos;            /* 0 or 1; up to 4 for models with several position components (M-RoPE) */
    const llm_seq *seq;        /* NULL: all 0 */
    const uint8_t *want;       /* LLM_WANT_*; NULL: logits of the last token */
    const int32_t *span;       /* NULL: causal. Neighbours of one sequence with the same id > 0 see each other both ways;
                                  a span must fit into n_batch; 0 is causal */
    uint32_t top_k;            /* for LLM_WANT_TOP; 0: 40 */
} llm_batch;

/* Runs the batch. A transaction: on any error or cancel every sequence is as it was before the call.
 * Errors: LLM_ERR_CONTEXT_FULL (needed, had and maximum in the sentence), _ARGUMENT, _UNSUPPORTED (a field that this
 * model cannot use), _NUMERIC (an infinite or NaN value; names the step), _BUDGET, _NOMEM, LLM_CANCELLED.
 * No heap allocation once the shapes have been seen. */
LLM_API llm_status llm_decode(llm_context *context, const llm_batch *batch, llm_error *err);
/* For encoder models; LLM_ERR_UNSUPPORTED for others. */
LLM_API llm_status llm_encode(llm_context *context, const llm_batch *batch, llm_error *err);

/* Outputs of the last successful decode for token `index` of its batch (LLM_LAST: the last token that wanted it); NULL
 * when that token did not want it. Valid until the next decode, truncate or free. */
#define LLM_LAST (-1)
LLM_API const float *llm_logits(const llm_context *context, int32_t index);        /* [n_vocab] */
LLM_API const float *llm_hidden_state(const llm_context *context, int32_t index);  /* [n_embd], after the last norm */
typedef struct llm_candidate {
    llm_token id;
    float logit;
} llm_candidate;
/* The top_k best, best first (ties: smaller id first). */
LLM_API const llm_candidate *llm_top(const llm_context *context, int32_t index, size_t *n);

/* Sequence operations. Truncating, or sharing, by more than the last 64 tokens (but not to 0) may end with
 * LLM_ERR_REFUSED on models with sliding windows, which forget what lies behind them, and on models with recurrent
 * state: use checkpoints there. */
LLM_API int32_t llm_seq_length(const llm_context *context, llm_seq seq); /* tokens; -1 for a bad id */
LLM_API llm_status llm_seq_truncate(llm_context *context, llm_seq seq, uint32_t length, llm_error *err);
LLM_API llm_status llm_seq_clear(llm_context *context, llm_seq seq, llm_error *err);
/* Makes `to` share the first `length` tokens of `from`: no copy until one of them writes. `to` is cleared first. */
LLM_API llm_status llm_seq_share(llm_context *context, llm_seq from, llm_seq to, uint32_t length, llm_error *err);
/* A checkpoint remembers a sequence's state cheaply (shared blocks); restore brings it back, any number of times. It
 * belongs to the context; free it, or the context frees it. */
typedef struct llm_checkpoint llm_checkpoint;
LLM_API llm_status llm_seq_checkpoint(llm_context *context, llm_seq seq, llm_checkpoint **out, llm_error *err);
LLM_API llm_status llm_seq_restore(llm_context *context, llm_seq seq, const llm_checkpoint *from, llm_error *err);
LLM_API void llm_checkpoint_free(llm_context *context, llm_checkpoint *checkpoint);

/* Adapters (LoRA) of a sequence: the set is part of the sequence's identity, so changing it is possible only while the
 * sequence is empty (else LLM_ERR_REFUSED: cached keys would be stale). n = 0 is the bare model. */
typedef struct llm_adapter llm_adapter;
LLM_API llm_status llm_seq_set_adapters(llm_context *context, llm_seq seq, llm_adapter *const *adapters,
                                        const float *scales, size_t n, llm_error *err);

/* Stops the call in progress on this context from any thread or a signal handler (it returns LLM_CANCELLED within one
 * chunk of work), or the next call when none is in progress. llm_cancel_reset forgets a cancel that nothing took. */
LLM_API void llm_cancel(llm_context *context);
LLM_API void llm_cancel_reset(llm_context *context);

/* ------------------------------------------------------------------ sampling */

typedef struct llm_sampler llm_sampler;
typedef struct llm_sampler_options {
    uint32_t size;
    float temperature;        /* 0: greedy, the best logit (ties: smaller id); 0..100 */
    uint32_t top_k;           /* 0: off */
    float top_p;              /* 0 or 1: off; 0..1 */
    float min_p;              /* 0: off; 0..1, of the best candidate's probability */
    float repeat_penalty;     /* 0 or 1: off; > 0: divides positive, multiplies negative logits of recent tokens */
    float frequency_penalty;  /* subtracted per occurrence; -100..100 */
    float presence_penalty;   /* subtracted once; -100..100 */
    uint32_t penalty_window;  /* recent tokens the penalties see; 0: 64 */
    uint64_t seed;            /* same seed, same text; 0 is a seed like others */
} llm_sampler_options;
/* LLM_ERR_ARGUMENT names a value out of range. */
LLM_API llm_status llm_sampler_create(const llm_sampler_options *options, llm_sampler **out, llm_error *err);
LLM_API void llm_sampler_free(llm_sampler *sampler);
/* Tells the penalties of a token: every prompt and every sampled token. */
LLM_API llm_status llm_sampler_accept(llm_sampler *sampler, llm_token id, llm_error *err);
LLM_API void llm_sampler_reset(llm_sampler *sampler);
/* Draws the token for `position` (its place in the sequence: the key of the randomness). logits [n_vocab] are read only.
 * LLM_ERR_NUMERIC when one is NaN or all are -inf. Does not accept. */
LLM_API llm_status llm_sampler_sample(llm_sampler *sampler, const float *logits, size_t n_vocab, uint64_t position,
                                      llm_token *out, llm_error *err);
/* The same from some candidates only, in any order. */
LLM_API llm_status llm_sampler_sample_candidates(llm_sampler *sampler, const llm_candidate *candidates, size_t n,
                                                 uint64_t position, llm_token *out, llm_error *err);

/* ------------------------------------------------------------------ generation */

typedef enum llm_event_type {
    LLM_EVENT_ANSWER,    /* text of the answer: whole UTF-8 characters */
    LLM_EVENT_REASONING, /* text of the model's thinking */
    LLM_EVENT_TOOL_CALL, /* a tool call, as the model writes it, without the marks around it */
    LLM_EVENT_PROMPT     /* the prompt is being read: n_done of n_total tokens; text is empty */
} llm_event_type;
typedef struct llm_event {
    llm_event_type type;
    const char *text; /* valid during the callback only */
    size_t length;
    llm_token token;  /* the token that completed this text; -1: none */
    uint32_t n_done, n_total;
} llm_event;
/* Return false to stop: the generation ends with LLM_FINISH_CANCELLED and status LLM_OK. */
typedef bool (*llm_event_callback)(void *user, const llm_event *event);

typedef enum llm_finish {
    LLM_FINISH_EOG,       /* the model ended its answer */
    LLM_FINISH_STOP,      /* a stop string; stop_index says which. It and what follows it were not given */
    LLM_FINISH_LIMIT,     /* n_predict reached */
    LLM_FINISH_CONTEXT,   /* no place left in the sequence */
    LLM_FINISH_CANCELLED  /* llm_cancel or the callback */
} llm_finish;
LLM_API const char *llm_finish_text(llm_finish finish); /* "eog", "stop", ... */

typedef struct llm_string {
    const char *text;
    size_t length;
} llm_string;

typedef struct llm_generate_options {
    uint32_t size;
    llm_seq seq;
    uint32_t n_predict;      /* tokens to make; 0: until the end or the context is full */
    const llm_string *stops; /* matched on the bytes of the answer across tokens, never given out */
    size_t n_stops;
    bool ignore_eog;         /* go on past end tokens (measurements) */
} llm_generate_options;

typedef struct llm_result {
    llm_finish finish;
    int32_t stop_index;           /* for LLM_FINISH_STOP; else -1 */
    uint32_t n_prompt, n_cached;  /* tokens of the prompt; how many of them were in the sequence already */
    uint32_t n_generated;         /* tokens sampled, the end token included */
    double prompt_seconds, generate_seconds;
    uint32_t n_used, n_ctx;       /* places of the sequence in use after the call, and in all */
} llm_result;

/* Appends `ids` to the sequence, then samples until an end. Sampled tokens are appended too, but the last one is not yet
 * decoded: it is part of the sequence with the next call's ids (result->n_used does not count it).
 * ids may not be empty. On any error, and when cancelled while reading the prompt, the sequence is as before the call.
 * out_ids (may be NULL): the sampled tokens, at most out_capacity. */
LLM_API llm_status llm_generate(llm_context *context, llm_sampler *sampler, const llm_generate_options *options,
                                const llm_token *ids, size_t n_ids, llm_event_callback callback, void *user,
                                llm_token *out_ids, size_t out_capacity, llm_result *result, llm_error *err);

/* ------------------------------------------------------------------ conversation */

/* A conversation: messages, the template that renders them, a context and a sampler. */
typedef struct llm_chat llm_chat;

typedef struct llm_chat_options {
    uint32_t size;
    llm_context_options context;
    llm_sampler_options sampler;
    llm_string system;           /* system message; empty: none (the template may add its own) */
    const char *template_name;   /* a built-in template, see llm_chat_template_name; NULL: the one in the model's file,
                                    without one what the vocabulary tells, else LLM_ERR_TEMPLATE */
    uint32_t n_predict;          /* most tokens of one answer; 0: as long as there is room */
    const llm_string *stops;     /* copied */
    size_t n_stops;
    llm_string template_source;  /* a template in Jinja instead of all these; empty: none */
    llm_string tools;            /* a JSON array of tools as the template wants them; empty: none */
    int32_t thinking;            /* enable_thinking of the template: 1 true, -1 false, 0 as the template has it */
} llm_chat_options;

/* Names of the built-in templates ("chatml"); NULL past the last. */
LLM_API const char *llm_chat_template_name(size_t index);

LLM_API llm_status llm_chat_create(llm_model *model, const llm_chat_options *options, llm_chat **out, llm_error *err);
LLM_API void llm_chat_free(llm_chat *chat);
/* Sends a user message and streams the answer. Content never becomes a control token. Cancelled: the part that was
 * given stays in the conversation. LLM_ERR_CONTEXT_FULL: the message is not part of the conversation; drop turns with
 * llm_chat_drop_oldest, or reset. Any other error: as before the call. */
LLM_API llm_status llm_chat_send(llm_chat *chat, const char *text, size_t length, llm_event_callback callback,
                                 void *user, llm_result *result, llm_error *err);
/* Adds messages without an answer: a JSON object, or an array of them, with "role" and what else the template reads
 * ("content" as text or parts, "tool_calls", "tool_call_id", "reasoning_content", ...). */
LLM_API llm_status llm_chat_add(llm_chat *chat, const char *json, size_t length, llm_error *err);
/* As llm_chat_send, for the conversation as it stands. */
LLM_API llm_status llm_chat_answer(llm_chat *chat, llm_event_callback callback, void *user, llm_result *result,
                                   llm_error *err);
LLM_API void llm_chat_cancel(llm_chat *chat); /* from any thread or a signal handler */
/* Forgets all messages but the system message. */
LLM_API llm_status llm_chat_reset(llm_chat *chat, llm_error *err);
/* Drops the oldest whole turns (user message and answer), the system message stays. *n_dropped: how many there were to
 * drop, at most n_turns. */
LLM_API llm_status llm_chat_drop_oldest(llm_chat *chat, size_t n_turns, size_t *n_dropped, llm_error *err);
LLM_API size_t llm_chat_n_messages(const llm_chat *chat);
/* Role ("system", "user", "assistant") and content of message i (of an answer all that the model wrote, with its
 * reasoning and the marks around it); they belong to the chat until its next change. */
LLM_API llm_status llm_chat_message(const llm_chat *chat, size_t i, const char **role, llm_string *content,
                                    llm_error *err);
/* Places of the context in use, and in all. */
LLM_API void llm_chat_usage(const llm_chat *chat, uint32_t *n_used, uint32_t *n_ctx);
/* Changes how the next answers are sampled. */
LLM_API llm_status llm_chat_set_sampler(llm_chat *chat, const llm_sampler_options *options, llm_error *err);
/* Change how the conversation is written from the next message on; what then reads differently is read again. name and
 * source as in llm_chat_options; an empty text is no system message; thinking as there. */
LLM_API llm_status llm_chat_set_template(llm_chat *chat, const char *name, llm_string source, llm_error *err);
LLM_API llm_status llm_chat_set_system(llm_chat *chat, llm_string text, llm_error *err);
LLM_API llm_status llm_chat_set_thinking(llm_chat *chat, int32_t thinking, llm_error *err);
/* The template in use: its source, which belongs to the chat until it is changed, and its name if it is built in (else
 * ""). */
LLM_API llm_string llm_chat_template(const llm_chat *chat, const char **name);
/* Ids of a conversation as llm_chat_send would make them, for programs with a loop of their own: json as in
 * llm_chat_add; of options the template, tools and thinking count. Buffers as in llm_tokenize. */
LLM_API llm_status llm_chat_tokenize(const llm_model *model, const llm_chat_options *options, const char *json,
                                     size_t length, bool add_generation_prompt, llm_token *ids, size_t capacity,
                                     size_t *n_ids, llm_error *err);
/* Saves the conversation (messages, token ids, what they depend on, a checksum), atomically. Loading replaces the
 * conversation; it is read again by the model with the next message, with the same bits. LLM_ERR_MISMATCH: saved with
 * another model, template or arithmetic; LLM_ERR_DAMAGED: not a session file or checksum wrong. */
LLM_API llm_status llm_chat_save(const llm_chat *chat, const char *path, llm_error *err);
LLM_API llm_status llm_chat_load(llm_chat *chat, const char *path, llm_error *err);

#ifdef __cplusplus
}
#endif
#endif
