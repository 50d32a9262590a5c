// Linear: rows of A times a matrix B, plus bias, plus residual, then an activation. The heart of MatMul and Gemm when B
// has two dimensions. A constant B is packed once; another number of rows uses the same packed data.
#pragma once

#include <optional>

#include "plugins/cpu/onednn/activation.h"
#include "plugins/cpu/onednn/finite_sums.h"
#include "plugins/cpu/onednn/primitive.h"
#include "plugins/cpu/onednn/row_product.h"
#include "plugins/cpu/onednn/weights.h"

namespace epiphyte::cpu {

class Linear {
 public:
  struct Options {
    size_t b_input = 1;
    bool transpose_b = false;  // B is [N, K]
    int64_t typical_rows = 128;
    Activation activation;
    bool bfloat16 = false;  // allowed where there is no packed B
    // B as a part of a larger constant: k x n elements from `offset`, packed under `key`.
    int64_t k = 0, n = 0, offset = 0;
    std::string key = "b";
    bool last_part = true;
  };
  // Per frame.
  struct State {
    int64_t rows = -1, k = -1, n = -1;
    bool bias = false, transposed_a = false;
    int residual = 0;  // 0: none, 1: in the output, 2: an argument
    PrimitiveCall call;
    std::shared_ptr<void> repacked;
    MemoryDesc repacked_desc;
    bool use_repacked = false;
    // Packed weights of 16 bits become floats some columns at a time, which the cache holds until they are used: `call`
    // is for these, `last_call` for what is left at the end. 0: for all columns at once.
    int64_t columns = 0;
    PrimitiveCall last_call;
    // Set for packed weights. The calls leave the activation to our loops unless all sums are finite.
    std::optional<FiniteSums> finite_sums;
    bool activates = false;
  };
  // What one run gives. A: [rows, k], or [k, rows] when `transposed_a`. Bias: n values or null.
  struct Operands {
    const void* a = nullptr;
    bool transposed_a = false;
    const void* b = nullptr;  // unless packed
    const void* bias = nullptr;
    const void* residual = nullptr;  // like the output; may be the output itself
    void* y = nullptr;
    int64_t rows = 0, k = 0, n = 0;
  };

  Linear(const KernelInit& init, Options options);

  bool packed() const { return static_cast<bool>(packed_); }
  const Dims& b_dims() const { return b_dims_; }  // of the packed B, as in the model
  void Run(OpContext& context, State& state, const Operands& operands) const;

 private:
  // `columns` of the result, of which each row is operands.n long.
  dnnl::matmul::primitive_desc MakeDesc(const Operands& operands, int64_t columns, const MemoryDesc& b, int residual,
                                        bool activation) const;
  MemoryDesc PlainB(int64_t k, int64_t n) const;
  void Prepare(OpContext& context, State& state, const Operands& operands, int residual) const;
  bool PrepareColumns(OpContext& context, State& state, const Operands& operands, int residual) const;
  void Reset(PrimitiveCall& call, const dnnl::matmul::primitive_desc& pd, const Operands& operands, int64_t columns,
             int residual) const;
  bool RunVector(OpContext& context, const Operands& operands) const;  // false: neither side is a vector
  bool RunSplit(OpContext& context, const Operands& operands) const;   // false: not all numbers are finite
  bool SumsAreFinite(OpContext& context, State& state, const Operands& operands) const;
  static const void* RoundToBfloat16(OpContext& context, const Operands& operands);  // A, in scratch memory
  void RunColumns(OpContext& context, State& state, const Operands& operands, int residual) const;
  void RunCall(OpContext& context, State& state, const Operands& operands, int residual) const;

  Options options_;
  Dims b_dims_;
  PackedWeights packed_;
  bool split_ = false;            // packed_ is for products by AMX
  std::optional<Panels> panels_;  // how packed_ lies, when rows can be multiplied without oneDNN
};

}  // namespace epiphyte::cpu
