#include "test_graph.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace epiphyte::nsdk_conformance {
namespace {

// Divides a mapping into pieces. Without a mapping (null) it only counts the bytes that are needed.
class Pieces {
 public:
  explicit Pieces(char* memory) : memory_(memory) {}
  char* Take(size_t size) {
    char* piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (size + 15) / 16 * 16;
    return piece;
  }
  template <typename T>
  const T* Copy(const std::vector<T>& values) {
    if (values.empty()) return nullptr;
    char* to = Take(values.size() * sizeof(T));
    if (to != nullptr) std::memcpy(to, values.data(), values.size() * sizeof(T));
    return reinterpret_cast<const T*>(to);
  }
  const char* Copy(const std::string& text) {
    char* to = Take(text.size() + 1);
    if (to != nullptr) std::memcpy(to, text.c_str(), text.size() + 1);
    return to;
  }
  // Copies structs as a caller with a newer header passes them: each is followed by `longer_by` bytes, none of which is
  // zero.
  template <typename T>
  const T* Copy(std::vector<T> values, size_t longer_by) {
    const size_t stride = sizeof(T) + longer_by;
    if (values.empty()) return nullptr;
    char* to = Take(values.size() * stride);
    for (size_t i = 0; i < values.size() && to != nullptr; ++i) {
      values[i].struct_size = static_cast<uint32_t>(stride);
      std::memcpy(to + i * stride, &values[i], sizeof(T));
      std::memset(to + i * stride + sizeof(T), 0xA5, longer_by);
    }
    return reinterpret_cast<const T*>(to);
  }
  size_t used() const { return used_; }

 private:
  char* memory_;
  size_t used_ = 0;
};

const NsdkGraph* Place(Pieces& pieces, const TestGraph& graph, const ViewOptions& options) {
  std::vector<NsdkTensor> tensors;
  for (const TestTensor& tensor : graph.tensors) {
    NsdkTensor view = {};
    view.type = tensor.type;
    view.name = pieces.Copy(tensor.name);
    view.rank = static_cast<uint32_t>(tensor.dims.size());
    view.scale_count = static_cast<uint32_t>(tensor.scales.size());
    view.dims = pieces.Copy(tensor.dims);
    view.scales = pieces.Copy(tensor.scales);
    view.zero_points = pieces.Copy(tensor.zero_points);
    view.axis = tensor.axis;
    view.data = options.constant_data ? pieces.Copy(tensor.data) : nullptr;
    view.data_size = tensor.data.size();
    tensors.push_back(view);
  }
  std::vector<NsdkOp> ops;
  for (const TestOp& op : graph.ops) {
    std::vector<NsdkParam> params;
    for (const auto& [key, numbers] : op.ints) {
      params.push_back({0, key, static_cast<uint32_t>(numbers.size()), 0, pieces.Copy(numbers), nullptr});
    }
    for (const auto& [key, numbers] : op.floats) {
      params.push_back({0, key, 0, static_cast<uint32_t>(numbers.size()), nullptr, pieces.Copy(numbers)});
    }
    NsdkOp view = {};
    view.kind = op.kind;
    view.name = pieces.Copy(op.name);
    view.input_count = static_cast<uint32_t>(op.inputs.size());
    view.output_count = static_cast<uint32_t>(op.outputs.size());
    view.inputs = pieces.Copy(op.inputs);
    view.outputs = pieces.Copy(op.outputs);
    view.param_count = static_cast<uint32_t>(params.size());
    view.params = pieces.Copy(std::move(params), options.longer_by);
    ops.push_back(view);
  }
  NsdkGraph view = {};
  view.tensor_count = static_cast<uint32_t>(tensors.size());
  view.name = pieces.Copy(graph.name);
  view.tensors = pieces.Copy(std::move(tensors), options.longer_by);
  view.op_count = static_cast<uint32_t>(ops.size());
  view.ops = pieces.Copy(std::move(ops), options.longer_by);
  view.input_count = static_cast<uint32_t>(graph.inputs.size());
  view.inputs = pieces.Copy(graph.inputs);
  view.outputs = pieces.Copy(graph.outputs);
  view.output_count = static_cast<uint32_t>(graph.outputs.size());
  return pieces.Copy(std::vector<NsdkGraph>{view}, options.longer_by);
}

}  // namespace

uint64_t SizeOf(uint32_t type) {
  switch (type) {
    case NSDK_INT8:
    case NSDK_UINT8: return 1;
    case NSDK_INT16:
    case NSDK_UINT16: return 2;
    default: return 4;
  }
}

TypeRange RangeOf(uint32_t type) {
  switch (type) {
    case NSDK_INT8: return {-128, 127};
    case NSDK_UINT8: return {0, 255};
    case NSDK_INT16: return {-32768, 32767};
    case NSDK_UINT16: return {0, 65535};
    default: return {INT32_MIN, INT32_MAX};
  }
}

int64_t TestTensor::Elements() const {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

uint64_t TestTensor::Size() const { return static_cast<uint64_t>(Elements()) * SizeOf(type); }

float TestTensor::Scale(size_t channel) const { return scales.empty() ? 1 : scales[scales.size() == 1 ? 0 : channel]; }

int32_t TestTensor::ZeroPoint(size_t channel) const {
  return zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : channel];
}

int64_t TestOp::Int(uint32_t key, int64_t otherwise) const {
  const auto found = ints.find(key);
  return found == ints.end() || found->second.empty() ? otherwise : found->second[0];
}

std::vector<int64_t> TestOp::Ints(uint32_t key, size_t count, int64_t otherwise) const {
  const auto found = ints.find(key);
  return found == ints.end() ? std::vector<int64_t>(count, otherwise) : found->second;
}

uint32_t TestGraph::AddTensor(TestTensor tensor) {
  tensors.push_back(std::move(tensor));
  return static_cast<uint32_t>(tensors.size() - 1);
}

uint32_t TestGraph::AddInput(TestTensor tensor) {
  inputs.push_back(AddTensor(std::move(tensor)));
  return inputs.back();
}

int64_t StoredAt(uint32_t type, const Bytes& bytes, size_t index) {
  const auto read = [&]<typename T>(T value) -> int64_t {
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
  };
  switch (type) {
    case NSDK_INT8: return read(int8_t{});
    case NSDK_UINT8: return read(uint8_t{});
    case NSDK_INT16: return read(int16_t{});
    case NSDK_UINT16: return read(uint16_t{});
    default: return read(int32_t{});
  }
}

void Store(uint32_t type, Bytes& bytes, size_t index, int64_t number) {
  const size_t size = SizeOf(type);
  std::memcpy(bytes.data() + index * size, &number, size);  // little endian, as all of nsdk.h
}

Bytes RandomBytes(const TestTensor& tensor, std::mt19937& random) {
  Bytes bytes(tensor.Size());
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

std::vector<Bytes> RandomInputs(const TestGraph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Bytes> inputs;
  for (const uint32_t input : graph.inputs) inputs.push_back(RandomBytes(graph.tensors[input], random));
  return inputs;
}

NsdkView::NsdkView(const TestGraph& graph, ViewOptions options) {
  Pieces counted(nullptr);
  Place(counted, graph, options);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_ = (counted.used() + page - 1) / page * page;
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory for a graph");
  memory_ = static_cast<char*>(memory);
  Pieces pieces(memory_);
  graph_ = Place(pieces, graph, options);
  if (options.read_only) mprotect(memory_, size_, PROT_READ);
}

NsdkView::~NsdkView() { munmap(memory_, size_); }

}  // namespace epiphyte::nsdk_conformance
