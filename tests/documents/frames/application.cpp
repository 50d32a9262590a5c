// Frame for lines of an application that has an environment, options and a session.
#include <epiphyte/epiphyte.hpp>
#include <vector>

bool IsTwo(const epiphyte::Value& constant);
epiphyte::Value Scalar(float number);

void Application(epiphyte::Environment& environment, epiphyte::SessionOptions& options, epiphyte::Session& session) {
  // BLOCK
}
