#include "core/onnx/microsoft/decoders.h"

namespace epiphyte::core::microsoft {
namespace {

constexpr size_t kPrompt = 0;

const Graph& NeedGraph(const Body& body, std::string_view name) {
  const Graph* graph = body.GraphAttribute(name);
  if (graph == nullptr) body.Reject("attribute '{}' is missing", name);
  return *graph;
}

// The state for a graph's past input, with the type that the graph declares. Head sizes are known; other sizes vary by
// turn.
State PastOf(const Body& body, const Graph& graph, size_t input, size_t rank) {
  const ValueDef& value = *graph.inputs()[input];
  const TypePtr& type = value.type();
  const bool has_rank = type != nullptr && type->IsTensor() && type->shape() && type->shape()->size() == rank;
  if (!has_rank) {
    body.Reject("input '{}' of graph '{}' is {}, a tensor of {} dimensions expected", value.name(), graph.name(),
                type == nullptr ? "of no known type" : type->ToString(), rank);
  }
  State state;
  state.type = type->element_type();
  state.dims.assign(rank, -1);
  if (rank == 5) state.dims[0] = 2;
  for (const size_t axis : {rank - 3, rank - 1}) {
    const Dim& dim = (*type->shape())[axis];
    if (dim.value < 1) {
      body.Reject("input '{}' of graph '{}' is {}, a known size of dimension {} expected", value.name(), graph.name(),
                  type->ToString(), axis);
    }
    state.dims[axis] = dim.value;
  }
  return state;
}

// A shape as an int64 vector: `dims`, with `rows` at `rows_axis` and `length` at the second last axis.
Name SizesOf(Body& body, const std::vector<int64_t>& dims, const Name& rows, const Name& length, size_t rows_axis) {
  Names sizes;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    sizes.push_back(axis == rows_axis ? rows : axis == dims.size() - 2 ? length : body.Integers({dims[axis]}));
  }
  return body.Concat(std::move(sizes), 0);
}

// Repeats each row of the batch for its beams.
Name Repeat(Body& body, const Name& x, const Name& beams) {
  if (beams.empty()) return x;
  const Name shape = body.Op("Shape", {x});
  const Name row = body.Slice(shape, 1, kEnd, 0);
  const Name wide_shape = body.Concat({body.Slice(shape, 0, 1, 0), beams, row}, 0);
  const Name wide = body.Op("Expand", {body.Unsqueeze(x, {1}), wide_shape});
  return body.Op("Reshape", {wide, body.Concat({body.Integers({-1}), row}, 0)});
}

// The logits of the last token as float[rows, vocabulary], cut to vocab_size if the attribute is set.
Name LastLogits(Body& body, const Name& logits) {
  Name last = body.Squeeze(body.Slice(logits, -1, kEnd, 1), {1});
  if (const int64_t words = body.Int("vocab_size", 0); words > 0) last = body.Slice(last, 0, words, 1);
  return body.Cast(last, DataType::kFloat);
}

Name Reorder(Body& body, const Name& x, const Name& rows, int64_t axis) {
  return rows.empty() ? x : body.Gather(x, rows, axis);
}

// Decoder for GPT-2. Inputs: input_ids, position_ids, attention_mask, past_0 …; outputs: logits, present_0 …. A past is
// [2, rows, heads, length, size]. If there is an additional input for the past's length, pasts are buffers of the
// maximum sequence length.
class GptDecoder : public Decoder {
 public:
  GptDecoder(Body& body, const DecoderOptions& options) : body_(body), graph_(NeedGraph(body, "decoder")) {
    const size_t inputs = graph_.inputs().size(), outputs = graph_.outputs().size();
    layers_ = outputs - 1;
    has_buffers_ = inputs == outputs + 3;
    if (outputs < 2 || (inputs != outputs + 2 && !has_buffers_)) {
      body.Reject(
          "graph '{}' has {} inputs and {} outputs; input_ids, position_ids, attention_mask and pasts, and logits and "
          "as many presents expected",
          graph_.name(), inputs, outputs);
    }
    most_ = options.most;
    const Name ids = body.Cast(body.Need(kPrompt, "input_ids"), DataType::kInt32);
    const Name zero = body.Number(0, DataType::kInt32), one = body.Number(1, DataType::kInt32);
    const Name pad = body.Number(static_cast<double>(body.Int("pad_token_id", -1)), DataType::kInt32);
    const Name words = body.Where(body.Op("Equal", {ids, pad}), zero, one);
    const bool has_mask = options.attention_mask != 0 && body.Has(options.attention_mask);
    const Name mask = has_mask ? body.Cast(body.In(options.attention_mask), DataType::kInt32) : words;
    // Positions count the tokens that aren't padding, whatever the mask says.
    const Name counted = body.Op("CumSum", {words, body.Integer(1)});
    const Name positions = body.Where(body.Op("Equal", {words, zero}), zero, body.Sub(counted, one));
    lengths_ = Repeat(body, body.Slice(counted, -1, kEnd, 1), options.beams);
    ids_ = Repeat(body, ids, options.beams);
    mask_ = Repeat(body, mask, options.beams);
    positions_ = Repeat(body, positions, options.beams);
  }

  Name Prompt() override { return ids_; }

  std::vector<State> Start() override {
    const auto table = [](const Name& start) { return State{start, DataType::kInt32, {-1, -1}}; };
    std::vector<State> states = {table(ids_), table(positions_), table(mask_)};
    const Name rows = body_.SizeOf(ids_, 0);
    const Name length = has_buffers_ ? most_ : body_.Integers({0});
    for (size_t layer = 0; layer < layers_; ++layer) {
      State past = PastOf(body_, graph_, 3 + layer, 5);
      past.start = body_.Fill(SizesOf(body_, past.dims, rows, length, 1), 0, past.type);
      states.push_back(std::move(past));
    }
    return states;
  }

  Name Logits(const Names& states, const Name&) override {
    states_ = states;
    Names inputs = states;
    if (has_buffers_) {
      const Name length = body_.Sub(body_.SizeOf(states[2], 1), body_.SizeOf(states[0], 1));
      inputs.push_back(body_.Cast(length, DataType::kInt32));
    }
    presents_ = body_.CallGraph("decoder", std::move(inputs));
    return LastLogits(body_, presents_[0]);
  }

  Names Next(const Chosen& chosen) override {
    const Name one = body_.Number(1, DataType::kInt32);
    const Name positions = body_.Add(lengths_, body_.Cast(chosen.turn, DataType::kInt32));
    const Name added = body_.Op("Expand", {one, body_.Op("Shape", {chosen.tokens})});
    Names next = {chosen.tokens, positions, body_.Concat({states_[2], added}, 1)};
    for (size_t layer = 0; layer < layers_; ++layer)
      next.push_back(Reorder(body_, presents_[1 + layer], chosen.rows, 1));
    return next;
  }

 private:
  Body& body_;
  const Graph& graph_;
  size_t layers_ = 0;
  bool has_buffers_ = false;
  Name most_, ids_, mask_, positions_;
  Name lengths_;  // int32[rows, 1]
  Names states_, presents_;
};

// The encoder runs once. It produces cross-attention keys and values for each layer. In older models it also produces
// the logits of the first token, the encoder's hidden states, and the decoder's keys and values of the first tokens.
class EncoderDecoder : public Decoder {
 public:
  EncoderDecoder(Body& body, const DecoderOptions& options)
      : body_(body), encoder_(NeedGraph(body, "encoder")), graph_(NeedGraph(body, "decoder")) {
    Prepare(options);
    RunEncoder(options);
    FindInputs();
  }

  Name Prompt() override { return prompt_; }

  std::vector<State> Start() override {
    std::vector<State> states = {{prompt_, DataType::kInt32, {-1, -1}}};
    const Name rows = body_.SizeOf(prompt_, 0);
    for (size_t i = 0; i < 2 * layers_; ++i) {
      State past = PastOf(body_, graph_, first_past_ + i, 4);
      past.start = encodes_first_ ? Repeat(body_, encoded_[2 + i], beams_)
                                  : body_.Fill(SizesOf(body_, past.dims, rows, body_.Integers({0}), 0), 0, past.type);
      states.push_back(std::move(past));
    }
    return states;
  }

  Name Logits(const Names& states, const Name& turn) override {
    const auto decode = [&] {
      Names inputs = {states[0]};
      inputs.insert(inputs.end(), fixed_.begin(), fixed_.end());
      inputs.insert(inputs.end(), states.begin() + 1, states.end());
      inputs.insert(inputs.end(), cross_.begin(), cross_.end());
      Names made = body_.CallGraph("decoder", std::move(inputs));
      made[0] = LastLogits(body_, made[0]);
      return made;
    };
    const auto take_encoded = [&] {
      Names made = states;
      made[0] = first_logits_;
      return made;
    };
    presents_ = encodes_first_ ? body_.If(body_.Op("Equal", {turn, body_.Integer(0)}), take_encoded, decode) : decode();
    return presents_[0];
  }

  Names Next(const Chosen& chosen) override {
    Names next = {takes_sequences_ ? chosen.sequences : chosen.tokens};
    for (size_t i = 0; i < 2 * layers_; ++i) next.push_back(Reorder(body_, presents_[1 + i], chosen.rows, 0));
    return next;
  }

 private:
  void Prepare(const DecoderOptions& options) {
    beams_ = options.beams;
    const Name input = body_.Need(kPrompt, "input_ids");
    const Name batch = body_.SizeOf(input, 0);
    if (options.decoder_input_ids != 0 && body_.Has(options.decoder_input_ids)) {
      start_ = body_.Cast(body_.In(options.decoder_input_ids), DataType::kInt32);
    } else {
      const int64_t token = body_.Int("decoder_start_token_id", -1);
      if (token < 0) body_.Reject("attribute 'decoder_start_token_id' is {}, a token expected", token);
      const Name shape = body_.Concat({batch, body_.Integers({1})}, 0);
      start_ = body_.Fill(shape, static_cast<double>(token), DataType::kInt32);
    }
    prompt_ = Repeat(body_, start_, beams_);
  }

  Name AttentionMask(const DecoderOptions& options) {
    if (!mask_.empty()) return mask_;
    if (options.attention_mask != 0 && body_.Has(options.attention_mask))
      return mask_ = body_.Cast(body_.In(options.attention_mask), DataType::kInt32);
    // Masks the padding on the left only: later tokens count even if they equal the padding token.
    const Name zero = body_.Number(0, DataType::kInt32), one = body_.Number(1, DataType::kInt32);
    const Name pad = body_.Number(static_cast<double>(body_.Int("pad_token_id", -1)), DataType::kInt32);
    const Name ids = body_.Cast(body_.In(kPrompt), DataType::kInt32);
    const Name is_word = body_.Where(body_.Op("Equal", {ids, pad}), zero, one);
    const Name words = body_.Op("CumSum", {is_word, body_.Integer(1)});
    return mask_ = body_.Where(body_.Op("Greater", {words, zero}), one, zero);
  }

  void RunEncoder(const DecoderOptions& options) {
    Names inputs;
    for (const ValueDef* input : encoder_.inputs()) {
      if (inputs.empty()) {
        inputs.push_back(body_.In(kPrompt));
      } else if (input->name() == "encoder_attention_mask") {
        inputs.push_back(AttentionMask(options));
      } else if (input->name() == "decoder_input_ids") {
        inputs.push_back(start_);
      } else {
        body_.Reject("graph '{}' has an input '{}'; encoder_attention_mask or decoder_input_ids expected",
                     encoder_.name(), input->name());
      }
    }
    if (inputs.empty()) body_.Reject("graph '{}' has no inputs", encoder_.name());
    options_ = &options;
    encoded_ = body_.CallGraph("encoder", std::move(inputs));
    encodes_first_ = !encoder_.outputs().empty() && encoder_.outputs()[0]->name() == "logits";
    if (encodes_first_) first_logits_ = Repeat(body_, LastLogits(body_, encoded_[0]), beams_);
    const size_t outputs = graph_.outputs().size();
    layers_ = (outputs - 1) / 2;
    const size_t expected = encodes_first_ ? 2 + 4 * layers_ : 2 * layers_;
    if (outputs < 3 || outputs % 2 == 0 || encoded_.size() != expected) {
      body_.Reject("graph '{}' has {} outputs and graph '{}' {}; logits and two for each layer, and {} expected",
                   graph_.name(), outputs, encoder_.name(), encoded_.size(), expected);
    }
    for (size_t i = expected - 2 * layers_; i < expected; ++i) cross_.push_back(Repeat(body_, encoded_[i], beams_));
  }

  void FindInputs() {
    const std::vector<ValueDef*>& inputs = graph_.inputs();
    first_past_ = 1;
    const auto is_next = [&](std::string_view name) {
      return first_past_ < inputs.size() && inputs[first_past_]->name() == name;
    };
    if (is_next("encoder_attention_mask")) {
      fixed_.push_back(Repeat(body_, AttentionMask(*options_), beams_));
      ++first_past_;
    }
    if (is_next("encoder_hidden_states")) {
      if (!encodes_first_) {
        body_.Reject("graph '{}' takes encoder_hidden_states, which graph '{}' does not make", graph_.name(),
                     encoder_.name());
      }
      fixed_.push_back(Repeat(body_, encoded_[1], beams_));
      ++first_past_;
    }
    if (inputs.size() != first_past_ + 4 * layers_) {
      body_.Reject("graph '{}' has {} inputs, {} expected: {} and four pasts for each of {} layers", graph_.name(),
                   inputs.size(), first_past_ + 4 * layers_, first_past_, layers_);
    }
    // The decoder gets all tokens unless its input declares a length of one token.
    const TypePtr& type = inputs[0]->type();
    const bool takes_one = type != nullptr && type->IsTensor() && type->shape() && type->shape()->size() == 2 &&
                           (*type->shape())[1].value == 1;
    takes_sequences_ = !takes_one;
  }

  Body& body_;
  const Graph& encoder_;
  const Graph& graph_;
  const DecoderOptions* options_ = nullptr;  // valid during the constructor only
  size_t layers_ = 0;
  size_t first_past_ = 0;  // index among the decoder's inputs
  bool encodes_first_ = false;
  bool takes_sequences_ = false;
  Name beams_, start_, prompt_, mask_, first_logits_;
  Names encoded_, cross_;
  Names fixed_;  // decoder inputs that are the same in all turns
  Names presents_;
};

}  // namespace

std::unique_ptr<Decoder> MakeDecoder(Body& body, const DecoderOptions& options) {
  constexpr int64_t kGpt = 0, kWhisper = 2;
  const int64_t kind = body.Int("model_type", options.model_type);
  if (kind < kGpt || kind > kWhisper)
    body.Reject("attribute 'model_type' is {}, 0 (GPT-2), 1 (encoder and decoder) or 2 (Whisper) expected", kind);
  if (kind == kGpt) return std::make_unique<GptDecoder>(body, options);
  return std::make_unique<EncoderDecoder>(body, options);
}

}  // namespace epiphyte::core::microsoft
