#include "epiphyte/context_tools.hpp"

#include "core/context/merge.h"
#include "core/context/reseal.h"
#include "core/context/verify.h"
#include "core/runtime/provider_list.h"
#include "host/api/access.h"

namespace epiphyte {
namespace {

SealState Convert(core::SealState state) {
  switch (state) {
    case core::SealState::kNone: return SealState::kNone;
    case core::SealState::kIntact: return SealState::kIntact;
    case core::SealState::kBroken: return SealState::kBroken;
  }
  return SealState::kBroken;
}

}  // namespace

std::string_view SealStateName(SealState state) {
  switch (state) {
    case SealState::kNone: return "none";
    case SealState::kIntact: return "intact";
    case SealState::kBroken: return "broken";
  }
  return "broken";
}

namespace {

ContextVerification Verify(const Environment& environment, const std::filesystem::path& model,
                           const std::shared_ptr<core::ContextStore>& store, const core::ProviderRequest& request) {
  return WithPublicErrors([&] {
    core::VerifyReport report = core::VerifyContextModel(model, Access::Of(environment)->catalog(), store, request);
    ContextVerification verification;
    verification.model = std::move(report.model);
    verification.seal = Convert(report.seal);
    verification.context_nodes = report.context_nodes;
    for (core::VerifiedPayload& payload : report.payloads) {
      verification.payloads.push_back(
          {std::move(payload.file), payload.size, std::move(payload.digest), payload.recorded});
    }
    for (core::VerifyProblem& problem : report.problems) {
      verification.problems.push_back(std::move(problem.text));
      verification.hints.push_back(static_cast<Hint>(problem.hint));
    }
    verification.notes = std::move(report.notes);
    return verification;
  });
}

}  // namespace

ContextVerification VerifyContext(const Environment& environment, const std::filesystem::path& model,
                                  const std::shared_ptr<ContextStore>& store) {
  return Verify(environment, model, Access::Share(store), {});
}

ContextVerification VerifyContext(const Environment& environment, const std::filesystem::path& model,
                                  const SessionOptions& options) {
  const core::SessionConfig config = Access::Of(options);
  return Verify(environment, model, config.context_store, core::RequestOf(config));
}

SealState ResealContext(const Environment& environment, const std::filesystem::path& model) {
  return ResealContext(environment, model, nullptr);
}

SealState ResealContext(const Environment& environment, const std::filesystem::path& model,
                        const std::shared_ptr<ContextStore>& store) {
  return WithPublicErrors([&] {
    return Convert(core::ResealContextModel(model, Access::Of(environment)->catalog(), Access::Share(store)));
  });
}

MergedContext MergeContexts(const Environment& environment, const MergeOptions& options) {
  return WithPublicErrors([&] {
    core::MergeResult result =
        core::MergeContextModels({options.models, options.connections, options.output, options.external_initializers,
                                  options.overwrite, Access::Share(options.context_store)},
                                 Access::Of(environment)->catalog());
    return MergedContext{std::move(result.model),   std::move(result.written), std::move(result.referenced),
                         std::move(result.renamed), result.context_nodes,      result.plain_nodes};
  });
}

}  // namespace epiphyte
