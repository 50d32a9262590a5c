/* Profile: a plugin's own spans of time in the session's trace.
 *
 * A profiled session writes one trace in which the host's spans (partitions, runs, compiling) are rows. A plugin adds
 * what only it knows: what its device did when. The table below is the extension "ep.profile/1" of
 * EpHostInfo::GetExtension, null on hosts without one.
 *
 * Times are nanoseconds of the host's steady clock, which Now reads. [R1504] A device has a clock of its own: read both
 * at one moment, and again later where they drift, and convert by the line through these points.
 *
 * Example
 *     const EpProfileApi* profile = (const EpProfileApi*)host->GetExtension(host, EP_PROFILE_EXTENSION);
 *     EpProfile* trace = profile == NULL ? NULL : profile->OfRun(run);
 *     int64_t start = trace == NULL ? 0 : profile->Now();
 *     …
 *     if (trace != NULL) {
 *       EpProfileSpan span = {sizeof span};
 *       const EpProfileSpan* spans[] = {&span};
 *       span.name = "matmul 4096x4096";
 *       span.track = "queue 0";
 *       span.start_ns = start;
 *       span.end_ns = profile->Now();
 *       host->status->Release(profile->AddSpans(trace, spans, 1));
 *     }
 */
#ifndef EPIPHYTE_EP_PROFILE_H_
#define EPIPHYTE_EP_PROFILE_H_

#include "ep_run.h"
#include "ep_task.h"

EP_EXTERN_C_BEGIN

#define EP_PROFILE_EXTENSION "ep.profile/1"

/* A session's trace, as one provider writes into it. */
typedef struct EpProfile EpProfile;

/* Strings are copied and made printable; 256 bytes of each are kept. [R1501] */
typedef struct EpProfileSpan {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;  /* what was done; not empty [R1502] */
  const char* track; /* where: a queue, an engine; spans of one track share a row. Null: the provider's own row */
  int64_t start_ns;
  int64_t end_ns; /* not before start_ns [R1503] */
} EpProfileSpan;

typedef struct EpProfileApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* The host's steady clock; what its 0 is means nothing. [any thread] */
  int64_t(EP_CALL* Now)(void);

  /* The trace of the run's or the task's session; null when it isn't profiled: then nothing need be measured. Good
   * until DestroyProvider returns. [R1505] OfRun: [Execute's thread] [R718]; OfTask: [any thread, in the task] */
  EpProfile*(EP_CALL* OfRun)(const EpRun* run);
  EpProfile*(EP_CALL* OfTask)(const EpTask* task);

  /* Adds spans, in any order, also such of runs that are over. What lies before the trace began or in the future is
   * clipped, what lies there wholly is left out; both are reported once for each provider. A trace holds a million
   * spans, what comes then is left out. INVALID_ARGUMENT, and none is added, for a span without a name, one that ends
   * before it starts, and a profile that is none any more. [any thread] */
  EpStatus*(EP_CALL* AddSpans)(EpProfile* profile, const EpProfileSpan* const* spans, uint64_t count);
} EpProfileApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_PROFILE_H_ */
