#include "plugins/vulkan/ops/product/product.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/element_type.hpp"
#include "plugins/vulkan/ops/activation_variant.h"
#include "plugins/vulkan/ops/coop_tiles.h"
#include "plugins/vulkan/ops/row_work.h"
#include "plugins/vulkan/ops/shader_numbers.h"
#include "plugins/vulkan/ops/workgroup_tiles.h"

namespace epiphyte::vulkan {
namespace {

// Least number of 8 x 8 blocks for which they are used. They take half of the loads, but a device needs enough
// invocations to be busy.
constexpr int64_t kLeastLargeBlocks = 256;
// A product with at most this many rows divides long sums among invocations (shaders/matmul_split.comp).
constexpr int64_t kMostSplitRows = 4;
constexpr int64_t kLeastSplit = 64;
// Number of groups of four contiguous columns that keeps a device busy without dividing the sums.
constexpr int64_t kManyFours = int64_t{1} << 15;

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

bool IsAligned(int64_t n) { return n % 4 == 0; }

// How the kernels read the second operand.
enum class Reading { kRows, kColumns, kPacked, kAny };
constexpr std::string_view kReadingNames[] = {"rows", "columns", "packed", "any"};

Reading ReadingOf(const Product& product) {
  const MatrixView& a = product.a;
  const MatrixView& b = product.b;
  bool a_aligned = a.column == 1 && IsAligned(a.row) && IsAligned(a.batch) &&
                   (IsAligned(product.k) || a.row >= product.k);  // a longer row is padded
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

struct Choice {
  std::string kernel;
  int64_t rows = 1, columns = 4;        // size of the block that an invocation computes
  std::optional<WorkgroupTiles> tiles;  // instead of blocks: tiles in workgroup memory
  std::optional<CoopTiles> coop;        // instead of blocks: tiles of cooperative matrices
  std::optional<RowWork> split;         // how the sums of `rows` rows and 4 * `across` columns are divided
  uint32_t across = 1;                  // groups of four columns that lie side by side
};

// Loop passes of an invocation that computes its sums alone.
uint64_t PassesAlone(const Product& product, Reading reading) {
  return static_cast<uint64_t>(reading == Reading::kAny ? product.k : product.k / 4 + 1);
}

// The choice for few rows: a kernel that divides the sums, or `plain` if that is better.
Choice Split(Recording& r, const Product& product, Reading reading, Choice plain) {
  const std::string_view name = kReadingNames[static_cast<size_t>(reading)];
  const Capabilities& capabilities = r.capabilities();
  const bool side_by_side = reading == Reading::kRows || (reading == Reading::kAny && product.b.column == 1);
  Choice choice;
  choice.rows = product.m == 1 ? 1 : kMostSplitRows;
  if (side_by_side) choice.across = std::bit_floor(std::clamp(capabilities.subgroup_size / 4, 1u, 8u));
  choice.columns = 4 * choice.across;
  Rows rows;
  rows.count = CeilDiv(product.n, choice.columns) * product.batches;
  rows.length = (reading == Reading::kColumns ? product.k / 4 : product.k) * choice.across;
  rows.shared = reading == Reading::kPacked && product.m == 1;
  if (product.k < kLeastSplit) {
    rows.needless = kit::TextOf("sums of ", product.k, " are short");
  } else if (side_by_side && CeilDiv(product.n, 4) * product.batches >= kManyFours) {
    rows.needless = "there are enough columns";
  }
  rows.alone = static_cast<int64_t>(PassesAlone(product, reading));
  choice.split.emplace(capabilities, rows);
  choice.kernel = kit::TextOf("matmul_split_", name, "_", choice.rows);
  r.Note("matmul: " + choice.split->Explain(choice.kernel, plain.kernel));
  if (choice.split->alone()) return plain;
  choice.kernel += choice.split->suffix();
  return choice;
}

// The tiles of cooperative matrices, if these are possible and worth it.
std::optional<CoopTiles> Cooperative(Recording& r, const Product& product, Reading reading, EpElementType type,
                                     bool is_large) {
  const Capabilities& capabilities = r.capabilities();
  if (!is_large && !capabilities.IsPreferred(Capability::kCoopMatrix)) return std::nullopt;
  if (reading == Reading::kAny) return std::nullopt;
  if (type != EP_TYPE_FLOAT16) {
    if (capabilities.Has(Capability::kCoopMatrix)) r.Note("matmul: not in cooperative matrices, they are of float16");
    return std::nullopt;
  }
  const CoopTiles tiles(capabilities, product.m, product.n, product.k, product.batches);
  if (!tiles.why_not().empty()) {
    r.Note("matmul: not in cooperative matrices, " + tiles.why_not());
    return std::nullopt;
  }
  return tiles;
}

Choice Choose(Recording& r, const Product& product, Reading reading, EpElementType type) {
  const std::string name(kReadingNames[static_cast<size_t>(reading)]);
  const Capabilities& capabilities = r.capabilities();
  // If sums are too long for one invocation, any kernel with fewer passes will do, even a slow one.
  const bool too_long = PassesAlone(product, reading) > capabilities.max_passes;
  const bool is_large = product.m >= kLeastTiled && product.n >= kLeastTiled && product.k >= kLeastTiled;
  if (const auto tiles = Cooperative(r, product, reading, type, is_large)) {
    Choice choice;
    choice.kernel = "matmul_coop_" + name;
    choice.coop = tiles;
    return choice;
  }
  if (reading != Reading::kAny && (is_large || too_long)) {
    const WorkgroupTiles tiles(capabilities, product.m, product.n, product.k, product.batches);
    if (!(too_long ? capabilities.CanUse(Capability::kSharedMemory) : capabilities.Has(Capability::kSharedMemory))) {
      r.Note("matmul: not in tiles of a workgroup, " + capabilities.WhyNot(Capability::kSharedMemory));
    } else if (!tiles.why_not().empty()) {
      r.Note("matmul: not in tiles of a workgroup, " + tiles.why_not());
    } else {
      const bool half = type == EP_TYPE_FLOAT16 && capabilities.Has(Capability::kFp16);
      if (type == EP_TYPE_FLOAT16 && !half)
        r.Note("matmul: arithmetic in float, " + capabilities.WhyNot(Capability::kFp16));
      return {.kernel = "matmul_tiled_" + name + (half ? "_half" : ""), .tiles = tiles};
    }
  }
  if (product.m == 1) return {.kernel = "matmul_" + name + "_1", .rows = 1, .columns = 4};
  if (reading != Reading::kAny &&
      CeilDiv(product.m, 8) * CeilDiv(product.n, 8) >= CeilDiv(kLeastLargeBlocks, product.batches))
    return {.kernel = "matmul_" + name + "_8", .rows = 8, .columns = 8};
  if (reading == Reading::kAny) r.Note("matmul: one element at a time, for strides or sizes are no multiples of 4");
  return {.kernel = "matmul_" + name + "_4", .rows = 4, .columns = 4};
}

}  // namespace

void RecordProduct(Recording& r, const Product& product) {
  const int64_t elements = kit::CheckedMultiply(kit::CheckedMultiply(product.m, product.n), product.batches);
  if (elements == 0) return;
  const EpElementType type = r.tensor(product.y.tensor).type;
  const Reading reading = ReadingOf(product);
  Choice choice = Choose(r, product, reading, type);
  if (choice.coop) {
    r.Note(kit::TextOf("matmul: ", choice.kernel, " (", choice.coop->Describe(), ")"));
  } else if (product.m <= kMostSplitRows) {
    choice = Split(r, product, reading, std::move(choice));
  } else {
    r.Note("matmul: " + choice.kernel + (choice.tiles ? " (" + choice.tiles->Describe() + ")" : ""));
  }

  Dispatch dispatch;
  dispatch.shader = Recording::ShaderFor(choice.kernel + VariantFor(product.activation.op), type);
  dispatch.specialization = {(product.c.tensor >= 0 ? shader::kProductC : 0) |
                                 (product.residual >= 0 ? shader::kProductResidual : 0) |
                                 (product.offsets.empty() ? 0 : shader::kProductTable),
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
  // With k = 0 all sums are 0. The operands have no elements that could be bound, so that scratch tensors are.
  const bool nothing = product.k == 0;
  const auto operand = [&](int32_t tensor) {
    return nothing ? Recording::ReadTensor(r.Scratch(type, {4})) : Recording::ReadTensor(tensor);
  };
  const Binding a = operand(product.a.tensor);
  const Binding b = operand(product.b.tensor);
  dispatch.bindings = {a, b, product.c.tensor >= 0 ? or_a(product.c.tensor) : a,
                       product.residual >= 0 ? or_a(product.residual) : a, Recording::Write(product.y.tensor)};
  const int64_t across = CeilDiv(product.n, choice.columns), down = CeilDiv(product.m, choice.rows);
  if (choice.coop) {
    choice.coop->Complete(&dispatch);
  } else if (choice.split) {
    dispatch.specialization.push_back(choice.across);
    choice.split->Complete(r, &dispatch);
  } else if (choice.tiles) {
    choice.tiles->Complete(&dispatch);
  } else {
    dispatch.groups = r.GroupsFor(across * down * product.batches);
    dispatch.passes = PassesAlone(product, reading);
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
