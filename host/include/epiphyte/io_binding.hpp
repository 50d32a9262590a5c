// IoBinding: inputs and outputs that are bound once for many runs.
//
//   epiphyte::IoBinding binding(session);
//   binding.BindInput("x", x);
//   binding.BindOutput("y", y);  // y's memory receives the result of each run
//   for (;;) {
//     Fill(x.MutableData<float>());
//     binding.Run();
//     Use(y.Data<float>());
//   }
//
// Values may be in device memory (memory.hpp). Kernels that support it read and write bound values in place, without a
// copy.
//
// A binding is not thread-safe; several bindings of one session may run at once.
#pragma once

#include <memory>
#include <string_view>

#include "epiphyte/export.hpp"
#include "epiphyte/session.hpp"
#include "epiphyte/value.hpp"

namespace epiphyte {

class EPIPHYTE_API IoBinding {
 public:
  explicit IoBinding(const Session& session);
  ~IoBinding();
  IoBinding(IoBinding&& other) noexcept;
  IoBinding& operator=(IoBinding&& other) noexcept;

  // All bind functions throw INVALID_ARGUMENT when the model has no such input or output, and for memory of a device
  // that the session doesn't use. An empty value removes the binding.
  void BindInput(std::string_view name, Value value);
  // `destination` is a tensor (not of strings) that receives the output. Kernels write into it directly where they can;
  // otherwise the output is copied. It may be bound to an input, too: a kernel that can't run in place writes to other
  // memory, and the result is copied. Run throws INVALID_ARGUMENT when the output's type or shape differs. After a
  // failed run the data is undefined.
  void BindOutput(std::string_view name, Value destination);
  // Each run allocates a new value for the output in `memory`. An empty `memory` means host memory, as without a
  // binding.
  void BindOutput(std::string_view name, const Memory& memory);

  // `options.outputs` must be empty: the bindings select the outputs.
  void Run(const RunOptions& options = {});

  // Returns an output of the last run: the bound value, or else the run's own value. Throws INVALID_ARGUMENT before the
  // first run and on an unknown name.
  Value Output(std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace epiphyte
