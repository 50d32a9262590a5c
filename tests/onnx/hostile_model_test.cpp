// Models that are damaged, contradictory or malicious. Each gives its status code and one clear line, never a crash.

#include <set>
#include <string>

#include "core/onnx/infer/inference.h"
#include "core/onnx/write/model_writer.h"
#include "tests/framework/temp_dir.h"
#include "tests/onnx/proto_model.h"

namespace epiphyte::test {
namespace {

using core::StatusCode;

// A small model with every kind of content: typed and raw tensors, a nested graph, a function, attributes, metadata.
std::string SmallModel() {
  ProtoModel model;
  model.Opset("local", 1);
  model.Input("x", kFloat, {"N", "3"}).Input("c", kBool, {}).Output("y").Output("z");
  model.Initializer("w", kFloat, {3}).set_raw_data(std::string(12, '\0'));
  model.Int64s("shape", {0, -1});
  model.Initializer("s", onnx::TensorProto::STRING, {1}).add_string_data("text");
  model.Node("Add", {"x", "w"}, {"a"});
  model.Node("Reshape", {"a", "shape"}, {"b"});
  onnx::NodeProto& conditional = model.Node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto* branch = ProtoModel::Attribute(conditional, name, onnx::AttributeProto::GRAPH).mutable_g();
    branch->set_name(name);
    ProtoModel::AddNode(branch, "Neg", {"b"}, {"r"});
    branch->add_output()->set_name("r");
  }
  onnx::NodeProto& call = model.Node("Twice", {"b"}, {"z"}, "local");
  ProtoModel::Int(call, "n", 2);
  onnx::FunctionProto* function = model.proto.add_functions();
  function->set_name("Twice");
  function->set_domain("local");
  function->add_input("i");
  function->add_output("o");
  function->add_opset_import()->set_version(17);
  ProtoModel::FillNode(function->add_node(), "Add", {"i", "i"}, {"o"});
  onnx::StringStringEntryProto* entry = model.proto.add_metadata_props();
  entry->set_key("k");
  entry->set_value("v");
  return model.Bytes();
}

// Reads, inlines and writes the model. The model must be accepted, or refused with an Error of one line. Returns
// whether it was refused.
bool MustNotCrash(const std::string& bytes) {
  try {
    core::Model model = ProtoModel::ReadBytes(bytes);
    core::InlineFunctions(model, [](const core::Node&) { return false; });
    core::WriteModel(model, {}, [](const void*, uint64_t) {});
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    EXPECT_FALSE(error.message().empty());
    return true;
  }
  return false;
}

TEST(HostileModel, TruncatedAtEveryLength) {
  const std::string whole = SmallModel();
  EXPECT_FALSE(MustNotCrash(whole));
  int refused = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string bytes = whole.substr(0, length);
    try {
      ProtoModel::ReadBytes(bytes);
    } catch (const core::Error&) {
      ++refused;
    }
    MustNotCrash(bytes);
  }
  // Only a cut between two fields of the outermost message leaves a valid model.
  EXPECT_GT(refused, static_cast<int>(whole.size()) - 10);
}

TEST(HostileModel, EveryBitFlippedAtEveryPosition) {
  const std::string whole = SmallModel();
  size_t refused = 0;
  for (size_t position = 0; position < whole.size(); ++position) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[position] = static_cast<char>(bytes[position] ^ (1 << bit));
      refused += MustNotCrash(bytes);
    }
  }
  EXPECT_GT(refused, whole.size() / 2);
}

TEST(HostileModel, EveryByteReplacedByExtremes) {
  const std::string whole = SmallModel();
  size_t refused = 0;
  for (size_t position = 0; position < whole.size(); ++position) {
    for (const char value : {'\x00', '\x7f', '\x80', '\xff'}) {
      std::string bytes = whole;
      bytes[position] = value;
      refused += MustNotCrash(bytes);
      bytes.insert(position, 9, '\xff');
      refused += MustNotCrash(bytes);
    }
  }
  EXPECT_GT(refused, whole.size());
}

TEST(HostileModel, SaysWhatAFileIsThatIsNoModel) {
  TempDir dir;
  const auto refuse = [&](std::string_view content, std::vector<std::string> parts) {
    const auto path = dir.Write("file.onnx", content);
    parts.push_back("file.onnx");
    ExpectError([&] { core::ReadModelFile(path, {}); }, StatusCode::kInvalidProtobuf, parts);
  };
  refuse("", {"empty"});
  refuse("PK\x03\x04 and so on", {"zip"});
  refuse("version https://git-lfs.github.com/spec/v1\noid sha256:1", {"Git LFS", "git lfs pull"});
  refuse("<!DOCTYPE html><html>not found</html>", {"HTML"});
  refuse("{\"model\": 1}", {"JSON"});
  refuse("\x89HDF\r\n\x1a\n", {"HDF5"});
  refuse(std::string_view("\x1c\x00\x00\x00TFL3\x00\x00", 10), {"TensorFlow Lite"});
  refuse("hello, this is some text that is not a model", {});
  refuse(std::string_view("\0\0\0\0\0\0\0\0", 8), {});
}

TEST(HostileModel, WireFormatErrorsAreNamed) {
  const auto refuse = [](const std::string& bytes, std::vector<std::string> parts) {
    ExpectError([&] { ProtoModel::ReadBytes(bytes); }, StatusCode::kInvalidProtobuf, parts);
  };
  refuse(std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11), {"64 bits"});
  refuse(std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), {"needs 18446744073709551615 bytes"});
  refuse(std::string("\x3a\x05\x01", 3), {"needs 5 bytes, 1 are left"});
  refuse(std::string("\x0a\x00", 2), {"field 1 of ModelProto", "wire type 2"});
  refuse(std::string("\x08\x08\x0b", 3), {"wire type 3"});
  refuse(std::string("\x08\x08", 2), {"no graph"});
}

TEST(HostileModel, NamesMustBeUnique) {
  const auto refuse = [](ProtoModel& model, std::vector<std::string> parts) {
    ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, parts);
  };
  ProtoModel twice = ReluModel();
  twice.Node("Neg", {"x"}, {"y"});
  refuse(twice, {"'y'", "Neg node"});
  ProtoModel input = ReluModel();
  input.Input("x", kFloat, {"1"});
  refuse(input, {"input 'x'", "twice"});
  ProtoModel initializer = ReluModel();
  initializer.Int64s("w", {1}).Int64s("w", {2});
  refuse(initializer, {"initializer 'w'", "twice"});
  ProtoModel output = ReluModel();
  output.Int64s("y", {1});
  refuse(output, {"'y'"});
  ProtoModel attribute = ReluModel();
  ProtoModel::Int(*attribute.graph().mutable_node(0), "a", 1);
  ProtoModel::Int(*attribute.graph().mutable_node(0), "a", 2);
  refuse(attribute, {"attribute 'a' twice"});
}

TEST(HostileModel, EveryInputMustComeFromSomewhere) {
  ProtoModel dangling = ReluModel();
  dangling.Node("Neg", {"nowhere"}, {"z"});
  ExpectError([&] { dangling.Read(); }, StatusCode::kInvalidGraph, {"Neg node 'make_z'", "'nowhere'"});
  ProtoModel output = ReluModel();
  output.Output("missing");
  ExpectError([&] { output.Read(); }, StatusCode::kInvalidGraph, {"output 'missing'"});
}

TEST(HostileModel, CyclesAreRefused) {
  ProtoModel model;
  model.Input("x", kFloat, {"1"}).Output("a");
  model.Node("Add", {"x", "b"}, {"a"});
  model.Node("Neg", {"a"}, {"b"});
  ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, {"cycle"});
}

TEST(HostileModel, OpsetsAndOperatorsMustBeKnown) {
  ExpectError([] { ReluModel(0).Read(); }, StatusCode::kInvalidGraph, {"version 0"});
  ProtoModel none = ReluModel();
  none.proto.clear_opset_import();
  ExpectError([&] { none.Read(); }, StatusCode::kInvalidGraph, {"opset_import"});
  ProtoModel no_onnx = ReluModel();
  no_onnx.proto.clear_opset_import();
  no_onnx.Opset("ai.onnx.ml", 1);
  ExpectError([&] { no_onnx.Read(); }, StatusCode::kInvalidGraph, {"Relu node", "of ai.onnx", "opset_import"});
  ProtoModel both = ReluModel();
  both.Opset("ai.onnx", 16);
  ExpectError([&] { both.Read(); }, StatusCode::kInvalidGraph, {"twice", "17", "16"});
  ProtoModel unknown = ReluModel();
  unknown.Node("Rellu", {"x"}, {"z"});
  ExpectError([&] { unknown.Read(); }, StatusCode::kNotImplemented, {"Rellu node", "opset 17", "ai.onnx", "Relu?"});
  ProtoModel late = ReluModel(27);
  late.Node("LinearAttention", {"x"}, {"z"});
  ExpectError([&] { late.Read(); }, StatusCode::kNotImplemented, {"LinearAttention node", "opset 27", "up to 26"});
  ProtoModel removed(10);
  removed.Input("x", kFloat, {"1"}).Input("s", kFloat, {"1"}).Output("y");
  removed.Node("Upsample", {"x", "s"}, {"y"});
  ExpectError([&] { removed.Read(); }, StatusCode::kNotImplemented, {"Upsample", "removed in opset 10"});
  ProtoModel future = ReluModel();
  future.proto.set_ir_version(14);
  ExpectError([&] { future.Read(); }, StatusCode::kNotImplemented, {"IR version 14", "1 to 13"});
}

TEST(HostileModel, NodesMustFitTheirSchema) {
  const auto refuse = [](const std::function<void(ProtoModel&)>& edit, std::vector<std::string> parts) {
    ProtoModel model;
    model.Input("x", kFloat, {"2", "3"}).Input("i", kInt64, {"3"}).Output("y");
    edit(model);
    ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, parts);
  };
  refuse([](ProtoModel& m) { m.Node("Relu", {"x", "x"}, {"y"}); }, {"Relu node 'make_y'", "2 inputs, 1 expected"});
  refuse([](ProtoModel& m) { m.Node("Add", {"x"}, {"y"}); }, {"1 inputs, 2 expected"});
  refuse([](ProtoModel& m) { m.Node("Relu", {"x"}, {"y", "z"}); }, {"2 outputs, 1 expected"});
  refuse([](ProtoModel& m) { m.Node("Cast", {"x"}, {"y"}); }, {"attribute 'to'", "Cast-13"});
  refuse([](ProtoModel& m) { ProtoModel::Ints(m.Node("Softmax", {"x"}, {"y"}), "axis", {1}); },
         {"attribute 'axis'", "ints", "int expected"});
  refuse([](ProtoModel& m) { m.Node("Add", {"x", "i"}, {"y"}); }, {"'x'", "'i'", "float", "int64"});
  refuse([](ProtoModel& m) { m.Node("And", {"x", "x"}, {"y"}); }, {"input 0 ('x')", "float", "And-7"});
  refuse([](ProtoModel& m) { ProtoModel::Attribute(m.Node("Relu", {"x"}, {"y"}), "a", onnx::AttributeProto::TENSOR); },
         {"attribute 'a'", "lacks the value"});
}

TEST(HostileModel, DeclaredTypesMustNotContradictTheNodes) {
  const auto refuse = [](int32_t element, std::vector<std::string> dims, std::vector<std::string> parts) {
    ProtoModel model;
    model.Input("x", kFloat, {"2", "3"}).Output("y", element, dims);
    model.Node("Relu", {"x"}, {"y"});
    ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, parts);
  };
  refuse(kInt64, {"2", "3"}, {"Relu node", "'y'", "int64", "float"});
  // Exporters often leave wrong shapes behind, so the shape that the node implies wins.
  for (const std::vector<std::string>& dims : std::vector<std::vector<std::string>>{{"2", "4"}, {"2", "3", "1"}, {}}) {
    ProtoModel model;
    model.Input("x", kFloat, {"2", "3"}).Output("y", kFloat, dims);
    model.Node("Relu", {"x"}, {"y"});
    EXPECT_EQ(TypeOf(model.Read(), "y"), "tensor(float)[2,3]");
  }
}

TEST(HostileModel, AttributesMustBeKnown) {
  const auto refuse = [](int64_t opset, const std::string& op, std::vector<std::string> inputs,
                         const std::function<void(onnx::NodeProto&)>& edit, std::vector<std::string> parts) {
    ProtoModel model(opset, 10);
    model.Input("x", kFloat, {"2", "3"}).Input("w", kFloat, {"3"}).Output("y");
    edit(model.Node(op, inputs, {"y"}));
    ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, parts);
  };
  const auto axes = [](onnx::NodeProto& n) { ProtoModel::Ints(n, "axes", {1}); };
  const auto integer = [](const std::string& name) {
    return [name](onnx::NodeProto& n) { ProtoModel::Int(n, name, 1); };
  };
  refuse(17, "Softmax", {"x"}, axes, {"Softmax-13 has no attribute 'axes'", "did you mean 'axis'?"});
  refuse(17, "Relu", {"x"}, integer("inplace"), {"Relu-14 has no attribute 'inplace'", "it has none"});
  // These versions are only in the overlay. Some have lost an attribute, and others have one with a new type.
  refuse(18, "ReduceMean", {"x"}, axes, {"ReduceMean-18 has no attribute 'axes'"});
  refuse(18, "Mish", {"x"}, integer("alpha"), {"Mish-18 has no attribute 'alpha'"});
  refuse(24, "Swish", {"x"}, integer("alpha"), {"attribute 'alpha' is of type int, float expected"});
  refuse(23, "RMSNormalization", {"x", "w"}, integer("axes"), {"RMSNormalization-23", "did you mean 'axis'?"});
  refuse(20, "Gelu", {"x"}, integer("aproximate"), {"did you mean 'approximate'?"});
}

TEST(HostileModel, AttributesOfToolsAreTheirs) {
  for (const int64_t opset : {17, 23}) {
    ProtoModel model(opset, 10);
    model.Input("x", kFloat, {"2", "3"}).Output("y");
    ProtoModel::Int(model.Node("Relu", {"x"}, {"a"}), "__tool", 1);
    ProtoModel::Int(model.Node("Cast", {"a"}, {"y"}), "to", 1);
    ProtoModel::Int(*model.graph().mutable_node(1), "__tool", 1);
    EXPECT_EQ(TypeOf(model.Read(), "y"), "tensor(float)[2,3]");
  }
}

TEST(HostileModel, ShapesThatCannotBeAreRefused) {
  const auto refuse = [](const std::function<void(ProtoModel&)>& edit, std::vector<std::string> parts) {
    ProtoModel model;
    model.Input("x", kFloat, {"2", "3"}).Input("w", kFloat, {"4", "5"}).Output("y");
    edit(model);
    ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, parts);
  };
  refuse([](ProtoModel& m) { m.Node("Add", {"x", "w"}, {"y"}); }, {"Add node", "2", "4", "broadcast"});
  refuse([](ProtoModel& m) { m.Node("MatMul", {"x", "w"}, {"y"}); }, {"MatMul node"});
  refuse(
      [](ProtoModel& m) {
        m.Int64s("shape", {7});
        m.Node("Reshape", {"x", "shape"}, {"y"});
      },
      {"Reshape node", "6 elements", "7"});
}

// Attributes for which libonnx's own inference would divide by zero, or read past the end of a shape.
TEST(HostileModel, AbsurdAttributesAreRefused) {
  const auto read = [](const std::string& op, const std::string& attribute, const std::vector<int64_t>& values,
                       bool single) {
    ProtoModel model(11);
    model.Input("x", kFloat, {"1", "4", "8", "8"}).Input("w", kFloat, {"4", "4", "3", "3"}).Output("y");
    onnx::NodeProto& node = model.Node(
        op, op == "Conv" || op == "ConvTranspose" ? std::vector<std::string>{"x", "w"} : std::vector<std::string>{"x"},
        {"y"});
    if (op.ends_with("Pool") && attribute != "kernel_shape") ProtoModel::Ints(node, "kernel_shape", {2, 2});
    if (single)
      ProtoModel::Int(node, attribute, values[0]);
    else
      ProtoModel::Ints(node, attribute, values);
    return MustNotCrash(model.Bytes());
  };
  size_t refused = 0, tried = 0;
  for (const std::string op : {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"}) {
    for (const std::string attribute :
         {"strides", "dilations", "kernel_shape", "pads", "output_padding", "output_shape"}) {
      for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
        refused += read(op, attribute, {value, value}, false);
        refused += read(op, attribute, {value, value, value, value}, false);
        refused += read(op, attribute, {value}, false);
        tried += 3;
      }
    }
    const bool is_refused = read(op, "group", {0}, true);
    // Providers refuse ConvTranspose with this group when the session is made.
    if (op == "Conv") EXPECT_TRUE(is_refused);
  }
  for (const std::string op : {"DepthToSpace", "SpaceToDepth"}) {
    for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX})
      EXPECT_TRUE(read(op, "blocksize", {value}, true)) << op << " " << value;
  }
  for (const std::string op : {"Squeeze", "Unsqueeze", "Transpose", "ReduceSum", "ReduceMean"}) {
    for (const int64_t value : {int64_t{-100}, int64_t{100}, INT64_MIN, INT64_MAX, int64_t{-5}, int64_t{4}}) {
      read(op, "axes", {value, value}, false);
      const bool is_refused = read(op, "perm", {value, value, value, value}, false);
      if (op == "Transpose") EXPECT_TRUE(is_refused) << value;
    }
  }
  for (const std::string op :
       {"Flatten", "Softmax", "Concat", "Split", "ArgMax", "Gather", "Hardmax", "LpNormalization"}) {
    for (const int64_t value : {int64_t{-100}, int64_t{100}, INT64_MIN, INT64_MAX, int64_t{-5}, int64_t{4}}) {
      read(op, "axis", {value}, true);
    }
  }
  // Zeros and small negative numbers are valid for some of the attributes.
  EXPECT_GT(refused, tried / 2) << "of " << tried;
}

// libonnx's inference functions would read attributes and dimensions that don't exist. tests/onnx/inference_sweep tries
// every operator; these are the messages that a user sees.
TEST(HostileModel, ScanWithoutItsAttributesIsRefusedInEveryVersion) {
  for (const int64_t opset : {8, 9, 11, 16, 19, 21, 23, 24, 25}) {
    const auto refuse = [&](bool has_count, std::string_view missing) {
      ProtoModel model(opset, 10);
      model.Input("x", kFloat, {"2", "3", "4"}).Output("y");
      onnx::NodeProto& node = model.Node("Scan", {"x", "x"}, {"y"});
      if (has_count) ProtoModel::Int(node, "num_scan_inputs", 1);
      ProtoModel::Ints(node, opset == 8 ? "directions" : "scan_input_directions", {0, 1, 7});
      ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, {"Scan node", std::string(missing)});
    };
    refuse(false, "lacks the attribute 'body' that Scan-");
    refuse(true, "lacks the attribute 'body' that Scan-");
  }
}

// A declared scalar is accepted, because models of other tools declare any input as a scalar.
TEST(HostileModel, RecurrentInputsOfOtherRanksAreRefused) {
  for (const int64_t opset : {3, 7, 14, 22}) {
    for (const std::string op : {"RNN", "GRU", "LSTM"}) {
      for (const size_t rank : {1, 2, 4}) {
        ProtoModel model(opset, 10);
        model.Input("x", kFloat, std::vector<std::string>(rank, "2"));
        model.Input("w", kFloat, {"1", "8", "2"}).Input("r", kFloat, {"1", "8", "2"}).Output("y");
        ProtoModel::Int(model.Node(op, {"x", "w", "r"}, {"y", "h"}), "hidden_size", 2);
        ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, {op + " node", "3 expected"});
      }
    }
  }
}

TEST(HostileModel, PooledShapeMustHoldTwoSizes) {
  for (const int64_t opset : {11, 22}) {
    for (const auto& sizes : {std::vector<int64_t>{}, {1}, {1, 1, 1}}) {
      ProtoModel model(opset, 10);
      model.Input("x", kFloat, {"1", "2", "4", "4"}).Input("rois", kFloat, {"1", "5"}).Output("y");
      ProtoModel::Ints(model.Node("MaxRoiPool", {"x", "rois"}, {"y"}), "pooled_shape", sizes);
      ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph,
                  {"MaxRoiPool node", "'pooled_shape'", "2 expected"});
    }
  }
}

TEST(HostileModel, SplitSizesMustBePositive) {
  for (const int64_t opset : {11, 24}) {
    ProtoModel model(opset, 10);
    model.Input("x", kFloat, {"4"}).Output("y");
    model.Initializer("split", kInt64, {}).add_int64_data(0);
    model.Node("SplitToSequence", {"x", "split"}, {"y"});
    ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, {"SplitToSequence node", "'split'", "value 0"});
  }
}

TEST(HostileModel, InputsOfUnknownTypeLeaveOutputsUnknown) {
  for (const auto& [op, attribute] : {std::pair{"LabelEncoder", ""}, std::pair{"CategoryMapper", ""},
                                      std::pair{"DictVectorizer", "string_vocabulary"}}) {
    ProtoModel model;
    model.Opset("ai.onnx.ml", 1).Opset("custom", 1);
    model.Input("x", kFloat, {"4"}).Output("y");
    model.Node("Unheard", {"x"}, {"u"}, "custom");
    onnx::NodeProto& node = model.Node(op, {"u"}, {"y"}, "ai.onnx.ml");
    if (*attribute != '\0') ProtoModel::Attribute(node, attribute, onnx::AttributeProto::STRINGS).add_strings("a");
    EXPECT_NO_THROW(model.Read()) << op;
  }
}

std::string Nested(int depth) {
  // Builds nested messages from the inside out: a GraphProto in an attribute of a node in a GraphProto, and so on.
  const auto field = [](int number, const std::string& bytes) {
    std::string text(1, static_cast<char>(number << 3 | 2));
    size_t size = bytes.size();
    for (; size >= 0x80; size >>= 7) text += static_cast<char>(size | 0x80);
    return text + static_cast<char>(size) + bytes;
  };
  std::string graph = field(2, "g");
  for (int i = 0; i < depth; ++i) {
    const std::string attribute = field(1, "body") + field(6, graph) + std::string("\xa0\x01\x05", 3);
    graph = field(2, "g") + field(1, field(4, "Op") + field(7, "custom") + field(5, attribute));
  }
  return std::string("\x08\x08", 2) + field(7, graph) + field(8, std::string("\x10\x11", 2));
}

TEST(HostileModel, NestingHasABound) {
  EXPECT_NO_THROW(ProtoModel::ReadBytes(Nested(60)));
  ExpectError([] { ProtoModel::ReadBytes(Nested(100)); }, StatusCode::kInvalidGraph, {"64 levels"});
  ExpectError([] { ProtoModel::ReadBytes(Nested(2000)); }, StatusCode::kInvalidGraph, {"64 levels"});
}

TEST(HostileModel, TypesHaveABound) {
  ProtoModel model = ReluModel();
  onnx::TypeProto* type = model.graph().add_input()->mutable_type();
  model.graph().mutable_input(1)->set_name("deep");
  for (int i = 0; i < 80; ++i) type = type->mutable_sequence_type()->mutable_elem_type();
  type->mutable_tensor_type()->set_elem_type(kFloat);
  ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, {"64 levels"});
}

TEST(HostileModel, ShapesHaveABound) {
  ProtoModel declared = ReluModel();
  declared.Input("wide", kFloat, std::vector<std::string>(65, "1"));
  ExpectError([&] { declared.Read(); }, StatusCode::kInvalidGraph, {"65 dimensions", "64"});
  ProtoModel tensor = ReluModel();
  tensor.Initializer("w", kFloat, std::vector<int64_t>(65, 1)).add_float_data(1);
  ExpectError([&] { tensor.Read(); }, StatusCode::kInvalidGraph, {"'w'", "65 dimensions"});
  ProtoModel inferred(11);
  inferred.Input("x", kFloat, std::vector<std::string>(60, "1")).Output("y");
  ProtoModel::Ints(inferred.Node("Unsqueeze", {"x"}, {"y"}), "axes", {0, 1, 2, 3, 4});
  ExpectError([&] { inferred.Read(); }, StatusCode::kInvalidGraph, {"Unsqueeze node", "65 dimensions"});
}

TEST(HostileModel, ManyCallsOfOneNameGiveValuesOfTheirOwn) {
  ProtoModel model;
  model.Opset("local", 1);
  model.Input("x0", kFloat, {"1"}).Output("x20000");
  for (int i = 0; i < 20000; ++i) {
    model.Node("F", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)}, "local").set_name("same");
  }
  onnx::FunctionProto* function = model.proto.add_functions();
  function->set_name("F");
  function->set_domain("local");
  function->add_input("i");
  function->add_output("o");
  function->add_opset_import()->set_version(17);
  ProtoModel::FillNode(function->add_node(), "Neg", {"i"}, {"m"});
  ProtoModel::FillNode(function->add_node(), "Neg", {"m"}, {"o"});
  core::Model read = model.Read();
  EXPECT_TRUE(core::InlineFunctions(read, [](const core::Node&) { return false; }));
  EXPECT_EQ(read.graph->node_count(), 40000u);
  std::set<std::string> values;
  for (const core::Node* node : read.graph->TopologicalOrder()) {
    for (const core::ValueDef* output : node->outputs()) values.insert(output->name());
  }
  EXPECT_EQ(values.size(), 40000u);
}

TEST(HostileModel, RecursiveFunctionsAreRefused) {
  ProtoModel model;
  model.Opset("local", 1);
  model.Input("x", kFloat, {"1"}).Output("y");
  model.Node("A", {"x"}, {"y"}, "local");
  for (const auto& [name, callee] : {std::pair{"A", "B"}, std::pair{"B", "A"}}) {
    onnx::FunctionProto* function = model.proto.add_functions();
    function->set_name(name);
    function->set_domain("local");
    function->add_input("i");
    function->add_output("o");
    onnx::OperatorSetIdProto* import = function->add_opset_import();
    import->set_domain("local");
    import->set_version(1);
    ProtoModel::FillNode(function->add_node(), callee, {"i"}, {"o"}, "local");
  }
  ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, {"'A'", "'local'", "calls itself"});
}

TEST(HostileModel, FunctionsThatUnfoldWithoutEndAreRefused) {
  ProtoModel model;
  model.Opset("local", 1);
  model.Input("x", kFloat, {"1"}).Output("y");
  model.Node("F0", {"x"}, {"y"}, "local");
  for (int i = 0; i < 40; ++i) {
    onnx::FunctionProto* function = model.proto.add_functions();
    function->set_name("F" + std::to_string(i));
    function->set_domain("local");
    function->add_input("i");
    function->add_output("o");
    onnx::OperatorSetIdProto* import = function->add_opset_import();
    import->set_domain("local");
    import->set_version(1);
    function->add_opset_import()->set_version(17);
    const std::string callee = "F" + std::to_string(i + 1);
    const std::string domain = i == 39 ? "" : "local";
    ProtoModel::FillNode(function->add_node(), i == 39 ? "Neg" : callee, {"i"}, {"m"}, domain);
    ProtoModel::FillNode(function->add_node(), i == 39 ? "Neg" : callee, {"m"}, {"o"}, domain);
  }
  ExpectError([&] { model.Read(); }, StatusCode::kInvalidGraph, {"'F1", "unfolds"});
}

}  // namespace
}  // namespace epiphyte::test
