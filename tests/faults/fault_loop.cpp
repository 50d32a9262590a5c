#include "tests/faults/fault_loop.h"

#include <optional>

#include "epiphyte/session.hpp"
#include "tests/faults/program.h"

namespace epiphyte::test {

std::string FaultLoop::Figures::Summary() const {
  return std::to_string(calls) + " calls, " + std::to_string(repetitions) + " repetitions, " + std::to_string(errors) +
         " errors, " + std::to_string(survived) + " survived, " + std::to_string(foreign) + " crashes in oneDNN";
}

FaultLoop::Figures FaultLoop::Run(const std::function<void()>& prepare, const std::function<std::string()>& body,
                                  const std::function<bool(const Outcome&, uint64_t at)>& check) const {
  Figures figures;
  int bad = 0;
  for (uint64_t at = 1; bad < 10; at += step) {
    prepare();
    Around around;
    around.before = [this, at] { EpiphyteFaultsArm(kinds, at, error, persistent ? 1 : 0); };
    around.after = EpiphyteFaultsDisarm;
    const Outcome outcome = RunForked(body, around);
    if (outcome.returned() && outcome.calls < at) {
      figures.calls = outcome.calls;
      return figures;
    }
    ++figures.repetitions;
    if (outcome.error()) ++figures.errors;
    if (outcome.returned()) ++figures.survived;
    if (IsForeignCrash(outcome, kinds)) {
      ++figures.foreign;
      continue;
    }
    if (!check(outcome, at)) ++bad;
  }
  return figures;
}

std::function<std::string()> LoadAndRun(const std::filesystem::path& model, Weights weights, bool own_environment) {
  return [=, options = CpuOptions(), input = Input(), plugins = BuildTreePlugins()] {
    std::vector<Value> outputs;
    {
      std::optional<Environment> environment;
      if (own_environment) environment.emplace(plugins);
      Session session(environment ? *environment : BuildTreeEnvironment(), model, options);
      outputs = session.Run(std::span<const Value>(&input, 1));
    }
    EpiphyteFaultsDisarm();
    return std::string(AreClose(NumbersOf(outputs), NumbersOf(weights)) ? "right" : "wrong");
  };
}

bool IsErrorOrSuccess(const Outcome& outcome) {
  if (outcome.error()) return outcome.text.find('\n') == std::string::npos && outcome.text.size() > 10;
  return outcome.returned();
}

bool IsForeignCrash(const Outcome& outcome, uint32_t kinds) {
  return (kinds & ~(kFaultMemory | kFaultMap)) == 0 && outcome.end == Outcome::End::kSignal &&
         outcome.text.find("libdnnl.so") != std::string::npos;
}

std::string Describe(const Outcome& outcome, uint64_t at) {
  return "call " + std::to_string(at) + " " + outcome.Describe();
}

std::string StateOf(const std::filesystem::path& context_model) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(context_model))) return "none";
  Numbers numbers;
  const std::string result = ResultOf([&] { numbers = RunModel(context_model); });
  if (result.starts_with("INVALID_GRAPH: ") || result.starts_with("INVALID_PROTOBUF: ")) return "refused: " + result;
  if (result != "OK") return "unexpected: " + result;
  if (AreClose(numbers, NumbersOf(Weights::kOld))) return "old";
  if (AreClose(numbers, NumbersOf(Weights::kNew))) return "new";
  return "wrong numbers: " + ToText(numbers);
}

bool IsAllowedState(const std::string& state, bool had_old) {
  return state == "new" || state.starts_with("refused: ") || state == (had_old ? "old" : "none");
}

}  // namespace epiphyte::test
