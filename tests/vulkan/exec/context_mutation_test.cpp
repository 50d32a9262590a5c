// Graphs of contexts with one thing changed at a time: operands, operators, attributes, values, packed data. Each
// changed graph is refused or compiled into programs; none crashes the process.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>

#include "tests/vulkan/exec/device_graph.h"
#include "tests/vulkan/program/program_text.h"

namespace epiphyte::vulkan {
namespace {

using testing::HasSubstr;

constexpr const char* kVariadic = R"(graph "variadic"
in x: float[2,4]
in z: float[2,4]
const k: int64[1] = [1]
const sizes: int64[2] = [1,3]
c = Concat@13<axis=0>(x, z) : float[4,4]
n = Min@13(x, z) : float[2,4]
m = Max@13(x, n, z) : float[2,4]
s = Sum@13(m, z) : float[2,4]
e = Mean@13(s, n) : float[2,4]
l, r = Split@13<axis=1>(e, sizes) : float[2,1], float[2,3]
t = Transpose@13<perm=[1,0]>(r) : float[3,2]
g = ReduceSum@13<keepdims=1>(c, k) : float[4,1]
out t
out g
out l
)";

constexpr const char* kHostValues = R"(graph "shapes"
in x: float[2,3,4]
const a: int64[1] = [2]
const one: int64[1] = [-1]
h = Shape@15(x) : int64[3]
p = Gather@13<axis=0>(h, a) : int64[1]
q = Concat@13<axis=0>(p, one) : int64[2]
mi = Min@13(q, q) : int64[2]
ma = Max@13(mi, q) : int64[2]
y = Reshape@14(x, q) : float[4,6]
w = Softmax@13<axis=1>(y) : float[4,6]
out w
out ma
)";

constexpr const char* kProduct = R"(graph "product"
in x: float[2,4]
const w: float[4,3] = [1,2,3,4,5,6,7,8,9,10,11,12]
const b: float[3] = [1,2,3]
p = MatMul@13(x, w) : float[2,3]
a = Add@14(p, b) : float[2,3]
y = Softmax@13(a) : float[2,3]
out y
)";

// Description of the current change. The crash handler prints it.
char g_trying[256];

void ReportCrash(int signal) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, g_trying, std::strlen(g_trying));
  std::signal(signal, SIG_DFL);
  raise(signal);
}

class ContextMutation : public DeviceGraphTest, public testing::WithParamInterface<const char*> {
 protected:
  using Change = std::function<void(ir::Graph&, std::vector<kit::PackedData>&)>;

  void SetUp() override {
    DeviceGraphTest::SetUp();
    if (IsSkipped()) return;
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, ReportCrash);
    made_ = Compile(GetParam());
  }
  void TearDown() override {
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
  }

  const ir::Graph& graph() const { return made_->graph(); }
  const std::vector<kit::PackedData>& packed() const { return made_->packed(); }

  // Returns the error of compiling the changed graph; "" if it compiles.
  std::string Try(const std::string& what, const Change& change) {
    std::snprintf(g_trying, sizeof g_trying, "\n%s: %s\n", graph().name.c_str(), what.c_str());
    ir::Graph changed = graph();
    std::vector<kit::PackedData> packed = made_->packed();
    change(changed, packed);
    ++tried_;
    return MessageOf(
        [&] { CompiledGraph::Build(std::move(changed), Config(), GraphOrigin::kContext, std::move(packed)); });
  }

  std::shared_ptr<CompiledGraph> made_;
  size_t tried_ = 0;
};

TEST_P(ContextMutation, Operands) {
  for (size_t n = 0; n < graph().nodes.size(); ++n) {
    const std::string& op = graph().nodes[n].op_type;
    const size_t inputs = graph().nodes[n].inputs.size(), outputs = graph().nodes[n].outputs.size();
    const auto values = static_cast<int32_t>(graph().values.size());
    const auto with = [&](const char* what, size_t i, const std::function<void(ir::Node&)>& change) {
      return Try(op + ": " + what + " " + std::to_string(i), [&](auto& changed, auto&) { change(changed.nodes[n]); });
    };
    EXPECT_NE(with("no inputs", 0, [](auto& node) { node.inputs.clear(); }), "") << op;
    EXPECT_NE(with("all inputs left out", 0, [](auto& node) { node.inputs.assign(node.inputs.size(), -1); }), "") << op;
    EXPECT_NE(with("no outputs", 0, [](auto& node) { node.outputs.clear(); }), "") << op;
    with("all outputs left out", 0, [](auto& node) { node.outputs.assign(node.outputs.size(), -1); });
    for (size_t i = 0; i < inputs; ++i) {
      with("input erased", i, [&](auto& node) { node.inputs.erase(node.inputs.begin() + static_cast<ptrdiff_t>(i)); });
      with("input twice", i, [&](auto& node) { node.inputs.push_back(node.inputs[i]); });
      for (int32_t value = -3; value <= values; ++value)
        with("input is another", i, [&](auto& node) { node.inputs[i] = value; });
    }
    for (const size_t count : {1, 20, 200})
      with("more inputs", count, [&](auto& node) { node.inputs.insert(node.inputs.end(), count, 0); });
    for (size_t i = 0; i < outputs; ++i) {
      with("output erased", i,
           [&](auto& node) { node.outputs.erase(node.outputs.begin() + static_cast<ptrdiff_t>(i)); });
      for (const int32_t value : {-2, -1, 0, values - 1, values})
        with("output is another", i, [&](auto& node) { node.outputs[i] = value; });
    }
    with("more outputs", 0, [](auto& node) { node.outputs.insert(node.outputs.end(), 9, -1); });
  }
  EXPECT_GT(tried_, 20u);
}

TEST_P(ContextMutation, Operators) {
  AllOperators().ForEach([&](const Operator& op) {
    for (size_t n = 0; n < graph().nodes.size(); ++n) {
      for (const int64_t version : {int64_t{1}, std::max<int64_t>(op.first_version, 13), int64_t{25}}) {
        for (const bool has_attributes : {true, false}) {
          Try(graph().nodes[n].op_type + " becomes " + std::string(op.op_type), [&](auto& changed, auto& packed) {
            ir::Node& node = changed.nodes[n];
            node.op_type = op.op_type;
            node.domain = op.domain;
            node.since_version = version;
            if (!has_attributes) node.attributes.clear();
            std::erase_if(packed, [&](const auto& entry) { return entry.node == static_cast<int32_t>(n); });
          });
        }
      }
    }
  });
  EXPECT_GT(tried_, 100u);
}

TEST_P(ContextMutation, Attributes) {
  const std::vector<int64_t> numbers = {0, 1, -1, 2, 7, INT32_MAX, INT64_MAX, INT64_MIN};
  for (size_t n = 0; n < graph().nodes.size(); ++n) {
    for (size_t a = 0; a < graph().nodes[n].attributes.size(); ++a) {
      const std::string name = graph().nodes[n].attributes[a].name;
      const auto with = [&](const char* what, const std::function<void(ir::Attribute&)>& change) {
        Try(graph().nodes[n].op_type + ": attribute " + name + " " + what,
            [&](auto& changed, auto&) { change(changed.nodes[n].attributes[a]); });
      };
      Try(name + " is gone", [&](auto& changed, auto&) {
        std::erase_if(changed.nodes[n].attributes, [&](const auto& each) { return each.name == name; });
      });
      with("has another name", [](auto& attribute) { attribute.name = "other"; });
      for (int type = 0; type <= 15; ++type)
        with("has another type", [&](auto& attribute) { attribute.type = static_cast<EpAttributeType>(type); });
      for (const int64_t number : numbers) {
        with("is another number", [&](auto& attribute) { attribute = ir::Attribute::Int(name, number); });
        for (const size_t count : {0, 1, 2, 3, 4, 9})
          with("is another list",
               [&](auto& attribute) { attribute = ir::Attribute::Ints(name, std::vector<int64_t>(count, number)); });
        for (size_t i = 0; i < graph().nodes[n].attributes[a].ints.size(); ++i)
          with("has another number in it", [&](auto& attribute) { attribute.ints[i] = number; });
      }
      with("has no numbers", [](auto& attribute) {
        attribute.ints.clear();
        attribute.floats.clear();
      });
    }
  }
}

TEST_P(ContextMutation, Values) {
  for (size_t v = 0; v < graph().values.size(); ++v) {
    const auto with = [&](const char* what, const std::function<void(ir::Value&)>& change) {
      Try(std::string(what) + " of value " + graph().values[v].name,
          [&](auto& changed, auto&) { change(changed.values[v]); });
    };
    for (uint32_t kind = 0; kind <= 7; ++kind)
      with("kind", [&](auto& value) { value.kind = static_cast<EpTypeKind>(kind); });
    for (int type = -1; type <= 30; ++type)
      with("type", [&](auto& value) { value.type = static_cast<EpElementType>(type); });
    for (const int32_t rank : {-2, -1, 0, 1, 2, 5, 64, 65})
      with("rank", [&](auto& value) {
        value.rank = rank;
        value.dims.assign(static_cast<size_t>(std::max(rank, 0)), 1);
      });
    for (size_t d = 0; d < graph().values[v].dims.size(); ++d)
      for (const int64_t dim :
           {int64_t{-2}, int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{7}, int64_t{1} << 20, INT64_MAX})
        with("dimension", [&](auto& value) { value.dims[d] = dim; });
  }
}

TEST_P(ContextMutation, EndsConstantsAndPackedData) {
  Try("no inputs", [](auto& changed, auto&) { changed.inputs.clear(); });
  Try("no outputs", [](auto& changed, auto&) { changed.outputs.clear(); });
  Try("no nodes", [](auto& changed, auto&) { changed.nodes.clear(); });
  for (size_t i = 0; i < graph().outputs.size(); ++i)
    for (int32_t value = -2; value <= static_cast<int32_t>(graph().values.size()); ++value)
      Try("another output", [&](auto& changed, auto&) { changed.outputs[i] = value; });
  for (size_t i = 0; i < graph().constants.size(); ++i) {
    Try("a constant is dropped", [&](auto& changed, auto&) {
      changed.constants[i].storage = ir::Constant::Storage::kDropped;
      changed.constants[i].tensor.data = nullptr;
    });
    Try("a constant is an input", [&](auto& changed, auto&) {
      changed.inputs.push_back(changed.constants[i].value);
      changed.constant_of_value[static_cast<size_t>(changed.constants[i].value)] = -1;
      changed.constants.erase(changed.constants.begin() + static_cast<ptrdiff_t>(i));
      for (size_t c = 0; c < changed.constants.size(); ++c)
        changed.constant_of_value[static_cast<size_t>(changed.constants[c].value)] = static_cast<int32_t>(c);
    });
  }
  for (size_t i = 0; i < packed().size(); ++i) {
    Try("packed data is gone", [&](auto&, auto& packed) { packed.erase(packed.begin() + static_cast<ptrdiff_t>(i)); });
    for (const int32_t node : {-1, 0, 1, 77})
      Try("packed data is another node's", [&](auto&, auto& packed) { packed[i].node = node; });
    for (const char* text : {"", "other"}) {
      Try("packed data has another key", [&](auto&, auto& packed) { packed[i].key = text; });
      Try("packed data has another format", [&](auto&, auto& packed) { packed[i].format = text; });
    }
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, packed()[i].bytes / 2})
      Try("packed data is shorter", [&](auto&, auto& packed) { packed[i].bytes = bytes; });
  }
  EXPECT_GT(tried_, 3u);
}

INSTANTIATE_TEST_SUITE_P(Graphs, ContextMutation,
                         testing::Values(kVariadic, kHostValues, kProduct, kConvBiasRelu, kQdq),
                         [](const auto& info) { return "Graph" + std::to_string(info.index); });

using VariadicContext = DeviceGraphTest;

TEST_F(VariadicContext, OperatorsWithoutInputsAreRefused) {
  const auto made = Compile(kVariadic);
  for (const char* op : {"Concat", "Min", "Max", "Sum", "Mean"}) {
    for (const bool left_out : {false, true}) {
      ir::Graph graph = made->graph();
      bool found = false;
      for (ir::Node& node : graph.nodes) {
        if (node.op_type != op) continue;
        found = true;
        node.inputs.assign(left_out ? 2 : 0, -1);
      }
      ASSERT_TRUE(found) << op;
      EXPECT_THAT(MessageOf([&] { CompiledGraph::Build(graph, Config(), GraphOrigin::kContext, made->packed()); }),
                  testing::AllOf(HasSubstr("is left out; the operator needs it"), HasSubstr("compile the model again")))
          << op;
    }
  }
}

}  // namespace
}  // namespace epiphyte::vulkan
