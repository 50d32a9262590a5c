// Linear: activation(A B + bias + residual) for a matrix B. It implements MatMul and Gemm for a B of two dimensions. A
// constant B is packed once; the packed data serves any number of rows.
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
    bool bfloat16 = false;  // bfloat16 is allowed when B is not packed
    // B as part of a larger constant: k x n elements from `offset` on, packed under `key`.
    int64_t k = 0, n = 0, offset = 0;
    std::string key = "b";
    bool last_part = true;
  };
  // State in a frame.
  struct State {
    int64_t rows = -1, k = -1, n = -1;
    bool bias = false, transposed_a = false;
    int residual = 0;  // 0: none, 1: in the output, 2: an argument
    PrimitiveCall call;
    std::shared_ptr<void> repacked;
    MemoryDesc repacked_desc;
    bool use_repacked = false;
    // Number of columns for which 16-bit packed weights are widened to floats at a time, so that the floats stay in the
    // cache until use. `call` is for these columns, `last_call` for the remaining ones. 0: all columns at once.
    int64_t columns = 0;
    PrimitiveCall last_call;
    // Set for packed weights. Unless all sums are finite, our loops apply the activation instead of the calls.
    std::optional<FiniteSums> finite_sums;
    bool activates = false;
  };
  // Operands of one run. A: [rows, k], or [k, rows] when `transposed_a`. Bias: n values or null.
  struct Operands {
    const void* a = nullptr;
    bool transposed_a = false;
    const void* b = nullptr;  // null when B is packed
    const void* bias = nullptr;
    const void* residual = nullptr;  // like the output; may be the output itself
    void* y = nullptr;
    int64_t rows = 0, k = 0, n = 0;
  };

  Linear(const KernelInit& init, Options options);

  bool packed() const { return static_cast<bool>(packed_); }
  const Dims& b_dims() const { return b_dims_; }  // dimensions of the packed B in the model
  void Run(OpContext& context, State& state, const Operands& operands) const;

 private:
  // Describes `columns` columns of the result. Rows of the result have a stride of operands.n.
  dnnl::matmul::primitive_desc MakeDesc(const Operands& operands, int64_t columns, const MemoryDesc& b, int residual,
                                        bool activation) const;
  MemoryDesc PlainB(int64_t k, int64_t n) const;
  void Prepare(OpContext& context, State& state, const Operands& operands, int residual) const;
  bool PrepareColumns(OpContext& context, State& state, const Operands& operands, int residual) const;
  void Reset(PrimitiveCall& call, const dnnl::matmul::primitive_desc& pd, const Operands& operands, int64_t columns,
             int residual) const;
  bool RunVector(OpContext& context, const Operands& operands) const;  // false: no operand is a vector
  bool RunSplit(OpContext& context, const Operands& operands) const;   // false: a number is not finite
  bool SumsAreFinite(OpContext& context, State& state, const Operands& operands) const;
  static const void* RoundToBfloat16(OpContext& context, const Operands& operands);  // A in scratch memory
  void RunColumns(OpContext& context, State& state, const Operands& operands, int residual) const;
  void RunCall(OpContext& context, State& state, const Operands& operands, int residual) const;

  Options options_;
  Dims b_dims_;
  PackedWeights packed_;
  bool split_ = false;            // packed_ is for AMX GEMMs
  std::optional<Panels> panels_;  // panels of packed_; set when rows can be multiplied without oneDNN
};

}  // namespace epiphyte::cpu
