// Filters by what they work on; the table is in filters.cpp.
#pragma once
#include "text/jinja/run.h"

namespace llm {
namespace jinja {

// filters_list.cpp
builtin filter_first, filter_last, filter_list, filter_length, filter_reverse, filter_join, filter_sum, filter_min,
    filter_max, filter_sort, filter_unique, filter_map, filter_select, filter_reject, filter_selectattr,
    filter_rejectattr, filter_groupby, filter_dictsort, filter_items, filter_batch, filter_slice, filter_attr;
// filters_text.cpp
builtin filter_trim, filter_replace, filter_indent, filter_truncate, filter_wordwrap, filter_wordcount, filter_center,
    filter_urlencode, filter_escape, filter_striptags, filter_xmlattr, filter_format, filter_filesizeformat;

bool give_text(run *r, text t, value *out);

} // namespace jinja
} // namespace llm
