// What the files of src/gguf share.
#pragma once
#include "gguf/gguf.h"

namespace llm {

// Bytes of one number of this type; 0 for strings and arrays.
uint32_t gguf_type_bytes(gguf_type type);
const char *gguf_type_name(gguf_type type);
// A name for a message: in quotes, of printable ASCII, not too long.
std::string quoted(std::string_view name);
// What a file that does not begin with "GGUF" is, as the end of a sentence.
std::string describe_other_file(const file_source *source);

// Reads metadata and tensor headers of the one part in file->parts and checks its tensors against its length.
llm_status read_part(gguf_file *file, llm_error *err);
// Sorts metadata_by_key; repeated keys give a warning, the first one counts.
void index_metadata(gguf_file *file);
// Sorts tensors_by_name and checks that no two tensors share a name or a byte.
llm_status index_tensors(gguf_file *file, llm_error *err);

} // namespace llm
