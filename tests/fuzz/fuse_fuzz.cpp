// The kit's passes on graphs that are almost what exporters write. The result is always a valid graph in executable
// order, with the same inputs and outputs.
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/fuse/elementwise_program.hpp"
#include "epiphyte/kit/fuse/operators.hpp"
#include "epiphyte/kit/fuse/passes.hpp"
#include "epiphyte/kit/graph/check.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "tests/fuzz/fuzz_target.h"

namespace {

namespace ir = epiphyte::kit::ir;
namespace fuse = epiphyte::kit::fuse;

using Recogniser = std::function<void(ir::Editor& editor)>;

// Returns every pass of the kit, with the options that enable the most fusions. Attention also makes ONNX's operator.
std::vector<Recogniser> Recognisers() {
  fuse::PassOptions options;
  options.takes_type = [](EpElementType) { return true; };
  options.computed_products = true;
  options.quantize_products = true;
  options.attention_cache = true;
  options.make_alone = [](const ir::Editor&) { return [](const ir::Editor&, int32_t) { return true; }; };
  fuse::PassOptions of_onnx = options;
  of_onnx.attention_form = fuse::AttentionOptions::Form::kOnnx;
  std::vector<Recogniser> list;
  for (const fuse::PassInfo& pass : fuse::AllPasses()) {
    if (pass.pass == fuse::Pass::kFuseAttention)
      list.push_back([&pass, of_onnx](ir::Editor& editor) { pass.run(editor, of_onnx); });
    list.push_back([&pass, options](ir::Editor& editor) { pass.run(editor, options); });
  }
  return list;
}

void Expect(bool holds, const ir::Graph& graph) {
  if (holds) return;
  std::fprintf(stderr, "%s", ir::ToText(graph).c_str());
  std::abort();
}

void ExpectGraph(const ir::Graph& graph, const ir::Graph& before) {
  try {
    ir::Check(graph);
  } catch (const epiphyte::kit::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    Expect(false, graph);
  }
  Expect(graph.inputs.size() == before.inputs.size() && graph.outputs.size() == before.outputs.size(), graph);
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    Expect(graph.values[static_cast<size_t>(graph.outputs[i])].name ==
               before.values[static_cast<size_t>(before.outputs[i])].name,
           graph);
  for (const ir::Node& node : graph.nodes)
    if (node.domain == fuse::kDomain && node.op_type == fuse::kElementwise) fuse::ReadElementwiseProgram(node);
}

// An attribute with a wrong type is an error of the graph. The pass may have changed the graph before it throws.
void Try(ir::Editor& editor, const Recogniser& recogniser) {
  try {
    recogniser(editor);
  } catch (const epiphyte::kit::Error& error) {
    if (error.code() != EP_STATUS_INVALID_GRAPH) std::abort();
  }
}

const std::vector<std::string> kSeeds = {
    R"(in x: float[2,3,8]
const w: float[8,8] = …
const row: float[8] = …
const half: float[] = [0.5]
const one: float[] = [1]
const two: float[] = [2]
const three: float[] = [3]
const six: float[] = [6]
const zero: float[] = [0]
const root2: float[] = [1.4142135]
const last: int64[1] = [-1]
p = MatMul@13(x, w) : float[2,3,8]
a = Add@14(p, row) : float[2,3,8]
g = Div@14(a, root2) : float[2,3,8]
e = Erf@13(g) : float[2,3,8]
f = Add@14(e, one) : float[2,3,8]
h = Mul@14(a, f) : float[2,3,8]
i = Mul@14(h, half) : float[2,3,8]
s = Add@14(i, x) : float[2,3,8]
m = ReduceMean@18(s, last) : float[2,3,1]
d = Sub@14(s, m) : float[2,3,8]
q = Pow@13(d, two) : float[2,3,8]
v = ReduceMean@13<axes=[-1]>(q) : float[2,3,1]
ve = Add@14(v, half) : float[2,3,1]
r = Sqrt@13(ve) : float[2,3,1]
rr = Reciprocal@13(r) : float[2,3,1]
n = Mul@14(d, rr) : float[2,3,8]
k = Mul@14(n, row) : float[2,3,8]
l = Add@14(k, row) : float[2,3,8]
t = ReduceMax@13<axes=[2]>(l) : float[2,3,1]
u = Sub@14(l, t) : float[2,3,8]
o = Exp@13(u) : float[2,3,8]
z = ReduceSum@13(o, last) : float[2,3,1]
y = Div@14(o, z) : float[2,3,8]
c3 = Add@14(y, three) : float[2,3,8]
c6 = Clip@13(c3, zero, six) : float[2,3,8]
cm = Mul@14(y, c6) : float[2,3,8]
hs = Div@14(cm, six) : float[2,3,8]
b = Sigmoid@13(hs) : float[2,3,8]
sw = Mul@14(b, hs) : float[2,3,8]
out sw, s
)",
    R"(in x: float[1,2,3,8]
in k: float[1,2,3,8]
in v: float[1,2,3,8]
in pk: float[1,2,-1,8]
in pv: float[1,2,-1,8]
in mask: float[1,1,3,-1]
in angle: float[3,4]
in wide: int64[5]
in shape: int64[4]
const front: int64[2] = [0, 1]
const zero: int64[1] = [0]
const one: int64[1] = [1]
const two: int64[1] = [2]
const four: int64[1] = [4]
const eight: int64[1] = [8]
const last: int64[1] = [3]
const half: float[] = [0.5]
a = Concat@13<axis=-1>(angle, angle) : float[3,8]
b = Unsqueeze@13(a, front) : float[1,1,3,8]
cos = Cos@7(b) : float[1,1,3,8]
sin = Sin@7(b) : float[1,1,3,8]
xf = Slice@13(x, zero, four, last, one) : float[1,2,3,4]
xs = Slice@13(x, four, eight, last, one) : float[1,2,3,4]
xn = Neg@13(xs) : float[1,2,3,4]
xt = Concat@13<axis=-1>(xn, xf) : float[1,2,3,8]
xc = Mul@14(x, cos) : float[1,2,3,8]
xd = Mul@14(xt, sin) : float[1,2,3,8]
q = Add@14(xc, xd) : float[1,2,3,8]
kc = Concat@13<axis=2>(pk, k) : float[1,2,-1,8]
vc = Concat@13<axis=2>(pv, v) : float[1,2,-1,8]
vu = Unsqueeze@13(vc, two) : float[1,2,1,-1,8]
ve = Expand@13(vu, wide) : float[1,2,1,-1,8]
vr = Reshape@14(ve, shape) : float[1,2,-1,8]
kt = Transpose@13<perm=[0,1,3,2]>(kc) : float[1,2,8,-1]
s = MatMul@13(q, kt) : float[1,2,3,-1]
d = Mul@14(s, half) : float[1,2,3,-1]
m = Add@14(d, mask) : float[1,2,3,-1]
p = Softmax@13<axis=-1>(m) : float[1,2,3,-1]
o = MatMul@13(p, vr) : float[1,2,3,8]
y = Transpose@13<perm=[0,2,1,3]>(o) : float[1,3,2,8]
f, g = Split@13<axis=3>(v) : float[1,2,3,4], float[1,2,3,4]
out y, kc, vc, f
)",
    R"(in x: float[2,4,3,3]
in r: float[2,4,3,3]
const w: float[4,4,1,1] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
const row: float[4] = [1, 2, 3, 4]
const scale: float[4,1,1] = [1, 2, 3, 4]
const shape: int64[3] = [0, 2, -1]
const back: int64[4] = [2, 4, 3, 3]
const two: float[2] = [1, 2]
c = Conv@11(x, w, row) : float[2,4,3,3]
n = BatchNormalization@15(c, row, row, row, row) : float[2,4,3,3]
m = Mul@14(n, scale) : float[2,4,3,3]
a = Add@14(m, r) : float[2,4,3,3]
u = Relu@14(a) : float[2,4,3,3]
k = Clip@6<max=6.0>(u) : float[2,4,3,3]
g = Reshape@14(k, shape) : float[2,2,18]
i = InstanceNormalization@6(g, two, two) : float[2,2,18]
b = Reshape@14(i, back) : float[2,4,3,3]
s = Mul@14(b, scale) : float[2,4,3,3]
y = Add@14(s, scale) : float[2,4,3,3]
out y
)"};

size_t Pick(std::mt19937& random, size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

std::string* AnyOf(std::vector<std::string>& list, std::mt19937& random) { return &list[Pick(random, list.size())]; }

void ReplaceWord(std::string* text, std::mt19937& random, const std::vector<std::string>& words) {
  const std::string& from = words[Pick(random, words.size())];
  const std::string& to = words[Pick(random, words.size())];
  std::vector<size_t> places;
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + 1)) places.push_back(at);
  if (!places.empty()) text->replace(places[Pick(random, places.size())], from.size(), to);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ir::Graph read;
  try {
    read = ir::FromText({reinterpret_cast<const char*>(data), size});
  } catch (const epiphyte::kit::Error&) {
    return 0;
  }
  const std::vector<Recogniser> recognisers = Recognisers();
  ir::Graph all = read;
  ir::Editor editor(all);
  for (const Recogniser& recogniser : recognisers) {
    ir::Graph graph = read;
    ir::Editor alone(graph);
    Try(alone, recogniser);
    alone.Finish();
    ExpectGraph(graph, read);
    Try(editor, recogniser);
  }
  editor.Finish();
  ExpectGraph(all, read);
  return 0;
}

std::vector<std::string> SeedInputs() { return kSeeds; }

// Changes an operator, version, operand, dimension, axis or output.
std::string Mutate(std::string input, std::mt19937& random) {
  const std::vector<std::string> operators = {"Add@",     "Sub@",        "Mul@",        "Div@",       "Pow@",
                                              "Sqrt@",    "Reciprocal@", "Neg@",        "Exp@",       "Relu@",
                                              "Sigmoid@", "Erf@",        "Cos@",        "Identity@",  "MatMul@",
                                              "Gemm@",    "Softmax@",    "ReduceMean@", "ReduceSum@", "ReduceMax@"};
  const std::vector<std::string> numbers = {"[0.5]", "[1]", "[2]", "[3]", "[6]", "[0]", "[-1]", "[8]", "[4]"};
  const std::vector<std::string> axes = {"axes=[-1]", "axes=[2]", "axes=[1,2]", "axes=[0]",
                                         "axis=-1",   "axis=2",   "axis=3",     "axes=2"};
  const std::vector<std::string> dims = {"[2,3,8]",    "[2,3,1]",   "[1,2,3,8]", "[1,2,3,4]",
                                         "[-1,2,3,8]", "[2,4,3,3]", "[8]"};
  const std::vector<std::string> types = {"float[", "float16[", "double[", "int64["};
  const int changes = 1 + static_cast<int>(Pick(random, 3));
  for (int change = 0; change < changes; ++change) {
    std::vector<std::string> lines = Lines(input);
    if (lines.size() < 2) return input;
    std::string& line = *AnyOf(lines, random);
    switch (Pick(random, 8)) {
      case 0: ReplaceWord(&line, random, operators); break;
      case 1: ReplaceWord(&line, random, numbers); break;
      case 2: ReplaceWord(&line, random, axes); break;
      case 3: ReplaceWord(&line, random, dims); break;
      case 4: ReplaceWord(&line, random, types); break;
      case 5: {  // another operand
        const size_t open = line.find('('), close = line.find(')');
        const std::string& other = *AnyOf(lines, random);
        const size_t word = other.find_first_of(" ,:");
        const bool skips = other.starts_with("in ") || other.starts_with("const ") || other.starts_with("out ");
        const size_t begin = skips ? word + 1 : 0;
        const size_t end = other.find_first_of(" ,:", begin);
        if (open == std::string::npos || close == std::string::npos || end == std::string::npos) break;
        const size_t comma = line.find(',', open);
        const bool second = comma < close && Pick(random, 2) == 1;
        const size_t from = second ? comma + 2 : open + 1;
        const size_t to = second || comma > close ? close : comma;
        if (from <= to) line.replace(from, to - from, Pick(random, 8) == 0 ? "_" : other.substr(begin, end - begin));
        break;
      }
      case 6: {  // one more output
        const size_t end = line.find(" =");
        if (end != std::string::npos && !line.starts_with("const")) lines.push_back("out " + line.substr(0, end));
        break;
      }
      default: {  // fewer operands
        const size_t open = line.find('('), close = line.find(')');
        const size_t comma = open == std::string::npos ? open : line.find(',', open);
        if (close != std::string::npos && comma < close) line.erase(comma, close - comma);
        break;
      }
    }
    input.clear();
    for (const std::string& kept : lines) input += kept + "\n";
  }
  return input;
}
