#include "plugins/npu/exec/partition.h"

#include "epiphyte/kit/abi/fail.hpp"
#include "epiphyte/kit/plugin/compilation.hpp"
#include "epiphyte/kit/qdq/unshare.hpp"
#include "epiphyte/kit/shape/element_type.hpp"
#include "plugins/npu/exec/claims.h"
#include "plugins/npu/graph/lower.h"

namespace epiphyte::npu {
namespace {

constexpr size_t kLongestName = 1023;  // name of a graph, as in nsdk.h

Port PortOf(const ir::Value& value) {
  uint64_t count = 0;
  if (!kit::CountElements(value.dims, &count)) Refuse("'", value.name, "' is larger than any memory");
  return {value.name, value.type, value.dims, kit::ElementBytes(value.type, count)};
}

std::vector<uint32_t> PortsOf(const Lowering& lowering, const std::vector<int32_t>& values, std::vector<Port>* ports) {
  std::vector<uint32_t> tensors;
  for (const int32_t value : values) {
    const ir::Value& info = lowering.editor().info(value);
    const uint32_t tensor = lowering.Find(value);
    if (tensor == NSDK_NONE) Refuse("no operator on the NPU reads or makes '", info.name, "'");
    tensors.push_back(tensor);
    ports->push_back(PortOf(info));
  }
  return tensors;
}

std::shared_ptr<const NpuPartition> Compile(std::shared_ptr<const SdkContext> context, const ir::Editor& editor,
                                            const kit::Task& task) {
  const ir::Graph& graph = editor.graph();
  if (graph.name.empty() || graph.name.size() > kLongestName)
    Refuse("the partition's name has ", graph.name.size(), " bytes; the NPU takes 1 to ", kLongestName);
  auto made = std::make_shared<NpuPartition>();
  made->name = graph.name;
  FlatGraph flat(graph.name);
  const Meanings meanings(editor);
  Lowering lowering(editor, meanings, context->target(), ConstantData::kGiven, flat);
  for (const QuantizedOp& work : OpsOfPartition(editor, meanings)) lowering.Add(work);
  std::vector<uint32_t> inputs = PortsOf(lowering, graph.inputs, &made->inputs);
  std::vector<uint32_t> outputs = PortsOf(lowering, graph.outputs, &made->outputs);
  flat.SetPorts(std::move(inputs), std::move(outputs));
  made->compiled = std::make_unique<const Compiled>(std::move(context), flat.Get(), task);
  return made;
}

}  // namespace

std::vector<QuantizedOp> OpsOfPartition(const ir::Editor& editor, const Meanings& meanings) {
  const qdq::Units found = qdq::FindUnits(editor, UnitOptions());
  std::vector<QuantizedOp> works;
  std::vector<bool> done(editor.graph().nodes.size(), false);
  for (const qdq::Unit& unit : found.units) {
    if (done[static_cast<size_t>(unit.target)]) continue;
    std::string why;
    std::vector<QuantizedOp> made;
    if (unit.IsQdq()) {
      made.push_back(OpOfUnit(editor, unit));
    } else {
      made = OpsOfNode(editor, meanings, unit.target, &why);
    }
    if (made.empty())
      Refuse(qdq::NodeText(editor.graph(), editor.node(unit.target)),
             " can't run here by itself: ", why.empty() ? found.reasons[static_cast<size_t>(unit.target)] : why);
    for (QuantizedOp& work : made) {
      for (const int32_t node : work.nodes) done[static_cast<size_t>(node)] = true;
      works.push_back(std::move(work));
    }
  }
  return works;
}

std::shared_ptr<const NpuPartition> CompilePartition(std::shared_ptr<const SdkContext> context, ir::Graph& graph,
                                                     const kit::Task& task) {
  try {
    {
      ir::Editor editor(graph);
      qdq::UnshareDequantize(editor);
      editor.Finish();
    }
    return Compile(std::move(context), ir::Editor(graph), task);
  } catch (const kit::Error& error) {
    GiveBack(error);
    throw;
  }
}

void GiveBack(const kit::Error& error) {
  if (error.code() != EP_STATUS_CANCELED && error.code() != EP_STATUS_DEVICE_RESET) throw kit::Declined(error.what());
}

std::vector<std::byte> BlobOf(const std::vector<std::shared_ptr<const NpuPartition>>& partitions) {
  std::vector<const Compiled*> compiled;
  for (const auto& partition : partitions) compiled.push_back(partition->compiled.get());
  std::vector<std::byte> blob;
  compiled.at(0)->context().WriteBlob(compiled, [&](const void* data, uint64_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    blob.insert(blob.end(), bytes, bytes + size);
  });
  return blob;
}

}  // namespace epiphyte::npu
