// What every object that is used by one call at a time shares: busy flag, waiting and deferred freeing.
#pragma once
#include "core/fpenv.h"
#include "core/status.h"
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>

namespace llm {

struct call_state {
    std::mutex lock;
    std::condition_variable idle;
    bool busy = false;
    std::thread::id owner;        // thread inside the call
    bool free_when_done = false;  // freed from inside a callback
};

// Enters a call; false when the object is in another one.
inline bool call_enter(call_state *s) {
    std::lock_guard<std::mutex> hold(s->lock);
    if (s->busy) return false;
    s->busy = true;
    s->owner = std::this_thread::get_id();
    return true;
}
// Leaves it. True: the object was freed meanwhile and the caller must destroy it now.
inline bool call_leave(call_state *s) {
    std::lock_guard<std::mutex> hold(s->lock);
    s->busy = false;
    s->idle.notify_all();
    return s->free_when_done;
}
// For *_free. Not busy: true, destroy now. Busy: `cancel` is called; on this thread (a callback) false is returned and
// call_leave tells the call to destroy, elsewhere the call's end is awaited.
template <class Cancel> bool call_may_destroy(call_state *s, Cancel cancel) {
    std::unique_lock<std::mutex> hold(s->lock);
    if (!s->busy) return true;
    cancel();
    if (s->owner == std::this_thread::get_id()) {
        s->free_when_done = true;
        return false;
    }
    s->idle.wait(hold, [s] { return !s->busy; });
    return true;
}

// Runs `body` (a status-returning callable) the way every entry does: environment of the contract, no exception out.
template <class Body> llm_status api_run(llm_error *err, Body body) {
    clear(err);
    try {
        fp_guard environment;
        return body();
    } catch (const std::bad_alloc &) {
        return fail(err, LLM_ERR_NOMEM, "out of memory");
    } catch (...) {
        return fail(err, LLM_ERR_INTERNAL, "an unexpected exception was stopped");
    }
}

// The same inside a call on `object`, which has a call_state `call` and is destroyed by `destroy` when it was freed.
template <class Object, class Body>
llm_status api_call(Object *object, void (*destroy)(Object *), llm_error *err, Body body) {
    clear(err);
    if (!object) return fail(err, LLM_ERR_ARGUMENT, "the object is NULL");
    if (!call_enter(&object->call)) return fail(err, LLM_ERR_BUSY, "the object is in another call");
    llm_status status = api_run(err, body);
    if (call_leave(&object->call)) destroy(object);
    return status;
}

// Options of any age: copies what the caller's struct has, the rest is zero. Size 0 means the first published layout,
// which is all of it so far.
template <class Options> llm_status read_options(const Options *given, const char *name, Options *out, llm_error *err) {
    *out = Options();
    if (!given) return LLM_OK;
    size_t size = given->size ? given->size : sizeof(Options);
    if (size < sizeof(given->size))
        return fail(err, LLM_ERR_ARGUMENT, "%s.size is %u; expected %zu or 0", name, given->size, sizeof(Options));
    __builtin_memcpy((void *)out, (const void *)given, size < sizeof(Options) ? size : sizeof(Options));
    return LLM_OK;
}

} // namespace llm
