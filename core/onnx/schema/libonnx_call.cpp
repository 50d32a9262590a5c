#include "core/onnx/schema/libonnx_call.h"

#include "core/onnx/schema/libonnx_schemas.h"

namespace epiphyte::core {

LibonnxCall::LibonnxCall() {
  static const bool noticed = [] {
    FindLibonnxSchema("", "Add", 13);  // creates the static objects that all schemas refer to
    ProcessEnd::Notice();
    return true;
  }();
  (void)noticed;
}

}  // namespace epiphyte::core
