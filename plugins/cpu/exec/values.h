// Conversion of values at the ABI: host views to Datum, and Datum to host values.
#pragma once

#include "epiphyte/kit/abi/run.hpp"
#include "plugins/cpu/kernel/tensor.h"

namespace epiphyte::cpu {

// Makes a Datum with tensors that point into the host's memory. It is valid as long as the view.
Datum ImportValue(const EpValueView& view);

// Makes a host value from a Datum. Tensors must be row-major.
kit::OwnedValue ExportValue(const kit::Run& run, const Datum& datum);

// Sets output `index` from strings.
void ExportStrings(const kit::Run& run, uint32_t index, const Tensor& tensor);

}  // namespace epiphyte::cpu
