// AMX: the tile registers of x86, which multiply matrices of bytes and of bfloat16. Linux gives them to a process that
// asks.
#pragma once

namespace epiphyte::cpu::simd {

// Whether products go through tiles: of bytes, of bfloat16. The first call asks the system; one that says no, as to a
// process that has signal stacks too small for tiles, isn't asked again. From a yes on, the system refuses the process
// such stacks (sigaltstack fails below AT_MINSIGSTKSZ).
bool UsesAmxBytes();
bool UsesAmxBfloat16();

// While it lives, products don't, for tests; no other thread may be inside a product when it is made or goes.
class WithoutAmx {
 public:
  WithoutAmx();
  ~WithoutAmx();
  WithoutAmx(const WithoutAmx&) = delete;
  WithoutAmx& operator=(const WithoutAmx&) = delete;
};

}  // namespace epiphyte::cpu::simd
