// Stores the context of a model encrypted and runs it from the store: an application with its own ContextStore.
//
//   encrypted_store key KEY                     makes a key file: 64 hex digits
// encrypted_store compile MODEL STORE KEY     compiles MODEL; STORE gets MODEL_ctx.onnx.enc and its payloads
//   encrypted_store run MODEL STORE KEY         runs MODEL and its stored context, and compares the outputs
#include <openssl/rand.h>

#include <cstring>
#include <epiphyte/epiphyte.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "encrypted_store.h"

namespace {

using encrypted_store::EncryptedStore;
using encrypted_store::Key;
using epiphyte::Error;
using epiphyte::StatusCode;

void MakeKey(const std::filesystem::path& path) {
  Key key;
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) {
    throw Error(StatusCode::kFail, "no random bytes for a key");
  }
  if (std::filesystem::exists(path)) throw Error(StatusCode::kFail, "'" + path.string() + "' exists already");
  std::ofstream file(path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  constexpr char kDigits[] = "0123456789abcdef";
  for (unsigned char byte : key) file << kDigits[byte >> 4] << kDigits[byte & 15];
  if (!(file << '\n').flush()) throw Error(StatusCode::kFail, "'" + path.string() + "' can't be written");
}

Key ReadKey(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) throw Error(StatusCode::kNoSuchFile, "key file '" + path.string() + "' can't be read");
  Key key;
  const bool is_hex = text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (text.size() != 2 * key.size() || !is_hex) {
    throw Error(StatusCode::kInvalidArgument, "key file '" + path.string() + "' doesn't hold 64 hex digits");
  }
  for (size_t i = 0; i < key.size(); ++i) {
    key[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return key;
}

std::string ContextName(const std::filesystem::path& model) { return model.stem().string() + "_ctx.onnx"; }

// Returns the same input for every run: 0, 0.25, 0.5, … for floats, 0 and 1 otherwise. Unknown dimensions become 1.
epiphyte::Value MakeInput(const epiphyte::ValueInfo& info) {
  epiphyte::Shape shape;
  if (auto dimensions = info.type.shape()) {
    for (const epiphyte::Dimension& dimension : *dimensions) shape.push_back(dimension.size < 0 ? 1 : dimension.size);
  }
  epiphyte::Value value = epiphyte::Value::Tensor(info.type.element_type(), shape);
  if (value.element_type() == epiphyte::ElementType::kFloat) {
    float next = 0;
    for (float& element : value.MutableData<float>()) element = (next = next < 2 ? next + 0.25f : 0);
  } else {
    std::memset(value.mutable_data(), 0, value.byte_size());
  }
  return value;
}

std::vector<epiphyte::Value> Run(const epiphyte::Session& session) {
  std::vector<epiphyte::Value> inputs;
  for (const epiphyte::ValueInfo& info : session.inputs()) inputs.push_back(MakeInput(info));
  return session.Run(inputs);
}

void Compile(const std::filesystem::path& model, const std::filesystem::path& folder, const Key& key) {
  std::filesystem::create_directories(folder);
  epiphyte::SessionOptions options;
  options.AddProvider("cpu").Set("ep.context_enable", "1");
  options.Set("ep.context_file_path", (folder / ContextName(model)).string());
  options.SetContextStore(std::make_shared<EncryptedStore>(folder, key));
  epiphyte::Session session(epiphyte::Environment(), model, options);
  const auto files = session.context_files();
  if (!files) throw Error(StatusCode::kEpFail, "nothing of '" + model.string() + "' was compiled");
  std::cout << "stored " << files->model.filename().string() << " and " << files->others.size() << " more, encrypted\n";
}

void RunStored(const std::filesystem::path& model, const std::filesystem::path& folder, const Key& key) {
  epiphyte::Environment environment;
  auto store = std::make_shared<EncryptedStore>(folder, key);
  const EncryptedStore::Bytes bytes = store->Open(ContextName(model));
  epiphyte::SessionOptions options;
  options.AddProvider("cpu");
  options.SetContextStore(store);
  epiphyte::Session stored(
      environment, std::span(static_cast<const std::byte*>(bytes.data), static_cast<size_t>(bytes.size)), options);
  const std::vector<epiphyte::Value> found = Run(stored);
  const std::vector<epiphyte::Value> expected = Run(epiphyte::Session(environment, model));
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool same = found[i].shape() == expected[i].shape() && found[i].byte_size() == expected[i].byte_size() &&
                      std::memcmp(found[i].data(), expected[i].data(), expected[i].byte_size()) == 0;
    if (!same) throw Error(StatusCode::kFail, "output '" + stored.outputs()[i].name + "' differs from the model's");
  }
  std::cout << (stored.has_context() ? "ran from the stored context: " : "ran without a context: ") << found.size()
            << " outputs, all as the model gives them\n";
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "key") {
    MakeKey(arguments[1]);
  } else if (arguments.size() == 4 && arguments[0] == "compile") {
    Compile(arguments[1], arguments[2], ReadKey(arguments[3]));
  } else if (arguments.size() == 4 && arguments[0] == "run") {
    RunStored(arguments[1], arguments[2], ReadKey(arguments[3]));
  } else {
    std::cerr << "usage: encrypted_store key KEY | compile MODEL STORE KEY | run MODEL STORE KEY\n";
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "encrypted_store: error: " << error.what() << '\n';
    return 1;
  }
}
