// Beams: the state of a beam search, carried by a loop. For each row of the batch it has the sums of log probabilities
// of the active sequences, and the best finished sequences.
#pragma once

#include "core/onnx/microsoft/body.h"
#include "core/onnx/microsoft/decoders.h"

namespace epiphyte::core::microsoft {

// Names of the int64[1] values that hold the sizes of a beam search.
struct BeamSizes {
  Name batch, beams, most;  // most: maximum sequence length
};

class Beams {
 public:
  // `length_penalty` is the index of the call's input.
  Beams(Body& body, BeamSizes sizes, size_t length_penalty);

  static constexpr size_t kStates = 5;
  std::vector<State> Start(const Name& prompt);

  // The scores of all continuations, float[rows, vocabulary]: `log_probabilities` plus the sums so far.
  Name WithSums(const Names& states, const Name& log_probabilities);
  // Chooses the next tokens. `states` are those of the next turn; `go_on` tells whether there is one.
  struct Step {
    Chosen chosen;
    Names states;
    Name go_on;
  };
  Step Choose(const Names& states, const Name& scores, const Name& turn);

  // Called after the loop. Returns the best `count` (int64[1]) sequences of each row, int32[batch, count, most], and
  // their scores, float[batch, count].
  struct Best {
    Name sequences, scores;
  };
  Best Finish(const Names& states, const Name& count);

 private:
  Name LengthPenalty(const Name& sequences);
  Name Padded(const Name& sequences);
  Name PickOfBatch(const Name& table, const Name& places);

  Body& body_;
  BeamSizes sizes_;
  Name twice_;    // 2 * beams
  Name penalty_;  // float[1]
  Name none_;     // score of an empty slot
  Name pad_;      // int32
};

}  // namespace epiphyte::core::microsoft
