// Decoder: runs the graphs of a search turn by turn. It supports GPT-2 graphs, which take the whole prompt in the first
// turn, and encoder-decoder graphs such as T5 and Whisper. The meaning of a graph's inputs and outputs follows from
// their order and from the names of some.
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
  Name beams;                 // int64[1]: rows per batch row; empty: one
  Name most;                  // int64[1]: maximum sequence length
  size_t attention_mask = 0;  // index of the call's input; 0: none
  size_t decoder_input_ids = 0;
  int64_t model_type = 0;  // default; the call's attribute overrides it
};

// The choice of one turn.
struct Chosen {
  Name tokens;     // int32[rows, 1]
  Name sequences;  // int32[rows, length], including the tokens
  Name rows;       // int64[rows]: the row that each row continues; empty: itself
  Name turn;
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  // The initial sequences: int32[rows, length].
  virtual Name Prompt() = 0;
  virtual std::vector<State> Start() = 0;
  // Logits of the next token: float[rows, vocabulary].
  virtual Name Logits(const Names& states, const Name& turn) = 0;
  // The states of the next turn. Call it after Logits().
  virtual Names Next(const Chosen& chosen) = 0;
};

std::unique_ptr<Decoder> MakeDecoder(Body& body, const DecoderOptions& options);

}  // namespace epiphyte::core::microsoft
