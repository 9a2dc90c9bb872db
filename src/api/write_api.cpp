#include "api/object.h"
#include "model/pack.h"

using namespace llm;

llm_status llm_pack(const char *path, const char *out_path, llm_progress_callback callback, void *user,
                    llm_error *err) {
    return api_run(err, [&] {
        if (!path || !out_path) return fail(err, LLM_ERR_ARGUMENT, "path or out_path is NULL");
        progress steps = {callback, user};
        return pack_file(path, out_path, &steps, err);
    });
}
