// Signatures: the minimum number of inputs and outputs of each operator. Every plugin that verifies contexts relies on
// it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "epiphyte/kit/signature/signature.hpp"

namespace epiphyte::kit {
namespace {

const Signature& NewestOf(std::string_view op_type) { return FindSignatures("", op_type).back(); }

ArgumentType Float(int32_t rank = 2) { return {true, EP_KIND_TENSOR, EP_TYPE_FLOAT, rank}; }

std::string WhyNot(const Signature& signature, const std::vector<ArgumentType>& inputs,
                   const std::vector<ArgumentType>& outputs = {Float()}) {
  std::string why;
  return Match(signature, inputs, outputs, &why).fits ? "" : why;
}

TEST(SignatureArguments, WhatRepeatsIsThereOnceAtLeast) {
  for (const char* op : {"Concat", "Max", "Min", "Mean", "Sum"}) {
    EXPECT_NE(WhyNot(NewestOf(op), {}), "") << op;
    EXPECT_EQ(WhyNot(NewestOf(op), {Float()}), "") << op;
    EXPECT_EQ(WhyNot(NewestOf(op), std::vector<ArgumentType>(20, Float())), "") << op;
  }
  EXPECT_EQ(WhyNot(NewestOf("Concat"), {}), "input 0 ('inputs') is left out; the operator needs it");
}

TEST(SignatureArguments, WhatRepeatsIsThereEachTime) {
  for (const char* op : {"Concat", "Max", "Min", "Mean", "Sum"}) {
    EXPECT_NE(WhyNot(NewestOf(op), {ArgumentType()}), "") << op;
    EXPECT_NE(WhyNot(NewestOf(op), {Float(), ArgumentType()}), "") << op;
    EXPECT_NE(WhyNot(NewestOf(op), {ArgumentType(), Float()}), "") << op;
  }
}

// For every operator of every table, a node with fewer inputs than the operator needs never fits.
TEST(SignatureArguments, NoOperatorFitsWithoutWhatItNeeds) {
  for (const auto table :
       {OnnxSignatures(), MlSignatures(), TrainingSignatures(), MicrosoftSignatures(), FusedSignatures()}) {
    for (const Signature& signature : table) {
      for (size_t i = 0; i < signature.input_count; ++i) {
        if (signature.inputs[i].optional) continue;
        ArgumentType unknown;
        unknown.present = true;
        std::vector<ArgumentType> inputs(signature.input_count, unknown);
        std::vector<ArgumentType> outputs(1, unknown);
        EXPECT_EQ(WhyNot(signature, inputs, outputs), "") << signature.op_type << "-" << signature.since_version;
        inputs[i].present = false;
        EXPECT_NE(WhyNot(signature, inputs, outputs), "") << signature.op_type << "-" << signature.since_version;
        inputs.resize(i);
        EXPECT_NE(WhyNot(signature, inputs, outputs), "") << signature.op_type << "-" << signature.since_version;
      }
      EXPECT_NE(WhyNot(signature, std::vector<ArgumentType>(signature.input_count, Float()), {}), "");
    }
  }
}

}  // namespace
}  // namespace epiphyte::kit
