// epiphyte verify: checks a context model and its files, and lists all problems.
#include <iostream>
#include <memory>

#include "epiphyte/context_tools.hpp"
#include "epiphyte/error.hpp"
#include "host/cli/commands.h"
#include "host/cli/hints.h"
#include "host/cli/plugin_flags.h"
#include "host/cli/program.h"
#include "host/cli/progress.h"
#include "host/cli/session_flags.h"
#include "host/cli/text.h"

namespace epiphyte::cli {
namespace {

struct VerifyFlags {
  SessionFlags session;
  std::string model;
  bool reseal = false;
  bool json = false;
};

struct Outcome {
  ContextVerification verification;
  bool resealed = false;
  SealState before = SealState::kNone;
};

Outcome Verify(const VerifyFlags& flags) {
  const Environment environment = flags.session.plugins.Open();
  Progress progress("verifying " + std::filesystem::path(flags.model).filename().string());
  Outcome outcome;
  if (flags.reseal) {
    outcome.before = ResealContext(environment, flags.model);
    outcome.resealed = outcome.before != SealState::kIntact;
  }
  outcome.verification = VerifyContext(environment, flags.model, flags.session.Build());
  return outcome;
}

// Returns the problems in the words of the command line.
std::vector<std::string> ProblemsOf(const ContextVerification& found) {
  std::vector<std::string> problems;
  for (size_t i = 0; i < found.problems.size(); ++i) {
    problems.push_back(found.problems[i] + std::string(HintText(found.hints[i])));
  }
  return problems;
}

void PrintText(const VerifyFlags& flags, const Outcome& outcome) {
  const ContextVerification& found = outcome.verification;
  if (outcome.resealed) {
    std::cout << "the seal of " << Printable(flags.model) << " was " << SealStateName(outcome.before)
              << " and fits the model as it is now; the records of its payloads are unchanged\n";
  } else if (flags.reseal) {
    std::cout << "the seal is intact; nothing had to be done\n";
  }
  if (!found.payloads.empty()) {
    Table table({"PAYLOAD", "SIZE", "DIGEST", "RECORDED"});
    for (const auto& payload : found.payloads) {
      table.Add({payload.file.empty() ? "(embedded)" : Printable(payload.file), SizeText(payload.size),
                 payload.digest.empty() ? "-" : payload.digest, payload.recorded ? "yes" : "no"});
    }
    table.Print();
  }
  for (const std::string& note : found.notes) std::cout << "note: " << Printable(note) << '\n';
  for (const std::string& problem : ProblemsOf(found)) std::cout << "problem: " << Printable(problem) << '\n';
  std::cout << CountText(found.context_nodes, "context node") << ", seal " << SealStateName(found.seal) << ", "
            << CountText(found.problems.size(), "problem") << '\n';
}

void PrintReport(const VerifyFlags& flags, const Outcome& outcome) {
  const ContextVerification& found = outcome.verification;
  Json json;
  json["model"] = flags.model;
  json["ok"] = found.problems.empty();
  json["seal"] = SealStateName(found.seal);
  json["resealed"] = outcome.resealed;
  json["context_nodes"] = found.context_nodes;
  json["payloads"] = Json::array();
  for (const auto& payload : found.payloads) {
    json["payloads"].push_back(
        {{"file", payload.file}, {"size", payload.size}, {"digest", payload.digest}, {"recorded", payload.recorded}});
  }
  json["problems"] = ProblemsOf(found);
  json["notes"] = found.notes;
  PrintJson(json);
}

}  // namespace

Command AddVerifyCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("verify", "Checks a context model and all of its files");
  auto flags = std::make_shared<VerifyFlags>();
  command->add_option("MODEL", flags->model, "Context model")->required();
  command->add_flag("--reseal", flags->reseal,
                    "The .onnx was changed on purpose: make its seal fit, unless a payload is not what it was");
  flags->session.AddProviders(*command);
  flags->session.AddOptions(*command);
  command->add_flag("--json", flags->json, "Print JSON");
  return {command, [flags] {
            Outcome outcome = Verify(*flags);
            if (flags->json) {
              PrintReport(*flags, outcome);
            } else {
              PrintText(*flags, outcome);
            }
            const size_t problems = outcome.verification.problems.size();
            if (problems != 0) {
              throw ReportedError(
                  StatusCode::kInvalidGraph,
                  "'" + flags->model + "' has " + CountText(problems, "problem") + ", listed on standard output");
            }
          }};
}

}  // namespace epiphyte::cli
