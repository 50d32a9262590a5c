// LibonnxCall: marks this thread as using libonnx, so that exit() waits for it. Otherwise exit() would destroy
// libonnx's static objects during the use.
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
