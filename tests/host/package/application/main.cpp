#include <epiphyte/epiphyte.hpp>
#include <iostream>
#include <vector>

int main() {
  std::vector<float> data = {1, 2, 3};
  epiphyte::Value value = epiphyte::Value::Copy<float>(data, {3});
  if (value.Data<float>()[2] != 3) return 1;
  epiphyte::Environment environment;
  try {
    epiphyte::Session session(environment, "no such model.onnx");
    return 1;
  } catch (const epiphyte::Error& error) {
    if (error.code() != epiphyte::StatusCode::kNoSuchFile) return 1;
  }
  for (const epiphyte::PluginInfo& plugin : environment.plugins().List()) {
    std::cout << plugin.name << ' ' << plugin.state << ' ' << plugin.library.string() << '\n';
  }
}
