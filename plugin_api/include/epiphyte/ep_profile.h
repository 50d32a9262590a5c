/* Profile: a plugin's time spans in the session's trace.
 *
 * A profiled session writes one trace with the host's spans (partitions, runs, compiling). A plugin adds the spans of
 * its device. The table below is the extension "ep.profile/1" of EpHostInfo::GetExtension, null on hosts without one.
 *
 * Times are nanoseconds of the host's steady clock, read by Now. [R1504] A device has its own clock: read both clocks
 * at one moment, and again later where they drift. Convert by linear interpolation between these points.
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

/* A session's trace, for the writes of one provider. */
typedef struct EpProfile EpProfile;

/* Strings are copied and made printable; 256 bytes of each are kept. [R1501] */
typedef struct EpProfileSpan {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;  /* name of the operation; not empty [R1502] */
  const char* track; /* a queue or an engine; spans of one track share a row. Null: the provider's own row */
  int64_t start_ns;
  int64_t end_ns; /* not before start_ns [R1503] */
} EpProfileSpan;

typedef struct EpProfileApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Reads the host's steady clock, in nanoseconds. Its zero has no meaning. [any thread] */
  int64_t(EP_CALL* Now)(void);

  /* Gives the trace of the run's or the task's session. Null when the session isn't profiled: then measure nothing.
   * Valid until DestroyProvider returns. [R1505] OfRun: [Execute's thread] [R718]; OfTask: [any thread, in the task] */
  EpProfile*(EP_CALL* OfRun)(const EpRun* run);
  EpProfile*(EP_CALL* OfTask)(const EpTask* task);

  /* Adds spans, in any order, also spans of finished runs. A span is clipped to the time between the trace's start and
   * now; a span wholly outside is dropped. Both are reported once for each provider. A trace holds a million spans;
   * later spans are dropped. A span without a name, a span that ends before it starts, and an expired profile give
   * INVALID_ARGUMENT, and none is added. [any thread] */
  EpStatus*(EP_CALL* AddSpans)(EpProfile* profile, const EpProfileSpan* const* spans, uint64_t count);
} EpProfileApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_PROFILE_H_ */
