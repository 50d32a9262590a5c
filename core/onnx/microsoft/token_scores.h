// TokenScores: adjusts the scores of the next token before a search chooses one: penalties, masks and lengths.
#pragma once

#include <optional>

#include "core/onnx/microsoft/timestamps.h"

namespace epiphyte::core::microsoft {

// Indices of the call's inputs; 0: the call has no such input.
struct ScoreInputs {
  size_t min_length = 0;
  size_t repetition_penalty = 0;
  size_t vocab_mask = 0;
  size_t prefix_vocab_mask = 0;
  size_t temperature = 0;
  size_t presence_mask = 0;
  size_t processor = 0;  // 1: TimestampRules
};

class TokenScores {
 public:
  // `beams` int64[1]: rows per batch row; empty: one.
  TokenScores(Body& body, const ScoreInputs& inputs, const Name& beams);

  // `scores` float[rows, vocabulary] are those of the token after `sequences`, int32[rows, length].
  Name Process(Name scores, const Name& sequences, const Name& turn);

 private:
  Name PenalizeRepetition(const Name& scores, const Name& words);
  Name ForbidRepeatedNgrams(const Name& scores, const Name& words, int64_t size);
  Name FollowRules(const Name& scores, const Name& sequences);
  Name ForbidEnd(const Name& scores, const Name& sequences);

  Body& body_;
  ScoreInputs inputs_;
  Name least_;               // score of a forbidden token
  Name repetition_penalty_;  // float; empty: none
  Name vocab_mask_;          // bool[vocabulary]: forbidden tokens
  Name prefix_mask_;         // bool[rows, vocabulary]: forbidden first tokens
  Name min_length_;          // int64[1]
  Name temperature_;         // float
  Name presence_penalty_;    // float[batch, vocabulary]
  Name processor_;           // int64[1]; empty when it is known to be 1
  std::optional<TimestampRules> timestamps_;
};

}  // namespace epiphyte::core::microsoft
