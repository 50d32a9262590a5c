#include "plugins/vulkan/exec/explain.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/exec/fuse.h"

namespace epiphyte::vulkan {
namespace {

void AppendNew(std::vector<std::string>& list, const std::string& text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(text);
}

std::string Joined(const std::vector<std::string>& list, std::string_view between) {
  std::string text;
  for (const std::string& each : list) text += (text.empty() ? "" : std::string(between)) + each;
  return text;
}

// For each node of the compiled graph, the names of its kernels and why faster ones were not chosen.
std::vector<std::string> KernelsOf(const ir::Graph& compiled, const CompileConfig& config) {
  std::vector<std::string> texts(compiled.nodes.size());
  const std::optional<Program> program = CompiledGraph::ProgramOf(compiled, config);
  if (!program) {
    std::ranges::fill(texts, "its kernel is chosen when a run's shapes are known");
    return texts;
  }
  std::vector<std::vector<std::string>> shaders(texts.size()), notes(texts.size());
  for (const Dispatch& dispatch : program->dispatches)
    if (dispatch.node >= 0) AppendNew(shaders[static_cast<size_t>(dispatch.node)], dispatch.shader);
  for (const auto& [node, note] : program->notes)
    if (node >= 0) AppendNew(notes[static_cast<size_t>(node)], note);
  for (size_t n = 0; n < texts.size(); ++n) {
    if (shaders[n].empty()) {
      texts[n] = "no kernel: it is computed before the run, or its output is its input's memory";
      continue;
    }
    texts[n] = Joined(shaders[n], ", ");
    if (!notes[n].empty()) texts[n] += ": " + Joined(notes[n], "; ");
  }
  return texts;
}

// For each node of `graph`, the node of `compiled` that does its work. This is the node that makes its outputs, else
// the node that does the work of a reader of these outputs. -1: there is none.
std::vector<int32_t> DoneBy(const ir::Graph& graph, const ir::Graph& compiled) {
  std::map<std::string_view, int32_t> maker;
  for (size_t n = 0; n < compiled.nodes.size(); ++n)
    for (const int32_t output : compiled.nodes[n].outputs)
      if (output >= 0) maker[compiled.values[static_cast<size_t>(output)].name] = static_cast<int32_t>(n);
  std::vector<int32_t> reader(graph.values.size(), -1);  // by value: node of `compiled` that does the work of a reader
  std::vector<int32_t> done_by(graph.nodes.size(), -1);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const ir::Node& node = graph.nodes[n];
    for (const int32_t output : node.outputs) {
      if (output < 0 || done_by[n] >= 0) continue;
      const auto found = maker.find(graph.values[static_cast<size_t>(output)].name);
      done_by[n] = found != maker.end() ? found->second : reader[static_cast<size_t>(output)];
    }
    for (const int32_t input : node.inputs)
      if (input >= 0) reader[static_cast<size_t>(input)] = done_by[n];
  }
  return done_by;
}

}  // namespace

std::vector<std::string> ExplainNodes(const ir::Graph& graph, const CompileConfig& config) {
  ir::Graph compiled = graph;
  Fuse(compiled, *config.operators, config.capabilities);
  const std::vector<int32_t> done_by = DoneBy(graph, compiled);
  const std::vector<std::string> kernels = KernelsOf(compiled, config);
  std::vector<std::string> notes(graph.nodes.size());
  // Several nodes may have been fused into one. The last of them gets the kernel's name, the others say which node they
  // are part of.
  std::vector<size_t> last(compiled.nodes.size(), 0);
  for (size_t n = 0; n < notes.size(); ++n)
    if (done_by[n] >= 0) last[static_cast<size_t>(done_by[n])] = n;
  for (size_t n = 0; n < notes.size(); ++n) {
    if (done_by[n] < 0) {
      notes[n] = "no kernel: its work is part of a constant";
      continue;
    }
    const auto by = static_cast<size_t>(done_by[n]);
    const ir::Node& end = graph.nodes[last[by]];
    notes[n] = last[by] == n ? kernels[by] : kit::TextOf("part of '", end.name, "' (", end.op_type, ")");
  }
  return notes;
}

}  // namespace epiphyte::vulkan
