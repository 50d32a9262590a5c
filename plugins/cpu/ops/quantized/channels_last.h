// Bytes with channels last, which is how convolutions and pools of bytes like them, and what becomes of their results.
//
//     const uint8_t* x = ChannelsLast(context, 0, &state.x);        // [N, positions…, C]
//     LastOutput output(context, EP_TYPE_UINT8, dims, &state.y);    // write [N, positions…, C] to output.data()
//     …
//     output.Finish(context);
#pragma once

#include <cstdint>
#include <memory>

#include "plugins/cpu/kernel/kernel.h"

namespace epiphyte::cpu {

// The bytes of input i, which has a rank of at least 3: as they lie, or a copy in scratch memory.
const uint8_t* ChannelsLast(OpContext& context, size_t i);
// Whether they lie so.
bool LiesChannelsLast(const Tensor& tensor);

// Kept between runs.
struct LastLayout {
  Dims dims;
  std::shared_ptr<const Layout> layout;
};

// Output 0, of elements of one byte, or of four.
class LastOutput {
 public:
  LastOutput(OpContext& context, ElementType type, const Dims& dims, LastLayout* layout);
  void* data() const { return data_; }
  // Makes it row-major where that is what its readers want.
  void Finish(OpContext& context) const;

 private:
  Tensor* tensor_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace epiphyte::cpu
