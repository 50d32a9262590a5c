// Which threads oneDNN uses: the host's, through omp_on_host, or, where the program brought libgomp along, as many of
// libgomp's as the host would give.
#pragma once

#include "epiphyte/kit/abi/threads.hpp"
#include "plugins/cpu/onednn/omp_on_host/omp_on_host.h"

namespace epiphyte::cpu {

// Finds out to which OpenMP oneDNN is bound. Called once, before any OneDnnThreads. Returns a message when it isn't
// the host's threads.
const char* BindOneDnnThreads();

// While it lives, oneDNN calls of this thread use `threads`.
class OneDnnThreads {
 public:
  explicit OneDnnThreads(const kit::Threads& threads);
  ~OneDnnThreads() { EpiphyteOmpSetTeam(before_); }
  OneDnnThreads(const OneDnnThreads&) = delete;
  OneDnnThreads& operator=(const OneDnnThreads&) = delete;

 private:
  EpiphyteOmpTeam before_;
};

}  // namespace epiphyte::cpu
