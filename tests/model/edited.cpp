#include "model/edited.h"
#include "run/library.h"

using namespace llm;

namespace llm_test {

static void copy_tensor(gguf_writer *w, const gguf_file *file, const gguf_tensor &t, bool resized) {
    std::string bytes(t.bytes, 0);
    llm_error err = {};
    expect_ok(file_read(&file->parts[t.file], t.offset, &bytes[0], bytes.size(), &err), err);
    if (resized) bytes.append(bytes, 0, sizeof(float));
    expect_ok(gguf_writer_write(w, bytes.data(), bytes.size(), &err), err);
}

void write_edited(const std::string &from, const std::string &to, const gguf_edit &edit) {
    gguf_file file;
    gguf_writer *w = nullptr;
    llm_error err = {};
    expect_ok(gguf_open(from.c_str(), &file, &err), err);
    expect_ok(gguf_writer_open(to.c_str(), &w, &err), err);
    for (const auto &entry : file.metadata)
        if (entry.first != edit.without) gguf_writer_set_value(w, entry.first, entry.second);
    if (edit.metadata) edit.metadata(w);
    for (const gguf_tensor &t : file.tensors) {
        uint64_t shape[4] = {t.shape[0] + (t.name == edit.resized), t.shape[1], t.shape[2], t.shape[3]};
        if (t.name != edit.without) gguf_writer_add_tensor(w, t.name, t.format, t.n_dims, shape);
    }
    expect_ok(gguf_writer_begin_data(w, &err), err);
    for (const gguf_tensor &t : file.tensors)
        if (t.name != edit.without) copy_tensor(w, &file, t, t.name == edit.resized);
    expect_ok(gguf_writer_finish(w, &err), err);
    gguf_close(&file);
}

void set_bools(gguf_writer *w, const std::string &key, const std::string &zeros_and_ones) {
    gguf_value value;
    value.type = GGUF_BOOL;
    value.is_array = true;
    value.count = zeros_and_ones.size();
    for (char c : zeros_and_ones) value.data.push_back(c == '1');
    gguf_writer_set_value(w, key, value);
}

} // namespace llm_test
