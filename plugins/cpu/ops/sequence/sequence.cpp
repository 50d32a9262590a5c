// Sequences of tensors.
//
// A sequence's elements are immutable and shared between values. An operator that changes a sequence makes a new list
// of the same elements. The frame gives elements their own memory when they enter a sequence.
#include <algorithm>

#include "epiphyte/kit/shape/arithmetic.hpp"
#include "epiphyte/kit/shape/axes.hpp"
#include "plugins/cpu/kernel/parameter.h"
#include "plugins/cpu/kernel/strided.h"

namespace epiphyte::cpu {
namespace {

constexpr uint64_t kAlignment = 64;

const std::vector<Datum>& ElementsOf(OpContext& context, size_t input, ElementType* type = nullptr) {
  const Datum& datum = context.InputDatum(input);
  if (datum.kind != Datum::Kind::kSequence || !datum.elements) FailOp("input {} is no sequence, one expected", input);
  if (type != nullptr) *type = datum.sequence_type;
  return *datum.elements;
}

// Input i as a row-major element.
Datum AsElement(OpContext& context, size_t i) {
  const Datum& input = context.InputDatum(i);
  if (input.kind != Datum::Kind::kTensor) FailOp("input {} is no tensor, one expected", i);
  if (!input.tensor.layout) return input;
  Datum element;
  element.kind = Datum::Kind::kTensor;
  element.tensor = context.Input(i);
  return element;
}

Datum NewTensor(ElementType type, std::span<const int64_t> dims) {
  Datum datum;
  datum.kind = Datum::Kind::kTensor;
  datum.tensor.type = type;
  datum.tensor.dims = Dims(dims);
  const auto count = static_cast<uint64_t>(kit::CheckedCount(dims));
  if (type == EP_TYPE_STRING) {
    datum.tensor.strings = std::make_shared<std::vector<std::string>>(count);
    return datum;
  }
  const uint64_t bytes = ElementBytes(type, count) + 1;
  datum.owner = std::shared_ptr<void>(::operator new (bytes, std::align_val_t{kAlignment}),
                                      [](void* p) { ::operator delete (p, std::align_val_t{kAlignment}); });
  datum.tensor.data = datum.owner.get();
  return datum;
}

Datum MakeSequence(ElementType type, std::vector<Datum> elements) {
  Datum sequence;
  sequence.kind = Datum::Kind::kSequence;
  sequence.sequence_type = type;
  sequence.elements = std::make_shared<std::vector<Datum>>(std::move(elements));
  return sequence;
}

// Returns the position in input `input`, or `fallback` when it is left out. Valid positions are below `limit`.
int64_t Position(OpContext& context, size_t input, int64_t size, int64_t limit, int64_t fallback) {
  if (context.InputCount() <= input || !context.HasInput(input)) return fallback;
  const int64_t position = IntegerParameter(context, input, "position");
  if (position < -size || position >= limit)
    FailOp("position {} found for a sequence of {}, a value in [{}, {}] expected", position, size, -size, limit - 1);
  return position < 0 ? position + size : position;
}

class SequenceEmptyKernel : public Kernel {
 public:
  explicit SequenceEmptyKernel(const KernelInit& init)
      : type_(static_cast<ElementType>(init.node().Int("dtype", EP_TYPE_FLOAT))) {}
  void Run(OpContext& context) const override { context.SetOutput(0, MakeSequence(type_, {})); }

 private:
  ElementType type_;
};

class SequenceConstructKernel : public Kernel {
 public:
  explicit SequenceConstructKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    std::vector<Datum> elements;
    for (size_t i = 0; i < context.InputCount(); ++i) {
      elements.push_back(AsElement(context, i));
      if (elements[i].tensor.type != elements[0].tensor.type)
        FailOp("input {} of type {} found, {} expected", i, TypeName(elements[i].tensor.type),
               TypeName(elements[0].tensor.type));
    }
    if (elements.empty()) FailOp("no inputs found, at least one expected");
    const ElementType type = elements[0].tensor.type;
    context.SetOutput(0, MakeSequence(type, std::move(elements)));
  }
};

class SequenceInsertKernel : public Kernel {
 public:
  explicit SequenceInsertKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    ElementType type = EP_TYPE_UNDEFINED;
    std::vector<Datum> elements = ElementsOf(context, 0, &type);
    Datum element = AsElement(context, 1);
    if (elements.empty() && type == EP_TYPE_UNDEFINED) type = element.tensor.type;
    if (element.tensor.type != type)
      FailOp("a tensor of type {} found for a sequence of {}, the same type expected", TypeName(element.tensor.type),
             TypeName(type));
    const auto size = static_cast<int64_t>(elements.size());
    const int64_t at = Position(context, 2, size, size + 1, size);
    elements.insert(elements.begin() + at, std::move(element));
    context.SetOutput(0, MakeSequence(type, std::move(elements)));
  }
};

class SequenceEraseKernel : public Kernel {
 public:
  explicit SequenceEraseKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    ElementType type = EP_TYPE_UNDEFINED;
    std::vector<Datum> elements = ElementsOf(context, 0, &type);
    const auto size = static_cast<int64_t>(elements.size());
    if (size == 0) FailOp("an empty sequence found, an element to erase expected");
    elements.erase(elements.begin() + Position(context, 1, size, size, size - 1));
    context.SetOutput(0, MakeSequence(type, std::move(elements)));
  }
};

class SequenceAtKernel : public Kernel {
 public:
  explicit SequenceAtKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const std::vector<Datum>& elements = ElementsOf(context, 0);
    const auto size = static_cast<int64_t>(elements.size());
    if (!context.HasInput(1)) FailOp("no position found, one expected");
    context.SetOutput(0, elements[static_cast<size_t>(Position(context, 1, size, size, 0))]);
  }
};

class SequenceLengthKernel : public Kernel {
 public:
  explicit SequenceLengthKernel(const KernelInit&) {}
  void Run(OpContext& context) const override {
    const auto size = static_cast<int64_t>(ElementsOf(context, 0).size());
    *context.Output(0, EP_TYPE_INT64, Dims{}).as<int64_t>() = size;
  }
};

class SplitToSequenceKernel : public Kernel {
 public:
  explicit SplitToSequenceKernel(const KernelInit& init)
      : axis_(init.node().Int("axis", 0)), keep_dims_(kit::CheckedKeepDims(init.node().Int("keepdims", 1))) {}
  void Run(OpContext& context) const override {
    const Tensor& x = context.Input(0);
    const size_t axis = kit::NormalizeAxis(axis_, x.rank());
    const int64_t dim = x.dims[axis];
    const bool given = context.InputCount() > 1 && context.HasInput(1);
    std::vector<int64_t> sizes;
    if (!given) {
      sizes.assign(static_cast<size_t>(dim), 1);
    } else if (const Tensor& split = context.Input(1); split.rank() == 0) {
      const int64_t size = IntegerParameter(context, 1, "split");
      if (size < 1) FailOp("split {} found, at least 1 expected", size);
      for (int64_t left = dim; left > 0; left -= std::min(size, left)) sizes.push_back(std::min(size, left));
    } else {
      const Dims wanted = IntegersOf(split, "split");
      int64_t sum = 0;
      for (int64_t size : wanted) {
        if (size < 0) FailOp("split {} found, sizes of at least 0 expected", ShapeText(wanted));
        sum = kit::CheckedAdd(sum, size);
      }
      if (sum != dim) FailOp("split {} found for a dimension of {}, that sum expected", ShapeText(wanted), dim);
      sizes.assign(wanted.begin(), wanted.end());
    }
    const int64_t outer = x.dims.Count(0, axis), inner = x.dims.Count(axis + 1, x.rank());
    std::vector<Datum> elements;
    WithUnit(x.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveSource<T> source(context, x);
      int64_t at = 0;
      for (int64_t size : sizes) {
        Dims dims = x.dims;
        dims[axis] = size;
        Datum element = NewTensor(x.type, dims);
        {
          MoveTarget<T> target(context, element.tensor);
          StridedMove(context, Dims{outer, size * inner}, source.data() + at, Dims{dim * inner, 1}, target.data());
        }
        at += size * inner;
        if (!given && !keep_dims_) {
          Dims without;
          for (size_t i = 0; i < dims.size(); ++i)
            if (i != axis) without.push_back(dims[i]);
          element.tensor.dims = without;
        }
        elements.push_back(std::move(element));
      }
    });
    context.SetOutput(0, MakeSequence(x.type, std::move(elements)));
  }

 private:
  int64_t axis_;
  bool keep_dims_;
};

class ConcatFromSequenceKernel : public Kernel {
 public:
  explicit ConcatFromSequenceKernel(const KernelInit& init)
      : axis_(init.node().Int("axis", 0)), new_axis_(init.node().Int("new_axis", 0) != 0) {}
  void Run(OpContext& context) const override {
    const std::vector<Datum>& elements = ElementsOf(context, 0);
    if (elements.empty() || elements[0].kind != Datum::Kind::kTensor)
      FailOp("a sequence without tensors found, something to concatenate expected");
    const Tensor& first = elements[0].tensor;
    const size_t rank = first.rank();
    const size_t axis = kit::NormalizeAxis(axis_, rank + (new_axis_ ? 1 : 0));
    int64_t along = 0;
    for (const Datum& element : elements) {
      const Tensor& x = element.tensor;
      bool fits = element.kind == Datum::Kind::kTensor && x.rank() == rank && x.type == first.type;
      for (size_t i = 0; fits && i < rank; ++i) fits = x.dims[i] == first.dims[i] || (i == axis && !new_axis_);
      if (!fits)
        FailOp("an element of shape {} found beside one of {}, equal dimensions apart from axis {} expected",
               ShapeText(x.dims), ShapeText(first.dims), axis);
      along = kit::CheckedAdd(along, new_axis_ ? 1 : x.dims[axis]);
    }
    Dims dims;
    for (size_t i = 0; i < rank + (new_axis_ ? 1 : 0); ++i)
      dims.push_back(i == axis ? along : first.dims[new_axis_ && i > axis ? i - 1 : i]);
    kit::CheckedCount(dims);
    const int64_t outer = dims.Count(0, axis), inner = dims.Count(axis + 1, dims.size());
    WithUnit(first.type, [&](auto unit) {
      using T = typename decltype(unit)::type;
      MoveTarget<T> target(context, 0, first.type, dims);
      int64_t at = 0;
      for (const Datum& element : elements) {
        const int64_t run = (new_axis_ ? 1 : element.tensor.dims[axis]) * inner;
        MoveSource<T> source(context, element.tensor);
        StridedMove(context, Dims{outer, run}, source.data(), Dims{run, 1}, target.data() + at, Dims{along * inner, 1});
        at += run;
      }
    });
  }

 private:
  int64_t axis_;
  bool new_axis_;
};

}  // namespace

void Register_sequence(KernelRegistry& registry) {
  registry.Add<SequenceEmptyKernel>("SequenceEmpty");
  registry.Add<SequenceConstructKernel>("SequenceConstruct");
  registry.Add<SequenceInsertKernel>("SequenceInsert");
  registry.Add<SequenceEraseKernel>("SequenceErase");
  registry.Add<SequenceAtKernel>("SequenceAt");
  registry.Add<SequenceLengthKernel>("SequenceLength");
  registry.Add<SplitToSequenceKernel>("SplitToSequence");
  registry.Add<ConcatFromSequenceKernel>("ConcatFromSequence");
}

}  // namespace epiphyte::cpu
