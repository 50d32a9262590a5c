// Values across the ABI: host views as Datum, and Datum as host values.
#pragma once

#include "epiphyte/kit/abi/run.hpp"
#include "plugins/cpu/kernel/tensor.h"

namespace epiphyte::cpu {

// A view as a Datum whose tensors point into the host's memory: valid as long as the view.
Datum ImportValue(const EpValueView& view);

// A Datum as a value of the host's. Tensors must be row-major.
kit::OwnedValue ExportValue(const kit::Run& run, const Datum& datum);

// Sets output `index` from strings.
void ExportStrings(const kit::Run& run, uint32_t index, const Tensor& tensor);

}  // namespace epiphyte::cpu
