/* Services: what the host does for plugins so that they need not bring their own.
 *
 * A plugin logs and runs loops in parallel through here, as the application set it up. It may have threads, files and
 * memory of its own where its SDK brings them.
 */
#ifndef EPIPHYTE_EP_SERVICES_H_
#define EPIPHYTE_EP_SERVICES_H_

#include "ep_status.h"

EP_EXTERN_C_BEGIN

typedef int32_t EpLogLevel; /* one that the host doesn't know is not logged */
#define EP_LOG_TRACE 0
#define EP_LOG_DEBUG 1
#define EP_LOG_INFO 2
#define EP_LOG_WARNING 3
#define EP_LOG_ERROR 4

typedef struct EpThreadPool EpThreadPool;

/* One share of a parallel loop: the indices [begin, end). `worker` is below the pool's GetThreadCount, and no two
 * shares of the loop run on the same worker number at once. Must not throw. */
typedef void(EP_CALL* EpParallelBody)(void* user, uint64_t begin, uint64_t end, uint32_t worker);

/* One member of a gang; see RunGang. Must not throw. */
typedef void(EP_CALL* EpGangBody)(void* user, uint32_t member, uint32_t size);

typedef struct EpServicesApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Non-zero when messages of that level are kept; lets a plugin skip formatting. [any thread] */
  uint32_t(EP_CALL* IsLogged)(EpLogLevel level);
  /* `origin` is the plugin's name, of which 64 bytes are kept, and 4096 of the message; both strings are copied. [any
   * thread] */
  void(EP_CALL* Log)(EpLogLevel level, const char* origin, const char* message);

  /* Runs body over [0, count) in shares of at least `grain` indices, or in two where there are fewer than twice as
   * many, on at most the pool's threads, the caller's included, and returns when all are done. Nested calls run on the
   * calling thread alone. A null pool is one of one thread. [any thread] */
  void(EP_CALL* ParallelFor)(EpThreadPool* pool, uint64_t count, uint64_t grain, EpParallelBody body, void* user);
  /* How many threads there are, the caller's included; at least 1. The pool starts its threads with the first loop that
   * needs them, or here, and starts fewer than were wanted where there is no room for more: what cuts its work by the
   * number of threads asks here, and only once it has such work. The answer never changes. [any thread] */
  uint32_t(EP_CALL* GetThreadCount)(EpThreadPool* pool);
  /* Runs exactly `size` members at the same time, so that they may wait for each other, and returns when all are done.
   * `size` is at most GetThreadCount; with more, as many as that, and each is told so. Waits until that many threads
   * are free. Inside ParallelFor or another gang only size 1 is possible. [R1008] For libraries written for OpenMP.
   * [any thread] */
  void(EP_CALL* RunGang)(EpThreadPool* pool, uint32_t size, EpGangBody body, void* user);
} EpServicesApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_SERVICES_H_ */
