// Decoder: how the graphs that a search brings are run turn by turn: those of GPT-2, which take the whole prompt in the
// first turn, and encoders with a decoder, as T5 and Whisper have them. The order of a graph's inputs and outputs is
// what tells their meaning, together with the names of some.
//
//   const std::unique_ptr<Decoder> decoder = MakeDecoder(body, {.beams = beams, .attention_mask = 9});
//   body.Loop(turns, decoder->Start(), [&](const Names& states, const Name& turn) {
//     const Name logits = decoder->Logits(states, turn);
//     … decoder->Next({tokens, sequences, rows, turn}) …
//   });
#pragma once

#include <memory>

#include "core/onnx/microsoft/body.h"

namespace epiphyte::core::microsoft {

struct DecoderOptions {
  Name beams;                 // int64[1]: rows for each of the batch; empty: one
  Name most;                  // int64[1]: the longest sequence
  size_t attention_mask = 0;  // inputs of the call; 0: it has none
  size_t decoder_input_ids = 0;
  int64_t model_type = 0;  // unless the call says it
};

// What a turn chose.
struct Chosen {
  Name tokens;     // int32[rows, 1]
  Name sequences;  // int32[rows, length], with the tokens
  Name rows;       // int64[rows]: the row that each one continues; empty: its own
  Name turn;
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  // The sequences that are continued: int32[rows, length].
  virtual Name Prompt() = 0;
  virtual std::vector<State> Start() = 0;
  // float[rows, vocabulary]: of the next token.
  virtual Name Logits(const Names& states, const Name& turn) = 0;
  // The states of the next turn, after Logits().
  virtual Names Next(const Chosen& chosen) = 0;
};

std::unique_ptr<Decoder> MakeDecoder(Body& body, const DecoderOptions& options);

}  // namespace epiphyte::core::microsoft
