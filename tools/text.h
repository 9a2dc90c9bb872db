// Text as a terminal shows it: grapheme clusters (UAX #29, by utf8proc), their widths in columns (UAX #11), and
// harmless pictures for what would move the cursor.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string>
#include <string_view>

// The bytes with everything that is not UTF-8 replaced by U+FFFD, one per ill-formed byte.
std::string repaired(std::string_view bytes);

// Bytes a UTF-8 sequence needs by its first byte; 1 for bytes that start none.
size_t utf8_length(unsigned char first);

// End of the cluster that starts at `at`, which is below text.size(); start of the one that ends at `at`, above 0.
size_t next_cluster(std::string_view text, size_t at);
size_t previous_cluster(std::string_view text, size_t at);
// The first place between two clusters at or behind `at`, which is between two code points.
size_t boundary_from(std::string_view text, size_t at);

// How a cluster is shown and how many columns it takes: control characters as pictures (U+2400 block), a tab as spaces,
// a combining mark without a base on a dotted circle.
struct shown_cluster {
    std::string text;
    uint32_t width;
};
shown_cluster show_cluster(std::string_view cluster);

// Text that goes to a terminal and is not ours (a model's answer): control characters other than newline and tab become
// pictures, so that no escape sequence gets through. Nothing else changes.
std::string harmless(std::string_view text);
