// Agreement of the generated models that run in less than a second; long/ has the others.

#include "tests/models/agreement.h"

namespace epiphyte::test {
namespace {

class Agreement : public ::testing::TestWithParam<AgreementParameter> {};

INSTANTIATE_TEST_SUITE_P(WithOnnxRuntime, Agreement,
                         ::testing::Combine(::testing::Values("resnet50", "mobilenetv2", "squeezenet1.1", "bert_base",
                                                              "lstm_tagger", "detector_tail", "control_flow",
                                                              "chain_1000", "voice_activity", "text_recogniser",
                                                              "wake_word", "shufflenetv2", "efficientnet_b0"),
                                            ::testing::Values(Route::kPlain, Route::kContext, Route::kEmbeddedContext)),
                         NameOfAgreement);

INSTANTIATE_TEST_SUITE_P(OfOtherSpellings, Agreement,
                         ::testing::Combine(::testing::Values("mobilenetv2_opset9", "squeezenet1.1_opset9",
                                                              "shufflenetv2_opset9", "efficientnet_b0_opset9",
                                                              "text_recogniser_opset9", "wake_word_opset9",
                                                              "mobilenetv2_tf", "efficientnet_b0_tf", "wake_word_tf"),
                                            ::testing::Values(Route::kPlain)),
                         NameOfAgreement);

TEST_P(Agreement, IsWithinTheTolerance) { ExpectAgreement(std::get<0>(GetParam()), std::get<1>(GetParam())); }

}  // namespace
}  // namespace epiphyte::test
