// The tile instructions in plain C, for machines without them: the same functions as amx_tiles (vec_amx.h).
#pragma once
#include "backend/cpu/vec_amx.h"

namespace llm {

// Uses that a processor would answer with an exception: shapes that do not fit together, tiles that nobody configured.
extern unsigned emulated_tile_faults;

namespace {

struct tile_state {
    tile_config config;
    uint8_t bytes[8][16][64];
};
thread_local tile_state state;

struct emulated_tiles {
    INLINE void expect(bool good) { emulated_tile_faults += !good; }

    INLINE void configure(const tile_config &c) {
        expect(c.palette == 1 && c.start_row == 0);
        for (int t = 0; t < 16; t++)
            expect(t < 8 ? c.rows[t] <= 16 && c.row_bytes[t] <= 64 : !c.rows[t] && !c.row_bytes[t]);
        memset(&state, 0, sizeof state);
        state.config = c;
    }
    INLINE void release() { memset(&state, 0, sizeof state); }
    template <int T> INLINE void zero() {
        expect(state.config.rows[T] > 0);
        memset(state.bytes[T], 0, sizeof state.bytes[T]);
    }
    template <int T> INLINE void load(const void *rows, size_t stride) {
        expect(state.config.rows[T] > 0);
        memset(state.bytes[T], 0, sizeof state.bytes[T]);
        for (int r = 0; r < state.config.rows[T]; r++)
            memcpy(state.bytes[T][r], static_cast<const uint8_t *>(rows) + r * stride, state.config.row_bytes[T]);
    }
    template <int T> INLINE void store(void *rows, size_t stride) {
        expect(state.config.rows[T] > 0);
        for (int r = 0; r < state.config.rows[T]; r++)
            memcpy(static_cast<uint8_t *>(rows) + r * stride, state.bytes[T][r], state.config.row_bytes[T]);
    }
    template <int C, int A, int B> INLINE void multiply() {
        const tile_config &c = state.config;
        expect(c.rows[C] == c.rows[A] && c.row_bytes[C] == c.row_bytes[B] && c.row_bytes[A] == 4 * c.rows[B]);
        for (int m = 0; m < c.rows[C]; m++)
            for (int n = 0; n < c.row_bytes[C] / 4; n++) {
                int32_t sum;
                memcpy(&sum, state.bytes[C][m] + 4 * n, 4);
                for (int k = 0; k < c.row_bytes[A]; k++)
                    sum += int8_t(state.bytes[A][m][k]) * int8_t(state.bytes[B][k / 4][4 * n + k % 4]);
                memcpy(state.bytes[C][m] + 4 * n, &sum, 4);
            }
    }
};

} // namespace
} // namespace llm
