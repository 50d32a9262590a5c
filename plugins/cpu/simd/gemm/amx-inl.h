// Tile registers of AMX, for the AVX3 target on x86. Tiles 0 to 3 hold sums, 4 and 5 rows of the left side, 6 and 7
// rows of the right side.
//
//     const TileConfig config(32);        // rows of the left side, up to 32
//     const TileScope scope(config);
//     LoadTile<0>(start, 0);              // initial sums: each row is the same
//     LoadTile<4>(a, a_stride);
//     LoadTile<6>(b, b_stride);
//     AddByteProducts<0, 4, 6>();
//     StoreTile<0>(to, to_stride);
//
// A tile has up to 16 rows of 64 bytes. The CPU keeps one tile configuration per thread. TileScope sets it and releases
// it; no other code that uses tiles may run in between.
#if defined(EPIPHYTE_SIMD_AMX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EPIPHYTE_SIMD_AMX_INL_H
#undef EPIPHYTE_SIMD_AMX_INL_H
#else
#define EPIPHYTE_SIMD_AMX_INL_H
#endif

#include <algorithm>
#include <cstdint>

#include <hwy/highway.h>

#undef EPIPHYTE_HAS_TILES
#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
#define EPIPHYTE_HAS_TILES 1

HWY_BEFORE_NAMESPACE();
namespace epiphyte::cpu::simd::HWY_NAMESPACE {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileBytes = 64;  // bytes of a row

struct alignas(64) TileConfig {
  // The first tile of left sides and sums has up to 16 rows; the second one has the rows beyond 16. `steps` counts
  // groups of four bytes: a left row has that many groups, and the right side has that many rows.
  explicit TileConfig(int64_t rows, int64_t steps = kTileRows) {
    const auto first = static_cast<uint8_t>(std::min(rows, kTileRows));
    const auto second = static_cast<uint8_t>(std::max<int64_t>(rows - kTileRows, 0));
    const auto depth = static_cast<uint8_t>(steps);
    const uint8_t of_tile[8] = {first, first, second, second, first, second, depth, depth};
    for (int i = 0; i < 8; ++i) {
      const int64_t bytes = i == 4 || i == 5 ? 4 * steps : kTileBytes;
      rows_of[i] = of_tile[i];
      bytes_of[i] = of_tile[i] == 0 ? uint16_t{0} : static_cast<uint16_t>(bytes);
    }
  }

  uint8_t palette = 1, start_row = 0, unused[14] = {};
  uint16_t bytes_of[16] = {};
  uint8_t rows_of[16] = {};
};

class TileScope {
 public:
  HWY_INLINE explicit TileScope(const TileConfig& config) { Set(config); }
  HWY_INLINE ~TileScope() { asm volatile("tilerelease" ::: "memory"); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
  // All tiles are 0 afterwards.
  static HWY_INLINE void Set(const TileConfig& config) { asm volatile("ldtilecfg %0" : : "m"(config) : "memory"); }
};

// `stride`: bytes from row to row.
template <int kTile>
HWY_INLINE void LoadTile(const void* from, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
HWY_INLINE void StoreTile(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
HWY_INLINE void ClearTile() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
// Adds products of unsigned and signed bytes to int32 sums. Four bytes of each left row meet the four adjacent bytes of
// a column.
template <int kSums, int kLeft, int kRight>
HWY_INLINE void AddByteProducts() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
}
// Adds products of bfloat16 to float sums. Two numbers of each left row meet the two adjacent numbers of a column.
template <int kSums, int kLeft, int kRight>
HWY_INLINE void AddBfloat16Products() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
}

}  // namespace epiphyte::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#else
#define EPIPHYTE_HAS_TILES 0
#endif

#endif  // EPIPHYTE_SIMD_AMX_INL_H
