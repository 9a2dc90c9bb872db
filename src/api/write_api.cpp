#include "api/object.h"
#include "model/pack.h"
#include "model/synth.h"

using namespace llm;

llm_status llm_synth(const char *shape, const char *format, uint64_t seed, const char *path,
                     llm_progress_callback callback, void *user, llm_error *err) {
    return api_run(err, [&] {
        if (!shape || !format || !path) return fail(err, LLM_ERR_ARGUMENT, "shape, format or path is NULL");
        progress steps = {callback, user};
        return synth_write(shape, format, seed, path, &steps, err);
    });
}

const char *llm_shape_name(size_t index) { return synth_shape_name(index); }

llm_status llm_pack(const char *path, const char *out_path, llm_progress_callback callback, void *user,
                    llm_error *err) {
    return api_run(err, [&] {
        if (!path || !out_path) return fail(err, LLM_ERR_ARGUMENT, "path or out_path is NULL");
        progress steps = {callback, user};
        return pack_file(path, out_path, &steps, err);
    });
}
