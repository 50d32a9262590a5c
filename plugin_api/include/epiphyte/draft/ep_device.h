/* Device: memory that isn't the host's, copies into it and out of it, and work that is submitted and done later.
 *
 * A draft, until plugins for real devices have used it: the id carries its revision, and a host of another revision
 * answers null. A plugin whose kernels read and write host memory and are done when Execute returns needs none of it.
 *
 * Memory. A device has memories 0, 1, 2, …; a buffer is a piece of one. The host allocates, keeps pools, divides
 * buffers among values, counts and sets limits, so a plugin needs no arena of its own, and Allocate can be slow. A
 * buffer belongs to the plugin and not to a session: values outlive the session that made them, and other sessions
 * read them. [R1224]
 *
 * Streams. What is submitted to a stream is done in order. A point is a number on its timeline that only grows; it is
 * reached when everything that was submitted before it is done. It needs no release. What was submitted uses its
 * buffers, host memory, kernel and state until a later point is reached: the host keeps them that long. [R1268]
 * Submitting can block the thread: while the device is behind, or where only the host can wait for what comes before, as
 * between devices that know nothing of each other.
 * Work that fails, fails its stream for good: every later call for it, Synchronize too, gives the status, and then
 * nothing that was submitted to it is under way any more, nor reads or writes any memory. After DEVICE_RESET all
 * streams of the device fail; Free and DestroyStream still work. Buffers from before a loss are of no use but to be
 * freed; streams and buffers that are made later are good if the device has come back.
 *
 * A kernel says in DescribeKernel which memories it takes for each input and output, and whether it is ASYNC. The host
 * then puts each value where its producer and all of its consumers can have it, copies where they can't, and lets each
 * kernel submit to the stream of its run and device. An input in host memory holds its data when Execute is called, one
 * in a buffer when the stream gets there. An output's memory is the host's choice: AllocateOutput of EpDeviceRunApi says
 * where it is.
 *
 * Example: Execute of an ASYNC kernel whose input and output are in memory 0 or in the host's
 *     EpStream* stream = NULL;
 *     EpStatus* status = device->GetStream(run, &stream);
 *     if (status != NULL) return status;
 *     const EpTensorView* x = run_info.inputs[0]->tensor;   // x->buffer and x->offset, or x->data when buffer is null
 *     const EpTensorView* y = NULL;
 *     status = device->AllocateOutput(run, 0, x->element_type, x->dims, x->rank, &y);
 *     if (status != NULL) return status;
 *     return Submit(kernel, stream, x, y);                  // done later, in order
 */
#ifndef EPIPHYTE_DRAFT_EP_DEVICE_H_
#define EPIPHYTE_DRAFT_EP_DEVICE_H_

#include "../ep_plugin.h"
#include "../ep_run.h"

EP_EXTERN_C_BEGIN

/* The plugin's GetExtension answers with EpDeviceApi, [R1201] the host's with EpDeviceRunApi. */
#define EP_DEVICE_EXTENSION "ep.device/draft1"

/* A queue of work on one device, from CreateStream. */
typedef struct EpStream EpStream;

#define EP_MAX_MEMORIES 31u /* of one device */

/* EpMemoryInfo::flags */
#define EP_MEMORY_MAPPABLE 1u /* Map works [R1227] */
#define EP_MEMORY_LOCAL 2u    /* the device's own, the fast one */
#define EP_MEMORY_WHOLE 4u    /* a buffer holds one value: it is not divided, offsets are 0 */

/* Where memory can come from and go to that the plugin did not allocate; one bit each. One that a memory doesn't have
 * is refused. [R1229] */
typedef uint32_t EpHandleType;
#define EP_HANDLE_HOST_POINTER 1u /* EpExternalMemory::pointer */
#define EP_HANDLE_DMA_BUF 2u      /* Linux: a file descriptor of a dma-buf */
#define EP_HANDLE_OPAQUE_FD 4u    /* a file descriptor that means something to plugins of one vendor, or a memfd */
#define EP_HANDLE_WIN32 8u        /* Windows: a shared handle */

/* One memory of a device. Valid as long as the plugin, and so is the string. [R1212] */
typedef struct EpMemoryInfo {
  uint32_t struct_size;
  uint32_t flags;
  const char* name;      /* unique in the device, at most 63 bytes of one line, not empty [R1213] */
  uint64_t alignment;    /* of offsets of values: a power of two, at most 65536 [R1214] */
  uint64_t max_buffer;   /* bytes of one buffer; 0: no limit but the memory */
  uint32_t import_types; /* EP_HANDLE_… that Import takes */
  uint32_t export_types; /* EP_HANDLE_… that Export gives */
} EpMemoryInfo;

typedef struct EpMemoryUse {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t used_bytes;  /* by this process, as far as the plugin knows */
  uint64_t total_bytes; /* 0: not known [R1216] */
} EpMemoryUse;

typedef struct EpExternalMemory {
  uint32_t struct_size;
  EpHandleType type;
  void* pointer;  /* HOST_POINTER: the memory; WIN32: the handle; else null */
  int64_t handle; /* DMA_BUF, OPAQUE_FD: the descriptor; else 0 */
  uint64_t offset; /* where the buffer begins in it */
  uint64_t size;
} EpExternalMemory;

/* One end of a copy: `size` bytes from `offset` in `buffer`, or host memory at `data` when `buffer` is null. */
typedef struct EpCopyEnd {
  EpBuffer* buffer;
  void* data; /* null when `buffer` isn't; the source's bytes are only read */
  uint64_t offset;
} EpCopyEnd;

/* The ends do not overlap. Frozen, as EpCopyEnd is: arrays of these cross the boundary. */
typedef struct EpCopy {
  EpCopyEnd from;
  EpCopyEnd to;
  uint64_t size; /* not 0 */
} EpCopy;

/* `status` is null when the point was reached; the callee releases it. */
typedef void(EP_CALL* EpPointListener)(void* user, EpStatus* status);

/* Functions for which nothing else is said are called on any thread, on several at once; those of one stream by one
 * thread at a time. [R1204] Buffers are of the plugin's, and of the stream's device where a stream takes them. What is
 * given is in use nowhere else: no buffer is given again before it was freed, [R1222] and no stream before it was
 * destroyed. [R1242] */
typedef struct EpDeviceApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Fills memories[0..capacity) and sets *count to how many there are, at least 1 and at most EP_MAX_MEMORIES. [R1211]
   * What it says of a device stays so. [R1215] */
  EpStatus*(EP_CALL* GetMemories)(EpPlugin* plugin, uint32_t device, const EpMemoryInfo** memories, uint32_t capacity,
                                  uint32_t* count);
  EpStatus*(EP_CALL* GetMemoryUse)(EpPlugin* plugin, uint32_t device, uint32_t memory, EpMemoryUse* use);

  /* `size` is not 0. Success gives a buffer. [R1221] OUT_OF_MEMORY when there is no room for it, however large it is:
   * [R1223] the host gives back what it keeps, calls Trim and tries once more. */
  EpStatus*(EP_CALL* Allocate)(EpPlugin* plugin, uint32_t device, uint32_t memory, uint64_t size, EpBuffer** buffer);
  /* A buffer over memory that exists, not a copy of it. [R1230] It stays the caller's: what it points to lives until
   * Free has returned; [R1231] descriptors until Import has, and are duplicated if they are needed longer. [R1232] An
   * OPAQUE_FD comes with the offset and the size that Export gave with it: no others mean anything to it. */
  EpStatus*(EP_CALL* Import)(EpPlugin* plugin, uint32_t device, uint32_t memory, const EpExternalMemory* external,
                             EpBuffer** buffer);
  /* Optional when no memory has export types. Fills `external` for others in this process or another one to import;
   * `type` is one bit. A descriptor is the caller's to close. [R1203 R1233] */
  EpStatus*(EP_CALL* Export)(EpPlugin* plugin, EpBuffer* buffer, EpHandleType type, EpExternalMemory* external);
  /* Optional when no memory is MAPPABLE. The address of the whole buffer, the same each time, valid until Free. What the
   * host writes there is seen by work that is submitted later, what the device wrote is seen once its point is reached.
   * [R1228] */
  EpStatus*(EP_CALL* Map)(EpPlugin* plugin, EpBuffer* buffer, void** data);
  /* Of Allocate, Import or a kernel (AdoptOutput). Nothing that was submitted uses it any more. The memory comes back
   * at once or with Trim. [R1225] */
  void(EP_CALL* Free)(EpPlugin* plugin, EpBuffer* buffer);
  /* Optional. Gives back what the plugin keeps for later, and nothing of a buffer that exists. [R1226] */
  void(EP_CALL* Trim)(EpPlugin* plugin, uint32_t device);

  /* Success gives a stream. [R1241] */
  EpStatus*(EP_CALL* CreateStream)(EpPlugin* plugin, uint32_t device, EpStream** stream);
  /* Nothing that was submitted to it is under way. */
  void(EP_CALL* DestroyStream)(EpStream* stream);

  /* Submits copies, all of them or none: host and buffer, or two buffers of the plugin, also of different devices. They
   * are done after what was submitted before [R1244] and before the next point. [R1245] Among each other they have no
   * order: none reads or writes what another one of them writes. */
  EpStatus*(EP_CALL* Copy)(EpStream* stream, const EpCopy* copies, uint64_t count);
  /* A point that is reached when all that was submitted so far is done: greater than those before, at least 1. [R1243]
   */
  EpStatus*(EP_CALL* Signal)(EpStream* stream, uint64_t* point);
  /* What is submitted to `stream` from now on begins after `other`, of the same plugin, has reached `point`, which
   * Signal gave. [R1247] If `other` fails, so does `stream`. */
  EpStatus*(EP_CALL* Wait)(EpStream* stream, EpStream* other, uint64_t point);
  /* Blocks until the stream has reached `point`, which Signal gave; TIMEOUT after `timeout_ns`, UINT64_MAX: never. Sleeps
   * while it waits. [any thread, on several at once] [R1246] */
  EpStatus*(EP_CALL* Synchronize)(EpStream* stream, uint64_t point, uint64_t timeout_ns);
  /* Optional. Calls `listener` once, on any thread, when `point` is reached or the stream has failed; at once if that
   * has happened. [R1248] Not after DestroyStream has returned. [R1249] */
  EpStatus*(EP_CALL* OnReached)(EpStream* stream, uint64_t point, EpPointListener listener, void* user);
} EpDeviceApi;

/* Inside Execute, from its thread, as EpRunApi. */
typedef struct EpDeviceRunApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* The run's stream on the kernel's device, for this Execute. INVALID_ARGUMENT for a kernel that is not ASYNC and
   * whose DescribeKernel gave no memories. */
  EpStatus*(EP_CALL* GetStream)(EpRun* run, EpStream** stream);

  /* Makes output `index` a dense tensor, uninitialised, in one of the memories that DescribeKernel gave for it, and says
   * where: a buffer, or host memory at `data`. Where DescribeKernel named an input for it, it can be that input's memory
   * itself, which the kernel sees by comparing. Not for strings. `output` is valid until Execute returns. */
  EpStatus*(EP_CALL* AllocateOutput)(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                                     uint32_t rank, const EpTensorView** output);

  /* Output `index` is in a buffer that the plugin allocated by itself, in memory `memory` of the kernel's device, `size`
   * bytes long, `offset` bytes into it: [R1271] the host takes it over and calls Free once. Fails for a buffer that the
   * host has already. [R1270] Where it fails, nothing is taken over. */
  EpStatus*(EP_CALL* AdoptOutput)(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                                  uint32_t rank, uint32_t memory, EpBuffer* buffer, uint64_t size, uint64_t offset);
} EpDeviceRunApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_DRAFT_EP_DEVICE_H_ */
