// RotaryEmbedding rotates pairs of elements of each head by an angle that depends on the position. Positions are
// indices into the caches, as Gather has them; move/indices.h says how indices out of range are handled.
#include "epiphyte/kit/abi/fail.hpp"
#include "plugins/vulkan/ops/move/indices.h"
#include "plugins/vulkan/ops/recording.h"
#include "plugins/vulkan/ops/shader_numbers.h"

namespace epiphyte::vulkan {
namespace {

void RecordRotaryEmbedding(Recording& r) {
  const ir::Node& node = r.node();
  const Dims x = r.InputDims(0);
  const int64_t named_heads = node.Int("num_heads", 0);
  const bool heads_first = x.size() == 4;
  if (!heads_first && (x.size() != 3 || named_heads <= 0 || x[2] % named_heads != 0))
    kit::FailArgument("input has shape ", kit::ShapeText({x.data(), x.size()}),
                      ", expected [batch,heads,length,size], or [batch,length,hidden] with num_heads");
  const int64_t heads = heads_first ? x[1] : named_heads;
  const int64_t length = x[heads_first ? 2 : 1];
  const int64_t size = heads_first ? x[3] : x[2] / heads;
  const int64_t dim = node.Int("rotary_embedding_dim", 0);
  const int64_t rotated = dim > 0 ? dim : size;
  if (rotated > size || rotated % 2 != 0)
    kit::FailArgument("rotary dimension is ", rotated, ", expected an even number up to the head's ", size);

  const Dims cosines = r.InputDims(1);
  const int64_t tokens = x[0] * length;
  if (cosines != r.InputDims(2) || cosines.size() < 2 || cosines.back() != rotated / 2)
    kit::FailArgument("caches have shapes ", kit::ShapeText({cosines.data(), cosines.size()}), " and ",
                      kit::ShapeText({r.InputDims(2).data(), r.InputDims(2).size()}), ", expected [...,", rotated / 2,
                      "]");
  const int64_t rows = cosines.Count(0, cosines.size() - 1);
  if (r.HasInput(3) ? r.InputDims(3).Count() != tokens : rows != tokens)
    kit::FailArgument(r.HasInput(3) ? "position_ids have " : "caches have rows ",
                      r.HasInput(3) ? r.InputDims(3).Count() : rows, ", expected one for each of ", tokens, " tokens");
  if (r.HasInput(3)) CheckIndices(r.Host(3), rows);
  const int32_t y = r.Output(0, r.InputType(0), x);
  const int64_t count = x.Count();
  if (count == 0) return;
  if (rows == 0) kit::FailArgument("the caches have no rows");
  r.Add({.shader = Recording::ShaderFor("rotary_embedding", r.InputType(0)),
         .specialization = {(r.HasInput(3) ? shader::kRotaryPositions : 0) |
                            (node.Int("interleaved", 0) != 0 ? shader::kRotaryInterleaved : 0) |
                            (heads_first ? shader::kRotaryHeadsFirst : 0)},
         .parameters = {Word(count), Word(size), Word(rotated), Word(heads), Word(length), Word(rows)},
         .bindings = {r.Read(0), r.Read(1), r.Read(2), r.HasInput(3) ? r.Read(3) : r.Read(0), Recording::Write(y)},
         .groups = r.GroupsFor(count),
         .work = static_cast<uint64_t>(count)});
}

}  // namespace

void Register_rotary_embedding(OperatorTable& table) {
  table.Add({.op_type = "RotaryEmbedding", .first_version = 23, .record = RecordRotaryEmbedding, .bindings = 5});
}

}  // namespace epiphyte::vulkan
