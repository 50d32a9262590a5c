// TimestampRules: the tokens that a Whisper model may produce next. Timestamps come in pairs and never decrease
// (Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, 2022).
#pragma once

#include "core/onnx/microsoft/body.h"

namespace epiphyte::core::microsoft {

class TimestampRules {
 public:
  // Reads the ids of special tokens from the call's attributes.
  explicit TimestampRules(Body& body);

  // Sets the scores of forbidden tokens to `least`. `scores` float[rows, vocabulary] are those of the token after
  // `sequences`, int32[rows, length].
  Name Process(const Name& scores, const Name& sequences, const Name& least);

 private:
  struct State;
  Name Forbidden(const State& state);

  Body& body_;
  int64_t end_, first_;  // ids of the end of text and of the first timestamp
};

}  // namespace epiphyte::core::microsoft
