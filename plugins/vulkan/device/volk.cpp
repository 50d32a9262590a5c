// The only copy of volk's code. The plugin uses it only to open the loader. Functions are looked up for each instance
// and each device (vk_functions.h), so that several can be open and threads share nothing.
#define VOLK_IMPLEMENTATION
#include <volk.h>
