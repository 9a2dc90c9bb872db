#include "model/pack.h"
#include "backend/packed.h"
#include "model/loading.h"
#include <algorithm>

namespace llm {

namespace {

constexpr uint64_t SLAB_BYTES = (uint64_t)4 << 20;
constexpr uint32_t ALIGNMENT = 64; // a cache line; what loading wants to use tensors in place

struct packer {
    const gguf_file *file;
    gguf_writer *w;
    const progress *steps;
    std::vector<bool> packed; // beside file->tensors
    uint64_t n_done = 0, n_bytes = 0;
    std::vector<uint8_t> rows, panels;
};

// The model decides which tensors are matrices, and checks that the file is one this build can load.
llm_status find_matrices(gguf_file *file, std::vector<bool> *packed, llm_error *err) {
    model_load_options options;
    std::unique_ptr<model, void (*)(model *)> m(new_model(&options), model_release);
    loader l = {file, &options, m.get(), {}, {}};
    LLM_TRY(load_description(&l, err));
    packed->assign(file->tensors.size(), false);
    for (const row_range &from : l.matrix_source) (*packed)[(size_t)(from.tensor - file->tensors.data())] = true;
    // A part that begins inside a panel could not be used in place.
    for (const row_range &from : l.matrix_source)
        if (from.first % PACKED_ROWS != 0) (*packed)[(size_t)(from.tensor - file->tensors.data())] = false;
    return LLM_OK;
}

void drop_one_way_formats(const gguf_file *file, std::vector<bool> *packed) {
    std::vector<std::pair<format_id, bool>> known;
    for (size_t i = 0; i < file->tensors.size(); i++) {
        format_id id = file->tensors[i].format;
        auto same = [id](const std::pair<format_id, bool> &k) { return k.first == id; };
        auto found = std::find_if(known.begin(), known.end(), same);
        packed_inverse inverse;
        if (found == known.end())
            found = known.insert(known.end(), {id, packed_inverse_find(format_by_id(id), &inverse)});
        (*packed)[i] = (*packed)[i] && found->second;
    }
}

void declare(packer *p) {
    for (const auto &[key, value] : p->file->metadata)
        if (key.compare(0, 6, "split.") != 0) gguf_writer_set_value(p->w, key, value);
    gguf_writer_set_u32(p->w, "general.alignment", ALIGNMENT);
    for (size_t i = 0; i < p->file->tensors.size(); i++) {
        const gguf_tensor &t = p->file->tensors[i];
        uint64_t bytes = packed_bytes(format_by_id(t.format), t.shape[1], t.shape[0]);
        if (p->packed[i])
            gguf_writer_add_packed(p->w, t.name, t.format, t.n_dims, t.shape, bytes);
        else
            gguf_writer_add_tensor(p->w, t.name, t.format, t.n_dims, t.shape);
        p->n_bytes += t.bytes;
    }
}

// Bytes of the tensor from `at` on into p->rows.
llm_status read_piece(packer *p, const gguf_tensor &t, uint64_t at, uint64_t bytes, llm_error *err) {
    if (!go_on(p->steps, (float)((double)p->n_done / (double)p->n_bytes)))
        return fail(err, LLM_CANCELLED, "packing was cancelled");
    p->rows.resize(bytes);
    p->n_done += bytes;
    return file_read(&p->file->parts[t.file], t.offset + at, p->rows.data(), bytes, err);
}

llm_status copy_tensor(packer *p, const gguf_tensor &t, llm_error *err) {
    for (uint64_t at = 0; at < t.bytes; at += SLAB_BYTES) {
        LLM_TRY(read_piece(p, t, at, std::min(SLAB_BYTES, t.bytes - at), err));
        LLM_TRY(gguf_writer_write(p->w, p->rows.data(), p->rows.size(), err));
    }
    return LLM_OK;
}

llm_status pack_tensor(packer *p, const gguf_tensor &t, llm_error *err) {
    const block_format *format = format_by_id(t.format);
    uint64_t row_bytes = format_bytes(format, t.shape[0]), n_rows = t.shape[1];
    uint64_t step = std::max<uint64_t>(SLAB_BYTES / row_bytes / PACKED_ROWS, 1) * PACKED_ROWS;
    for (uint64_t row = 0; row < n_rows; row += step) {
        uint64_t n = std::min(step, n_rows - row);
        LLM_TRY(read_piece(p, t, row * row_bytes, n * row_bytes, err));
        p->panels.resize(packed_bytes(format, n, t.shape[0]));
        packed_pack(format, t.shape[0], n, p->rows.data(), p->panels.data());
        LLM_TRY(gguf_writer_write(p->w, p->panels.data(), p->panels.size(), err));
    }
    return LLM_OK;
}

llm_status check_room(packer *p, const char *out_path, llm_error *err) {
    uint64_t needed = gguf_writer_file_bytes(p->w), there = file_free_bytes(out_path);
    if (needed <= there) return LLM_OK;
    return fail(err, LLM_ERR_IO, "'%s' needs %llu bytes; %llu are free on its file system", out_path,
                (unsigned long long)needed, (unsigned long long)there);
}

llm_status write_packed(packer *p, const char *out_path, llm_error *err) {
    declare(p);
    LLM_TRY(gguf_writer_begin_data(p->w, err));
    LLM_TRY(check_room(p, out_path, err));
    for (size_t i = 0; i < p->file->tensors.size(); i++) {
        const gguf_tensor &t = p->file->tensors[i];
        LLM_TRY(p->packed[i] ? pack_tensor(p, t, err) : copy_tensor(p, t, err));
    }
    go_on(p->steps, 1.0f);
    return LLM_OK;
}

// Neither the output nor the file that it is written to first may be what is read.
llm_status check_output(const gguf_file *file, const char *path, const char *out_path, llm_error *err) {
    for (const gguf_tensor &t : file->tensors)
        if (t.packed) return fail(err, LLM_ERR_REFUSED, "'%s' is packed already", path);
    std::string temporary = file_temporary_path(out_path);
    for (const file_source &part : file->parts)
        for (const char *output : {out_path, temporary.c_str()})
            if (file_is_same(&part, output))
                return fail(err, LLM_ERR_ARGUMENT, "writing '%s' would destroy the input %s", out_path,
                            part.name.c_str());
    return LLM_OK;
}

} // namespace

llm_status pack_file(const char *path, const char *out_path, const progress *steps, llm_error *err) {
    gguf_file file;
    std::unique_ptr<gguf_file, void (*)(gguf_file *)> close(&file, gguf_close);
    LLM_TRY(gguf_open(path, &file, err));
    LLM_TRY(check_output(&file, path, out_path, err));
    packer p = {&file, nullptr, steps, {}, 0, 0, {}, {}};
    LLM_TRY(find_matrices(&file, &p.packed, err));
    drop_one_way_formats(&file, &p.packed);
    LLM_TRY(gguf_writer_open(out_path, &p.w, err));
    std::unique_ptr<gguf_writer, void (*)(gguf_writer *)> unfinished(p.w, gguf_writer_abandon);
    LLM_TRY(write_packed(&p, out_path, err));
    return gguf_writer_finish(unfinished.release(), err);
}

} // namespace llm
