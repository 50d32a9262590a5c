#include "plugins/vulkan/ops/product/product.h"

#include <cstring>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/element_type.hpp"

namespace epiphyte::vulkan {
namespace {

// As in shaders/product.glsl.
constexpr uint32_t kHasC = 1;
constexpr uint32_t kHasResidual = 2;
constexpr uint32_t kHasTable = 4;

// Blocks of 8 x 8 take half of the loads, but a device wants enough invocations to be busy.
constexpr int64_t kLeastLargeBlocks = 256;
// The side of the tiles that a workgroup shares (shaders/matmul_tiled.comp), and the least product that is worth one.
constexpr int64_t kTile = 64;
constexpr int64_t kLeastTiled = 32;
// So long a sum is worth being divided among the invocations of a workgroup (shaders/matmul_row.comp).
constexpr int64_t kLeastShared = 64;

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

bool IsAligned(int64_t n) { return n % 4 == 0; }

// How the kernels read the second operand.
enum class Reading { kRows, kColumns, kPacked, kAny };
constexpr std::string_view kReadingNames[] = {"rows", "columns", "packed", "any"};

Reading ReadingOf(const Product& product) {
  const MatrixView& a = product.a;
  const MatrixView& b = product.b;
  bool a_aligned = a.column == 1 && IsAligned(a.row) && IsAligned(a.batch) &&
                   (IsAligned(product.k) || a.row >= product.k);  // then it is filled up
  bool b_aligned = IsAligned(b.batch);
  for (size_t i = 0; i + 2 < product.offsets.size(); i += 3) {
    a_aligned = a_aligned && IsAligned(product.offsets[i]);
    b_aligned = b_aligned && IsAligned(product.offsets[i + 1]);
  }
  if (product.b_packed) return Reading::kPacked;
  if (!a_aligned || !b_aligned) return Reading::kAny;
  if (b.column == 1 && IsAligned(b.row) && IsAligned(product.n)) return Reading::kRows;
  if (b.row == 1 && IsAligned(b.column) && IsAligned(product.k)) return Reading::kColumns;
  return Reading::kAny;
}

// What a workgroup has in common: nothing, a tile of the result, or a few columns of one row.
enum class Sharing { kNothing, kTile, kColumns };

struct Choice {
  std::string kernel;
  int64_t rows = 1, columns = 4;  // of the block of an invocation, or of a workgroup that shares one
  Sharing sharing = Sharing::kNothing;
};

Choice Choose(Recording& r, const Product& product, Reading reading, EpElementType type) {
  const std::string name(kReadingNames[static_cast<size_t>(reading)]);
  const Capabilities& capabilities = r.capabilities();
  if (reading != Reading::kAny && product.m >= kLeastTiled && product.n >= kLeastTiled && product.k >= kLeastTiled) {
    const int64_t across = CeilDiv(product.n, kTile), down = CeilDiv(product.m, kTile);
    if (!capabilities.Has(Capability::kSharedMemory)) {
      r.Note("matmul: not in tiles of a workgroup, " + capabilities.WhyNot(Capability::kSharedMemory));
    } else if (across > capabilities.max_workgroup_count[0] || down > capabilities.max_workgroup_count[1] ||
               product.batches > capabilities.max_workgroup_count[2] || capabilities.max_workgroup_invocations < 256) {
      r.Note("matmul: not in tiles of a workgroup, the device's limits are too small");
    } else {
      const bool half = type == EP_TYPE_FLOAT16 && capabilities.Has(Capability::kFp16);
      if (type == EP_TYPE_FLOAT16 && !half)
        r.Note("matmul: arithmetic in float, " + capabilities.WhyNot(Capability::kFp16));
      return {"matmul_tiled_" + name + (half ? "_half" : ""), kTile, kTile, Sharing::kTile};
    }
  }
  if (product.m == 1) {
    if (reading != Reading::kPacked || product.batches != 1 || product.k < kLeastShared)
      return {"matmul_" + name + "_1", 1, 4};
    if (capabilities.Has(Capability::kSharedMemory)) return {"matmul_packed_row", 1, 4, Sharing::kColumns};
    r.Note("matmul: a column's sum is one invocation's, " + capabilities.WhyNot(Capability::kSharedMemory));
    return {"matmul_packed_1", 1, 4};
  }
  if (reading != Reading::kAny &&
      CeilDiv(product.m, 8) * CeilDiv(product.n, 8) >= CeilDiv(kLeastLargeBlocks, product.batches))
    return {"matmul_" + name + "_8", 8, 8};
  if (reading == Reading::kAny) r.Note("matmul: one element at a time, for strides or sizes are no multiples of 4");
  return {"matmul_" + name + "_4", 4, 4};
}

}  // namespace

void RecordProduct(Recording& r, const Product& product) {
  const int64_t elements = kit::CheckedMultiply(kit::CheckedMultiply(product.m, product.n), product.batches);
  if (elements == 0) return;
  const EpElementType type = r.tensor(product.y.tensor).type;
  const Reading reading = ReadingOf(product);
  const Choice choice = Choose(r, product, reading, type);
  r.Note("matmul: " + choice.kernel);

  Dispatch dispatch;
  dispatch.shader = Recording::ShaderFor(choice.kernel, type);
  dispatch.specialization = {(product.c.tensor >= 0 ? kHasC : 0) | (product.residual >= 0 ? kHasResidual : 0) |
                                 (product.offsets.empty() ? 0 : kHasTable),
                             static_cast<uint32_t>(product.activation.op)};
  dispatch.parameters = {Word(product.m),
                         Word(product.n),
                         Word(product.k),
                         Word(product.batches),
                         Word(product.a.row),
                         Word(product.a.column),
                         Word(product.b.row),
                         Word(product.b.column),
                         Word(product.y.row),
                         Word(product.y.column),
                         Word(product.c.row),
                         Word(product.c.column),
                         Word(product.c.batch),
                         Word(product.a.batch),
                         Word(product.b.batch),
                         Word(product.y.batch),
                         Word(product.alpha),
                         Word(product.beta),
                         Word(product.activation.alpha),
                         Word(product.activation.beta)};
  dispatch.parameters.insert(dispatch.parameters.end(), product.offsets.begin(), product.offsets.end());
  const auto or_a = [&](int32_t tensor) { return Recording::ReadTensor(tensor >= 0 ? tensor : product.a.tensor); };
  // A product of nothing is 0: its operands have no elements that could be bound.
  const bool nothing = product.k == 0;
  const auto operand = [&](int32_t tensor) {
    return nothing ? Recording::ReadTensor(r.Scratch(type, {4})) : Recording::ReadTensor(tensor);
  };
  const Binding a = operand(product.a.tensor);
  const Binding b = operand(product.b.tensor);
  dispatch.bindings = {a, b, product.c.tensor >= 0 ? or_a(product.c.tensor) : a,
                       product.residual >= 0 ? or_a(product.residual) : a, Recording::Write(product.y.tensor)};
  const int64_t across = CeilDiv(product.n, choice.columns), down = CeilDiv(product.m, choice.rows);
  switch (choice.sharing) {
    case Sharing::kNothing: dispatch.groups = r.GroupsFor(across * down * product.batches); break;
    case Sharing::kTile:
      dispatch.groups = {static_cast<uint32_t>(across), static_cast<uint32_t>(down),
                         static_cast<uint32_t>(product.batches)};
      break;
    case Sharing::kColumns: dispatch.groups = r.GroupsFor(across * kLinearGroup); break;
  }
  dispatch.work = static_cast<uint64_t>(elements) * static_cast<uint64_t>(product.k);
  r.Add(std::move(dispatch));
}

Dims PackedOperandDims(int64_t k, int64_t n) { return {CeilDiv(n, 4), k, 4}; }

void PackSecondOperand(Packing& packing, bool transposed) {
  const ir::Tensor* b = packing.Constant(1);
  if (b == nullptr || b->data == nullptr || b->rank() != 2) return;
  const int64_t k = b->dims[transposed ? 1 : 0], n = b->dims[transposed ? 0 : 1];
  const uint64_t size = kit::ElementBytes(b->type, 1);
  if (!IsAligned(k) || k == 0 || n == 0) return;
  const uint64_t bytes = static_cast<uint64_t>(CeilDiv(n, 4) * 4) * static_cast<uint64_t>(k) * size;
  if (bytes > packing.capabilities().max_buffer_range) return;
  std::vector<std::byte> packed(bytes);
  const auto* from = static_cast<const std::byte*>(b->data);
  const int64_t row = transposed ? 1 : n, column = transposed ? k : 1;
  const auto pack = [&]<size_t kSize>() {
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < k; ++i)
        std::memcpy(packed.data() + static_cast<size_t>((j / 4 * k + i) * 4 + j % 4) * kSize,
                    from + static_cast<size_t>(i * row + j * column) * kSize, kSize);
  };
  if (size == 4) {
    pack.template operator()<4>();
  } else {
    pack.template operator()<2>();
  }
  packing.Put(std::string(kPackedOperand), std::move(packed));
  packing.Release(1);
}

}  // namespace epiphyte::vulkan
