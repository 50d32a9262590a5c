// Integer GEMMs with float results, and row lookups in quantized weights.
#include "core/onnx/microsoft/forms.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

// A scale or zero point with one value per column broadcasts along the last axis.
Name ScaledProduct(Body& body, const Name& product, const Name& a_scale, const Name& b_scale, const Name& bias) {
  const Name scaled = body.Mul(body.Cast(product, DataType::kFloat), body.Mul(a_scale, b_scale));
  return body.AddIf(scaled, bias);
}

// Checks B's scales and zero points: only one value, or one value per column. The integer GEMM supports these for a
// matrix only.
void CheckColumns(const Body& body, size_t input, const char* what) {
  const auto rank = body.RankIfKnown(input);
  if (rank && *rank > 1) body.Unsupported("{} has {} dimensions; one number, or one for each column", what, *rank);
}

void BuildDynamicQuantizeMatMul(Body& body) {
  CheckColumns(body, 2, "b_scale");
  CheckColumns(body, 3, "b_zero_point");
  const Names a = body.Ops("DynamicQuantizeLinear", 3, {body.Need(0, "A")});
  const Name product = body.Op("MatMulInteger", {a[0], body.Need(1, "B"), a[2], body.In(3)});
  body.Return(0, ScaledProduct(body, product, a[1], body.Need(2, "b_scale"), body.In(4)));
}

void BuildMatMulIntegerToFloat(Body& body) {
  CheckColumns(body, 2, "a_scale");
  CheckColumns(body, 3, "b_scale");
  CheckColumns(body, 5, "b_zero_point");
  if (IsVector(body, 2)) body.Unsupported("a_scale has more than one element; one is supported");
  const Name product = body.Op("MatMulInteger", {body.Need(0, "A"), body.Need(1, "B"), body.In(4), body.In(5)});
  body.Return(0, ScaledProduct(body, product, body.Need(2, "a_scale"), body.Need(3, "b_scale"), body.In(6)));
}

// Converts weights [directions, k, n] to floats [directions, n, k]. Scales and zero points are [directions] or
// [directions, n].
Name LstmWeights(Body& body, size_t weights, size_t scale, size_t zero_point) {
  const auto spread = [&](size_t input) {
    return body.Unsqueeze(body.In(input),
                          body.RankOf(input) == 1 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{1});
  };
  Name number = body.Cast(body.In(weights), DataType::kFloat);
  if (body.Has(zero_point)) number = body.Sub(number, body.Cast(spread(zero_point), DataType::kFloat));
  return body.Transpose(body.Mul(number, spread(scale)), {0, 2, 1});
}

void BuildDynamicQuantizeLstm(Body& body) {
  constexpr size_t kWScale = 8, kWZero = 9, kRScale = 10, kRZero = 11;
  for (const size_t input : {size_t{0}, size_t{1}, size_t{2}, kWScale, kRScale}) body.Need(input, "X, W, R or a scale");
  const Names made = body.Ops("LSTM", 3,
                              {body.In(0), LstmWeights(body, 1, kWScale, kWZero), LstmWeights(body, 2, kRScale, kRZero),
                               body.In(3), body.In(4), body.In(5), body.In(6), body.In(7)},
                              body.Copy({"activation_alpha", "activation_beta", "activations", "clip", "direction",
                                         "hidden_size", "input_forget"}));
  for (size_t i = 0; i < made.size(); ++i) body.Return(i, made[i]);
}

// Splits each byte into two nibbles, the lower one first; the result has twice as many elements.
Name UnpackNibbles(Body& body, const Name& bytes, size_t rank) {
  const Name four = body.Number(4, DataType::kUint8);
  const auto shift = [&](const Name& x, const char* direction) {
    return body.Op("BitShift", {x, four}, {A("direction", std::string(direction))});
  };
  const Name low = shift(shift(bytes, "LEFT"), "RIGHT");
  const Name high = shift(bytes, "RIGHT");
  const auto axis = static_cast<int64_t>(rank);
  const Name pairs = body.Concat({body.Unsqueeze(low, {axis}), body.Unsqueeze(high, {axis})}, axis);
  std::vector<int64_t> shape(rank, 0);
  shape.back() = -1;
  return body.Reshape(pairs, shape);
}

void BuildGatherBlockQuantized(Body& body) {
  const Name indices = body.Need(1, "indices");
  const DataType stored = body.TypeOf(0);
  const size_t data_rank = body.RankOf(0);
  const size_t rank = data_rank + body.RankOf(1) - 1;
  const int64_t bits = body.Int("bits", 4);
  const int64_t block = body.Int("block_size", 128);
  if (bits != 4 && bits != 8) body.Unsupported("attribute 'bits' is {}, 4 and 8 are supported", bits);
  if (block < 16 || (block & (block - 1)) != 0 || block > (1 << 20))
    body.Reject("attribute 'block_size' is {}, a power of two of 16 or more expected", block);
  body.Only("gather_axis", 0);
  const auto last = static_cast<int64_t>(data_rank) - 1;
  if (const int64_t axis = body.Int("quantize_axis", 1); data_rank < 2 || (axis != last && axis != -1))
    body.Unsupported("attribute 'quantize_axis' is {}, the last axis of two or more is supported", axis);
  if (stored != DataType::kUint8 && stored != DataType::kInt4 && stored != DataType::kUint4)
    body.Reject("the data is of type {}, uint8, int4 or uint4 expected", DataTypeName(stored));
  const bool bytes = stored == DataType::kUint8;
  if (!bytes && bits != 4)
    body.Reject("attribute 'bits' is {}, but the data is of type {}", bits, DataTypeName(stored));
  if (!bytes && body.opset() < 21) body.Unsupported("data of type {} needs opset 21", DataTypeName(stored));
  const int64_t stored_width = body.DimIfKnown(0, -1);
  if (stored_width < 0) throw NotKnownYet{"the width of the data"};
  if (stored_width > (int64_t{1} << 40)) body.Reject("the data is {} wide", stored_width);
  const bool packed = bytes && bits == 4;
  if ((packed ? 2 * stored_width : stored_width) % block != 0) {
    body.Unsupported("rows of {} elements are no multiple of the block size {}",
                     packed ? 2 * stored_width : stored_width, block);
  }
  const int64_t blocks = (packed ? 2 * stored_width : stored_width) / block;
  const DataType type = body.TypeOf(2);

  // Gather doesn't support 4-bit types, so they are cast to bytes first.
  const auto rows = [&](size_t input) {
    const Name data = body.In(input);
    if (bytes) return body.Gather(data, indices);
    return body.Gather(body.Cast(data, stored == DataType::kInt4 ? DataType::kInt8 : DataType::kUint8), indices);
  };
  std::vector<int64_t> by_block(rank, 0);
  by_block.back() = blocks;
  by_block.push_back(block);
  Name values = rows(0);
  if (packed) values = UnpackNibbles(body, values, rank);
  Name numbers = body.Cast(body.Reshape(values, by_block), type);
  const auto spread = [&](const Name& x) { return body.Unsqueeze(x, {static_cast<int64_t>(rank)}); };
  if (body.Has(3)) {
    Name zeros = rows(3);
    // An odd number of blocks leaves an unused nibble.
    if (packed) zeros = body.Slice(UnpackNibbles(body, zeros, rank), 0, blocks, static_cast<int64_t>(rank) - 1);
    numbers = body.Sub(numbers, spread(body.Cast(zeros, type)));
  } else if (bytes) {
    numbers = body.Sub(numbers, body.Number(bits == 4 ? 8 : 128, type));
  }
  numbers = body.Mul(numbers, spread(body.Gather(body.Need(2, "scales"), indices)));
  std::vector<int64_t> shape(rank, 0);
  shape.back() = -1;
  body.Return(0, body.Reshape(numbers, shape));
}

constexpr Operator kIntegerProductOperators[] = {
    {"DynamicQuantizeLSTM", 12, 12, 3,
     "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:i",
     BuildDynamicQuantizeLstm},
    {"DynamicQuantizeMatMul", 3, 5, 1, "", BuildDynamicQuantizeMatMul},
    {"GatherBlockQuantized", 3, 4, 1, "bits:i block_size:i gather_axis:i quantize_axis:i", BuildGatherBlockQuantized},
    {"MatMulIntegerToFloat", 4, 7, 1, "", BuildMatMulIntegerToFloat},
};

}  // namespace

std::span<const Operator> IntegerProductOperators() { return kIntegerProductOperators; }

}  // namespace epiphyte::core::microsoft
