// Which threads oneDNN uses: the host's, through omp_on_host, or, where the program brought libgomp along, as many of
// libgomp's as the host would give.
#pragma once

#include <dnnl.hpp>

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

// Whether members of this primitive's parallel regions never wait for each other, so that they may take turns on one
// thread: false where it isn't known.
bool MembersAreIndependent(const dnnl::primitive& primitive);

// While it lives, parallel regions of this thread have such members, or not.
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
