// The one copy of volk's code. Of it only the opening of the loader is used: functions are looked up for each instance and
// each device (vk_functions.h), so that several can be open and nothing is shared among threads.
#define VOLK_IMPLEMENTATION
#include <volk.h>
