// Requests of kernels to a frame during a run: inputs, outputs, scratch memory.
#include <algorithm>
#include <cstring>
#include <limits>

#include "epiphyte/kit/memory/heap.hpp"
#include "epiphyte/kit/shape/dims.hpp"
#include "plugins/cpu/exec/frame.h"
#include "plugins/cpu/onednn/layout.h"
#include "plugins/cpu/onednn/ordered_move.h"

namespace epiphyte::cpu {
namespace {

constexpr float kNoLimit = std::numeric_limits<float>::infinity();

uint64_t CheckedBytes(ElementType type, std::span<const int64_t> dims) {
  for (int64_t dim : dims)
    if (dim < 0) FailOp("an output dimension is {}; none may be negative", dim);
  uint64_t count = 0;
  if (!CountElements(dims, &count))
    FailOp("an output of shape [{}]; at most 2^44 elements expected, dimensions of 0 aside", fmt::join(dims, ","));
  return ElementBytes(type, count);
}

bool SameDims(const Dims& a, std::span<const int64_t> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace

void Frame::FailInput(size_t i) const {
  if (!HasInput(i)) FailOp("input {} is absent; the operator needs it", i);
  FailOp("input {} is no tensor; the operator needs one", i);
}

const Tensor& Frame::Input(size_t i) {
  if (i >= input_count_ || inputs_[i] < 0) [[unlikely]]
    FailInput(i);
  const Slot& slot = slots_[inputs_[i]];
  if (slot.datum.kind != Datum::Kind::kTensor) [[unlikely]]
    FailInput(i);
  if (slot.datum.tensor.layout) [[unlikely]] {
    if (i < 64) any_layout_inputs_ &= ~(uint64_t{1} << i);
    return RowMajor(inputs_[i]);
  }
  return slot.datum.tensor;
}

const Tensor& Frame::AnyLayoutInput(size_t i) {
  if (i >= input_count_ || inputs_[i] < 0) [[unlikely]]
    FailInput(i);
  const Slot& slot = slots_[inputs_[i]];
  if (slot.datum.kind != Datum::Kind::kTensor) [[unlikely]]
    FailInput(i);
  if (i < 64) any_layout_inputs_ |= uint64_t{1} << i;
  return slot.datum.tensor;
}

const Datum& Frame::InputDatum(size_t i) {
  if (i >= input_count_ || inputs_[i] < 0) FailInput(i);
  const Datum& datum = slots_[inputs_[i]].datum;
  if (datum.kind == Datum::Kind::kAbsent) FailInput(i);
  if (datum.kind == Datum::Kind::kTensor && datum.tensor.layout) {
    RowMajor(inputs_[i]);
    return slots_[inputs_[i]].plain->datum;
  }
  return datum;
}

const Tensor& Frame::RowMajor(int32_t value) {
  Slot& slot = slots_[value];
  const Tensor& tensor = slot.datum.tensor;
  if (slot.plain && slot.plain->valid) return slot.plain->datum.tensor;
  if (!slot.plain) slot.plain = std::make_unique<PlainCopy>();
  PlainCopy& plain = *slot.plain;
  Tensor& copy = plain.datum.tensor;
  const uint64_t bytes = tensor.Bytes();
  if (profiling_) {
    plain.storage = NewStorage(bytes);
    copy.data = storages_[plain.storage].memory;
    slot.plan.plain_bytes = bytes;
  } else {
    copy.data = plain.planned != nullptr && bytes <= slot.plan.plain_bytes ? plain.planned : Fallback(bytes);
  }
  plain.datum.kind = Datum::Kind::kTensor;
  copy.type = tensor.type;
  copy.dims = tensor.dims;
  CopyRowMajor(slot, copy.data);
  plain.valid = true;
  return copy;
}

void Frame::CopyRowMajor(Slot& slot, void* to) {
  if (!slot.plain) slot.plain = std::make_unique<PlainCopy>();
  const Tensor& tensor = slot.datum.tensor;
  if (tensor.type == EP_TYPE_FLOAT && CopyOrdered(*this, tensor.dims, tensor.layout->order, tensor.as<float>(),
                                                  AxisOrder::RowMajor(tensor.rank()), static_cast<float*>(to)))
    return;
  slot.plain->reorder.Run(tensor.layout->desc, tensor.data, PlainDesc(tensor.type, tensor.dims), to);
}

void Frame::ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  const auto share = [this, &body](int64_t begin, int64_t end) {
    run_->ThrowIfCancelled();
    body(begin, end);
  };
  const kit::Threads& threads = plan_.threads();
  if (threads.wanted > 1) return threads.ParallelFor(count, grain, share);
  // A single thread cuts a long loop into parts, as several threads would, and checks for cancellation between them.
  constexpr int64_t kMostParts = 16;
  const int64_t part = std::max(grain, count / kMostParts + 1);
  for (int64_t begin = 0; begin < count; begin += part) share(begin, std::min(count, begin + part));
}

void Frame::Count(uint64_t bytes) { limits_.Take(*run_, bytes); }

std::shared_ptr<std::vector<std::string>> Frame::MakeStrings(int64_t count) {
  Count(static_cast<uint64_t>(count) * sizeof(std::string));
  return std::make_shared<std::vector<std::string>>(static_cast<size_t>(count));
}

void* Frame::AllocateCounted(uint64_t bytes) {
  Count(bytes);
  void* const memory = kit::AllocateHeap(bytes);
  kit::PreferLargePages(memory, bytes);
  return memory;
}

void* Frame::Fallback(uint64_t bytes) {
  fallbacks_.reserve(fallbacks_.size() + 1);
  void* memory = AllocateCounted(bytes);
  fallbacks_.push_back(memory);
  return memory;
}

Tensor& Frame::Output(size_t i, ElementType type, std::span<const int64_t> dims) {
  if (i < output_count_ && outputs_[i] >= 0) [[likely]] {
    Slot& slot = slots_[outputs_[i]];
    Tensor& tensor = slot.datum.tensor;
    if (slot.ready && tensor.type == type && SameDims(tensor.dims, dims)) [[likely]] {
      tensor.limit = kNoLimit;
      return tensor;
    }
    return MakeOutput(slot, outputs_[i], type, dims, nullptr, CheckedBytes(type, dims));
  }
  return DiscardedOutput(i, type, dims, CheckedBytes(type, dims));
}

Tensor& Frame::OutputWithLayout(size_t i, ElementType type, std::span<const int64_t> dims,
                                std::shared_ptr<const Layout> layout, uint64_t bytes) {
  if (!layout) return Output(i, type, dims);
  if (i >= output_count_ || outputs_[i] < 0) {
    Tensor& tensor = DiscardedOutput(i, type, dims, bytes);
    tensor.layout = std::move(layout);
    return tensor;
  }
  return MakeOutput(slots_[outputs_[i]], outputs_[i], type, dims, std::move(layout), bytes);
}

Tensor& Frame::DiscardedOutput(size_t i, ElementType type, std::span<const int64_t> dims, uint64_t bytes) {
  if (i >= 64) FailOp("output {} asked for; an operator has at most 64", i);
  if (discarded_.size() < 64) discarded_.resize(64);
  Datum& datum = discarded_[i].datum;
  datum = Datum();
  datum.kind = Datum::Kind::kTensor;
  datum.tensor.type = type;
  datum.tensor.dims.assign(dims.data(), dims.size());
  if (type == EP_TYPE_STRING) {
    datum.tensor.strings = MakeStrings(datum.tensor.Count());
  } else {
    datum.tensor.data = Scratch(bytes);
  }
  return datum.tensor;
}

Tensor& Frame::MakeOutput(Slot& slot, int32_t value, ElementType type, std::span<const int64_t> dims,
                          std::shared_ptr<const Layout> layout, uint64_t bytes) {
  CheckType(value, type);
  Datum& datum = slot.datum;
  if (datum.kind != Datum::Kind::kTensor || datum.owner || datum.elements || datum.tensor.strings) datum = Datum();
  datum.kind = Datum::Kind::kTensor;
  Tensor& tensor = datum.tensor;
  tensor.type = type;
  tensor.dims.assign(dims.data(), dims.size());
  tensor.layout = std::move(layout);
  tensor.limit = kNoLimit;
  slot.ready = false;
  slot.emitted = false;
  if (slot.plain) slot.plain->valid = false;
  if (type == EP_TYPE_STRING) {
    tensor.data = nullptr;
    tensor.strings = MakeStrings(tensor.Count());
    slot.managed = true;
    managed_.push_back(value);
  } else if (plan_.graph_output(value) >= 0 && !tensor.layout) {
    tensor.data = run_->Output<void>(static_cast<uint32_t>(plan_.graph_output(value)), type, dims);
    slot.emitted = true;
  } else {
    tensor.data = Provide(slot, bytes);
    slot.ready = tensor.data == slot.planned && slot.planned != nullptr && !tensor.layout;
  }
  return tensor;
}

void* Frame::Provide(Slot& slot, uint64_t bytes) {
  if (profiling_) {
    // A kernel that makes an output twice wants another size the second time.
    if (slot.storage >= 0 && storages_[slot.storage].users == 1 && storages_[slot.storage].first == node_)
      ReleaseStorage(slot.storage);
    slot.storage = NewStorage(bytes);
    slot.plan.origin = ValueOrigin::kFresh;
    slot.plan.bytes = bytes;
    return storages_[slot.storage].memory;
  }
  if (slot.planned != nullptr && bytes <= slot.plan.bytes) return slot.planned;
  return Fallback(bytes);
}

void Frame::ShareMemory(Slot& slot, int32_t value, Slot& source, int32_t source_value, bool of_plain_copy,
                        ValueOrigin origin, ElementType type, std::span<const int64_t> dims) {
  CheckType(value, type);
  const Tensor& from = of_plain_copy ? source.plain->datum.tensor : source.datum.tensor;
  Datum& datum = slot.datum;
  if (datum.kind != Datum::Kind::kTensor || datum.owner || datum.elements || datum.tensor.strings) datum = Datum();
  datum.kind = Datum::Kind::kTensor;
  Tensor& tensor = datum.tensor;
  tensor.type = type;
  if (!SameDims(tensor.dims, dims)) tensor.dims.assign(dims.data(), dims.size());
  tensor.data = from.data;
  // A kernel that writes in place changes the numbers, so their limit is unknown.
  tensor.limit = origin == ValueOrigin::kAlias ? source.datum.tensor.limit : kNoLimit;
  if (tensor.layout != from.layout) tensor.layout = from.layout;
  slot.ready = false;
  slot.emitted = false;
  if (slot.plain) slot.plain->valid = false;
  if (from.strings) {
    tensor.strings = from.strings;
    slot.managed = true;
    managed_.push_back(value);
  }
  if (!of_plain_copy && source.datum.owner) {
    datum.owner = source.datum.owner;
    slot.managed = true;
    managed_.push_back(value);
  }
  if (profiling_) {
    const int32_t storage = of_plain_copy ? source.plain->storage : source.storage;
    slot.storage = storage;
    if (storage >= 0) ++storages_[storage].users;
    slot.plan.origin = origin;
    slot.plan.source = source_value;
    slot.plan.of_plain_copy = of_plain_copy;
  }
}

Tensor* Frame::OutputInPlace(size_t i, size_t j, ElementType type, std::span<const int64_t> dims) {
  if (i >= output_count_ || outputs_[i] < 0 || j >= input_count_ || inputs_[j] < 0) return nullptr;
  const int32_t value = outputs_[i];
  const int32_t source_value = inputs_[j];
  Slot& slot = slots_[value];
  Slot& source = slots_[source_value];
  const bool own_layout = j < 64 && (any_layout_inputs_ >> j & 1) != 0;
  const bool of_plain_copy = source.datum.tensor.layout != nullptr && !own_layout;
  if (profiling_) {
    if (plan_.graph_output(value) >= 0 || plan_.value_class(source_value) != Plan::ValueClass::kComputed ||
        plan_.last_use(source_value) != node_ || std::count(inputs_, inputs_ + input_count_, source_value) != 1 ||
        source.datum.kind != Datum::Kind::kTensor)
      return nullptr;
    if (of_plain_copy && (!source.plain || !source.plain->valid)) return nullptr;
    const int32_t storage = of_plain_copy ? source.plain->storage : source.storage;
    if (storage < 0 || storages_[storage].users != 1) return nullptr;
  } else if (slot.plan.origin != ValueOrigin::kInPlace || slot.plan.source != source_value ||
             slot.plan.of_plain_copy != of_plain_copy || source.datum.kind != Datum::Kind::kTensor || source.managed ||
             (of_plain_copy && (!source.plain || !source.plain->valid))) {
    return nullptr;
  }
  const Tensor& from = of_plain_copy ? source.plain->datum.tensor : source.datum.tensor;
  if (type == EP_TYPE_STRING || from.type == EP_TYPE_STRING) return nullptr;
  if (from.layout ? type != from.type || !SameDims(from.dims, dims) : CheckedBytes(type, dims) != from.Bytes())
    return nullptr;
  ShareMemory(slot, value, source, source_value, of_plain_copy, ValueOrigin::kInPlace, type, dims);
  return &slot.datum.tensor;
}

void Frame::OutputAlias(size_t i, size_t j, std::span<const int64_t> dims) {
  if (j >= input_count_ || inputs_[j] < 0 || slots_[inputs_[j]].datum.kind != Datum::Kind::kTensor) FailInput(j);
  if (i >= output_count_ || outputs_[i] < 0) return;
  const int32_t value = outputs_[i];
  const int32_t source_value = inputs_[j];
  Slot& slot = slots_[value];
  Slot& source = slots_[source_value];
  const ElementType type = source.datum.tensor.type;
  if (ElementBytes(type, 1) != 0 && CheckedBytes(type, dims) != source.datum.tensor.Bytes())
    FailOp("{} elements can't become a tensor of another size", source.datum.tensor.Count());

  const bool graph_output = plan_.graph_output(value) >= 0 && type != EP_TYPE_STRING;
  const bool of_plain_copy =
      source.datum.tensor.layout != nullptr && (graph_output || !SameDims(source.datum.tensor.dims, dims));
  if (of_plain_copy) RowMajor(source_value);
  const bool allowed = profiling_ || type == EP_TYPE_STRING ||
                       (slot.plan.origin == ValueOrigin::kAlias && slot.plan.source == source_value &&
                        slot.plan.of_plain_copy == of_plain_copy);
  if (!graph_output && allowed) {
    ShareMemory(slot, value, source, source_value, of_plain_copy, ValueOrigin::kAlias, type, dims);
    return;
  }
  const Tensor& from = source.datum.tensor.layout ? RowMajor(source_value) : source.datum.tensor;
  Tensor& copy = Output(i, type, dims);
  if (from.Bytes() != 0) std::memcpy(copy.data, from.data, from.Bytes());
}

// A tensor inside a sequence may outlive the value that it was made from, so it must own its memory.
void Frame::OwnElements(Datum& datum) {
  if (!datum.elements) return;
  for (Datum& element : *datum.elements) {
    OwnElements(element);
    if (element.kind != Datum::Kind::kTensor || element.owner || element.tensor.data == nullptr) continue;
    Count(element.tensor.Bytes());
    std::shared_ptr<void> memory = kit::AllocateShared(element.tensor.Bytes());
    std::memcpy(memory.get(), element.tensor.data, element.tensor.Bytes());
    element.tensor.data = memory.get();
    element.owner = std::move(memory);
  }
}

void Frame::SetOutput(size_t i, Datum datum) {
  if (i >= output_count_ || outputs_[i] < 0) return;
  if (datum.kind == Datum::Kind::kTensor && !datum.owner && datum.tensor.data != nullptr) {
    // The tensor has no owner, so its memory probably belongs to an input.
    for (size_t j = 0; j < input_count_; ++j) {
      if (inputs_[j] < 0) continue;
      const Datum& input = slots_[inputs_[j]].datum;
      const Slot& source = slots_[inputs_[j]];
      const void* copy = source.plain && source.plain->valid ? source.plain->datum.tensor.data : nullptr;
      if (input.kind == Datum::Kind::kTensor && (input.tensor.data == datum.tensor.data || copy == datum.tensor.data)) {
        OutputAlias(i, j, datum.tensor.dims);
        return;
      }
    }
    Tensor& copy = Output(i, datum.tensor.type, datum.tensor.dims);
    std::memcpy(copy.data, datum.tensor.data, datum.tensor.Bytes());
    return;
  }
  if (datum.kind == Datum::Kind::kTensor) CheckType(outputs_[i], datum.tensor.type);
  OwnElements(datum);
  Slot& slot = slots_[outputs_[i]];
  slot.datum = std::move(datum);
  slot.datum.tensor.limit = kNoLimit;
  slot.ready = false;
  slot.emitted = false;
  if (slot.plain) slot.plain->valid = false;
  slot.managed = true;
  managed_.push_back(outputs_[i]);
}

void* Frame::Scratch(uint64_t bytes) {
  const uint64_t need = (std::max<uint64_t>(bytes, 1) + 63) & ~uint64_t{63};
  const uint64_t begin = scratch_used_;
  scratch_used_ += need;
  if (scratch_used_ <= scratch_size_) return scratch_ + begin;
  scratch_overflow_.reserve(scratch_overflow_.size() + 1);
  void* memory = AllocateCounted(need);
  scratch_overflow_.push_back(memory);
  return memory;
}

}  // namespace epiphyte::cpu
