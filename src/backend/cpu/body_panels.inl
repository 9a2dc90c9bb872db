// Panels times tokens over a vector layer: the part of body.inl that prompt kernels need too.
#include "backend/cpu/trits.h"
#include "quant/grids.h"
#include "quant/tables.h"

#if defined(__clang__)
#define UNROLL(n) _Pragma("unroll")
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define LLM_PRAGMA(x) _Pragma(#x)
#define UNROLL(n) LLM_PRAGMA(GCC unroll n)
#define ROLLED _Pragma("GCC unroll 1")
#endif

namespace llm {
namespace {

using F = V::F;
using I = V::I;
using Q = V::Q;
constexpr int N = V::N;
constexpr int PARTS = PANEL_ROWS / N; // registers that hold one value of all rows of a panel

} // namespace
} // namespace llm

// A function template over the number of tokens as a row of pointers.
#define PER_TOKENS(function)                                                                                           \
    { function<1>, function<2>, function<3>, function<4>, function<5>, function<6>, function<7>, function<8> }

#include "backend/cpu/body_math.inl"
#include "backend/cpu/body_codes.inl"
#include "backend/cpu/body_codes_blocks32.inl"
#include "backend/cpu/body_codes_k.inl"
#include "backend/cpu/body_codes_tables.inl"
#include "backend/cpu/body_codes_ternary.inl"
#include "backend/cpu/body_codes_grids.inl"
#include "backend/cpu/body_matmul.inl"
