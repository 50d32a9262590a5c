// QDQ units of unusual graphs. For all operators, types, scales and readers, every node is in one unit, groups are
// disjoint, and no path leaves a group and comes back. If each operator gets DequantizeLinear nodes of its own, it
// still keeps its unit.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "epiphyte/kit/qdq/bias.hpp"
#include "epiphyte/kit/qdq/host_units.hpp"
#include "epiphyte/kit/qdq/unshare.hpp"
#include "tests/fuzz/fuzz_target.h"

namespace {

namespace ir = epiphyte::kit::ir;
namespace qdq = epiphyte::kit::qdq;

void Expect(bool holds) {
  if (!holds) std::abort();
}

void ExpectEachNodeInOneUnit(const ir::Editor& editor, const qdq::Units& found) {
  std::vector<int> times(static_cast<size_t>(editor.node_count()), 0);
  for (const qdq::Unit& unit : found.units) {
    Expect(!unit.nodes.empty() && std::is_sorted(unit.nodes.begin(), unit.nodes.end()));
    for (const int32_t node : unit.nodes) ++times[static_cast<size_t>(node)];
  }
  Expect(std::all_of(times.begin(), times.end(), [](int count) { return count == 1; }));
  for (size_t n = 0; n < times.size(); ++n)
    Expect(found.reasons[n].empty() == found.units[static_cast<size_t>(found.unit_of_node[n])].IsQdq());
}

// Checks that no path leaves the group and comes back.
void ExpectConvex(const ir::Editor& editor, const std::set<int32_t>& group) {
  std::vector<char> behind(static_cast<size_t>(editor.node_count()), 0);
  for (int32_t n = 0; n < editor.node_count(); ++n) {
    const bool inside = group.contains(n);
    Expect(!inside || behind[static_cast<size_t>(n)] == 0);
    if (!inside && behind[static_cast<size_t>(n)] == 0) continue;
    for (const int32_t value : editor.node(n).outputs) {
      if (value < 0) continue;
      for (const int32_t reader : editor.Readers(value))
        if (!group.contains(reader) || !inside) behind[static_cast<size_t>(reader)] = 1;
    }
  }
}

std::set<std::string> Targets(const ir::Editor& editor, const qdq::Units& found) {
  std::set<std::string> names;
  for (const qdq::Unit& unit : found.units)
    if (unit.IsQdq()) names.insert(qdq::NodeText(editor.graph(), editor.node(unit.target)));
  return names;
}

void TryOptions(ir::Graph graph, const qdq::Options& options) {
  std::set<std::string> before;
  ir::Editor(graph).Finish();  // otherwise Finish would remove unused nodes later
  {
    const ir::Editor editor(graph);
    qdq::Units found;
    std::set<int32_t> claimed;
    for (const qdq::Group& group : qdq::FindGroups(editor, options, {}, &found)) {
      std::set<int32_t> nodes;
      for (const int32_t unit : group.units) {
        const std::vector<int32_t>& more = found.units[static_cast<size_t>(unit)].nodes;
        nodes.insert(more.begin(), more.end());
      }
      for (const int32_t node : nodes) Expect(claimed.insert(node).second);
      ExpectConvex(editor, nodes);
    }
    ExpectEachNodeInOneUnit(editor, found);
    const qdq::Units all = qdq::FindUnits(editor, options);
    ExpectEachNodeInOneUnit(editor, all);
    before = Targets(editor, all);
    std::string why;
    for (const qdq::Unit& unit : all.units)
      if (unit.IsQdq()) Expect(qdq::QuantizedBias(editor, unit, &why).has_value() || !why.empty());
  }
  {
    ir::Editor editor(graph);
    qdq::UnshareDequantize(editor);
    editor.Finish();
  }
  ir::Check(graph);
  const ir::Editor editor(graph);
  const qdq::Units found = qdq::FindUnits(editor, options);
  ExpectEachNodeInOneUnit(editor, found);
  const std::set<std::string> after = Targets(editor, found);
  Expect(std::includes(after.begin(), after.end(), before.begin(), before.end()));
}

constexpr std::string_view kSeed = R"(const s: float[] = [0.5]
const t: float[] = [0.25]
const s3: float[3] = [0.5, 1, 2]
const z: uint8[] = [128]
const zi: int8[] = [0]
const low: float[] = [-1]
in q: uint8[1,3,4,4]
in p: uint8[1,3,4,4]
in f: float[1,3,4,4]
in c: bool[]
const qw: int8[3,3,1,1] = …
const qb: int32[3] = [1, -2, 3]
x = DequantizeLinear@13(q, s, z) : float[1,3,4,4]
v = DequantizeLinear@13(p, s, z) : float[1,3,4,4]
w = DequantizeLinear@13<axis=0>(qw, s3) : float[3,3,1,1]
b = DequantizeLinear@13(qb, t) : float[3]
y = Conv@11(x, w, b) : float[1,3,4,4]
k = Clip@13(y, low, _) : float[1,3,4,4]
r = QuantizeLinear@13(k, s, z) : uint8[1,3,4,4]
d = DequantizeLinear@13(r, s, z) : float[1,3,4,4]
a = Add@14(x, d) : float[1,3,4,4]
ra = QuantizeLinear@13(a, t, z) : uint8[1,3,4,4]
da = DequantizeLinear@13(ra, t, z) : float[1,3,4,4]
m = Mul@14(v, da) : float[1,3,4,4]
rm = QuantizeLinear@13(m, s, z) : uint8[1,3,4,4]
o = Foo(ra)
do = DequantizeLinear@13(o, s, z) : float[1,3,4,4]
e = Concat@13<axis=1>(v, do) : float[1,6,4,4]
re = QuantizeLinear@13(e, s, z) : uint8[1,6,4,4]
g = Relu@14(x) : float[1,3,4,4]
h = Transpose@13<perm=[0,2,3,1]>(d) : float[1,4,4,3]
rh = QuantizeLinear@13(h, s, z) : uint8[1,4,4,3]
i = If@16(c) reads (g)
out rm, re, rh, i
)";

size_t Pick(std::mt19937& random, size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); }

// Replaces an occurrence of one of `words` with another of them.
void Exchange(std::string* text, std::mt19937& random, const std::vector<std::string>& words) {
  std::vector<std::pair<size_t, size_t>> places;
  for (const std::string& word : words)
    for (size_t at = text->find(word); at != std::string::npos; at = text->find(word, at + 1))
      places.emplace_back(at, word.size());
  if (places.empty()) return;
  const auto [at, size] = places[Pick(random, places.size())];
  text->replace(at, size, words[Pick(random, words.size())]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ir::Graph graph;
  try {
    graph = ir::FromText({reinterpret_cast<const char*>(data), size});
    TryOptions(graph, {});
    TryOptions(graph, {.working_clamps = false, .float_products = true, .weight_only_products = true});
    TryOptions(graph, {.narrowest_bits = 2, .widest_bits = 8, .dequantized_outputs = true, .exact_bias_scale = true});
  } catch (const epiphyte::kit::Error& error) {
    // Two kinds of input are refused: bytes that are not a graph, and attributes with a type that their operator
    // doesn't have.
    Expect(error.code() == EP_STATUS_INVALID_GRAPH);
  }
  return 0;
}

std::vector<std::string> SeedInputs() { return {std::string(kSeed)}; }

std::string Mutate(std::string input, std::mt19937& random) {
  static const std::vector<std::string> kOperators = {" Conv@11",
                                                      " Add@14",
                                                      " Mul@14",
                                                      " Concat@13",
                                                      " Relu@14",
                                                      " Clip@13",
                                                      " Transpose@13",
                                                      " MatMul@13",
                                                      " Gemm@13",
                                                      " Split@13",
                                                      " MaxPool@12",
                                                      " TopK@11",
                                                      " Foo@1",
                                                      " Where@16",
                                                      " QuantizeLinear@13",
                                                      " DequantizeLinear@13"};
  static const std::vector<std::string> kInputs = {"(x", "(v", "(w", "(b", "(y", "(k", "(r", "(d", "(a", "(q", "(f"};
  static const std::vector<std::string> kMore = {", x",  ", v",  ", w",  ", b",  ", d",   ", da",
                                                 ", s,", ", t,", ", s3", ", z)", ", zi)", ", _"};
  static const std::vector<std::string> kTypes = {": uint8[",  ": int8[",  ": int4[",
                                                  ": uint16[", ": float[", ": int32["};
  static const std::vector<std::string> kAttributes = {
      "<axis=0>", "<axis=1>", "<axis=-1>", "<axis=0, block_size=2>", "<axis=9>", "<block_size=-1>", "<axis=\"a\">"};
  static const std::vector<std::string> kNumbers = {"[0.5]", "[0.25]", "[-1]", "[128]", "[0]", "[nan]", "[inf]", "…"};
  static const std::vector<std::string> kOutputs = {"out r", "out x", "out rm", "out y", "out g", "out d"};
  const std::vector<std::string>* const kinds[] = {&kOperators,  &kInputs,  &kMore,   &kTypes,
                                                   &kAttributes, &kNumbers, &kOutputs};
  const size_t changes = 1 + Pick(random, 4);
  for (size_t i = 0; i < changes; ++i) Exchange(&input, random, *kinds[Pick(random, std::size(kinds))]);
  return input;
}
