#include "epiphyte/kit/fuse/quantized.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "epiphyte/kit/fuse/activation.hpp"
#include "epiphyte/kit/fuse/elementwise.hpp"
#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/graph/elements.hpp"
#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/qdq/bias.hpp"
#include "epiphyte/kit/qdq/integer_product.hpp"
#include "epiphyte/kit/qdq/quantization.hpp"
#include "epiphyte/kit/qdq/rules.hpp"
#include "epiphyte/kit/qdq/sums.hpp"
#include "epiphyte/kit/qdq/units.hpp"
#include "epiphyte/kit/shape/axes.hpp"

namespace epiphyte::kit::fuse {
namespace {

// Operators that only move elements when all inputs and outputs have one quantisation. The rules allow different ones.
constexpr std::array<std::string_view, 7> kMoveBetweenEqual = {"Concat", "DepthToSpace", "Max",  "Min",
                                                               "Slice",  "SpaceToDepth", "Split"};
// The operators of kMoveBetweenEqual that take any number of inputs and return elements of these. Requantising before
// or after such an operator gives the same.
constexpr std::array<std::string_view, 3> kJoins = {"Concat", "Max", "Min"};

template <size_t kSize>
bool IsAmong(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Drops attributes that only the kit defines. They have no meaning in a model.
void DropOwnAttributes(ir::Node& node) {
  constexpr std::array<std::string_view, 5> kOwn = {"global", "high", "low", "scales", "zero_points"};
  std::erase_if(node.attributes, [&](const ir::Attribute& attribute) { return IsAmong(kOwn, attribute.name); });
}

class Fuser {
 public:
  Fuser(ir::Editor& editor, const QuantizedOptions& options) : editor_(editor), options_(options) {}

  void Run() {
    qdq::Options units;
    units.narrowest_bits = 8;
    units.widest_bits = 8;
    units.any_weight_sign = true;
    units.dequantized_outputs = true;
    units.moves_between_scales = true;
    const qdq::Units found = qdq::FindUnits(editor_, units);
    for (const qdq::Unit& unit : found.units)
      if (unit.IsQdq()) FuseUnit(unit);
    for (int32_t n = 0; n < editor_.node_count(); ++n)
      if (IsNode(editor_, n, "LayerNormalization", 2)) FuseLayerNormalization(n);
  }

 private:
  // A quantised input or output of a unit: the quantised value, its parameters as values, and its quantisation.
  struct End {
    int32_t value = -1;
    int32_t scale = -1;
    int32_t zero = -1;  // -1: zero point 0
    qdq::Quantization quantization;
  };

  const ir::Graph& graph() const { return editor_.graph(); }
  const ir::Node& target(const qdq::Unit& unit) const { return editor_.node(unit.target); }

  std::optional<End> EndOf(int32_t node) const {
    std::string unused;
    std::optional<qdq::Quantization> found =
        node < 0 ? std::nullopt : qdq::ReadQuantization(graph(), editor_.node(node), &unused);
    if (!found || found->block != 0 || found->scale.type != EP_TYPE_FLOAT) return {};
    const ir::Node& end = editor_.node(node);
    End made;
    made.value = qdq::IsQuantize(end) ? end.outputs[0] : end.inputs[0];
    made.scale = end.inputs[1];
    made.zero = end.HasInput(2) ? end.inputs[2] : -1;
    made.quantization = std::move(*found);
    return made;
  }

  bool Takes(const ir::Node& node) const { return !options_.takes || options_.takes(editor_, node); }

  void FuseUnit(const qdq::Unit& unit) {
    const std::string op_type = target(unit).op_type;
    if (op_type == "Conv") return FuseConv(unit);
    if (op_type == "MatMul" || op_type == "Gemm") return FuseProduct(unit);
    if (op_type == "AveragePool" || op_type == "GlobalAveragePool") return FuseAverage(unit);
    if (op_type == "Softmax") return FuseSoftmax(unit);
    if (qdq::IsClamp(target(unit)) && FuseClamp(unit)) return;
    const bool moves = qdq::FindRule(target(unit))->moves || IsAmong(kMoveBetweenEqual, op_type);
    if ((moves && FuseMove(unit)) || FuseElement(unit)) return;
    if (IsAmong(kJoins, op_type) || (moves && !ComputesBetween(target(unit)))) FuseJoin(unit);
  }

  // True when a Relu or Clip after the unit's operator limits the result. Only the kit's operators have such bounds.
  static bool HasBounds(const qdq::Unit& unit, const End& y) {
    return unit.clamp >= 0 && !unit.range.IsIdle(y.quantization.type);
  }
  static void AddBounds(const qdq::Unit& unit, ir::Node& fused) {
    fused.attributes.push_back(ir::Attribute::Int("low", unit.range.low));
    fused.attributes.push_back(ir::Attribute::Int("high", unit.range.high));
  }
  // Adds the quantisations as attributes: those of the inputs, then that of y. The rules ensure that each has one scale
  // and y's type.
  static void AddQuantizations(std::span<const End* const> ends, ir::Node& fused) {
    std::vector<float> scales;
    std::vector<int64_t> zeros;
    for (const End* end : ends) {
      scales.push_back(static_cast<float>(end->quantization.Scale(0)));
      zeros.push_back(end->quantization.ZeroPoint(0));
    }
    fused.attributes.push_back(ir::Attribute::Floats("scales", std::move(scales)));
    fused.attributes.push_back(ir::Attribute::Ints("zero_points", std::move(zeros)));
  }

  // --- products

  // Adds a constant of `count` equal bytes.
  int32_t AddBytes(const std::string& name, EpElementType type, Dims dims, int64_t number) {
    ir::Tensor tensor;
    tensor.type = type;
    tensor.dims = std::move(dims);
    const auto bytes = static_cast<size_t>(tensor.Bytes());
    const std::shared_ptr<void> owner = AllocateShared(bytes);
    std::memset(owner.get(), static_cast<int>(number & 255), bytes);
    tensor.data = owner.get();
    return editor_.AddTensor(name, std::move(tensor), owner);
  }

  int32_t ZeroOf(const End& end) {
    if (end.zero >= 0) return end.zero;
    return AddBytes(editor_.info(end.value).name + "_zero", end.quantization.type, end.quantization.scale.dims, 0);
  }

  int32_t AddBias(const std::string& name, const std::vector<int32_t>& bias) {
    ir::Tensor tensor;
    tensor.type = EP_TYPE_INT32;
    tensor.dims = {static_cast<int64_t>(bias.size())};
    const std::shared_ptr<void> owner = AllocateShared(bias.size() * sizeof(int32_t));
    if (!bias.empty()) std::memcpy(owner.get(), bias.data(), bias.size() * sizeof(int32_t));
    tensor.data = owner.get();
    return editor_.AddTensor(name, std::move(tensor), owner);
  }

  // The bias in steps of the sums, one for each of `channels`; empty if there is no bias. Returns nothing if the
  // conversion would be off by more than a quantum.
  std::optional<std::vector<int32_t>> BiasOf(const qdq::Unit& unit, const std::array<End, 3>& ends, int64_t channels) {
    std::string unused;
    std::optional<std::vector<int32_t>> bias = qdq::QuantizedBias(editor_, unit, &unused);
    if (!bias || bias->empty()) return bias;
    if (bias->size() == 1) bias->resize(static_cast<size_t>(channels), bias->front());
    if (bias->size() != static_cast<size_t>(channels)) return {};
    const std::optional<End> own = unit.dequantize.size() > 2 ? EndOf(unit.dequantize[2]) : std::nullopt;
    if (own && qdq::HasProductScale(own->quantization, ends[0].quantization, ends[1].quantization)) return bias;
    // The bias gets rounded to a step of the sums, which must not exceed a quantum of the result.
    const qdq::Quantization& w = ends[1].quantization;
    for (size_t i = 0; i < w.Count(); ++i)
      if (ends[0].quantization.Scale(0) * w.Scale(i) > ends[2].quantization.Scale(0)) return {};
    return bias;
  }

  // Reads input, weights and result. False if they are not bytes with float scales.
  bool ReadEnds(const qdq::Unit& unit, std::array<End, 3>* ends) const {
    const std::array<int32_t, 3> nodes = {unit.dequantize[0], unit.dequantize[1], unit.quantize[0]};
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::optional<End> end = EndOf(nodes[i]);
      if (!end) return false;
      (*ends)[i] = std::move(*end);
    }
    return true;
  }
  bool IsConstant(const End& end) const { return graph().FindConstant(end.value) != nullptr; }

  // True when float holds the factor of each scale. The float operators would not lose small factors.
  static bool HoldsFactors(const std::array<End, 3>& ends) {
    const qdq::Quantization &x = ends[0].quantization, &w = ends[1].quantization, &y = ends[2].quantization;
    for (size_t i = 0; i < w.Count(); ++i) {
      const double exact = x.Scale(0) * w.Scale(i) / y.Scale(0);
      const float factor = qdq::RequantizationFactor(static_cast<float>(x.Scale(0)), static_cast<float>(w.Scale(i)),
                                                     static_cast<float>(y.Scale(0)));
      if (!(std::fabs(static_cast<double>(factor) - exact) <= exact * 1e-6)) return false;
    }
    return true;
  }

  static int64_t Farthest(const qdq::Quantization& x) {
    return std::max(x.ZeroPoint(0) - qdq::LowestOf(x.type), qdq::HighestOf(x.type) - x.ZeroPoint(0));
  }

  // True when integers are as good as floats here: no input makes a sum overflow int32, and no factor is lost. Outputs
  // are along `axis` of the weights.
  bool HoldsSums(const std::array<End, 3>& ends, const std::vector<int32_t>& bias, size_t axis) const {
    if (!HoldsFactors(ends)) return false;
    const AxisView view(Dims(std::span<const int64_t>(editor_.info(ends[1].value).dims)), axis);
    return qdq::HoldsSums(graph(), ends[1].value, ends[0].quantization, ends[1].quantization, bias,
                          {view.size, [&](int64_t i) { return i / view.inner % view.size; }});
  }

  // Replaces the unit by `fused`, which has its name, attributes and type already.
  void PlaceProduct(const qdq::Unit& unit, ir::Node fused, const std::array<End, 3>& ends,
                    const std::vector<int32_t>& bias, size_t axis, bool of_kit) {
    if (HoldsSums(ends, bias, axis)) Place(unit, std::move(fused), ends, bias, of_kit);
  }
  void Place(const qdq::Unit& unit, ir::Node fused, const std::array<End, 3>& ends, const std::vector<int32_t>& bias,
             bool of_kit) {
    const std::string name = editor_.info(ends[2].value).name;
    fused.inputs.clear();
    for (const End& end : ends) {
      if (&end != &ends[2]) fused.inputs.push_back(end.value);
      fused.inputs.push_back(end.scale);
      fused.inputs.push_back(ZeroOf(end));
    }
    if (!bias.empty()) fused.inputs.push_back(AddBias(name + "_bias", bias));
    if (HasBounds(unit, ends[2])) {
      AddBounds(unit, fused);
      of_kit = true;
    }
    fused.domain = of_kit ? kDomain : "";
    fused.since_version = of_kit ? 1 : 10;
    fused.implicit_inputs.clear();
    fused.outputs = {ends[2].value};
    if (Takes(fused)) editor_.Replace(unit.target, std::move(fused));
  }

  void FuseConv(const qdq::Unit& unit) {
    std::array<End, 3> ends;
    if (!ReadEnds(unit, &ends) || !IsConstant(ends[1])) return;
    const ir::Value& w = editor_.info(ends[1].value);
    if (w.rank < 3 || !w.IsStatic()) return;
    const auto bias = BiasOf(unit, ends, w.dims[0]);
    if (!bias) return;
    ir::Node fused = target(unit);
    DropActivation(fused);
    DropOwnAttributes(fused);
    fused.op_type = kQLinearConv;
    PlaceProduct(unit, std::move(fused), ends, *bias, 0, false);
  }

  void FuseProduct(const qdq::Unit& unit) {
    std::array<End, 3> ends;
    if (!ReadEnds(unit, &ends)) return;
    if (!IsConstant(ends[1])) return FuseComputedProduct(unit, ends);
    const ir::Node& product = target(unit);
    const bool is_gemm = product.op_type == "Gemm";
    const bool transposed = is_gemm && product.Int("transB", 0) != 0;
    const ir::Value& b = editor_.info(ends[1].value);
    if (b.rank != 2 || !b.IsStatic()) return;
    std::vector<int32_t> bias;
    if (is_gemm) {
      if (product.Int("transA", 0) != 0 || product.Float("alpha", 1) != 1) return;
      const int64_t columns = b.dims[transposed ? 0 : 1];
      // A bias with one number for each row would be a column, which is not supported.
      if (product.HasInput(2)) {
        const ir::Value& c = editor_.info(product.inputs[2]);
        if (!c.IsStatic() || (c.rank == 2 && c.dims[0] != 1)) return;
      }
      auto found = BiasOf(unit, ends, columns);
      if (!found) return;
      bias = std::move(*found);
    }
    ir::Node fused;
    fused.op_type = kQLinearMatMul;
    fused.name = product.name;
    fused.handle = product.handle;
    if (transposed) fused.attributes.push_back(ir::Attribute::Int("transB", 1));
    const bool of_kit = transposed || !bias.empty();
    PlaceProduct(unit, std::move(fused), ends, bias, transposed ? 0 : 1, of_kit);
  }

  void FuseComputedProduct(const qdq::Unit& unit, const std::array<End, 3>& ends) {
    const ir::Node& product = target(unit);
    const qdq::Quantization &a = ends[0].quantization, &b = ends[1].quantization;
    if (!options_.computed_products || product.op_type != "MatMul" || HasBounds(unit, ends[2]) || !a.IsPerTensor() ||
        !b.IsPerTensor() || !HoldsFactors(ends))
      return;
    const ir::Value& info = editor_.info(ends[1].value);
    if (info.rank < 1) return;
    const int64_t depth = info.dims[static_cast<size_t>(std::max(info.rank - 2, 0))];
    constexpr int64_t kMostDepth = INT32_MAX / (255 * 255);
    if (depth < 0 || depth > kMostDepth || depth * Farthest(a) * Farthest(b) > INT32_MAX) return;
    ir::Node fused;
    fused.op_type = kQLinearMatMul;
    fused.name = product.name;
    fused.handle = product.handle;
    Place(unit, std::move(fused), ends, {}, false);
  }

  // --- operators that move elements

  // True for a Resize that interpolates between elements, or that uses a value of a float attribute.
  static bool ComputesBetween(const ir::Node& node) {
    return node.op_type == "Resize" && (node.String("mode", "nearest") != "nearest" ||
                                        node.String("coordinate_transformation_mode") == "tf_crop_and_resize");
  }

  bool FuseMove(const qdq::Unit& unit) {
    ir::Node moved = target(unit);
    if (ComputesBetween(moved)) return false;
    std::optional<End> first;
    const auto same = [&](int32_t node) {
      std::optional<End> end = EndOf(node);
      if (!end) return false;
      if (!first) first = end;
      return qdq::SameQuantization(first->quantization, end->quantization);
    };
    for (size_t i = 0; i < unit.dequantize.size(); ++i) {
      if (unit.dequantize[i] < 0) continue;
      if (!same(unit.dequantize[i])) return false;
      moved.inputs[i] = editor_.node(unit.dequantize[i]).inputs[0];
    }
    for (size_t i = 0; i < unit.quantize.size(); ++i) {
      if (unit.quantize[i] < 0) continue;
      if (!same(unit.quantize[i])) return false;
      moved.outputs[i] = editor_.node(unit.quantize[i]).outputs[0];
    }
    if (HasBounds(unit, *first) || !Takes(moved)) return false;
    editor_.Replace(unit.target, std::move(moved));
    return true;
  }

  // Makes an operator work on numbers of y's quantisation. Inputs with another quantisation are requantised first.
  void FuseJoin(const qdq::Unit& unit) {
    const std::optional<End> y = unit.quantize.size() == 1 ? EndOf(unit.quantize[0]) : std::nullopt;
    if (!y || target(unit).outputs.size() != 1 || HasBounds(unit, *y) || !y->quantization.IsPerTensor()) return;
    ir::Node joined = target(unit);
    joined.outputs = {y->value};
    std::vector<ir::Node> before;
    for (size_t i = 0; i < unit.dequantize.size(); ++i) {
      if (unit.dequantize[i] < 0) continue;
      const std::optional<End> x = EndOf(unit.dequantize[i]);
      if (!x || !x->quantization.IsPerTensor() || x->quantization.type != y->quantization.type) return;
      joined.inputs[i] = x->value;
      if (qdq::SameQuantization(x->quantization, y->quantization)) continue;
      before.push_back(Requantized(*x, *y, i));
      if (!Takes(before.back())) return;
      joined.inputs[i] = before.back().outputs[0];
    }
    if (!Takes(joined)) return;
    for (ir::Node& node : before) editor_.InsertBefore(unit.target, std::move(node));
    editor_.Replace(unit.target, std::move(joined));
  }

  // Makes a node that converts numbers of x to y's quantisation: a clip to the range of y.
  ir::Node Requantized(const End& x, const End& y, size_t index) {
    const auto real = [&](int64_t number) {
      return static_cast<float>(static_cast<double>(number - y.quantization.ZeroPoint(0)) * y.quantization.Scale(0));
    };
    ir::Node node;
    node.op_type = kQLinearElementwise;
    node.domain = kDomain;
    node.inputs = {x.value};
    const EpElementType type = y.quantization.type;
    WriteElementwiseProgram({{{ElementwiseOp::kClip, 0, -1, real(qdq::LowestOf(type)), real(qdq::HighestOf(type))}}},
                            node);
    AddQuantizations(std::array{&x, &y}, node);
    ir::Value value = editor_.info(x.value);
    value.name = editor_.info(y.value).name + "_input" + std::to_string(index);
    node.name = value.name;
    node.outputs = {editor_.AddValue(std::move(value))};
    return node;
  }

  // Fuses a Relu or Clip that stands alone.
  bool FuseClamp(const qdq::Unit& unit) {
    const std::optional<End> x = EndOf(unit.dequantize[0]), y = EndOf(unit.quantize[0]);
    if (!x || !y || unit.clamp >= 0 || !qdq::SameQuantization(x->quantization, y->quantization)) return false;
    std::string unused;
    std::vector<int32_t> bounds;
    const auto clamp = qdq::ReadClamp(editor_, target(unit), y->quantization, &bounds, &unused);
    if (!clamp || clamp->low > clamp->high) return false;
    const std::string name = editor_.info(y->value).name;
    ir::Node clip;
    clip.op_type = "Clip";
    clip.since_version = 13;
    clip.name = target(unit).name;
    clip.handle = target(unit).handle;
    clip.inputs = {x->value, AddBytes(name + "_low", y->quantization.type, {}, clamp->low),
                   AddBytes(name + "_high", y->quantization.type, {}, clamp->high)};
    clip.outputs = {y->value};
    if (!Takes(clip)) return false;
    editor_.Replace(unit.target, std::move(clip));
    return true;
  }

  // --- operators computed in float for each byte

  bool FuseElement(const qdq::Unit& unit) {
    const ir::Node& node = target(unit);
    const std::optional<ElementwiseStep> step = ElementwiseStepOf(editor_, unit.target);
    const std::optional<End> y = unit.quantize.size() == 1 ? EndOf(unit.quantize[0]) : std::nullopt;
    if (!step || !y || step->operands.empty() || step->operands.size() > 2) return false;
    std::array<End, 2> operands;
    std::vector<const End*> ends;
    ir::Node fused;
    ElementwiseProgram::Instruction instruction = {step->op, -1, -1, step->p0, step->p1};
    for (size_t i = 0; i < step->operands.size(); ++i) {
      const auto at = std::find(node.inputs.begin(), node.inputs.end(), step->operands[i]) - node.inputs.begin();
      const bool dequantized = static_cast<size_t>(at) < unit.dequantize.size();
      std::optional<End> x = dequantized ? EndOf(unit.dequantize[static_cast<size_t>(at)]) : std::nullopt;
      if (!x) return false;
      operands[i] = std::move(*x);
      ends.push_back(&operands[i]);
      fused.inputs.push_back(operands[i].value);
      (i == 0 ? instruction.a : instruction.b) = static_cast<int32_t>(2 * i);
    }
    fused.op_type = kQLinearElementwise;
    WriteElementwiseProgram({{instruction}}, fused);
    return PlaceQuantized(unit, std::move(fused), std::move(ends), *y);
  }

  void FuseAverage(const qdq::Unit& unit) {
    const std::optional<End> x = EndOf(unit.dequantize[0]), y = EndOf(unit.quantize[0]);
    if (!x || !y) return;
    ir::Node fused = target(unit);
    DropOwnAttributes(fused);
    if (fused.op_type == "GlobalAveragePool") fused.attributes.push_back(ir::Attribute::Int("global", 1));
    fused.op_type = kQLinearAveragePool;
    fused.inputs = {x->value};
    PlaceQuantized(unit, std::move(fused), {&*x}, *y);
  }

  void FuseSoftmax(const qdq::Unit& unit) {
    const ir::Node& softmax = target(unit);
    const std::optional<End> x = EndOf(unit.dequantize[0]), y = EndOf(unit.quantize[0]);
    if (!x || !y) return;
    const int32_t rank = editor_.info(x->value).rank;
    // Before version 13, softmax covers all dimensions from the axis on; for the last axis this is the same.
    const int64_t axis = softmax.Int("axis", softmax.since_version < 13 ? 1 : -1);
    if (rank < 1 || (axis != -1 && axis != rank - 1)) return;
    ir::Node fused;
    fused.op_type = kQLinearSoftmax;
    fused.inputs = {x->value};
    PlaceQuantized(unit, std::move(fused), {&*x}, *y);
  }

  // Fuses a LayerNormalization. It forms no unit, because its scale and bias stay floats.
  void FuseLayerNormalization(int32_t n) {
    const ir::Node& norm = editor_.node(n);
    if (norm.outputs.size() > 1 || norm.inputs.size() > 3 || norm.Int("stash_type", 1) != 1) return;
    const int32_t dequantize = editor_.Producer(norm.inputs[0]), quantize = editor_.OnlyReader(norm.outputs[0]);
    if (dequantize < 0 || quantize < 0 || !qdq::IsDequantize(editor_.node(dequantize)) ||
        !qdq::IsQuantize(editor_.node(quantize)) || editor_.node(quantize).inputs[0] != norm.outputs[0])
      return;
    const std::optional<End> x = EndOf(dequantize), y = EndOf(quantize);
    if (!x || !y || !x->quantization.IsPerTensor() || !y->quantization.IsPerTensor() ||
        qdq::BitsOf(x->quantization.type) != 8 || x->quantization.type != y->quantization.type)
      return;
    if (!std::all_of(norm.inputs.begin(), norm.inputs.end(), [&](int32_t i) { return i < 0 || editor_.IsFloat(i); }))
      return;
    // The fused operator has one scale and bias for all rows; ONNX's may have some for each row.
    const int32_t rank = editor_.info(x->value).rank;
    const int64_t axis = norm.Int("axis", -1);
    const int64_t row_rank = axis < 0 ? -axis : rank - axis;
    if (rank < 0 && axis >= 0) return;
    for (size_t i = 1; i < norm.inputs.size(); ++i)
      if (norm.inputs[i] >= 0 && editor_.info(norm.inputs[i]).rank > row_rank) return;
    ir::Node fused = norm;
    DropOwnAttributes(fused);
    fused.op_type = kQLinearLayerNormalization;
    fused.inputs[0] = x->value;
    qdq::Unit alone;
    alone.target = n;
    PlaceQuantized(alone, std::move(fused), {&*x}, *y);
  }

  // Replaces the unit by `fused`, which has its type, inputs and attributes already, except the quantisations.
  bool PlaceQuantized(const qdq::Unit& unit, ir::Node fused, std::vector<const End*> ends, const End& y) {
    ends.push_back(&y);
    AddQuantizations(ends, fused);
    if (HasBounds(unit, y)) AddBounds(unit, fused);
    fused.domain = kDomain;
    fused.since_version = 1;
    fused.name = target(unit).name;
    fused.handle = target(unit).handle;
    fused.outputs = {y.value};
    if (!Takes(fused)) return false;
    editor_.Replace(unit.target, std::move(fused));
    return true;
  }

  ir::Editor& editor_;
  const QuantizedOptions& options_;
};

}  // namespace

void FuseQuantized(ir::Editor& editor, const QuantizedOptions& options) { Fuser(editor, options).Run(); }

}  // namespace epiphyte::kit::fuse
