#include "plugins/cpu/exec/values.h"

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

// Releases the host values it holds.
struct ValueList {
  const EpHostInfo* host;
  std::vector<EpValue*> values;
  ~ValueList() {
    for (EpValue* value : values) host->run->ReleaseValue(value);
  }
};

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
        // The host keeps it for the whole run, so elements may be passed on without a copy.
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

void ExportStrings(const EpHostInfo* host, EpRun* run, uint32_t index, const Tensor& tensor) {
  const std::vector<EpString> views = StringViews(tensor);
  ThrowIfFailed(host, host->run->SetStringOutput(run, index, tensor.dims.data(), static_cast<uint32_t>(tensor.rank()),
                                                 views.data()));
}

EpValue* ExportValue(const EpHostInfo* host, EpRun* run, const Datum& datum) {
  EpValue* value = nullptr;
  switch (datum.kind) {
    case Datum::Kind::kTensor: {
      const Tensor& tensor = datum.tensor;
      const auto rank = static_cast<uint32_t>(tensor.rank());
      if (tensor.type == EP_TYPE_STRING) {
        const std::vector<EpString> views = StringViews(tensor);
        ThrowIfFailed(host, host->run->CreateStringTensor(run, tensor.dims.data(), rank, views.data(), &value));
      } else {
        void* data = nullptr;
        ThrowIfFailed(host, host->run->CreateTensor(run, tensor.type, tensor.dims.data(), rank, &value, &data));
        if (tensor.Bytes() != 0) std::memcpy(data, tensor.data, tensor.Bytes());
      }
      break;
    }
    case Datum::Kind::kSequence:
    case Datum::Kind::kMap: {
      ValueList list{host, {}};
      if (datum.elements) list.values.reserve(datum.elements->size());
      if (datum.elements)
        for (const Datum& element : *datum.elements) list.values.push_back(ExportValue(host, run, element));
      if (datum.kind == Datum::Kind::kSequence) {
        ThrowIfFailed(
            host, host->run->CreateSequence(run, datum.sequence_type, list.values.data(), list.values.size(), &value));
      } else {
        if (list.values.size() != 2) FailOp("a map has {} parts; keys and values expected", list.values.size());
        ThrowIfFailed(host, host->run->CreateMap(run, list.values[0], list.values[1], &value));
      }
      break;
    }
    case Datum::Kind::kEmptyOptional: ThrowIfFailed(host, host->run->CreateEmptyOptional(run, &value)); break;
    case Datum::Kind::kAbsent: FailOp("a value that was never made can't be given out");
  }
  return value;
}

}  // namespace epiphyte::cpu
