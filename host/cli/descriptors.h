// Descriptors: problems with the file descriptors that a program is started with.
#pragma once

namespace epiphyte::cli {

// Occupies those of the descriptors 0 to 2 that are closed (`>&-`, some service managers). Otherwise a file that is
// opened later could get such a number, and printed text would be written into it. Reading and writing these
// descriptors fails as before. Call it first in main.
void OccupyClosedStreams();

// Returns whether standard output was closed when the program was started.
bool IsOutputClosed();

// Throws FAIL when so few files can be opened (ulimit -n) that a later failure would have an unclear message.
void RequireFreeDescriptors();

}  // namespace epiphyte::cli
