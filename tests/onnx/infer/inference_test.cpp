// Types and shapes: libonnx's inference through the IR, the overlay beyond it, and shapes known as data.
#include "core/onnx/infer/inference.h"

#include <gmock/gmock.h>

#include <string_view>

#include "core/base/progress_callback.h"
#include "core/onnx/schema/overlay.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::Model;
using core::SinceVersion;
using core::StatusCode;

TEST(Schema, VersionsUpToOpset26) {
  EXPECT_EQ(SinceVersion("", "Relu", 1), 1);
  EXPECT_EQ(SinceVersion("", "Relu", 13), 13);
  EXPECT_EQ(SinceVersion("", "Relu", 25), 14);
  EXPECT_EQ(SinceVersion("", "ReduceSum", 25), 13);
  EXPECT_EQ(SinceVersion("", "ReduceMean", 17), 13);
  EXPECT_EQ(SinceVersion("", "ReduceMean", 18), 18);
  EXPECT_EQ(SinceVersion("", "ReduceMax", 19), 18);
  EXPECT_EQ(SinceVersion("", "ReduceMax", 20), 20);
  EXPECT_EQ(SinceVersion("", "Cast", 18), 13);
  EXPECT_EQ(SinceVersion("", "Cast", 20), 19);
  EXPECT_EQ(SinceVersion("", "Cast", 22), 21);
  EXPECT_EQ(SinceVersion("", "Cast", 25), 25);
  EXPECT_EQ(SinceVersion("", "Conv", 21), 11);
  EXPECT_EQ(SinceVersion("", "Conv", 22), 22);
  EXPECT_EQ(SinceVersion("ai.onnx", "Attention", 24), 24);
  EXPECT_EQ(SinceVersion("", "Attention", 22), 0);
  EXPECT_EQ(SinceVersion("ai.onnx.ml", "LabelEncoder", 3), 2);
  EXPECT_EQ(SinceVersion("ai.onnx.ml", "LabelEncoder", 5), 4);
  EXPECT_EQ(SinceVersion("my.domain", "Relu", 1), 0);
  EXPECT_EQ(SinceVersion("", "CumProd", 26), 26);
  EXPECT_EQ(SinceVersion("", "CumProd", 25), 0);
  EXPECT_EQ(core::VersionInModel("", "CumProd", 25), 26);
  EXPECT_EQ(core::VersionInModel("", "LayerNormalization", 9), 17);
  EXPECT_EQ(core::VersionInModel("", "Relu", 31), 14);
  EXPECT_EQ(core::VersionInModel("", "Rellu", 9), 0);
  EXPECT_EQ(core::UnknownSince("", "Range", 27), 27);
  EXPECT_EQ(core::UnknownSince("", "Range", 26), 0);
  EXPECT_EQ(core::UnknownSince("", "Relu", 31), 0);
  EXPECT_TRUE(core::IsKnownOperator("", "Swish", 24));
  EXPECT_FALSE(core::IsKnownOperator("", "Swish", 23));
}

TEST(Schema, EveryOverlayVersionIsFound) {
  for (const core::OverlayVersion& version : core::OverlayVersions()) {
    EXPECT_EQ(SinceVersion(version.domain, version.op_type, version.since_version), version.since_version)
        << version.op_type;
  }
}

// Infers the type of y for y = op(x…) with inputs of the given types.
struct Case {
  int64_t opset = 17;
  std::string op;
  std::vector<std::pair<int32_t, std::vector<std::string>>> inputs;
  std::function<void(ProtoModel&, onnx::NodeProto&)> edit = [](ProtoModel&, onnx::NodeProto&) {};
};

std::string Infer(const Case& c, const std::string& output = "y") {
  ProtoModel model(c.opset, 10);
  std::vector<std::string> names;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    model.Input(names.back(), c.inputs[i].first, c.inputs[i].second);
  }
  model.Output("y");
  c.edit(model, model.Node(c.op, names, {"y"}));
  return TypeOf(model.Read(), output);
}

TEST(Inference, ElementwiseOperators) {
  EXPECT_EQ(Infer({.op = "Relu", .inputs = {{kFloat, {"N", "3"}}}}), "tensor(float)[N,3]");
  EXPECT_EQ(Infer({.op = "Add", .inputs = {{kFloat, {"N", "3"}}, {kFloat, {"N", "3"}}}}), "tensor(float)[N,3]");
  EXPECT_EQ(Infer({.op = "Add", .inputs = {{kFloat, {"4", "1", "5"}}, {kFloat, {"3", "1"}}}}), "tensor(float)[4,3,5]");
  EXPECT_EQ(Infer({.op = "Mul", .inputs = {{kFloat, {"N", "1"}}, {kFloat, {"M"}}}}), "tensor(float)[N,M]");
  EXPECT_EQ(Infer({.op = "Mul", .inputs = {{kFloat, {"N"}}, {kFloat, {"M"}}}}), "tensor(float)[?]");
  EXPECT_EQ(Infer({.op = "Mul", .inputs = {{kFloat, {"N"}}, {kFloat, {"7"}}}}), "tensor(float)[7]");
  EXPECT_EQ(Infer({.op = "Greater", .inputs = {{kFloat, {"2"}}, {kFloat, {"3", "1"}}}}), "tensor(bool)[3,2]");
  EXPECT_EQ(Infer({.op = "LessOrEqual", .inputs = {{kFloat, {"2"}}, {kFloat, {"2"}}}}), "tensor(bool)[2]");
}

TEST(Inference, OperatorsOfLibonnx) {
  EXPECT_EQ(Infer({.op = "MatMul", .inputs = {{kFloat, {"B", "2", "3"}}, {kFloat, {"3", "4"}}}}),
            "tensor(float)[B,2,4]");
  EXPECT_EQ(Infer({.op = "Transpose",
                   .inputs = {{kFloat, {"N", "2", "3"}}},
                   .edit =
                       [](ProtoModel&, onnx::NodeProto& n) {
                         ProtoModel::Ints(n, "perm", {2, 0, 1});
                       }}),
            "tensor(float)[3,N,2]");
  EXPECT_EQ(Infer({.op = "Shape", .inputs = {{kFloat, {"N", "2"}}}}), "tensor(int64)[2]");
}

TEST(Inference, EinsumWithAnyLetters) {
  const auto infer = [](const std::string& equation, std::vector<std::vector<std::string>> shapes) {
    Case c{.op = "Einsum"};
    for (std::vector<std::string>& shape : shapes) c.inputs.push_back({kFloat, std::move(shape)});
    c.edit = [&](ProtoModel&, onnx::NodeProto& n) {
      ProtoModel::Attribute(n, "equation", onnx::AttributeProto::STRING).set_s(equation);
    };
    try {
      return Infer(c);
    } catch (const core::Error& error) {
      return error.message();
    }
  };
  EXPECT_EQ(infer("bij, bjk -> bik", {{"B", "2", "3"}, {"B", "3", "4"}}), "tensor(float)[B,2,4]");
  EXPECT_EQ(infer("i...,ij", {{"2", "5", "1"}, {"2", "3"}}), "tensor(float)[5,1,3]");
  EXPECT_EQ(infer("ii->", {{"4", "4"}}), "tensor(float)[]");
  // In alphabetical order, capital letters precede small letters.
  EXPECT_EQ(infer("Zb,bA", {{"2", "3"}, {"3", "4"}}), "tensor(float)[4,2]");
  EXPECT_THAT(infer("i~,~k", {{"2", "3"}, {"3", "4"}}), testing::HasSubstr("the term 'i~'"));
  EXPECT_THAT(infer("ijk", {{"2", "3"}}), testing::HasSubstr("has rank 2, but its term of the equation is 'ijk'"));
  EXPECT_THAT(infer("ij,jk", {{"2", "3"}}), testing::HasSubstr("1 inputs and an equation of 2 terms"));
  EXPECT_THAT(infer("ij->k", {{"2", "3"}}), testing::HasSubstr("letter 'k'"));
}

TEST(Inference, NewVersionsThatOnlyWidenTypesInferAsBefore) {
  const int32_t int4 = 22, float8 = 17;
  EXPECT_EQ(Infer({.opset = 21, .op = "Transpose", .inputs = {{int4, {"2", "3"}}}}), "tensor(int4)[3,2]");
  EXPECT_EQ(Infer({.opset = 23, .op = "Identity", .inputs = {{float8, {"2"}}}}), "tensor(float8e4m3fn)[2]");
  EXPECT_EQ(Infer({.opset = 25, .op = "Flatten", .inputs = {{kFloat, {"2", "3", "4"}}}}), "tensor(float)[2,12]");
  EXPECT_EQ(Infer({.opset = 24,
                   .op = "Cast",
                   .inputs = {{kFloat, {"N"}}},
                   .edit = [](ProtoModel&, onnx::NodeProto& n) { ProtoModel::Int(n, "to", 24); }}),
            "tensor(float8e8m0)[N]");
}

// ONNX Runtime also uses the tensor's type.
TEST(Inference, AConstantIsOfItsTensorsTypeWhateverIsDeclared) {
  constexpr int32_t kInt64 = 7, kHalf = 10;
  const auto infer = [](int32_t declared, std::vector<std::string> dims,
                        const std::function<void(onnx::NodeProto&)>& edit) {
    ProtoModel model(17, 10);
    model.Output("y", declared, dims);
    edit(model.Node("Constant", {}, {"y"}));
    return TypeOf(model.Read(), "y");
  };
  const auto tensor = [](onnx::NodeProto& node) {
    onnx::TensorProto* const value = ProtoModel::Attribute(node, "value", onnx::AttributeProto::TENSOR).mutable_t();
    value->set_data_type(kFloat);
    value->add_dims(2);
    value->add_float_data(3);
    value->add_float_data(4);
  };
  const auto ints = [](onnx::NodeProto& node) { ProtoModel::Ints(node, "value_ints", {1, 2, 3}); };
  const auto number = [](onnx::NodeProto& node) { ProtoModel::Int(node, "value_int", 5); };
  const auto real = [](onnx::NodeProto& node) {
    ProtoModel::Attribute(node, "value_float", onnx::AttributeProto::FLOAT).set_f(0.5f);
  };
  const auto text = [](onnx::NodeProto& node) {
    ProtoModel::Attribute(node, "value_strings", onnx::AttributeProto::STRINGS).add_strings("a");
  };
  EXPECT_EQ(infer(kInt64, {"2"}, tensor), "tensor(float)[2]");
  EXPECT_EQ(infer(kHalf, {"2"}, tensor), "tensor(float)[2]");
  EXPECT_EQ(infer(kFloat, {"3"}, ints), "tensor(int64)[3]");
  EXPECT_EQ(infer(kFloat, {}, number), "tensor(int64)[]");
  EXPECT_EQ(infer(kInt64, {}, real), "tensor(float)[]");
  EXPECT_EQ(infer(kFloat, {"1"}, text), "tensor(string)[1]");
  EXPECT_THROW(infer(kFloat, {}, [](onnx::NodeProto&) {}), core::Error) << "a constant without a value";
}

TEST(Inference, OperatorsOfOpset18) {
  EXPECT_EQ(Infer({.opset = 18,
                   .op = "ReduceMean",
                   .inputs = {{kFloat, {"2", "3", "4"}}},
                   .edit =
                       [](ProtoModel& m, onnx::NodeProto& n) {
                         m.Int64s("axes", {1});
                         n.add_input("axes");
                       }}),
            "tensor(float)[2,1,4]");
  EXPECT_EQ(Infer({.opset = 18,
                   .op = "Split",
                   .inputs = {{kFloat, {"7"}}},
                   .edit =
                       [](ProtoModel&, onnx::NodeProto& n) {
                         n.add_output("z");
                         ProtoModel::Int(n, "num_outputs", 2);
                       }},
                  "z"),
            "tensor(float)[3]");
  EXPECT_EQ(Infer({.opset = 18,
                   .op = "Pad",
                   .inputs = {{kFloat, {"2", "N"}}},
                   .edit =
                       [](ProtoModel& m, onnx::NodeProto& n) {
                         m.Int64s("pads", {1, 2}).Int64s("axes", {-2});
                         for (const char* input : {"pads", "", "axes"}) n.add_input(input);
                       }}),
            "tensor(float)[5,N]");
  EXPECT_EQ(Infer({.opset = 18,
                   .op = "Resize",
                   .inputs = {{kFloat, {"1", "3", "10", "20"}}},
                   .edit =
                       [](ProtoModel& m, onnx::NodeProto& n) {
                         m.Int64s("sizes", {5, 40});
                         for (const char* input : {"", "", "sizes"}) n.add_input(input);
                         ProtoModel::Ints(n, "axes", {2, 3});
                       }}),
            "tensor(float)[1,3,5,40]");
  // `sizes` must have as many elements as X has axes, so the output has as many unknown dimensions.
  for (const int64_t opset : {13, 18}) {
    EXPECT_EQ(Infer({.opset = opset,
                     .op = "Resize",
                     .inputs = {{kFloat, {"1", "3", "10"}}, {kFloat, {"R"}}, {kFloat, {"S"}}, {kInt64, {"N"}}},
                     .edit =
                         [](ProtoModel&, onnx::NodeProto& n) {
                           n.set_input(1, "");
                           n.set_input(2, "");
                         }}),
              "tensor(float)[?,?,?]");
  }
  EXPECT_EQ(Infer({.opset = 18, .op = "Mish", .inputs = {{kFloat, {"N"}}}}), "tensor(float)[N]");
  EXPECT_EQ(Infer({.opset = 18, .op = "BitwiseAnd", .inputs = {{kInt64, {"2", "1"}}, {kInt64, {"3"}}}}),
            "tensor(int64)[2,3]");
  EXPECT_EQ(Infer({.opset = 18,
                   .op = "Col2Im",
                   .inputs = {{kFloat, {"1", "20", "9"}}},
                   .edit =
                       [](ProtoModel& m, onnx::NodeProto& n) {
                         m.Int64s("image", {5, 6}).Int64s("block", {2, 5});
                         n.add_input("image");
                         n.add_input("block");
                       }}),
            "tensor(float)[1,2,5,6]");
}

TEST(Inference, OperatorsOfOpsets19To25) {
  EXPECT_EQ(Infer({.opset = 19,
                   .op = "AveragePool",
                   .inputs = {{kFloat, {"1", "3", "9", "9"}}},
                   .edit =
                       [](ProtoModel&, onnx::NodeProto& n) {
                         ProtoModel::Ints(n, "kernel_shape", {3, 3});
                         ProtoModel::Ints(n, "dilations", {2, 2});
                       }}),
            "tensor(float)[1,3,5,5]");
  EXPECT_EQ(Infer({.opset = 20, .op = "Gelu", .inputs = {{kFloat, {"N", "4"}}}}), "tensor(float)[N,4]");
  EXPECT_EQ(Infer({.opset = 20, .op = "StringConcat", .inputs = {{8, {"2", "1"}}, {8, {"3"}}}}), "tensor(string)[2,3]");
  EXPECT_EQ(Infer({.opset = 20,
                   .op = "StringSplit",
                   .inputs = {{8, {"2"}}},
                   .edit = [](ProtoModel&, onnx::NodeProto& n) { n.add_output("z"); }}),
            "tensor(string)[2,?]");
  EXPECT_EQ(Infer({.opset = 20,
                   .op = "GridSample",
                   .inputs = {{kFloat, {"1", "3", "4", "5", "6"}}, {kFloat, {"1", "7", "8", "9", "3"}}}}),
            "tensor(float)[1,3,7,8,9]");
  EXPECT_EQ(Infer({.opset = 21, .op = "QuantizeLinear", .inputs = {{kFloat, {"N"}}, {kFloat, {}}, {22, {}}}}),
            "tensor(int4)[N]");
  EXPECT_EQ(Infer({.opset = 21, .op = "DequantizeLinear", .inputs = {{21, {"N"}}, {10, {}}}}), "tensor(float16)[N]");
  EXPECT_EQ(Infer({.opset = 23, .op = "RMSNormalization", .inputs = {{kFloat, {"N", "8"}}, {kFloat, {"8"}}}}),
            "tensor(float)[N,8]");
  const auto heads = [](ProtoModel&, onnx::NodeProto& n) {
    ProtoModel::Int(n, "q_num_heads", 4);
    ProtoModel::Int(n, "kv_num_heads", 2);
    n.add_output("present_key");
  };
  const Case attention{.opset = 23,
                       .op = "Attention",
                       .inputs = {{kFloat, {"1", "5", "32"}}, {kFloat, {"1", "7", "16"}}, {kFloat, {"1", "7", "16"}}},
                       .edit = [&](ProtoModel& m, onnx::NodeProto& n) {
                         heads(m, n);
                         n.add_output("present_value");
                       }};
  EXPECT_EQ(Infer(attention), "tensor(float)[1,5,32]");
  EXPECT_EQ(Infer(attention, "present_key"), "tensor(float)[1,2,7,8]");
  EXPECT_EQ(Infer({.opset = 24, .op = "Swish", .inputs = {{kFloat, {"N"}}}}), "tensor(float)[N]");
}

TEST(Inference, RangesAreAsLongAsTheirNumbersSay) {
  const auto of_ints = [](int64_t start, int64_t limit, int64_t step) {
    ProtoModel model;
    model.Output("y");
    for (const auto& [name, value] : {std::pair("start", start), std::pair("limit", limit), std::pair("step", step)})
      model.Initializer(name, onnx::TensorProto::INT64, {}).add_int64_data(value);
    model.Node("Range", {"start", "limit", "step"}, {"y"});
    return TypeOf(model.Read(), "y");
  };
  EXPECT_EQ(of_ints(3, 10, 3), "tensor(int64)[3]");
  EXPECT_EQ(of_ints(10, 3, -7), "tensor(int64)[1]");
  EXPECT_EQ(of_ints(10, 10, 1), "tensor(int64)[0]");
  EXPECT_EQ(of_ints(3, 10, -1), "tensor(int64)[0]");
  EXPECT_EQ(of_ints(3, 10, 0), "tensor(int64)[?]");
  // The distance between the two limits does not fit into 64 bits.
  EXPECT_EQ(of_ints(INT64_MAX, INT64_MIN, 1), "tensor(int64)[0]");
  EXPECT_EQ(of_ints(INT64_MIN, INT64_MAX, int64_t{1} << 62), "tensor(int64)[4]");
  EXPECT_EQ(of_ints(INT64_MAX, INT64_MIN, INT64_MIN), "tensor(int64)[2]");
}

TEST(Inference, SlicesKeepTheirRankWhateverBoundsThem) {
  const auto sliced = [](int64_t start, int64_t end, int64_t axis, int64_t step) {
    ProtoModel model;
    model.Input("x", kFloat, {"N", "8", "6"}).Input("begin", kInt64, {"1"}).Output("y").Output("z");
    model.Int64s("start", {start}).Int64s("end", {end}).Int64s("axis", {axis}).Int64s("step", {step});
    model.Node("Slice", {"x", "begin", "end", "axis"}, {"y"});
    model.Node("Slice", {"x", "start", "end", "axis", "step"}, {"z"});
    const core::Model read = model.Read();
    return TypeOf(read, "y") + " " + TypeOf(read, "z");
  };
  EXPECT_EQ(sliced(1, 7, 1, 1), "tensor(float)[N,?,6] tensor(float)[N,6,6]");
  EXPECT_EQ(sliced(1, 7, -2, 4), "tensor(float)[N,?,6] tensor(float)[N,2,6]");
  EXPECT_EQ(sliced(-1, -100, 2, -1), "tensor(float)[N,8,?] tensor(float)[N,8,6]");
  EXPECT_EQ(sliced(4, 1, 2, 1), "tensor(float)[N,8,?] tensor(float)[N,8,0]");
  EXPECT_EQ(sliced(5, INT64_MIN, 2, INT64_MIN), "tensor(float)[N,8,?] tensor(float)[N,8,1]");
  EXPECT_EQ(sliced(0, INT64_MAX, 0, 1), "tensor(float)[?,8,6] tensor(float)[N,8,6]");
  EXPECT_EQ(sliced(1, INT64_MAX, 0, 1), "tensor(float)[?,8,6] tensor(float)[?,8,6]");
  ExpectError([&] { sliced(0, 1, 3, 1); }, StatusCode::kInvalidGraph, {"axis 3"});
  ExpectError([&] { sliced(0, 1, 0, 0); }, StatusCode::kInvalidGraph, {"step 0 is 0"});
}

TEST(Inference, ShapesFlowThroughIntegerArithmetic) {
  // y = Reshape(x, Concat(Shape(x)[0:1], [-1])), with x[N,2,3].
  for (const int64_t opset : {11, 13, 21}) {
    ProtoModel model(opset, 10);
    model.Input("x", kFloat, {"N", "2", "3"}).Output("y").Output("z");
    model.Int64s("zero", {0}).Int64s("one", {1}).Int64s("rest", {-1}).Int64s("two", {2});
    model.Node("Shape", {"x"}, {"shape"});
    model.Node("Slice", {"shape", "zero", "one"}, {"batch"});
    model.Node("Concat", {"batch", "rest"}, {"target"}).add_attribute()->CopyFrom([] {
      onnx::AttributeProto axis;
      axis.set_name("axis");
      axis.set_type(onnx::AttributeProto::INT);
      return axis;
    }());
    model.Node("Reshape", {"x", "target"}, {"y"});
    // z has the shape [2·2, 3].
    model.Node("Gather", {"shape", "one"}, {"second"});
    model.Node("Mul", {"second", "two"}, {"double"});
    model.Node("Gather", {"shape", "two"}, {"third"});
    onnx::NodeProto& joined = model.Node("Concat", {"double", "third"}, {"size"});
    ProtoModel::Int(joined, "axis", 0);
    model.Node("ConstantOfShape", {"size"}, {"z"});
    const Model read = model.Read();
    EXPECT_EQ(TypeOf(read, "y"), "tensor(float)[N,6]") << opset;
    EXPECT_EQ(TypeOf(read, "z"), "tensor(float)[4,3]") << opset;
  }
}

TEST(Inference, BodiesOfControlFlow) {
  ProtoModel model;
  model.Input("n", kInt64, {}).Input("c", kBool, {}).Input("x", kFloat, {"2"}).Output("last").Output("all");
  onnx::NodeProto& loop = model.Node("Loop", {"n", "c", "x"}, {"last", "all"});
  onnx::GraphProto* body = ProtoModel::Attribute(loop, "body", onnx::AttributeProto::GRAPH).mutable_g();
  body->set_name("body");
  ProtoModel::SetTensorType(body->add_input(), "i", kInt64, {});
  ProtoModel::SetTensorType(body->add_input(), "go", kBool, {});
  body->add_input()->set_name("carried");
  ProtoModel::AddNode(body, "Identity", {"go"}, {"go_on"});
  ProtoModel::AddNode(body, "Add", {"carried", "x"}, {"next"});
  ProtoModel::AddNode(body, "Neg", {"x"}, {"scanned"});
  for (const char* output : {"go_on", "next", "scanned"}) body->add_output()->set_name(output);
  const Model read = model.Read();
  EXPECT_EQ(TypeOf(read, "all"), "tensor(float)[?,2]");
  EXPECT_EQ(TypeOf(read, "last").substr(0, 13), "tensor(float)");
  const core::Graph& inner = *read.graph->nodes()[0]->subgraphs()[0];
  EXPECT_EQ(inner.FindValue("scanned")->type()->ToString(), "tensor(float)[2]");
}

TEST(Inference, SequencesAndOptionals) {
  ProtoModel model(18);
  model.Input("x", kFloat, {"2"}).Output("s").Output("o").Output("e").Output("has");
  model.Node("SequenceConstruct", {"x", "x"}, {"s"});
  model.Node("Optional", {"s"}, {"o"});
  model.Node("OptionalGetElement", {"o"}, {"e"});
  model.Node("OptionalHasElement", {"x"}, {"has"});
  const Model read = model.Read();
  EXPECT_EQ(TypeOf(read, "s").substr(0, 17), "seq(tensor(float)");
  EXPECT_EQ(TypeOf(read, "o").substr(0, 26), "optional(seq(tensor(float)");
  EXPECT_EQ(TypeOf(read, "e"), TypeOf(read, "s"));
  EXPECT_EQ(TypeOf(read, "has"), "tensor(bool)[]");
}

TEST(Inference, UnknownInputsLeaveOutputsUnknownWithoutAnError) {
  ProtoModel model;
  model.Opset("custom", 1);
  model.Input("x", kFloat, {"2"}).Output("y");
  model.Node("Mystery", {"x"}, {"m"}, "custom");
  model.Node("MatMul", {"m", "x"}, {"p"});
  model.Node("Softmax", {"p"}, {"y"});
  EXPECT_EQ(TypeOf(model.Read(), "y"), "unknown");
}

TEST(Inference, DeclaredSymbolsAreKept) {
  ProtoModel model;
  model.Input("x", kFloat, {"?", "3"}).Output("y", kFloat, {"batch", "3"});
  model.Node("Relu", {"x"}, {"y"});
  EXPECT_EQ(TypeOf(model.Read(), "y"), "tensor(float)[batch,3]");
}

TEST(Inference, EachNodeOfALongChainIsVisitedOnce) {
  constexpr int kNodes = 100000;
  ProtoModel model;
  model.Input("x0", kFloat, {"4"}).Output("x" + std::to_string(kNodes));
  model.Initializer("w", kFloat, {4}).set_raw_data(std::string(16, '\0'));
  for (int i = 0; i < kNodes; ++i) {
    model.Node("Add", {"x" + std::to_string(i), "w"}, {"x" + std::to_string(i + 1)});
  }
  core::ReadOptions options;
  options.infer = false;
  const Model read = model.Read(options);
  uint64_t visited = 0;
  core::InferTypes(*read.graph, [&](uint64_t done, uint64_t, std::string_view) { visited = done; });
  EXPECT_EQ(TypeOf(read, "x" + std::to_string(kNodes)), "tensor(float)[4]");
  EXPECT_GT(visited, uint64_t{kNodes} - core::kNodesPerReport);
  EXPECT_LE(visited, uint64_t{kNodes});
}

}  // namespace
}  // namespace epiphyte::test
