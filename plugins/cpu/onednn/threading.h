// Threads for oneDNN: the host's, through omp_on_host. If the program brings its own libgomp, oneDNN uses as many of
// its threads as the host would provide.
#pragma once

#include <dnnl.hpp>

#include "epiphyte/kit/abi/threads.hpp"
#include "plugins/cpu/onednn/omp_on_host/omp_on_host.h"

namespace epiphyte::cpu {

// Finds out which OpenMP runtime oneDNN is bound to. Call it once, before any OneDnnThreads. Returns null when oneDNN
// uses the host's threads, otherwise a message.
const char* BindOneDnnThreads();

// While it exists, oneDNN calls of this thread use `threads`.
class OneDnnThreads {
 public:
  explicit OneDnnThreads(const kit::Threads& threads);
  ~OneDnnThreads() { EpiphyteOmpSetTeam(before_); }
  OneDnnThreads(const OneDnnThreads&) = delete;
  OneDnnThreads& operator=(const OneDnnThreads&) = delete;

 private:
  EpiphyteOmpTeam before_;
};

// True when the members of this primitive's parallel regions never wait for each other, so that one thread can run them
// in turn. False when that is unknown.
bool MembersAreIndependent(const dnnl::primitive& primitive);

// While it exists, parallel regions of this thread have independent members, or not.
class IndependentMembers {
 public:
  explicit IndependentMembers(bool independent) : before_(EpiphyteOmpSetIndependent(independent ? 1 : 0)) {}
  ~IndependentMembers() { EpiphyteOmpSetIndependent(before_); }
  IndependentMembers(const IndependentMembers&) = delete;
  IndependentMembers& operator=(const IndependentMembers&) = delete;

 private:
  uint32_t before_;
};

}  // namespace epiphyte::cpu
