// LibonnxCall: work with libonnx on this thread, which exit() waits for: beside it, libonnx's static objects would be
// destroyed.
//
//   const LibonnxCall call;   // throws CANCELED when the process ends
#pragma once

#include "core/base/process_end.h"

namespace epiphyte::core {

class LibonnxCall {
 public:
  LibonnxCall();

 private:
  ProcessEnd::Call call_;
};

}  // namespace epiphyte::core
