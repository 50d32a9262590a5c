// Fault loops: a piece of work is repeated, and in the Nth repetition the Nth call of a kind fails, until a repetition
// gets through without meeting the fault.
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
  int error = 0;  // 0: killed
  bool persistent = false;
  uint64_t step = 1;  // every `step`th call only, for loops that would take too long

  struct Figures {
    uint64_t calls = 0;  // in a repetition without faults
    uint64_t repetitions = 0;
    uint64_t errors = 0;    // repetitions that ended with an epiphyte::Error
    uint64_t survived = 0;  // repetitions that succeeded despite the fault
    uint64_t foreign = 0;   // crashes that IsForeignCrash lets pass
    std::string Summary() const;
  };

  // The body may call EpiphyteFaultsDisarm itself before code that belongs to the test and is not under test. `prepare`
  // runs before each repetition. `check` runs after it, with the outcome and the number of the failing call. The loop
  // ends after 10 repetitions that `check` called bad.
  Figures Run(const std::function<void()>& prepare, const std::function<std::string()>& body,
              const std::function<bool(const Outcome&, uint64_t at)>& check) const;
};

// Loads, runs and compares: "right" or "wrong". With an environment of its own, finding the plugin is part of it.
std::function<std::string()> LoadAndRun(const std::filesystem::path& model, Weights weights,
                                        bool own_environment = false);

// Whether the outcome is success or one line of an epiphyte::Error.
bool IsErrorOrSuccess(const Outcome& outcome);
// oneDNN 2.6 ends the process when it gets no memory for an object or for code: it writes to where the object would be
// (dnnl_primitive_desc_iterator_create, dnnl_post_ops_create and others) and runs the code. The plugin asks for room
// before it calls oneDNN, so that this takes a call that fails although there is room, as in these loops alone.
bool IsForeignCrash(const Outcome& outcome, uint32_t kinds);
std::string Describe(const Outcome& outcome, uint64_t at);

// State of a context model during or after its replacement: "none" (no .onnx), "old", "new", "refused: …", or a text
// that names the error in the model.
std::string StateOf(const std::filesystem::path& context_model);
// Whether `state` is one in which a failure may leave a folder; `had_old`: there was an older set.
bool IsAllowedState(const std::string& state, bool had_old);

}  // namespace epiphyte::test
