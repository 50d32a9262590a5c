// TimestampRules: which tokens a Whisper model may say next, as its timestamps come in pairs and do not go back
// (Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, 2022).
#pragma once

#include "core/onnx/microsoft/body.h"

namespace epiphyte::core::microsoft {

class TimestampRules {
 public:
  // Reads the ids of special tokens from the call's attributes.
  explicit TimestampRules(Body& body);

  // `scores` float[rows, vocabulary] of what comes behind `sequences`, int32[rows, length]; what must not come gets
  // `least`.
  Name Process(const Name& scores, const Name& sequences, const Name& least);

 private:
  struct State;
  Name Forbidden(const State& state);

  Body& body_;
  int64_t end_, first_;  // the end of the text, the first timestamp
};

}  // namespace epiphyte::core::microsoft
