#include "epiphyte/kit/fuse/rotary.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "epiphyte/kit/fuse/match.hpp"
#include "epiphyte/kit/fuse/part.hpp"

namespace epiphyte::kit::fuse {
namespace {

// True when in each row of a constant the first half equals the second.
bool HasEqualHalves(const ir::Tensor& tensor) {
  if (tensor.rank() == 0 || tensor.data == nullptr || tensor.Count() == 0 || tensor.dims.back() % 2 != 0) return false;
  const uint64_t row = ElementBytes(tensor.type, static_cast<uint64_t>(tensor.dims.back()));
  const auto* bytes = static_cast<const char*>(tensor.data);
  for (uint64_t at = 0; at < tensor.Bytes(); at += row)
    if (std::memcmp(bytes + at, bytes + at + row / 2, row / 2) != 0) return false;
  return true;
}

class RotaryFuser {
 public:
  RotaryFuser(ir::Editor& editor, const RotaryOptions& options) : editor_(editor), options_(options) {}

  void Run() {
    for (int32_t n = 0; n < editor_.node_count(); ++n) {
      if (IsArithmetic(editor_, n, "Add")) FuseTurned(n);
      if (IsNode(editor_, n, "Concat", 2)) {
        if (!FuseHalves(n)) FusePartial(n);
      }
      if (IsNode(editor_, n, "Reshape")) FuseInterleaved(n);
    }
  }

 private:
  bool Takes(int32_t value) const {
    const ir::Value& info = editor_.info(value);
    if (info.rank != 4 || info.dims[3] <= 0 || info.dims[3] % 2 != 0) return false;
    return options_.takes_type ? options_.takes_type(info.type) : info.type == EP_TYPE_FLOAT;
  }

  // True for a Concat of two values along the last axis.
  bool JoinsLast(int32_t n) const {
    if (!IsNode(editor_, n, "Concat", 2) || editor_.node(n).inputs.size() != 2) return false;
    const int64_t axis = editor_.node(n).Int("axis", 1);
    const int32_t rank = editor_.info(editor_.node(n).outputs[0]).rank;
    return axis == -1 || (rank > 0 && axis == rank - 1);
  }
  bool IsLast(const Part& part) const { return part && part.axis == editor_.info(part.of).rank - 1; }
  bool IsHalf(const Part& part, int which) const {
    const int64_t half = part.size / 2;
    return IsLast(part) && part.step == 1 && part.size % 2 == 0 && part.begin == which * half &&
           part.end == (which + 1) * half;
  }
  bool IsAlternate(const Part& part, int which) const {
    return IsLast(part) && part.step == 2 && part.size % 2 == 0 && part.begin == which && part.end >= part.size - 1;
  }

  // True when the two halves of each row are equal.
  bool IsDoubled(int32_t value) const {
    constexpr int kMost = 16;
    for (int step = 0; step < kMost; ++step) {
      if (const ir::Tensor* constant = editor_.ConstantOf(value)) return HasEqualHalves(*constant);
      const int32_t n = editor_.Producer(value);
      if (n < 0 || editor_.removed(n) || !editor_.node(n).HasInput(0)) return false;
      if (JoinsLast(n)) return editor_.node(n).inputs[0] == editor_.node(n).inputs[1];
      if (!KeepsRows(n)) return false;
      value = RowsOf(n);
    }
    return false;
  }
  // The input that supplies the rows of node `n`, a node accepted by KeepsRows.
  int32_t RowsOf(int32_t n) const {
    float number = 0;
    const ir::Node& node = editor_.node(n);
    const bool second = IsArithmetic(editor_, n, "Mul") && editor_.Scalar(node.inputs[0], &number);
    return node.inputs[second ? 1 : 0];
  }
  bool KeepsRows(int32_t n) const {
    const ir::Node& node = editor_.node(n);
    const ir::Value& from = editor_.info(node.inputs[0]);
    const ir::Value& to = node.HasOutput(0) ? editor_.info(node.outputs[0]) : from;
    for (std::string_view op_type : {"Cos", "Sin", "Cast", "Identity"})
      if (editor_.Is(n, op_type)) return true;
    if (IsArithmetic(editor_, n, "Mul")) {
      float number = 0;
      return editor_.Scalar(node.inputs[0], &number) || editor_.Scalar(node.inputs[1], &number);
    }
    // Moves along other axes keep the last axis whole, and last.
    if (from.rank < 1 || to.rank < 1 || from.dims.back() <= 0 || from.dims.back() != to.dims.back()) return false;
    if (editor_.Is(n, "Unsqueeze") || editor_.Is(n, "Squeeze") || editor_.Is(n, "Reshape")) return true;
    if (editor_.Is(n, "Gather")) return from.rank >= 2 && node.Int("axis", 0) == 0;
    if (!editor_.Is(n, "Slice")) return false;
    const auto axes = ListOf(editor_, node, "axes", 3);
    const int64_t last = from.rank - 1;
    return axes && !axes->empty() &&
           std::none_of(axes->begin(), axes->end(), [&](int64_t axis) { return axis == -1 || axis == last; });
  }

  // True when angles [batch or 1, 1, sequence, last], or with fewer leading dimensions, rotate x as the operator would.
  bool Fits(int32_t angles, int32_t x, int64_t last) const {
    const ir::Value& a = editor_.info(angles);
    const ir::Value& info = editor_.info(x);
    if (a.type != info.type || a.rank < 2 || a.rank > 4 || a.dims.back() != last) return false;
    const size_t rank = a.dims.size();
    // An unknown number of angles fits, because angles are made for the sequence.
    const auto is_of = [](int64_t found, int64_t expected) { return found == expected || found < 0; };
    if (!is_of(a.dims[rank - 2], info.dims[2])) return false;
    if (rank == 4 && a.dims[1] != 1) return false;
    return AngleBatches(a) == 1 ? info.dims[0] > 0 : is_of(AngleBatches(a), info.dims[0]);
  }
  static int64_t AngleBatches(const ir::Value& angles) { return angles.rank == 2 ? 1 : angles.dims[0]; }

  // A value [batch, sequence, half] of these angles, made before node `place`; only the first `half` of each row if
  // rows are longer. The operator needs angles for each batch, so angles of one batch are repeated.
  int32_t CacheOf(int32_t angles, int64_t half, int64_t batches, int32_t place) {
    if (AngleBatches(editor_.info(angles)) != 1) batches = 1;
    const auto [known, is_new] = caches_.try_emplace({angles, half, batches}, -1);
    if (!is_new) return known->second;
    if (batches <= 1) return known->second = CacheOfAngles(angles, half, place);
    ir::Node expand;
    expand.op_type = "Expand";
    expand.since_version = 13;
    const int64_t shape[] = {batches, 1, 1};
    const int32_t one = CacheOf(angles, half, 1, place);
    expand.inputs = {one, editor_.AddInts(editor_.info(angles).name + "/shape", {3}, shape)};
    std::vector<int64_t> dims = editor_.info(one).dims;
    dims[0] = batches;
    return known->second = Insert(place, std::move(expand), angles, "/batches", std::move(dims));
  }
  int32_t CacheOfAngles(int32_t angles, int64_t half, int32_t place) {
    if (const auto numbers = editor_.Floats(angles)) return AddConstantCache(angles, *numbers, half);
    int32_t value = angles;
    if (editor_.info(angles).dims.back() != half) {
      ir::Node slice;
      slice.op_type = "Slice";
      slice.since_version = 13;
      const auto ints = [&](const char* what, int64_t number) {
        return AddNumber(editor_.info(angles).name + what, number);
      };
      slice.inputs = {value, ints("/begin", 0), ints("/end", half), ints("/axis", -1)};
      std::vector<int64_t> dims = editor_.info(angles).dims;
      dims.back() = half;
      value = Insert(place, std::move(slice), angles, "/half", std::move(dims));
    }
    if (const std::vector<int64_t> dims = editor_.info(value).dims; dims.size() != 3) {
      ir::Node node;
      node.op_type = dims.size() == 4 ? "Squeeze" : "Unsqueeze";
      node.since_version = 13;
      node.inputs = {value, AddNumber(editor_.info(angles).name + "/axes", dims.size() == 4 ? 1 : 0)};
      const int64_t batch = dims.size() == 4 ? dims[0] : 1;
      value = Insert(place, std::move(node), angles, "/cache", {batch, dims[dims.size() - 2], half});
    }
    return value;
  }
  int32_t AddConstantCache(int32_t angles, const std::vector<float>& numbers, int64_t half) {
    const std::vector<int64_t> dims = editor_.info(angles).dims;
    const auto row = static_cast<size_t>(dims.back());
    std::vector<float> halves;
    for (size_t at = 0; at < numbers.size(); at += row)
      halves.insert(halves.end(), numbers.data() + at, numbers.data() + at + half);
    const int64_t batch = dims.size() == 2 ? 1 : dims[0];
    return editor_.AddConstant(editor_.info(angles).name + "/cache", {batch, dims[dims.size() - 2], half}, halves);
  }
  int32_t AddNumber(std::string name, int64_t number) { return editor_.AddInts(std::move(name), {1}, {&number, 1}); }
  int32_t Insert(int32_t place, ir::Node node, int32_t like, const char* suffix, std::vector<int64_t> dims) {
    ir::Value value = editor_.info(like);
    value.name += suffix;
    value.rank = static_cast<int32_t>(dims.size());
    value.dims = std::move(dims);
    node.name = value.name;
    const int32_t made = editor_.AddValue(std::move(value));
    node.outputs = {made};
    editor_.InsertBefore(place, std::move(node));
    return made;
  }

  // Rows of a table [rows, half] at positions [batch, sequence]; the result may be [batch, 1, sequence, half].
  struct Rows {
    int32_t table = -1, positions = -1;
    explicit operator bool() const { return table >= 0; }
  };
  Rows RowsOfTable(int32_t angles, int64_t half) const {
    if (const int32_t n = Maker(editor_, angles, "Unsqueeze"); n >= 0) {
      const auto axes = ListOf(editor_, editor_.node(n), "axes", 1);
      if (!axes || *axes != std::vector<int64_t>{1}) return {};
      angles = editor_.node(n).inputs[0];
    }
    const int32_t gather = Maker(editor_, angles, "Gather", 2);
    if (gather < 0 || editor_.node(gather).Int("axis", 0) != 0) return {};
    const Rows rows{editor_.node(gather).inputs[0], editor_.node(gather).inputs[1]};
    const ir::Value& table = editor_.info(rows.table);
    const ir::Value& positions = editor_.info(rows.positions);
    const bool fits = table.rank == 2 && table.dims[0] > 0 && table.dims[1] == half && positions.rank == 2 &&
                      positions.type == EP_TYPE_INT64;
    return fits ? rows : Rows();
  }
  // The positions for each of the batches, made before node `place`.
  int32_t PositionsOf(int32_t positions, int64_t batches, int32_t place) {
    const ir::Value& info = editor_.info(positions);
    if (info.dims[0] != 1 || batches == 1) return positions;
    const auto [known, is_new] = positions_.try_emplace({positions, batches}, -1);
    if (!is_new) return known->second;
    ir::Node expand;
    expand.op_type = "Expand";
    expand.since_version = 13;
    const int64_t shape[] = {batches, 1};
    const int64_t sequence = info.dims[1];
    expand.inputs = {positions, editor_.AddInts(info.name + "/shape", {2}, shape)};
    return known->second = Insert(place, std::move(expand), positions, "/batches", {batches, sequence});
  }
  // Inputs of the operator after the first.
  std::vector<int32_t> AnglesFor(int32_t x, int32_t cos, int32_t sin, int64_t half, int32_t place) {
    const int64_t batch = editor_.info(x).dims[0];
    if (options_.takes_positions) {
      const Rows c = RowsOfTable(cos, half), s = RowsOfTable(sin, half);
      if (c && s && c.positions == s.positions && SameDims(editor_, c.table, s.table))
        return {c.table, s.table, PositionsOf(c.positions, batch, place)};
    }
    const int32_t cos_cache = CacheOf(cos, half, batch, place);
    return {cos_cache, CacheOf(sin, half, batch, place)};
  }

  void ReplaceBy(int32_t n, int32_t x, int32_t cos, int32_t sin, int64_t half, bool interleaved) {
    const std::vector<int32_t> angles = AnglesFor(x, cos, sin, half, n);
    ir::Node node;
    node.op_type = "RotaryEmbedding";
    node.since_version = 23;
    node.name = editor_.node(n).name;
    node.inputs = {x};
    node.inputs.insert(node.inputs.end(), angles.begin(), angles.end());
    node.outputs = {editor_.node(n).outputs[0]};
    if (interleaved) node.attributes.push_back(ir::Attribute::Int("interleaved", 1));
    editor_.Replace(n, std::move(node));
  }

  // Returns x if value = Concat(-x[size/2:], x[:size/2]); else -1.
  int32_t TurnedOf(int32_t value) const {
    const int32_t concat = Maker(editor_, value, "Concat", 2);
    if (!JoinsLast(concat)) return -1;
    const int32_t neg = Maker(editor_, editor_.node(concat).inputs[0], "Neg");
    if (neg < 0) return -1;
    const Part second = PartOf(editor_, editor_.node(neg).inputs[0]);
    const Part first = PartOf(editor_, editor_.node(concat).inputs[1]);
    return IsHalf(first, 0) && IsHalf(second, 1) && first.of == second.of ? first.of : -1;
  }

  // Fuses x * cos + turned(x) * sin.
  void FuseTurned(int32_t n) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const int32_t plain = ArithmeticMaker(editor_, editor_.node(n).inputs[i], "Mul");
      const int32_t turned = ArithmeticMaker(editor_, editor_.node(n).inputs[1 - i], "Mul");
      if (plain < 0 || turned < 0) continue;
      for (const size_t k : {size_t{0}, size_t{1}}) {
        const int32_t x = TurnedOf(editor_.node(turned).inputs[k]);
        const std::vector<int32_t>& factors = editor_.node(plain).inputs;
        if (x < 0 || (factors[0] != x && factors[1] != x) || !Takes(x)) continue;
        const int32_t cos = Other(editor_.node(plain), x);
        const int32_t sin = editor_.node(turned).inputs[1 - k];
        const int64_t size = editor_.info(x).dims[3];
        if (!Fits(cos, x, size) || !Fits(sin, x, size) || !IsDoubled(cos) || !IsDoubled(sin)) continue;
        return ReplaceBy(n, x, cos, sin, size / 2, false);
      }
    }
  }

  struct Turn {
    int32_t first = -1, second = -1;  // parts of x
    int32_t cos = -1, sin = -1;
  };
  // Recognises a = first * cos - second * sin, b = second * cos + first * sin.
  std::optional<Turn> TurnOf(int32_t a, int32_t b) const {
    const int32_t sub = ArithmeticMaker(editor_, a, "Sub");
    const int32_t add = ArithmeticMaker(editor_, b, "Add");
    if (sub < 0 || add < 0) return {};
    const auto factors = [&](int32_t value) {
      const int32_t mul = ArithmeticMaker(editor_, value, "Mul");
      return mul < 0 ? std::vector<int32_t>() : editor_.node(mul).inputs;
    };
    const std::vector<int32_t> first_cos = factors(editor_.node(sub).inputs[0]);
    const std::vector<int32_t> second_sin = factors(editor_.node(sub).inputs[1]);
    if (first_cos.empty() || second_sin.empty()) return {};
    const auto is_product = [&](int32_t value, int32_t p, int32_t q) {
      const std::vector<int32_t> found = factors(value);
      return !found.empty() && ((found[0] == p && found[1] == q) || (found[0] == q && found[1] == p));
    };
    for (const size_t i : {size_t{0}, size_t{1}}) {
      for (const size_t k : {size_t{0}, size_t{1}}) {
        const Turn turn{first_cos[i], second_sin[k], first_cos[1 - i], second_sin[1 - k]};
        const std::vector<int32_t>& sums = editor_.node(add).inputs;
        for (const size_t s : {size_t{0}, size_t{1}})
          if (is_product(sums[s], turn.second, turn.cos) && is_product(sums[1 - s], turn.first, turn.sin) &&
              PartOf(editor_, turn.first))
            return turn;
      }
    }
    return {};
  }

  bool FuseHalves(int32_t n) {
    if (!JoinsLast(n)) return false;
    const auto turn = TurnOf(editor_.node(n).inputs[0], editor_.node(n).inputs[1]);
    if (!turn) return false;
    const Part first = PartOf(editor_, turn->first);
    const Part second = PartOf(editor_, turn->second);
    if (!IsHalf(first, 0) || !IsHalf(second, 1) || first.of != second.of || !Takes(first.of)) return false;
    const int64_t half = first.size / 2;
    if (!Fits(turn->cos, first.of, half) || !Fits(turn->sin, first.of, half)) return false;
    ReplaceBy(n, first.of, turn->cos, turn->sin, half, false);
    return true;
  }

  // Fuses Reshape(Concat(Unsqueeze(a, -1), Unsqueeze(b, -1))) with the shape of x.
  void FuseInterleaved(int32_t n) {
    const int32_t concat = Maker(editor_, editor_.node(n).inputs[0], "Concat", 2);
    if (!JoinsLast(concat)) return;
    int32_t parts[2] = {-1, -1};
    for (size_t i = 0; i < 2; ++i) {
      const int32_t unsqueeze = Maker(editor_, editor_.node(concat).inputs[i], "Unsqueeze");
      if (unsqueeze < 0) return;
      const auto axes = ListOf(editor_, editor_.node(unsqueeze), "axes", 1);
      if (!axes || axes->size() != 1 || (axes->front() != -1 && axes->front() != 4)) return;
      parts[i] = editor_.node(unsqueeze).inputs[0];
    }
    const auto turn = TurnOf(parts[0], parts[1]);
    if (!turn) return;
    const Part first = PartOf(editor_, turn->first);
    const Part second = PartOf(editor_, turn->second);
    if (!IsAlternate(first, 0) || !IsAlternate(second, 1) || first.of != second.of || !Takes(first.of)) return;
    const int64_t half = first.size / 2;
    if (!SameDims(editor_, first.of, editor_.node(n).outputs[0])) return;
    if (Fits(turn->cos, first.of, half) && Fits(turn->sin, first.of, half))
      ReplaceBy(n, first.of, turn->cos, turn->sin, half, true);
  }

  // Fuses Concat(RotaryEmbedding(x[:n]), x[n:]).
  void FusePartial(int32_t n) {
    if (!JoinsLast(n)) return;
    const int32_t rotary = Maker(editor_, editor_.node(n).inputs[0], "RotaryEmbedding", 3);
    if (rotary < 0 || editor_.OnlyReader(editor_.node(n).inputs[0]) != n) return;
    if (editor_.node(rotary).Int("rotary_embedding_dim", 0) != 0) return;
    const Part turned = PartOf(editor_, editor_.node(rotary).inputs[0]);
    const Part rest = PartOf(editor_, editor_.node(n).inputs[1]);
    const bool whole = IsLast(turned) && IsLast(rest) && turned.of == rest.of && turned.begin == 0 &&
                       turned.end == rest.begin && rest.end == rest.size && turned.step == 1 && rest.step == 1;
    if (!whole || editor_.info(turned.of).rank != 4) return;
    ir::Node node = editor_.node(rotary);
    node.inputs[0] = turned.of;
    node.outputs = {editor_.node(n).outputs[0]};
    std::erase_if(node.attributes, [](const ir::Attribute& a) { return a.name == "rotary_embedding_dim"; });
    node.attributes.push_back(ir::Attribute::Int("rotary_embedding_dim", turned.end));
    editor_.Replace(n, std::move(node));
  }

  ir::Editor& editor_;
  const RotaryOptions& options_;
  // Key: angles, half, number of repetitions. Value: the operator's input.
  std::map<std::tuple<int32_t, int64_t, int64_t>, int32_t> caches_;
  std::map<std::pair<int32_t, int64_t>, int32_t> positions_;  // key: positions, number of repetitions
};

}  // namespace

void FuseRotaryEmbedding(ir::Editor& editor, const RotaryOptions& options) { RotaryFuser(editor, options).Run(); }

}  // namespace epiphyte::kit::fuse
