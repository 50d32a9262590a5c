// MatMulNBits of com.microsoft: A times the transpose of weights of 2, 4 or 8 bits. The weights are [N, blocks, bytes
// of a block]; each block has a scale and optionally a zero point.
#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/shape/arithmetic.hpp"
#include "plugins/vulkan/ops/quantized/quantization.h"
#include "plugins/vulkan/ops/row_work.h"

namespace epiphyte::vulkan {
namespace {

constexpr size_t kZeroPoints = 3, kGroupIndex = 4, kBias = 5;

std::string CheckMatMulNBits(const NodeCheck& check) {
  const ir::Node& node = check.node();
  const int64_t bits = node.Int("bits", 4), block = node.Int("block_size", 32);
  if (bits != 2 && bits != 4 && bits != 8) return kit::TextOf("weights of ", bits, " bits; 2, 4 and 8 are possible");
  if (block < 16 || (block & (block - 1)) != 0 || block > (1 << 20))
    return kit::TextOf("block_size is ", block, ", expected a power of 2 that is at least 16");
  if (check.HasInput(kGroupIndex)) return "input 4 (g_idx): blocks in another order are not computed here";
  if (check.HasInput(kZeroPoints) && check.InputType(kZeroPoints) != EP_TYPE_UINT8)
    return ExpectType(check, kZeroPoints, check.InputType(0), "zero_points");
  return "";
}

void CheckElements(const Recording& r, size_t input, int64_t expected, std::string_view name) {
  if (!r.HasInput(input)) return;
  const int64_t found = r.InputDims(input).Count();
  if (found != expected) kit::FailArgument(name, " has ", found, " elements, expected ", expected);
}

void RecordMatMulNBits(Recording& r) {
  const ir::Node& node = r.node();
  const int64_t k = node.Int("K", 0), n = node.Int("N", 0);
  const int64_t bits = node.Int("bits", 4), block = node.Int("block_size", 32);
  Dims dims = r.InputDims(0);
  if (dims.empty() || dims.back() != k)
    kit::FailArgument("A has shape ", kit::ShapeText(dims), ", expected [...,", k, "]");
  const int64_t m = dims.Count(0, dims.size() - 1);
  const int64_t blocks = (k - 1) / block + 1;
  const int64_t all_blocks = kit::CheckedMultiply(n, blocks);
  CheckElements(r, 1, kit::CheckedMultiply(all_blocks, block * bits / 8), "B");
  CheckElements(r, 2, all_blocks, "scales");
  CheckElements(r, kBias, n, "bias");
  const bool has_zeros = r.HasInput(kZeroPoints);
  const bool packed_zeros = has_zeros && r.InputType(kZeroPoints) == EP_TYPE_UINT8;
  CheckElements(r, kZeroPoints, packed_zeros ? kit::CheckedMultiply(n, (blocks * bits + 7) / 8) : all_blocks,
                "zero_points");
  dims.back() = n;
  const EpElementType type = r.InputType(0);
  const int32_t y = r.Output(0, type, dims);
  if (m == 0) return;
  const int64_t rows = m == 1 ? 1 : 4;  // rows of the result that an invocation computes
  const int64_t row_blocks = (m + rows - 1) / rows;
  // Invocations that share a row compute four columns, and divide their words.
  const RowWork work(r.capabilities(), {.count = row_blocks * ((n + 3) / 4),
                                        .length = blocks * (block * bits / 32),
                                        .passes = 1 + 32 / bits,
                                        .needless = row_blocks == 1 ? "" : "it has more than four rows"});
  const std::string_view name = rows == 1 ? "matmul_nbits_1" : "matmul_nbits_4";
  r.Note(work.Explain(name));
  const Binding unused = r.Read(0);
  Dispatch dispatch{.shader = Recording::ShaderFor(kit::TextOf(name, work.suffix()), type),
                    .specialization = {static_cast<uint32_t>(bits),
                                       !has_zeros     ? 0u
                                       : packed_zeros ? 1u
                                                      : 2u,
                                       r.HasInput(kBias) ? 1u : 0u},
                    .parameters = {Word(m), Word(n), Word(k), Word(block), Word(blocks)},
                    .bindings = {r.Read(0), r.Read(1), r.Read(2), packed_zeros ? r.Read(kZeroPoints) : unused,
                                 has_zeros && !packed_zeros ? r.Read(kZeroPoints) : unused,
                                 r.HasInput(kBias) ? r.Read(kBias) : unused, Recording::Write(y)},
                    .groups = r.GroupsFor(row_blocks * n),
                    .work = static_cast<uint64_t>(m * n) * static_cast<uint64_t>(k),
                    .passes = static_cast<uint64_t>(k + k * bits / 32 + blocks)};
  if (!work.alone()) work.Complete(r, &dispatch);
  r.Add(std::move(dispatch));
}

}  // namespace

void Register_matmul_nbits(OperatorTable& table) {
  table.Add({.op_type = "MatMulNBits",
             .domain = "com.microsoft",
             .check = CheckMatMulNBits,
             .record = RecordMatMulNBits,
             .bindings = 7});
}

}  // namespace epiphyte::vulkan
