// Fault loops repeat a piece of work. In the Nth repetition the Nth call of a kind fails. The loop ends with a
// repetition that succeeds without reaching the fault.
//
//   FaultLoop loop{kFaultWrite | kFaultSync, ENOSPC};
//   loop.Run([&] { Reset(); }, [&] { Compile(model, options); return "done"; }, [&](const Outcome& outcome) {…});
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/faults/contexts.h"
#include "tests/faults/forked.h"
#include "tests/faults/preload/faults.h"

namespace epiphyte::test {

struct FaultLoop {
  uint32_t kinds = 0;
  int error = 0;  // errno of the failing call; 0: the process is killed
  bool persistent = false;
  uint64_t step = 1;  // only every `step`th call fails, for loops that would take too long

  struct Figures {
    uint64_t calls = 0;  // calls in a repetition without faults
    uint64_t repetitions = 0;
    uint64_t errors = 0;    // repetitions that ended with an epiphyte::Error
    uint64_t survived = 0;  // repetitions that succeeded despite the fault
    uint64_t foreign = 0;   // crashes that IsForeignCrash accepts
    std::string Summary() const;
  };

  // The body may call EpiphyteFaultsDisarm before code that belongs to the test itself. `prepare` runs before each
  // repetition. `check` runs after it, with the outcome and the number of the failing call, and returns whether the
  // outcome is good. The loop ends after 10 bad repetitions.
  Figures Run(const std::function<void()>& prepare, const std::function<std::string()>& body,
              const std::function<bool(const Outcome&, uint64_t at)>& check) const;
};

// Returns a body that loads, runs and compares: "right" or "wrong". With `own_environment`, finding the plugin is part
// of it.
std::function<std::string()> LoadAndRun(const std::filesystem::path& model, Weights weights,
                                        bool own_environment = false);

// Returns whether the outcome is success or one line of an epiphyte::Error.
bool IsErrorOrSuccess(const Outcome& outcome);
// Returns whether oneDNN caused the crash. oneDNN 2.6 ends the process when it gets no memory for an object or for
// code: it writes to the missing object (dnnl_primitive_desc_iterator_create, dnnl_post_ops_create and others) and runs
// the missing code. The plugin makes sure that there is room before it calls oneDNN. So only calls that fail although
// there is room can cause the crash, as in these loops.
bool IsForeignCrash(const Outcome& outcome, uint32_t kinds);
std::string Describe(const Outcome& outcome, uint64_t at);

// Returns the state of a context model during or after its replacement: "none" (no .onnx), "old", "new", "refused: …",
// or a text that names the error in the model.
std::string StateOf(const std::filesystem::path& context_model);
// Returns whether a failure may leave a folder in `state`; `had_old`: an older set of files existed.
bool IsAllowedState(const std::string& state, bool had_old);

}  // namespace epiphyte::test
