/* Device: device memory, copies to and from it, and asynchronous work.
 *
 * This is a draft until plugins for real devices have used it. The id contains its revision, and a host of another
 * revision returns null. A plugin doesn't need it if its kernels use host memory and finish before Execute returns.
 *
 * Memory. A device has memories 0, 1, 2, …; a buffer is an allocation in one of them. The host pools buffers, divides
 * them among values, counts memory and enforces limits. A plugin therefore needs no arena, and Allocate can be slow. A
 * buffer belongs to the plugin, not to a session: values outlive the session that made them, and other sessions read
 * them. [R1224]
 *
 * Streams. A stream executes its work in order. A point is a number on the stream's timeline, which only grows. It is
 * reached when all work that was submitted before it is done. A point needs no release. Submitted work uses its
 * buffers, host memory, kernel and state until a later point is reached, and the host keeps them that long. [R1268]
 * Submitting can block the thread while the device is behind. It can also block where only the host can wait for
 * earlier work, as between devices of different plugins.
 *
 * Failures. Failed work fails its stream permanently: every later call for the stream, also Synchronize, gives the
 * status. After that no submitted work of the stream is running or accesses memory. After DEVICE_RESET all streams of
 * the device fail; Free and DestroyStream still work. Buffers from before the loss can only be freed. Streams and
 * buffers that are made later are valid if the device has come back.
 *
 * A kernel says in DescribeKernel which memories it accepts for each input and output, and whether it is ASYNC. The
 * host places each value in a memory that its producer and all of its consumers accept, and copies if there is none.
 * Each kernel submits to the stream of its run and device. An input in host memory holds its data when Execute is
 * called; an input in a buffer holds its data when the stream reaches the submitted work. The host chooses an output's
 * memory: EpDeviceRunApi::AllocateOutput gives its location.
 *
 * Example: Execute of an ASYNC kernel with input and output in memory 0 or in host memory
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

/* The plugin's GetExtension returns EpDeviceApi; the host's returns EpDeviceRunApi. [R1201] */
#define EP_DEVICE_EXTENSION "ep.device/draft1"

/* A queue of work on one device, from CreateStream. */
typedef struct EpStream EpStream;

#define EP_MAX_MEMORIES 31u /* maximum number of memories of a device */

/* EpMemoryInfo::flags */
#define EP_MEMORY_MAPPABLE 1u /* Map works [R1227] */
#define EP_MEMORY_LOCAL 2u    /* the device's own, fast memory */
#define EP_MEMORY_WHOLE 4u    /* a buffer holds one value and is not divided; offsets are 0 */

/* Handle types of external memory, for Import and Export; one bit each. A type that a memory doesn't support is
 * refused. [R1229] */
typedef uint32_t EpHandleType;
#define EP_HANDLE_HOST_POINTER 1u /* EpExternalMemory::pointer */
#define EP_HANDLE_DMA_BUF 2u      /* Linux: a file descriptor of a dma-buf */
#define EP_HANDLE_OPAQUE_FD 4u    /* a file descriptor between plugins of one vendor, or a memfd */
#define EP_HANDLE_WIN32 8u        /* Windows: a shared handle */

/* One memory of a device. The struct and its string live as long as the plugin. [R1212] */
typedef struct EpMemoryInfo {
  uint32_t struct_size;
  uint32_t flags;
  const char* name;      /* unique in the device, at most 63 bytes of one line, not empty [R1213] */
  uint64_t alignment;    /* for offsets of values: a power of two, at most 65536 [R1214] */
  uint64_t max_buffer;   /* maximum bytes of one buffer; 0: limited by the memory only */
  uint32_t import_types; /* EP_HANDLE_… that Import takes */
  uint32_t export_types; /* EP_HANDLE_… that Export gives */
} EpMemoryInfo;

typedef struct EpMemoryUse {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t used_bytes;  /* used by this process, as far as the plugin knows */
  uint64_t total_bytes; /* 0: not known [R1216] */
} EpMemoryUse;

typedef struct EpExternalMemory {
  uint32_t struct_size;
  EpHandleType type;
  void* pointer;   /* HOST_POINTER: the memory; WIN32: the handle; else null */
  int64_t handle;  /* DMA_BUF, OPAQUE_FD: the descriptor; else 0 */
  uint64_t offset; /* start of the buffer in the external memory */
  uint64_t size;
} EpExternalMemory;

/* One end of a copy: `size` bytes from `offset` in `buffer`, or host memory at `data` when `buffer` is null. */
typedef struct EpCopyEnd {
  EpBuffer* buffer;
  void* data; /* null when `buffer` is not null; the bytes of the source are only read */
  uint64_t offset;
} EpCopyEnd;

/* One copy; source and destination do not overlap. The struct is frozen, as EpCopyEnd is, because arrays of it cross
 * the boundary. */
typedef struct EpCopy {
  EpCopyEnd from;
  EpCopyEnd to;
  uint64_t size; /* not 0 */
} EpCopy;

/* `status` is null when the point was reached, otherwise the stream's failure. The callee releases it. */
typedef void(EP_CALL* EpPointListener)(void* user, EpStatus* status);

/* Unless a comment says otherwise, functions are called on any thread, on several at once. Functions of one stream are
 * called by one thread at a time. [R1204] Buffers are those of the plugin; buffers given to a stream are on the
 * stream's device. The plugin returns no buffer again before it was freed [R1222], and no stream again before it was
 * destroyed. [R1242] */
typedef struct EpDeviceApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Fills memories[0..capacity) and sets *count to the number of memories, 1 to EP_MAX_MEMORIES. [R1211] The answer for
   * a device never changes. [R1215] */
  EpStatus*(EP_CALL* GetMemories)(EpPlugin* plugin, uint32_t device, const EpMemoryInfo** memories, uint32_t capacity,
                                  uint32_t* count);
  EpStatus*(EP_CALL* GetMemoryUse)(EpPlugin* plugin, uint32_t device, uint32_t memory, EpMemoryUse* use);

  /* `size` is not 0. Success gives a buffer. [R1221] If there is no room, also for a very large `size`, the result is
   * OUT_OF_MEMORY. [R1223] The host then frees its pooled buffers, calls Trim and tries once more. */
  EpStatus*(EP_CALL* Allocate)(EpPlugin* plugin, uint32_t device, uint32_t memory, uint64_t size, EpBuffer** buffer);
  /* Makes a buffer over existing memory, without a copy. [R1230] The caller owns the memory and keeps it until Free has
   * returned. [R1231] It keeps a descriptor until Import has returned; the plugin duplicates a descriptor that it needs
   * longer. [R1232] An OPAQUE_FD comes with the offset and the size that Export gave with it; other values are
   * invalid. */
  EpStatus*(EP_CALL* Import)(EpPlugin* plugin, uint32_t device, uint32_t memory, const EpExternalMemory* external,
                             EpBuffer** buffer);
  /* Optional when no memory has export types. Fills `external` for an import in this process or another one; `type` is
   * one bit. The caller closes a descriptor. [R1203 R1233] */
  EpStatus*(EP_CALL* Export)(EpPlugin* plugin, EpBuffer* buffer, EpHandleType type, EpExternalMemory* external);
  /* Optional when no memory is MAPPABLE. Gives the address of the whole buffer, the same each time, valid until Free.
   * Work that is submitted later sees the host's writes. The host sees the device's writes once their point is reached.
   * [R1228] */
  EpStatus*(EP_CALL* Map)(EpPlugin* plugin, EpBuffer* buffer, void** data);
  /* Frees a buffer of Allocate, Import or a kernel (AdoptOutput). No submitted work uses it any more. The memory comes
   * back at once or with Trim. [R1225] */
  void(EP_CALL* Free)(EpPlugin* plugin, EpBuffer* buffer);
  /* Optional. Frees memory that the plugin keeps for later. Existing buffers are not affected. [R1226] */
  void(EP_CALL* Trim)(EpPlugin* plugin, uint32_t device);

  /* Creates a stream. Success gives a stream. [R1241] */
  EpStatus*(EP_CALL* CreateStream)(EpPlugin* plugin, uint32_t device, EpStream** stream);
  /* Called when no submitted work of the stream is running. */
  void(EP_CALL* DestroyStream)(EpStream* stream);

  /* Submits copies, all of them or none, between host and buffer or between two buffers of the plugin, also of
   * different devices. Copies run after work that was submitted before [R1244] and before the next point. [R1245] The
   * copies of one call are unordered: none reads or writes bytes that another one writes. */
  EpStatus*(EP_CALL* Copy)(EpStream* stream, const EpCopy* copies, uint64_t count);
  /* Gives a point that is reached when all work submitted so far is done. Points start at 1 or more and increase.
   * [R1243] */
  EpStatus*(EP_CALL* Signal)(EpStream* stream, uint64_t* point);
  /* Later work of `stream` begins after `other`, a stream of the same plugin, has reached `point` (from Signal).
   * [R1247] If `other` fails, so does `stream`. */
  EpStatus*(EP_CALL* Wait)(EpStream* stream, EpStream* other, uint64_t point);
  /* Blocks until the stream has reached `point` (from Signal). The result is TIMEOUT after `timeout_ns` nanoseconds;
   * UINT64_MAX waits without a limit. The thread sleeps while it waits. [any thread, on several at once] [R1246] */
  EpStatus*(EP_CALL* Synchronize)(EpStream* stream, uint64_t point, uint64_t timeout_ns);
  /* Optional. Calls `listener` once, on any thread, when `point` is reached or the stream has failed, or at once if
   * that has happened already. [R1248] The listener is not called after DestroyStream has returned. [R1249] */
  EpStatus*(EP_CALL* OnReached)(EpStream* stream, uint64_t point, EpPointListener listener, void* user);
} EpDeviceApi;

/* Functions are called inside Execute, from its thread, as those of EpRunApi. */
typedef struct EpDeviceRunApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Gives the run's stream on the kernel's device, for this Execute. INVALID_ARGUMENT if the kernel is not ASYNC and
   * its DescribeKernel gave no memories. */
  EpStatus*(EP_CALL* GetStream)(EpRun* run, EpStream** stream);

  /* Makes output `index` a dense, uninitialised tensor in one of the memories that DescribeKernel gave for it. `output`
   * gives the location: a buffer, or host memory at `data`. If DescribeKernel named an alias for the output, the output
   * may be in-place in that input's memory; the kernel compares the locations to find out. Not for strings. `output` is
   * valid until Execute returns. */
  EpStatus*(EP_CALL* AllocateOutput)(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                                     uint32_t rank, const EpTensorView** output);

  /* Makes output `index` a tensor in a buffer that the plugin allocated, in memory `memory` of the kernel's device. The
   * buffer has `size` bytes, and the tensor begins `offset` bytes into it. [R1271] The host takes ownership of the
   * buffer and calls Free once. It fails for a buffer that the host owns already. [R1270] If it fails, the host takes
   * no ownership. */
  EpStatus*(EP_CALL* AdoptOutput)(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                                  uint32_t rank, uint32_t memory, EpBuffer* buffer, uint64_t size, uint64_t offset);
} EpDeviceRunApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_DRAFT_EP_DEVICE_H_ */
