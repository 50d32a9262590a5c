// InferenceCase: one node with arbitrary inputs, attributes and outputs, as input for inference.
//
//   for (const InferenceCase& c : MakeSystematicCases(schema)) { auto graph = BuildGraph(c); InferTypes(*graph); }
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/onnx/schema/schema.h"

namespace epiphyte::test {

struct CaseInput {
  enum class Source {
    kLeftOut,
    kGraphInput,  // graph input of type `type`; null if the type is unknown
    kConstant,
    kShapeNode,  // the output of a Shape node with an input of `type`
  };
  Source source = Source::kGraphInput;
  core::TypePtr type;
  core::ConstantPtr constant;

  std::string Describe() const;
};

struct CaseAttribute {
  std::string text;
  std::function<core::Attribute()> make;
};

struct InferenceCase {
  std::string domain;
  std::string op_type;
  int64_t version = 0;
  std::vector<CaseInput> inputs;
  std::vector<CaseAttribute> attributes;
  std::vector<bool> outputs;  // false: left out

  std::string Describe() const;
};

// Number of values that the systematic cases combine.
enum class SweepDepth { kQuick, kThorough };

// Makes all cases for one operator. Each node deviates from a plausible one at one place or two.
class CaseMaker {
 public:
  CaseMaker(const core::OperatorSchema& schema, int64_t version, SweepDepth depth);

  const std::vector<InferenceCase>& systematic() const { return systematic_; }
  // Returns a node that deviates at several places.
  InferenceCase MakeRandom(std::mt19937& random) const;
  bool has_graph_attributes() const;

 private:
  struct Slot {
    std::string name;
    core::AttributeType type;
    std::vector<CaseAttribute> values;
  };

  InferenceCase Plausible(int rank) const;
  void AddInputCounts();
  void AddInputs();
  void AddAttributes();
  void AddBodies();
  void AddOutputs();
  CaseInput TensorFor(size_t input, int rank) const;

  const core::OperatorSchema& schema_;
  int64_t version_;
  SweepDepth depth_;
  size_t plausible_inputs_ = 0;
  size_t most_inputs_ = 0;
  size_t plausible_outputs_ = 0;
  size_t most_outputs_ = 0;
  std::vector<CaseAttribute> required_;
  std::vector<Slot> attributes_;
  std::vector<CaseInput> input_pool_;
  std::vector<InferenceCase> systematic_;
};

// Returns the graph of the case. Its last node is the node under test.
std::unique_ptr<core::Graph> BuildGraph(const InferenceCase& c);

}  // namespace epiphyte::test
