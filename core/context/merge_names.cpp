#include "core/context/merge_names.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/error.h"

namespace epiphyte::core {
namespace {

enum class End { kOutput, kInput };

std::string Letter(size_t index) { return index < 26 ? std::string(1, static_cast<char>('A' + index)) : std::string(); }

// All names that a model may be given by.
std::vector<std::string> AliasesOf(const MergeModel& model, size_t index) {
  std::vector<std::string> aliases = {model.path.stem().string(), model.stem, Letter(index)};
  std::erase(aliases, std::string());
  return aliases;
}

const std::vector<ValueDef*>& EndsOf(const MergeModel& model, End end) {
  return end == End::kOutput ? model.model.graph->outputs() : model.model.graph->inputs();
}

std::string NamesOf(const std::vector<ValueDef*>& values) {
  std::vector<std::string_view> names;
  for (const ValueDef* value : values) names.push_back(value->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

struct Found {
  size_t model;
  ValueDef* value;
};

// All meanings of `text` ("A.out"). Names may hold dots, so every alias is tried.
std::vector<Found> Resolve(std::string_view text, End end, std::span<const MergeModel> models) {
  std::vector<Found> found;
  for (size_t i = 0; i < models.size(); ++i) {
    ValueDef* match = nullptr;
    for (const std::string& alias : AliasesOf(models[i], i)) {
      if (!text.starts_with(alias + ".")) continue;
      const std::string_view name = text.substr(alias.size() + 1);
      for (ValueDef* value : EndsOf(models[i], end)) {
        if (value->name() == name) match = value;
      }
    }
    if (match != nullptr) found.push_back({i, match});
  }
  return found;
}

[[noreturn]] void ExplainUnresolved(std::string_view text, End end, std::string_view connection,
                                    std::span<const MergeModel> models) {
  const std::string_view kind = end == End::kOutput ? "output" : "input";
  for (size_t i = 0; i < models.size(); ++i) {
    for (const std::string& alias : AliasesOf(models[i], i)) {
      if (!text.starts_with(alias + ".")) continue;
      Fail(StatusCode::kInvalidArgument, "connection '{}': model '{}' has no {} '{}'; it has: {}", connection, alias,
           kind, text.substr(alias.size() + 1), NamesOf(EndsOf(models[i], end)));
    }
  }
  std::vector<std::string> known;
  for (size_t i = 0; i < models.size(); ++i) {
    known.push_back(fmt::format("{}{}{}", Letter(i), i < 26 ? " or " : "", models[i].stem));
  }
  Fail(StatusCode::kInvalidArgument,
       "connection '{}': '{}' does not begin with a model's name and a dot; the models are: {}", connection, text,
       fmt::join(known, ", "));
}

Found ResolveOne(std::string_view text, End end, std::string_view connection, std::span<const MergeModel> models) {
  const std::vector<Found> found = Resolve(text, end, models);
  if (found.empty()) ExplainUnresolved(text, end, connection, models);
  if (found.size() > 1) {
    Fail(StatusCode::kInvalidArgument,
         "connection '{}': '{}' may mean model {} or {}; call the models by their letters", connection, text,
         Letter(found[0].model), Letter(found[1].model));
  }
  return found[0];
}

MergeConnection Parse(const std::string& text, std::span<const MergeModel> models) {
  size_t split = text.find('=');
  if (split == std::string::npos) {
    Fail(StatusCode::kInvalidArgument, "connection '{}' is not of the form A.output=B.input", text);
  }
  // Names may hold '=' too: the text is split at the first '=' where both sides have a meaning, or else at the first
  // '='.
  for (size_t at = split; at != std::string::npos; at = text.find('=', at + 1)) {
    const std::string_view view = text;
    if (Resolve(view.substr(0, at), End::kOutput, models).empty()) continue;
    if (Resolve(view.substr(at + 1), End::kInput, models).empty()) continue;
    split = at;
    break;
  }
  const std::string_view view = text;
  const Found from = ResolveOne(view.substr(0, split), End::kOutput, text, models);
  const Found to = ResolveOne(view.substr(split + 1), End::kInput, text, models);
  return {from.model, from.value, to.model, to.value};
}

std::string TypeText(const ValueDef& value) { return value.type() ? value.type()->ToString() : "of unknown type"; }

}  // namespace

std::string MergeStem(const std::filesystem::path& path) {
  std::string stem = path.stem().string();
  if (stem.size() > 4 && stem.ends_with("_ctx")) stem.resize(stem.size() - 4);
  return stem;
}

std::vector<MergeConnection> ParseConnections(std::span<const std::string> texts, std::span<const MergeModel> models) {
  std::vector<MergeConnection> connections;
  std::set<const ValueDef*> connected;
  for (const std::string& text : texts) {
    const MergeConnection connection = Parse(text, models);
    if (!connected.insert(connection.input).second) {
      Fail(StatusCode::kInvalidArgument, "connection '{}': input '{}' is connected already; an input has one source",
           text, connection.input->name());
    }
    if (connection.output->IsInput()) {
      Fail(StatusCode::kInvalidArgument,
           "connection '{}': output '{}' is an input of its model, passed through; connect what feeds it instead", text,
           connection.output->name());
    }
    if (connection.input->IsOutput()) {
      Fail(StatusCode::kInvalidArgument,
           "connection '{}': input '{}' is also an output of its model, passed through; remove it from the outputs "
           "first",
           text, connection.input->name());
    }
    const TypePtr& from = connection.output->type();
    const TypePtr& to = connection.input->type();
    if (from != nullptr && to != nullptr && MergeTypes(from, to) == nullptr) {
      Fail(StatusCode::kInvalidGraph, "connection '{}': the output is {}, the input expects {}", text,
           TypeText(*connection.output), TypeText(*connection.input));
    }
    connections.push_back(connection);
  }
  return connections;
}

}  // namespace epiphyte::core
