// Agreement of the generated models that are too large for the default suite.

#include "tests/models/agreement.h"

namespace epiphyte::test {
namespace {

class LongAgreement : public ::testing::TestWithParam<AgreementParameter> {};

INSTANTIATE_TEST_SUITE_P(WithOnnxRuntime, LongAgreement,
                         ::testing::Combine(::testing::Values("densenet121", "inceptionv3", "vit_s16",
                                                              "whisper_encoder", "whisper_decoder", "unet", "unet_f16",
                                                              "unet_int8", "llama_decode_int4", "llama_decode_int4_dq"),
                                            ::testing::Values(Route::kPlain, Route::kContext, Route::kEmbeddedContext)),
                         NameOfAgreement);

INSTANTIATE_TEST_SUITE_P(OfOtherSpellings, LongAgreement,
                         ::testing::Combine(::testing::Values("resnet50_opset9", "bert_base_opset9",
                                                              "densenet121_opset9", "inceptionv3_opset9",
                                                              "vit_s16_opset9", "whisper_encoder_opset9", "resnet50_tf",
                                                              "bert_base_tf", "densenet121_tf", "inceptionv3_tf",
                                                              "vit_s16_tf"),
                                            ::testing::Values(Route::kPlain, Route::kContext)),
                         NameOfAgreement);

TEST_P(LongAgreement, IsWithinTheTolerance) { ExpectAgreement(std::get<0>(GetParam()), std::get<1>(GetParam())); }

}  // namespace
}  // namespace epiphyte::test
