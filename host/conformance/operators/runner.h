// Runner: runs a case on one provider, as an application would, and compares the outputs with the expected ones.
//
//   Runner runner(environment, {.provider = "vulkan"});
//   const Result result = runner.Run(c, Random(17));
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/runtime/environment.h"
#include "core/runtime/session.h"
#include "host/conformance/operators/difference.h"
#include "host/conformance/operators/operator_case.h"

namespace epiphyte::operators {

enum class Verdict {
  kPassed,
  kFailed,
  kNotClaimed,  // the provider doesn't take the node; the text is its reason
  kByCore,      // the outputs are right, and the core computed them before it asked providers
};

struct Result {
  Verdict verdict = Verdict::kPassed;
  std::string text;
};

struct RunnerOptions {
  std::string provider;
  std::map<std::string, std::string> provider_options = {};
  Tolerance tolerance = {};
};

class Runner {
 public:
  // `environment` has the provider. Throws when its plugin can't be used.
  Runner(std::unique_ptr<core::Environment> environment, RunnerOptions options);
  ~Runner();

  // Runs the case twice in one session on the provider alone. A case that must fail must be refused by a message of one
  // line that names the node and its operator. `random` chooses how much of the model's shapes and inputs is known
  // before the run.
  Result Run(const Case& c, Random random);
  // Runs a case with unknown outputs. It must give outputs, within limits of memory, or be refused with a message of
  // the same kind.
  Result RunHostile(const Case& c, Random random);

 private:
  core::SessionOptions SessionOptionsOf() const;
  void Keep(std::unique_ptr<core::Session> session);

  std::unique_ptr<core::Environment> environment_;
  RunnerOptions options_;
  // The first session with the provider stays open, so that the provider's device stays open for later sessions.
  std::unique_ptr<core::Session> keeper_;
};

}  // namespace epiphyte::operators
