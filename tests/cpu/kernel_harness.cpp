#include "tests/cpu/kernel_harness.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "plugins/cpu/onednn/layout.h"
#include "tests/framework/guarded_memory.h"

namespace epiphyte::test {
namespace {

using cpu::Datum;
using cpu::ElementType;
using cpu::Tensor;

// Kernels may rely on this alignment, in bytes, of scratch memory and packed data. Tensors are aligned as their
// elements.
constexpr uint64_t kAlignment = 64;

Datum Allocate(ElementType type, std::span<const int64_t> dims) {
  Datum datum;
  datum.kind = Datum::Kind::kTensor;
  datum.tensor.type = type;
  datum.tensor.dims = cpu::Dims(dims);
  const int64_t count = datum.tensor.Count();
  for (int64_t dim : dims) {
    if (dim < 0) throw std::runtime_error("a kernel asked for an output with a negative dimension");
  }
  if (type == EP_TYPE_STRING) {
    datum.tensor.strings = std::make_shared<std::vector<std::string>>(static_cast<size_t>(count));
  } else {
    datum.owner = GuardedMemory(datum.tensor.Bytes());
    datum.tensor.data = datum.owner.get();
  }
  return datum;
}

Datum Copy(const Datum& source) {
  if (source.kind != Datum::Kind::kTensor) return source;
  Datum copy = Allocate(source.tensor.type, source.tensor.dims);
  if (source.tensor.type == EP_TYPE_STRING) {
    *copy.tensor.strings = *source.tensor.strings;
  } else {
    std::memcpy(copy.tensor.data, source.tensor.data, source.tensor.Bytes());
  }
  return copy;
}

Datum Plain(const Datum& laid_out) {
  Datum plain = Allocate(laid_out.tensor.type, laid_out.tensor.dims);
  cpu::ReorderToRowMajor(laid_out.tensor, plain.tensor.data);
  return plain;
}

Datum Reordered(const Datum& plain, const cpu::AxisOrder& order) {
  Datum copy = Copy(plain);
  Tensor& tensor = copy.tensor;
  tensor.layout = cpu::MakeLayout(order, tensor.type, tensor.dims);
  if (tensor.layout)
    cpu::Reorder(cpu::PlainDesc(tensor.type, tensor.dims), plain.tensor.data, tensor.layout->desc, tensor.data);
  return copy;
}

void RunShares(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  const int64_t share = std::max<int64_t>(grain, 1);
  const int64_t shares = std::max<int64_t>(count / share, 1);  // the last share includes the remainder
  for (int64_t i = shares; i-- > 0;) body(i * share, i + 1 == shares ? count : (i + 1) * share);
}

}  // namespace

Datum MakeDatum(ElementType type, const Shape& dims, const void* bytes) {
  Datum datum = Allocate(type, dims);
  if (bytes != nullptr && datum.tensor.Bytes() != 0) std::memcpy(datum.tensor.data, bytes, datum.tensor.Bytes());
  return datum;
}

Datum MakeSequence(ElementType type, std::vector<Datum> elements) {
  Datum datum;
  datum.kind = Datum::Kind::kSequence;
  datum.sequence_type = type;
  datum.elements = std::make_shared<std::vector<Datum>>(std::move(elements));
  return datum;
}

Datum MakeEmptyOptional() {
  Datum datum;
  datum.kind = Datum::Kind::kEmptyOptional;
  return datum;
}

const cpu::KernelRegistry& AllKernels() {
  static const cpu::KernelRegistry* const registry = [] {
    auto* made = new cpu::KernelRegistry;
    cpu::RegisterAllKernels(*made);
    return made;
  }();
  return *registry;
}

class OpRunner::Init : public cpu::KernelInit {
 public:
  explicit Init(OpRunner& runner) : runner_(runner), inputs_(runner.InputInfos()) {
    for (ElementType type : runner.output_types_) {
      kit::ir::Value info;
      info.kind = EP_KIND_TENSOR;
      info.type = type;
      outputs_.push_back(info);
    }
  }

  const kit::ir::Node& node() const override { return runner_.node_; }
  const kit::ir::Value& InputInfo(size_t i) const override { return i < inputs_.size() ? inputs_[i] : unknown_; }
  const kit::ir::Value& OutputInfo(size_t i) const override { return i < outputs_.size() ? outputs_[i] : unknown_; }
  bool HasInput(size_t i) const override {
    return i < runner_.inputs_.size() && runner_.inputs_[i].kind != Datum::Kind::kAbsent;
  }
  const Tensor* Constant(size_t i) const override {
    return HasInput(i) && runner_.constant_[i] ? &runner_.inputs_[i].tensor : nullptr;
  }
  const void* Packed(std::string_view key, std::string_view format, uint64_t bytes,
                     const std::function<void(void*)>& fill) const override {
    (void)key, (void)format;
    runner_.packed_.push_back(GuardedMemory(bytes, kAlignment));
    fill(runner_.packed_.back().get());
    return runner_.packed_.back().get();
  }
  void Drop(size_t) const override {}
  uint32_t thread_count() const override { return 2; }
  void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) const override {
    RunShares(count, grain, body);
  }

 private:
  OpRunner& runner_;
  std::vector<kit::ir::Value> inputs_;
  std::vector<kit::ir::Value> outputs_;
  kit::ir::Value unknown_;
};

class OpRunner::Context : public cpu::OpContext {
 public:
  explicit Context(OpRunner& runner) : runner_(runner), outputs_(runner.output_present_.size()) {
    for (const Datum& input : runner.inputs_) {
      const auto order = runner.orders_.find(inputs_.size());
      inputs_.push_back(order != runner.orders_.end() ? Reordered(input, order->second) : Copy(input));
    }
    plain_.resize(inputs_.size());
  }

  size_t InputCount() const override { return inputs_.size(); }
  size_t OutputCount() const override { return outputs_.size(); }
  bool HasInput(size_t i) const override { return i < inputs_.size() && inputs_[i].kind != Datum::Kind::kAbsent; }
  bool HasOutput(size_t i) const override { return i < outputs_.size() && runner_.output_present_[i]; }
  const Tensor& Input(size_t i) override {
    if (!HasInput(i)) cpu::FailOp("input {} is missing", i);
    if (inputs_[i].kind != Datum::Kind::kTensor) cpu::FailOp("input {} is no tensor", i);
    if (!inputs_[i].tensor.layout) return inputs_[i].tensor;
    if (plain_[i].kind == Datum::Kind::kAbsent) {
      plain_[i] = Plain(inputs_[i]);
      ++reorders_;
    }
    return plain_[i].tensor;
  }
  const Tensor& AnyLayoutInput(size_t i) override {
    return HasInput(i) && inputs_[i].tensor.layout ? inputs_[i].tensor : Input(i);
  }
  bool WantsRowMajor(size_t) const override { return runner_.orders_.empty(); }
  const Datum& InputDatum(size_t i) override {
    if (!HasInput(i)) cpu::FailOp("input {} is missing", i);
    return inputs_[i];
  }
  Tensor& Output(size_t i, ElementType type, std::span<const int64_t> dims) override {
    Datum datum = Allocate(type, dims);
    if (!HasOutput(i)) {
      scratch_.push_back(std::make_unique<Datum>(std::move(datum)));
      return scratch_.back()->tensor;
    }
    outputs_[i] = std::move(datum);
    return outputs_[i].tensor;
  }
  Tensor& OutputWithLayout(size_t i, ElementType type, std::span<const int64_t> dims,
                           std::shared_ptr<const cpu::Layout> layout, uint64_t bytes) override {
    Datum& datum = outputs_.at(i);
    datum = Datum();
    datum.kind = Datum::Kind::kTensor;
    datum.owner = GuardedMemory(bytes);
    datum.tensor.type = type;
    datum.tensor.dims = cpu::Dims(dims);
    datum.tensor.data = datum.owner.get();
    datum.tensor.layout = std::move(layout);
    return datum.tensor;
  }
  Tensor* OutputInPlace(size_t i, size_t j, ElementType type, std::span<const int64_t> dims) override {
    if (!runner_.in_place_ || !HasOutput(i) || !HasInput(j) || type == EP_TYPE_STRING) return nullptr;
    const Tensor& input = inputs_[j].tensor;
    if (cpu::ElementBytes(type, static_cast<uint64_t>(cpu::Dims(dims).Count())) != input.Bytes()) return nullptr;
    if (input.layout && plain_[j].kind != Datum::Kind::kAbsent) return nullptr;
    outputs_[i] = inputs_[j];
    outputs_[i].tensor.type = type;
    outputs_[i].tensor.dims = cpu::Dims(dims);
    return &outputs_[i].tensor;
  }
  void OutputAlias(size_t i, size_t j, std::span<const int64_t> dims) override {
    if (!HasOutput(i)) return;
    const Datum& input = inputs_.at(j);
    outputs_[i] = input.tensor.layout ? Plain(input) : runner_.in_place_ ? input : Copy(input);
    outputs_[i].tensor.dims = cpu::Dims(dims);
  }
  void SetOutput(size_t i, Datum datum) override {
    if (HasOutput(i)) outputs_[i] = std::move(datum);
  }
  void* Scratch(uint64_t bytes) override {
    memory_.push_back(GuardedMemory(bytes, kAlignment));
    return memory_.back().get();
  }
  void CountMemory(uint64_t) override {}
  uint32_t thread_count() const override { return 2; }
  void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) override {
    RunShares(count, grain, body);
  }

  std::vector<Datum> TakeOutputs() { return std::move(outputs_); }
  int reorders() const { return reorders_; }

 protected:
  std::shared_ptr<void>& StateSlot() override { return runner_.state_; }

 private:
  OpRunner& runner_;
  std::vector<Datum> inputs_;
  std::vector<Datum> plain_;  // row-major copies of inputs in another order, made when a kernel asks for them
  int reorders_ = 0;
  std::vector<Datum> outputs_;
  std::vector<std::unique_ptr<Datum>> scratch_;
  std::vector<std::shared_ptr<void>> memory_;
};

OpRunner::OpRunner(std::string op_type, int64_t since_version, std::string domain) {
  node_.op_type = std::move(op_type);
  node_.since_version = since_version;
  node_.domain = std::move(domain);
  node_.name = "node";
  node_.outputs = {0};
}

OpRunner& OpRunner::AddAttribute(kit::ir::Attribute attribute) {
  node_.attributes.push_back(std::move(attribute));
  return *this;
}
OpRunner& OpRunner::Attribute(const std::string& name, int64_t value) {
  return AddAttribute({.name = name, .type = EP_ATTRIBUTE_INT, .ints = {value}});
}
OpRunner& OpRunner::Attribute(const std::string& name, float value) {
  return AddAttribute({.name = name, .type = EP_ATTRIBUTE_FLOAT, .floats = {value}});
}
OpRunner& OpRunner::Attribute(const std::string& name, const std::string& value) {
  return AddAttribute({.name = name, .type = EP_ATTRIBUTE_STRING, .strings = {value}});
}
OpRunner& OpRunner::Attribute(const std::string& name, const std::vector<int64_t>& values) {
  return AddAttribute({.name = name, .type = EP_ATTRIBUTE_INTS, .ints = values});
}
OpRunner& OpRunner::Attribute(const std::string& name, const std::vector<float>& values) {
  return AddAttribute({.name = name, .type = EP_ATTRIBUTE_FLOATS, .floats = values});
}
OpRunner& OpRunner::Attribute(const std::string& name, const std::vector<std::string>& values) {
  return AddAttribute({.name = name, .type = EP_ATTRIBUTE_STRINGS, .strings = values});
}
OpRunner& OpRunner::Attribute(const std::string& name, const Datum& tensor) {
  const cpu::Tensor& from = tensor.tensor;
  return AddAttribute({.name = name,
                       .type = EP_ATTRIBUTE_TENSOR,
                       .tensors = {{from.type, from.dims, from.data, from.strings}},
                       .tensor_data = {tensor.owner}});
}

OpRunner& OpRunner::InputDatum(Datum datum, bool constant) {
  node_.inputs.push_back(datum.kind == Datum::Kind::kAbsent ? -1 : static_cast<int32_t>(inputs_.size()));
  inputs_.push_back(std::move(datum));
  constant_.push_back(constant);
  return *this;
}
OpRunner& OpRunner::InOrder(size_t i, const cpu::AxisOrder& order) {
  orders_[i] = order;
  return *this;
}
OpRunner& OpRunner::NoInput() { return InputDatum(Datum()); }

OpRunner& OpRunner::Outputs(size_t count) {
  output_present_.assign(count, true);
  output_types_.assign(count, EP_TYPE_UNDEFINED);
  node_.outputs.clear();
  for (size_t i = 0; i < count; ++i) node_.outputs.push_back(static_cast<int32_t>(i));
  return *this;
}
OpRunner& OpRunner::NoOutput(size_t i) {
  output_present_.at(i) = false;
  node_.outputs.at(i) = -1;
  return *this;
}
OpRunner& OpRunner::OutputType(size_t i, ElementType type) {
  output_types_.at(i) = type;
  return *this;
}
OpRunner& OpRunner::InPlace(bool allowed) {
  in_place_ = allowed;
  return *this;
}
OpRunner& OpRunner::SetRegistry(const cpu::KernelRegistry* registry) {
  registry_ = registry;
  return *this;
}

std::vector<kit::ir::Value> OpRunner::InputInfos() const {
  std::vector<kit::ir::Value> infos;
  for (const Datum& input : inputs_) {
    kit::ir::Value info;
    if (input.kind == Datum::Kind::kTensor) {
      info.kind = EP_KIND_TENSOR;
      info.type = input.tensor.type;
      info.rank = static_cast<int32_t>(input.tensor.rank());
      info.dims.assign(input.tensor.dims.begin(), input.tensor.dims.end());
    } else if (input.kind == Datum::Kind::kSequence) {
      info.kind = EP_KIND_SEQUENCE;
    } else if (input.kind == Datum::Kind::kEmptyOptional) {
      info.kind = EP_KIND_OPTIONAL;
    }
    infos.push_back(info);
  }
  return infos;
}

void OpRunner::Run() {
  // The first input alone decides the types, so that the kernel's own checks are tested. Other tests verify plans.
  std::vector<cpu::ArgumentType> inputs;
  for (const kit::ir::Value& info : InputInfos())
    inputs.push_back({true, EP_KIND_UNKNOWN, inputs.empty() ? info.type : EP_TYPE_UNDEFINED, -1});
  std::vector<cpu::ArgumentType> outputs;
  if (!output_types_.empty()) outputs.push_back({true, EP_KIND_UNKNOWN, output_types_[0], -1});
  const cpu::KernelRegistry& registry = registry_ != nullptr ? *registry_ : AllKernels();
  std::string why;
  const cpu::KernelRegistry::Entry* const entry =
      registry.Find(node_.domain, node_.op_type, node_.since_version, inputs, outputs, &why).entry;
  if (entry == nullptr) throw kit::Error(EP_STATUS_NOT_IMPLEMENTED, why);
  state_.reset();
  packed_.clear();
  kernel_ = entry->factory(Init(*this));
  RunAgain();
}

void OpRunner::RunAgain() {
  Context context(*this);
  kernel_->Run(context);
  outputs_ = context.TakeOutputs();
  reorders_ = context.reorders();
  output_orders_.clear();
  for (Datum& output : outputs_) {
    const std::optional<cpu::AxisOrder> order = cpu::OrderOf(output.tensor);
    output_orders_.push_back(order ? *order : cpu::AxisOrder{});
    if (output.kind == Datum::Kind::kTensor && output.tensor.layout) output = Plain(output);
  }
}

const Tensor& OpRunner::OutputTensor(size_t i) const {
  const Datum& datum = outputs_.at(i);
  if (datum.kind != Datum::Kind::kTensor) throw std::runtime_error("output " + std::to_string(i) + " is no tensor");
  return datum.tensor;
}

Shape OpRunner::Dims(size_t i) const {
  const cpu::Dims& dims = OutputTensor(i).dims;
  return Shape(dims.begin(), dims.end());
}

}  // namespace epiphyte::test
