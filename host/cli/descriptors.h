// Descriptors: what a program may find wrong with its file descriptors when it is started.
#pragma once

namespace epiphyte::cli {

// Occupies those of the descriptors 0 to 2 that are closed (`>&-`, some service managers), so that no file that is
// opened later gets their number and what is printed isn't written into it. Reading and writing them fails as before.
// To be called first in main.
void OccupyClosedStreams();

// Standard output was closed when the program was started.
bool IsOutputClosed();

// Throws FAIL when so few files can be opened (ulimit -n) that whatever fails first would be told in its own words.
void RequireFreeDescriptors();

}  // namespace epiphyte::cli
