// Descriptors: what a program may find wrong with its file descriptors when it is started.
#pragma once

namespace epiphyte::cli {

// Occupies the descriptors among 0 to 2 that are closed (`>&-`, some service managers). Otherwise a file that is opened
// later could get such a number, and printed text would be written into it. Reading and writing these descriptors fails
// as before. Call it first in main.
void OccupyClosedStreams();

// Standard output was closed when the program was started.
bool IsOutputClosed();

// Throws FAIL when so few files can be opened (ulimit -n) that whatever fails first would be told in its own words.
void RequireFreeDescriptors();

}  // namespace epiphyte::cli
