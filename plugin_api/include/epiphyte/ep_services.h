/* Services: logging and parallel loops of the host, so that plugins need not bring their own.
 *
 * A plugin logs and runs parallel loops through these functions, with the log and the threads that the application
 * configured. It may have its own threads, files and memory where its SDK brings them.
 */
#ifndef EPIPHYTE_EP_SERVICES_H_
#define EPIPHYTE_EP_SERVICES_H_

#include "ep_status.h"

EP_EXTERN_C_BEGIN

typedef int32_t EpLogLevel; /* a level that the host doesn't know is not logged */
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

  /* Returns non-zero when messages of that level are kept, so that a plugin can skip formatting. [any thread] */
  uint32_t(EP_CALL* IsLogged)(EpLogLevel level);
  /* `origin` is the plugin's name. The host keeps 64 bytes of `origin` and 4096 bytes of `message`; both strings are
   * copied. [any thread] */
  void(EP_CALL* Log)(EpLogLevel level, const char* origin, const char* message);

  /* Runs `body` over [0, count) and returns when all shares are done. Each share has at least `grain` indices; a loop
   * of fewer than 2 * `grain` indices may still be split in two. The loop uses at most the pool's threads, including
   * the caller's. Nested calls run on the calling thread alone. A null pool has one thread. [any thread] */
  void(EP_CALL* ParallelFor)(EpThreadPool* pool, uint64_t count, uint64_t grain, EpParallelBody body, void* user);
  /* Returns the number of threads, including the caller's; at least 1. The pool starts its threads with the first loop
   * that needs them, or in this call. It starts fewer than requested if the system has no room for more. Call this only
   * when there is work to divide by the number of threads. The answer never changes. [any thread] */
  uint32_t(EP_CALL* GetThreadCount)(EpThreadPool* pool);
  /* Runs exactly `size` members at the same time, so that they may wait for each other, and returns when all are done.
   * `size` is at most GetThreadCount. A larger `size` is lowered to it, and each member is told the lower size. The
   * call waits until that many threads are free. Inside ParallelFor or another gang only size 1 is possible. [R1008]
   * Meant for libraries written for OpenMP. [any thread] */
  void(EP_CALL* RunGang)(EpThreadPool* pool, uint32_t size, EpGangBody body, void* user);
} EpServicesApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_SERVICES_H_ */
