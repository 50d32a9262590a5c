#include "plugins/cpu/exec/values.h"

#include <cstring>

#include "epiphyte/kit/shape/dims.hpp"
#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {
namespace {

Tensor ImportTensor(const EpTensorView& view) {
  Tensor tensor;
  tensor.type = view.element_type;
  tensor.dims.assign(view.dims, view.rank);
  uint64_t count = 0;
  if (!CountElements(tensor.dims, &count))
    FailOp("an input of shape [{}]; at most 2^44 elements expected, dimensions of 0 aside",
           fmt::join(tensor.dims, ","));
  if (view.element_type == EP_TYPE_STRING) {
    const auto* strings = static_cast<const EpString*>(view.data);
    tensor.strings = std::make_shared<std::vector<std::string>>();
    tensor.strings->reserve(view.element_count);
    for (uint64_t i = 0; i < view.element_count; ++i) tensor.strings->emplace_back(strings[i].data, strings[i].size);
  } else {
    tensor.data = const_cast<void*>(view.data);
  }
  return tensor;
}

std::vector<EpString> StringViews(const Tensor& tensor) {
  std::vector<EpString> views;
  if (tensor.strings) {
    views.reserve(tensor.strings->size());
    for (const std::string& text : *tensor.strings) views.push_back({text.data(), text.size()});
  }
  views.resize(static_cast<size_t>(tensor.Count()));
  return views;
}

}  // namespace

Datum ImportValue(const EpValueView& view) {
  Datum datum;
  switch (view.kind) {
    case EP_KIND_TENSOR:
      datum.kind = Datum::Kind::kTensor;
      datum.tensor = ImportTensor(*view.tensor);
      break;
    case EP_KIND_SEQUENCE:
    case EP_KIND_MAP: {
      datum.kind = view.kind == EP_KIND_MAP ? Datum::Kind::kMap : Datum::Kind::kSequence;
      datum.sequence_type = view.element_type;
      datum.elements = std::make_shared<std::vector<Datum>>();
      datum.elements->reserve(view.element_count);
      for (uint64_t i = 0; i < view.element_count; ++i) {
        Datum element = ImportValue(*view.elements[i]);
        // The host keeps the element for the whole run, so it may be passed on without a copy.
        if (element.kind == Datum::Kind::kTensor)
          element.owner = std::shared_ptr<void>(std::shared_ptr<void>(), element.tensor.data);
        datum.elements->push_back(std::move(element));
      }
      break;
    }
    default: datum.kind = Datum::Kind::kEmptyOptional;
  }
  return datum;
}

void ExportStrings(const kit::Run& run, uint32_t index, const Tensor& tensor) {
  run.SetStrings(index, tensor.dims, StringViews(tensor));
}

kit::OwnedValue ExportValue(const kit::Run& run, const Datum& datum) {
  switch (datum.kind) {
    case Datum::Kind::kTensor: {
      const Tensor& tensor = datum.tensor;
      if (tensor.type == EP_TYPE_STRING) return run.MakeStrings(tensor.dims, StringViews(tensor));
      void* data = nullptr;
      kit::OwnedValue value = run.MakeTensor(tensor.type, tensor.dims, &data);
      if (tensor.Bytes() != 0) std::memcpy(data, tensor.data, tensor.Bytes());
      return value;
    }
    case Datum::Kind::kSequence:
    case Datum::Kind::kMap: {
      std::vector<kit::OwnedValue> elements;
      if (datum.elements) {
        elements.reserve(datum.elements->size());
        for (const Datum& element : *datum.elements) elements.push_back(ExportValue(run, element));
      }
      if (datum.kind == Datum::Kind::kSequence) return run.MakeSequence(datum.sequence_type, elements);
      if (elements.size() != 2) FailOp("a map has {} parts; keys and values expected", elements.size());
      return run.MakeMap(elements[0], elements[1]);
    }
    case Datum::Kind::kEmptyOptional: return run.MakeEmptyOptional();
    case Datum::Kind::kAbsent: break;
  }
  FailOp("a value that was never made can't be given out");
}

}  // namespace epiphyte::cpu
