// Frame for a member of a provider's class.
#include <epiphyte/kit/plugin/plugin.hpp>
#include <epiphyte/kit/plugin/schema.hpp>

namespace kit = epiphyte::kit;

class MyProvider : public kit::Provider {
 public:
  // BLOCK
};
