// IoBinding: inputs and outputs named once, then run again and again.
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
// Values may be in a device's memory (memory.hpp): what is bound is read and written where it is, without a copy, by
// every kernel that can.
//
// Not thread-safe; several bindings of one session may run at once.
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

  // These throw INVALID_ARGUMENT when the model has no such input or output, and for the memory of a device that the
  // session doesn't use. An empty value takes the binding back.
  void BindInput(std::string_view name, Value value);
  // A tensor (not of strings) that receives the output. Kernels write straight into it where they can; elsewhere the
  // output is copied. It may be bound to an input, too: what a kernel can't do in place is done beside it and copied.
  // Run throws INVALID_ARGUMENT when the output's type or shape turns out different; its data is undefined after a run
  // that failed.
  void BindOutput(std::string_view name, Value destination);
  // The output becomes a new value in that memory in each run; an empty `memory`: in host memory, as without a binding.
  void BindOutput(std::string_view name, const Memory& memory);

  // `options.outputs` must be empty: bindings say what is wanted.
  void Run(const RunOptions& options = {});

  // Of the last run: what is bound, or else the run's own value. Throws INVALID_ARGUMENT before the first run and on
  // an unknown name.
  Value Output(std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace epiphyte
