// AMX: the tile registers of x86, which multiply matrices of bytes and of bfloat16. Linux grants them to a process on
// request.
#pragma once

namespace epiphyte::cpu::simd {

// Whether GEMMs of bytes, or of bfloat16, use tiles. The first call asks the operating system. A refusal is final: the
// system is not asked again. It refuses, for example, a process that has signal stacks too small for tiles. After it
// has granted tiles, the system refuses the process such stacks (sigaltstack fails below AT_MINSIGSTKSZ).
bool UsesAmxBytes();
bool UsesAmxBfloat16();

// Disables AMX for GEMMs while it lives; for tests. No other thread may be inside a GEMM when it is constructed or
// destroyed.
class WithoutAmx {
 public:
  WithoutAmx();
  ~WithoutAmx();
  WithoutAmx(const WithoutAmx&) = delete;
  WithoutAmx& operator=(const WithoutAmx&) = delete;
};

}  // namespace epiphyte::cpu::simd
