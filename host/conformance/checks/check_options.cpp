// Checks of the options that a plugin declares: the table, each declaration, and whether providers accept valid values.
#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/abi_fill.h"
#include "core/registry/option_declaration.h"
#include "host/conformance/checks/checks.h"

namespace epiphyte::conformance {
namespace {

using core::OptionDeclaration;
using core::OptionFault;
using core::OptionMap;

Rule RuleOf(OptionFault fault) {
  switch (fault) {
    case OptionFault::kInfo: return Rule::kOptionsAreGiven;
    case OptionFault::kName: return Rule::kOptionsHaveNames;
    case OptionFault::kTwice: return Rule::kOptionsAreDeclaredOnce;
    case OptionFault::kType: return Rule::kOptionsHaveTypes;
    case OptionFault::kHelp: return Rule::kOptionsHaveHelp;
    case OptionFault::kRange: return Rule::kRangesAreRanges;
    case OptionFault::kChoices: return Rule::kChoicesAreChoices;
    case OptionFault::kNoDefault: return Rule::kOptionsHaveDefaults;
    case OptionFault::kDefault: return Rule::kDefaultsFit;
  }
  return Rule::kOptionsAreGiven;
}

// Returns null when the plugin declares no options.
const EpOptionsApi* FindTable(Bench& bench) {
  const auto* table = bench.Extension<EpOptionsApi>(EP_OPTIONS_EXTENSION);
  if (table == nullptr) return nullptr;
  const std::string problem = core::AbiProblem(*table);
  Demand(bench.host(), problem.empty(), Rule::kOptionsTableIsWhole, problem);
  Demand(bench.host(), table->GetOptions != nullptr, Rule::kOptionsTableIsWhole, "EpOptionsApi::GetOptions is null");
  bench.journal().Pass(Rule::kOptionsTableIsWhole);
  return table;
}

std::vector<const EpOptionInfo*> Ask(Bench& bench, const EpOptionsApi& table) {
  DebugHost& host = bench.host();
  const auto ask = [&](const EpOptionInfo** infos, uint32_t capacity) {
    uint32_t count = UINT32_MAX;
    const DebugHost::Failure failure = CallPlugin(host, Rule::kOptionsKeepExceptions, "GetOptions", [&] {
      return table.GetOptions(bench.plugin().handle(), infos, capacity, &count);
    });
    if (failure) EndWith(host, Rule::kOptionsAreCounted, Describe(failure));
    Demand(host, count <= EP_MAX_OPTIONS, Rule::kOptionsAreCounted,
           "GetOptions counts " + std::to_string(count) + " options, at most " + std::to_string(EP_MAX_OPTIONS) +
               " are allowed");
    return count;
  };
  const uint32_t count = ask(nullptr, 0);
  std::vector<const EpOptionInfo*> infos;
  const auto* untouched = reinterpret_cast<const EpOptionInfo*>(&infos);
  infos.assign(count + 1, untouched);
  Demand(host, ask(infos.data(), count) == count, Rule::kOptionsStay,
         "GetOptions counts another number the second time");
  Demand(host, infos[count] == untouched, Rule::kOptionsAreCounted,
         "GetOptions filled more than " + std::to_string(count) + " entries");
  infos.pop_back();
  for (const EpOptionInfo*& info : infos) {
    if (info == untouched) info = nullptr;
  }
  PassAll(bench.journal(), {Rule::kOptionsKeepExceptions, Rule::kOptionsAreCounted});
  return infos;
}

// Returns nothing when the plugin has no table.
std::optional<std::vector<OptionDeclaration>> Declared(Bench& bench) {
  const EpOptionsApi* table = FindTable(bench);
  if (table == nullptr) return std::nullopt;
  try {
    return core::ReadDeclarations(Ask(bench, *table));
  } catch (const core::BadOption& bad) {
    EndWith(bench.host(), RuleOf(bad.fault()), bad.message());
  }
}

void CheckDeclarations(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const auto declared = Declared(bench);
  if (!declared) {
    for (int rule = static_cast<int>(Rule::kOptionsTableIsWhole); rule <= static_cast<int>(Rule::kManifestOptionsFit);
         ++rule) {
      journal.NotApplicable(static_cast<Rule>(rule), "the plugin doesn't declare its options");
    }
    return bench.Finish();
  }
  PassAll(journal, {Rule::kOptionsAreGiven, Rule::kOptionsHaveNames, Rule::kOptionsAreDeclaredOnce,
                    Rule::kOptionsHaveTypes, Rule::kOptionsHaveHelp, Rule::kOptionsHaveDefaults, Rule::kDefaultsFit,
                    Rule::kRangesAreRanges, Rule::kChoicesAreChoices});
  { Session session(bench.plugin(), {}); }
  Demand(bench.host(), Declared(bench) == declared, Rule::kOptionsStay,
         "GetOptions answered differently the second time");
  journal.Pass(Rule::kOptionsStay);
  if (target.manifest.empty()) {
    journal.NotApplicable(Rule::kManifestOptionsFit, "no manifest was given");
  } else {
    const auto wrong = core::FindWrong(*declared, target.options);
    Demand(bench.host(), !wrong, Rule::kManifestOptionsFit,
           wrong ? wrong->subject + " of the manifest " + wrong->problem : "");
    journal.Pass(Rule::kManifestOptionsFit);
  }
  bench.Finish();
}

// Returns values to try in addition to the default: the choices, and the limits of the range.
std::vector<std::string> ValuesToTry(const OptionDeclaration& option) {
  std::vector<std::string> values = option.choices;
  if (option.type == EP_OPTION_BOOL) values = {"0", "1"};
  for (const std::string& bound : {option.minimum, option.maximum}) {
    if (!bound.empty()) values.push_back(bound);
  }
  return values;
}

void CheckValues(Journal& journal, const Target& target) {
  Bench bench(journal, target);
  const auto declared = Declared(bench);
  if (!declared) return bench.Finish();
  OptionMap defaults;
  core::Complete(*declared, &defaults);
  const DebugHost::Failure failure = Session::TryCreate(bench.plugin(), defaults);
  if (failure) EndWith(bench.host(), Rule::kDefaultsWork, "with every option at its default: " + Describe(failure));
  journal.Pass(Rule::kDefaultsWork);
  for (const OptionDeclaration& option : *declared) {
    for (const std::string& value : ValuesToTry(option)) {
      OptionMap options = defaults;
      options[option.name] = value;
      const DebugHost::Failure refused = Session::TryCreate(bench.plugin(), options);
      Demand(bench.host(), !refused || refused.code == EP_STATUS_INVALID_ARGUMENT, Rule::kFittingValuesAreTaken,
             "with option '" + option.name + "' being '" + value + "': " + Describe(refused));
    }
  }
  journal.Pass(Rule::kFittingValuesAreTaken);
  bench.Finish();
}

constexpr Check kOptionChecks[] = {{"declared options", CheckDeclarations}, {"values of options", CheckValues}};

}  // namespace

std::span<const Check> OptionChecks() { return kOptionChecks; }

}  // namespace epiphyte::conformance
