// Values across the ABI: host views as Datum, and Datum as host values.
#pragma once

#include "plugins/cpu/kernel/host.h"
#include "plugins/cpu/kernel/tensor.h"

namespace epiphyte::cpu {

// A view as a Datum whose tensors point into the host's memory: valid as long as the view.
Datum ImportValue(const EpValueView& view);

// A Datum as a value of the host's; the caller releases it. Tensors must be row-major.
EpValue* ExportValue(const EpHostInfo* host, EpRun* run, const Datum& datum);

// Sets output `index` from strings.
void ExportStrings(const EpHostInfo* host, EpRun* run, uint32_t index, const Tensor& tensor);

}  // namespace epiphyte::cpu
