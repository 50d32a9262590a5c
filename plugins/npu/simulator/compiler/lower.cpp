#include "plugins/npu/simulator/compiler/lower.h"

#include <algorithm>

#include "plugins/npu/simulator/compiler/boxes.h"

namespace epiphyte::npusim {
namespace {

bool IsImageOp(uint32_t kind) {
  return kind == NSDK_CONV || kind == NSDK_CONV_TRANSPOSE || kind == NSDK_MAX_POOL || kind == NSDK_AVERAGE_POOL ||
         kind == NSDK_RESIZE;
}

bool IsArrayOp(uint32_t kind) { return kind == NSDK_CONV || kind == NSDK_CONV_TRANSPOSE || kind == NSDK_MATMUL; }

bool IsBinary(uint32_t kind) { return kind >= NSDK_ADD && kind <= NSDK_MINIMUM; }

// Kinds with a result in the layout of an input of the same rank.
bool KeepsLayout(uint32_t kind) {
  return IsBinary(kind) || kind == NSDK_LOOKUP || kind == NSDK_RESCALE || kind == NSDK_CONCAT || kind == NSDK_SLICE ||
         kind == NSDK_PAD || kind == NSDK_SOFTMAX;
}

std::vector<uint32_t> KeysOf(uint32_t kind) {
  switch (kind) {
    case NSDK_CONV: return {NSDK_STRIDES, NSDK_PADS, NSDK_DILATIONS, NSDK_GROUPS};
    case NSDK_CONV_TRANSPOSE: return {NSDK_STRIDES, NSDK_PADS, NSDK_DILATIONS, NSDK_GROUPS, NSDK_OUTPUT_PADS};
    case NSDK_MATMUL: return {NSDK_TRANSPOSE_A, NSDK_TRANSPOSE_B};
    case NSDK_MAX_POOL: return {NSDK_KERNEL, NSDK_STRIDES, NSDK_PADS, NSDK_DILATIONS};
    case NSDK_AVERAGE_POOL: return {NSDK_KERNEL, NSDK_STRIDES, NSDK_PADS, NSDK_COUNT_PADS};
    case NSDK_CONCAT:
    case NSDK_SOFTMAX: return {NSDK_AXIS};
    case NSDK_SLICE: return {NSDK_STARTS, NSDK_STEPS};
    case NSDK_PAD: return {NSDK_PADS, NSDK_VALUE};
    case NSDK_TRANSPOSE: return {NSDK_PERM};
    case NSDK_RESIZE: return {NSDK_MODE, NSDK_COORDINATES, NSDK_ROUNDING, NSDK_SCALES};
    case NSDK_LAYER_NORM: return {NSDK_AXIS, NSDK_EPSILON};
    case NSDK_REDUCE_MEAN: return {NSDK_AXES};
    default: return {};
  }
}

}  // namespace

void Refuse(const std::string& what) { throw Unsupported(what); }
void Wrong(const Op& op, const std::string& what) { throw InvalidGraph("\"" + op.name + "\": " + what); }

void CheckSize(const Tensor& tensor) {
  if (tensor.dims.size() > kMaxRank) {
    Refuse("a tensor has shape " + ShapeText(tensor.dims) + ", the NPU has at most " + std::to_string(kMaxRank) +
           " dimensions");
  }
  int64_t elements = 1;
  for (const int64_t dim : tensor.dims) {
    elements = dim > kMaxDimension ? kMaxElements + 1 : std::min(elements * dim, kMaxElements + 1);
  }
  if (elements > kMaxElements) {
    Refuse("a tensor has shape " + ShapeText(tensor.dims) + ", the NPU has dimensions of up to 2^24 and 2^30 elements");
  }
}

double CheckFactor(double factor) {
  if (!(std::abs(factor) < 1 << 28)) {
    Refuse("the input's scales are " + std::to_string(factor) + " times the result's, at most 2^28 can be");
  }
  return factor;
}

Lowering::Lowering(const Graph& graph, const Config& config, bool fusion)
    : graph_(graph),
      config_(config),
      fusion_(fusion),
      views_(graph.tensors.size()),
      channels_last_(graph.tensors.size()),
      uses_(graph.tensors.size()),
      output_index_(graph.tensors.size(), -1),
      fused_(graph.ops.size()),
      is_fused_(graph.ops.size()) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) output_index_[graph.outputs[i]] = static_cast<int32_t>(i);
  for (const Op& op : graph.ops) {
    for (const uint32_t input : op.inputs) {
      if (input != NSDK_NONE) ++uses_[input];
    }
    for (const uint32_t output : op.outputs) {
      const size_t rank = graph.tensors[output].dims.size();
      const bool image = rank == 3 || rank == 4;
      bool last = image && IsImageOp(op.kind);
      if (image && KeepsLayout(op.kind)) {
        for (const uint32_t input : op.inputs) {
          last = last || (input != NSDK_NONE && channels_last_[input] && graph.tensors[input].dims.size() == rank);
        }
      }
      channels_last_[output] = last;
    }
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Tensor& tensor = graph.tensors[graph.inputs[i]];
    View& view = views_[graph.inputs[i]];
    const auto bytes = static_cast<uint64_t>(tensor.Elements()) * ElementSize(tensor.type);
    view.storage = AddStorage({Storage::kInput, static_cast<uint32_t>(i), bytes, 0});
    view.dims = tensor.dims;
    view.strides = RowMajorStrides(tensor.dims);
  }
}

StorageId Lowering::AddStorage(Storage storage) {
  lowered_.storages.push_back(storage);
  return static_cast<StorageId>(lowered_.storages.size() - 1);
}

View Lowering::ViewOf(uint32_t tensor) {
  View& view = views_[tensor];
  if (view.storage == kNoStorage) {
    const Tensor& constant = graph_.tensors[tensor];
    const auto bytes = static_cast<uint64_t>(constant.Elements());
    const uint64_t at = lowered_.weights.Add(bytes, [&constant](const WeightStore::Made& made) {
      std::vector<std::byte> copy;
      copy.reserve(constant.data.size());
      for (auto rest = constant.data; !rest.empty(); rest = rest.subspan(std::min(rest.size(), WeightStore::kStep))) {
        const auto step = rest.first(std::min(rest.size(), WeightStore::kStep));
        made(copy.size());
        copy.insert(copy.end(), step.begin(), step.end());
      }
      return copy;
    });
    view.storage = AddStorage({Storage::kConstant, 0, bytes, at});
    view.dims = constant.dims;
    view.strides = RowMajorStrides(constant.dims);
  }
  return view;
}

std::vector<View> Lowering::TargetsOf(uint32_t tensor) {
  const std::vector<int64_t>& dims = graph_.tensors[tensor].dims;
  std::vector<View> targets;
  if (uses_[tensor] != 0 || output_index_[tensor] < 0) {
    View view{kNoStorage, 0, dims, RowMajorStrides(dims)};
    int64_t bytes = graph_.tensors[tensor].Elements();
    if (channels_last_[tensor]) {
      // The layout is [batch][space...][channels], with channels in whole bricks.
      int64_t stride = dims[1] > config_.columns ? RoundUp(static_cast<uint32_t>(dims[1]), config_.columns) : dims[1];
      view.strides[1] = 1;
      for (size_t i = dims.size(); i-- > 2;) {
        view.strides[i] = stride;
        stride *= dims[i];
      }
      view.strides[0] = stride;
      bytes = stride * dims[0];
    }
    view.storage = AddStorage({Storage::kInternal, 0, static_cast<uint64_t>(bytes), 0});
    views_[tensor] = view;
    targets.push_back(view);
  }
  if (output_index_[tensor] >= 0) {
    View view{kNoStorage, 0, dims, RowMajorStrides(dims)};
    view.storage = AddStorage({Storage::kOutput, static_cast<uint32_t>(output_index_[tensor]),
                               static_cast<uint64_t>(graph_.tensors[tensor].Elements()), 0});
    targets.push_back(view);
  }
  return targets;
}

ImageView Lowering::ImageOf(const View& view, uint32_t groups, int64_t group_channels) const {
  ImageView image;
  image.storage = view.storage;
  image.channel = view.strides[1];
  image.pixel = view.dims.size() == 4 ? view.strides[3] : view.strides[2];
  image.row = view.dims.size() == 4 ? view.strides[2] : 0;
  for (int64_t n = 0; n < view.dims[0]; ++n) {
    for (uint32_t g = 0; g < groups; ++g) {
      image.base.push_back(view.offset + n * view.strides[0] + g * group_channels * view.strides[1]);
    }
  }
  return image;
}

void Lowering::CheckCounts(const Op& op, size_t least, size_t most) const {
  if (op.inputs.size() < least || op.inputs.size() > most) {
    Wrong(op, std::string(KindName(op.kind)) + " has " + std::to_string(op.inputs.size()) + " inputs, expected " +
                  std::to_string(least) + (least == most ? "" : " to " + std::to_string(most)));
  }
  for (size_t i = 0; i < least; ++i) {
    if (op.inputs[i] == NSDK_NONE) Wrong(op, "input " + std::to_string(i) + " is missing");
  }
  if (op.outputs.size() != 1) {
    Wrong(op, "it has " + std::to_string(op.outputs.size()) + " outputs, expected 1");
  }
}

Quant Lowering::QuantOf(const Tensor& tensor, const char* what) const {
  if (tensor.type != NSDK_INT8 && tensor.type != NSDK_UINT8) {
    Refuse(std::string(what) + " is " + TypeName(tensor.type) + ", the NPU has int8 and uint8");
  }
  if (tensor.scales.size() > 1) Refuse(std::string(what) + " has a scale for each channel, only weights may");
  if (tensor.scales.empty()) Refuse(std::string(what) + " isn't quantised");
  return {tensor.type == NSDK_INT8 ? Type::kInt8 : Type::kUint8, tensor.Scale(), tensor.ZeroPoint()};
}

Bounds Lowering::BoundsOf(const Op& op, Type type) const {
  const Bounds range = type == Type::kInt8 ? Bounds{-128, 127} : Bounds{0, 255};
  const int64_t low = std::clamp<int64_t>(op.Int(NSDK_LOW, range.low), range.low, range.high);
  const int64_t high = std::clamp<int64_t>(op.Int(NSDK_HIGH, range.high), range.low, range.high);
  if (low > high) Refuse("the least result is " + std::to_string(low) + ", the most is " + std::to_string(high));
  return {static_cast<int32_t>(low), static_cast<int32_t>(high)};
}

void Lowering::CheckKeys(const Op& op) const {
  const std::vector<uint32_t> keys = KeysOf(op.kind);
  for (const auto& [key, param] : op.params) {
    if (key == NSDK_LOW || key == NSDK_HIGH) continue;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      Refuse(std::string(KindName(op.kind)) + " has parameter " + std::to_string(key) + ", which isn't one of its own");
    }
    (void)param;
  }
}

void Lowering::FindFusions() {
  // By tensor: the array operator that has this tensor as its last fused result.
  std::vector<int64_t> tail(graph_.tensors.size(), -1);
  for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    if (op.outputs.size() != 1) continue;
    const auto keeps = [&](uint32_t tensor, int64_t head) {
      if (uses_[tensor] == 1 && output_index_[tensor] < 0) tail[tensor] = head;
    };
    if (IsArrayOp(op.kind)) {
      keeps(op.outputs[0], i);
      continue;
    }
    const bool binary = IsBinary(op.kind) && op.inputs.size() == 2;
    if (!binary && !(op.kind == NSDK_LOOKUP && op.inputs.size() == 2)) continue;
    int64_t head = -1;
    for (size_t j = 0; j < (binary ? 2 : 1); ++j) {
      const uint32_t input = op.inputs[j], other = op.inputs[binary ? 1 - j : j];
      if (input == NSDK_NONE || other == NSDK_NONE || tail[input] <= head) continue;
      if (!binary && !fused_[tail[input]].empty()) continue;
      if (binary && (graph_.tensors[other].dims != graph_.tensors[op.outputs[0]].dims || other == input)) continue;
      if (graph_.tensors[input].dims != graph_.tensors[op.outputs[0]].dims) continue;
      if (fused_[tail[input]].size() >= 2) continue;
      head = tail[input];
    }
    if (head < 0) continue;
    fused_[head].push_back(i);
    is_fused_[i] = true;
    keeps(op.outputs[0], head);
  }
}

uint32_t Lowering::FinalOutput(const Op& op) const {
  const auto& fused = fused_[&op - graph_.ops.data()];
  return (fused.empty() ? op : graph_.ops[fused.back()]).outputs[0];
}

void Lowering::LowerOp(const Op& op) {
  for (const auto* list : {&op.inputs, &op.outputs}) {
    for (const uint32_t i : *list) {
      if (i != NSDK_NONE) CheckSize(graph_.tensors[i]);
    }
  }
  CheckKeys(op);
  switch (op.kind) {
    case NSDK_CONV:
    case NSDK_CONV_TRANSPOSE: return LowerConv(op);
    case NSDK_MATMUL: return LowerMatMul(op);
    case NSDK_MAX_POOL:
    case NSDK_AVERAGE_POOL: return LowerPool(op);
    case NSDK_ADD:
    case NSDK_SUB:
    case NSDK_MUL:
    case NSDK_MAXIMUM:
    case NSDK_MINIMUM: return LowerElementwise(op);
    case NSDK_LOOKUP: return LowerLookup(op);
    case NSDK_RESCALE: return LowerRescale(op);
    case NSDK_CONCAT: return LowerConcat(op);
    case NSDK_SLICE: return LowerSlice(op);
    case NSDK_PAD: return LowerPad(op);
    case NSDK_RESHAPE: return LowerReshape(op);
    case NSDK_TRANSPOSE: return LowerTranspose(op);
    case NSDK_RESIZE: return LowerResize(op);
    case NSDK_SOFTMAX: return LowerSoftmax(op);
    case NSDK_LAYER_NORM: return LowerLayerNorm(op);
    case NSDK_REDUCE_MEAN: return LowerReduceMean(op);
    default: Refuse("the NPU has no operator of kind " + std::to_string(op.kind));
  }
}

Lowered Lowering::Run(const std::function<void()>& tick) {
  if (fusion_) FindFusions();
  // An operator with fused operators is lowered at the position of the last of them, because all their inputs exist
  // there.
  std::vector<uint32_t> at(graph_.ops.size());
  for (uint32_t i = 0; i < graph_.ops.size(); ++i) at[i] = fused_[i].empty() ? i : fused_[i].back();
  std::vector<int64_t> head(graph_.ops.size(), -1);
  for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
    if (!is_fused_[i]) head[at[i]] = i;
  }
  for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
    if (tick && i % 256 == 0) tick();
    if (head[i] < 0) continue;
    const Op& op = graph_.ops[head[i]];
    try {
      LowerOp(op);
    } catch (const Unsupported& e) {
      throw Unsupported(std::string(KindName(op.kind)) + " \"" + op.name + "\": " + e.what());
    }
  }
  // Handles outputs that no operator writes.
  for (const uint32_t output : graph_.outputs) {
    const bool input = std::find(graph_.inputs.begin(), graph_.inputs.end(), output) != graph_.inputs.end();
    if (!input && !graph_.tensors[output].constant) continue;
    if (ElementSize(graph_.tensors[output].type) != 1) {
      Refuse("output \"" + graph_.tensors[output].name + "\" is an input or a constant of " +
             TypeName(graph_.tensors[output].type) + ", the NPU has int8 and uint8");
    }
    const View from = ViewOf(output);
    View to{AddStorage({Storage::kOutput, static_cast<uint32_t>(output_index_[output]),
                        static_cast<uint64_t>(graph_.tensors[output].Elements()), 0}),
            0, from.dims, from.strides};
    auto layer = std::make_unique<MapLayer>();
    MapPiece piece;
    piece.extents = from.dims;
    piece.inputs = {{from.storage, from.offset, from.strides}};
    piece.targets = {{to.storage, 0, to.strides}};
    layer->pieces.push_back(piece);
    AddMapAccess(*layer);
    lowered_.layers.push_back(std::move(layer));
  }
  return std::move(lowered_);
}

Lowered Lower(const Graph& graph, const Config& config, bool fusion, const std::function<void()>& tick) {
  return Lowering(graph, config, fusion).Run(tick);
}

}  // namespace epiphyte::npusim
