/* nsdk.h: what the SDK of an NPU offers to the NPU plugin. C11; nothing of ONNX, of protobuf or of C++.
 *
 * An SDK is a shared library with one exported symbol, nsdk_get_api [N108], which fills a table of at most 25
 * functions. With it the plugin asks which operators the NPU has, compiles graphs to a blob, looks into blobs, loads
 * and runs them. The blob's format is the SDK's own; the plugin stores it and gives it back, byte for byte.
 *
 *   NsdkApi api = {.struct_size = sizeof(api)};
 *   if (nsdk_get_api(NSDK_VERSION, &api) != NSDK_OK) ...
 *   NsdkContextOptions options = {.struct_size = sizeof(options), .device = NSDK_WITHOUT_DEVICE};
 *   api.context_create(&options, &context, &reason);
 *   api.query_op(context, &graph, 0, &reason);                      // NSDK_OK: the NPU has operator 0 of the graph
 *   api.compile(context, &graph, NULL, &compiled, &reason);
 *   api.write_blob(context, &compiled, 1, &sink, &reason);          // to a file
 *   ...
 *   api.load(context, blob, blob_size, &load_options, &program, &reason);
 *   api.exec_create(program, 0, &execution, &reason);
 *   api.exec_bind(execution, NSDK_INPUT, 0, &binding, &reason);     // each input and each output
 *   api.run(execution, NULL, &reason);
 *
 * How it is shipped. A manifest of its own over the library of the NPU plugin makes of an SDK a provider with a name
 * and a source of its own, beside those of other vendors; `version` is the plugin's:
 *
 *   manifest_version: 1
 *   name: acme
 *   vendor: Acme
 *   version: 0.2.0
 *   library: /usr/lib/epiphyte/plugins/libepiphyte_npu.so
 *   abi: "0.2"
 *   sources: [AcmeNPU]
 *   devices: [npu]
 *   priority: 300
 *   parameters: { source: AcmeNPU, sdk: /opt/acme/libacme_nsdk.so }
 *
 * `nsdk_conformance LIBRARY` checks each rule below, by its number in brackets, on a vendor's library.
 *
 * Growth. Every struct that crosses the interface begins with struct_size, which whoever makes the struct sets to the
 * size he knows. [N113] A reader takes what lies beyond it as zero, [N101] a writer writes nothing beyond it. [N114]
 * The elements of an array of structs are as far apart as the first one's struct_size says. Structs and the table grow
 * at the end; nothing is ever removed or changes its meaning.
 *
 * Optional functions. What a capability bit announces may be null without it: NSDK_CAN_COMPILE (query_op, compile,
 * compiled_destroy, write_blob), NSDK_CAN_GROUP (group_create, group_destroy), NSDK_CAN_BIND_MEMORY (mem_create,
 * mem_destroy), NSDK_CAN_RUN_ASYNC (run_async, wait), NSDK_CAN_COUNT (get_counters). [N102] All others are never null,
 * those whose bit is set neither.
 *
 * Errors. [N103] What fails returns a status other than NSDK_OK, leaves its out parameter null or zero, and fills the
 * reason, when there is one, with one line: what was found, what was expected. [N109] No function ends the process,
 * prints, or throws. [N117] A reason may be null everywhere, and so may what is said to be below.
 *
 * Threads. [N104] Every function may be called from many threads at once, in one context and [N128] in several; but not
 * two of one execution ([N175] NSDK_BUSY, at once), and none while what it is called with is being destroyed.
 *
 * Lifetime. [N105] What the caller passes is read during the call only and never written, but for what this header says
 * to be kept: a blob in load, bound memory, callbacks. [N116] Objects are destroyed in any order that leaves no child
 * without its parent: contexts last, a program after its executions; nothing is left behind. [N115] Destroying null
 * does nothing.
 *
 * Trust. [N106] A blob is hostile: whatever its bytes are, blob_info, check_blob and load return, and read nothing
 * beyond its size [N160]. Graphs come from a program that checked them, but may ask for what the NPU doesn't have. */
#ifndef EPIPHYTE_NSDK_H_
#define EPIPHYTE_NSDK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NSDK_VERSION_MAJOR 1u
#define NSDK_VERSION_MINOR 0u
/* Major in the upper 16 bits: [N107] an SDK serves callers of its own major version, whatever their minor one is. */
#define NSDK_VERSION 0x00010000u

typedef int32_t NsdkStatus;
enum {
  NSDK_OK = 0,
  NSDK_INVALID_ARGUMENT = 1, /* the caller broke a rule of this header */
  NSDK_UNSUPPORTED = 2,      /* the NPU doesn't have that; another provider may */
  NSDK_CORRUPT = 3,          /* a blob that is none, or was damaged */
  NSDK_INCOMPATIBLE = 4,     /* a blob of another SDK, version or architecture; a caller of another major version */
  NSDK_OUT_OF_MEMORY = 5,
  NSDK_CANCELLED = 6,
  NSDK_BUSY = 7,        /* the execution is running */
  NSDK_NO_DEVICE = 8,   /* there is no such device, or the context was made for none */
  NSDK_DEVICE_LOST = 9, /* all that was loaded is gone; a new context may work */
  NSDK_INTERNAL = 10
};

/* Where a function says why. [N118] text is always ended by a zero, within struct_size. */
typedef struct NsdkReason {
  uint32_t struct_size;
  char text[508];
} NsdkReason;

/* --- Graphs: flat arrays, all of it the caller's -------------------------------------------------------------------
 */

enum NsdkType {
  NSDK_TYPE_NONE = 0,
  NSDK_INT8 = 1,
  NSDK_UINT8 = 2,
  NSDK_INT16 = 3,
  NSDK_UINT16 = 4,
  NSDK_INT32 = 5,
  NSDK_FLOAT32 = 6
};

/* A tensor: real = (stored - zero_point) * scale. Elements lie row by row, little endian, without gaps. scale_count is
 * 0 (not quantised), 1, or dims[axis]; scales are finite and positive, zero points are in the type's range. A bias is
 * INT32, its scale for each channel the input's times the weights', its zero point 0. */
typedef struct NsdkTensor {
  uint32_t struct_size;
  uint32_t type;
  const char* name; /* unique among inputs and outputs; may be null elsewhere */
  uint32_t rank;    /* 0 to 8 */
  uint32_t scale_count;
  const int64_t* dims; /* rank of them, each at least 1 */
  const float* scales;
  const int32_t* zero_points; /* scale_count of them; null: all are 0 */
  uint32_t axis;
  uint32_t reserved;
  const void* data; /* of a constant; null for all others */
  uint64_t data_size;
} NsdkTensor;

/* Operators, with their inputs ("?" may be NSDK_NONE) and parameters. Dimensions are in ONNX's order: batch, channels,
 * then one or two of space. Results are computed as if on real numbers and quantised to the output's scale, at most one
 * step off (each operator of a graph from what it was given [N224]); elements that are only moved or chosen, between
 * tensors of one type, scale and zero point, stay what they are. [N222] Then every operator keeps its result within
 * NSDK_LOW and NSDK_HIGH, in quantised numbers, where these are given (that is how Relu and Clip are fused). [N223]
 * Weights may have a scale for each output channel. The rule of a kind is 200 and its number: [N201 N202 N203 N204 N205
 * N206 N207 N208 N209 N210 N211 N212 N213 N214 N215 N216 N217 N218 N219 N220 N221]. */
enum NsdkOpKind {
  NSDK_CONV = 1,           /* x, w [out, in / groups, ...], bias? ; STRIDES, PADS, DILATIONS, GROUPS */
  NSDK_CONV_TRANSPOSE = 2, /* x, w [in, out / groups, ...], bias? ; the same, and OUTPUT_PADS */
  NSDK_MATMUL = 3,         /* a [..., m, k], b [..., k, n], bias? [n] ; TRANSPOSE_A, TRANSPOSE_B; batches broadcast */
  NSDK_MAX_POOL = 4,       /* x ; KERNEL, STRIDES, PADS, DILATIONS. Padding never wins */
  NSDK_AVERAGE_POOL = 5,   /* x ; KERNEL, STRIDES, PADS, COUNT_PADS (1: padding counts as zeros) */
  NSDK_ADD = 6,            /* a, b: shapes broadcast */
  NSDK_SUB = 7,
  NSDK_MUL = 8,
  NSDK_MAXIMUM = 9,
  NSDK_MINIMUM = 10,
  NSDK_LOOKUP = 11,    /* x (8 bits), table: constant [256] of y's type, by the stored x as an unsigned byte */
  NSDK_RESCALE = 12,   /* x ; the same numbers in y's scale, zero point and type */
  NSDK_CONCAT = 13,    /* x, ... ; AXIS. Inputs may have scales of their own */
  NSDK_SLICE = 14,     /* x ; STARTS, STEPS by dimension (steps may be negative); y's dims say how many */
  NSDK_PAD = 15,       /* x ; PADS by dimension: all begins, then all ends, none negative; VALUE (quantised) */
  NSDK_RESHAPE = 16,   /* x */
  NSDK_TRANSPOSE = 17, /* x ; PERM: dimension i of y is dimension PERM[i] of x */
  NSDK_RESIZE = 18,    /* x ; MODE (0 nearest, 1 linear), COORDINATES, ROUNDING; SCALES (floats) by dimension */
  NSDK_SOFTMAX = 19,   /* x ; AXIS */
  NSDK_LAYER_NORM =
      20, /* x, scale (quantised or FLOAT32), bias? (INT32 or FLOAT32); AXIS (to the last), EPSILON (float) */
  NSDK_REDUCE_MEAN = 21 /* x ; AXES; y has them as 1 or not at all */
};

enum NsdkParamKey {
  NSDK_STRIDES = 1,
  NSDK_PADS = 2, /* of windows: all begins of space, then all ends */
  NSDK_DILATIONS = 3,
  NSDK_GROUPS = 4,
  NSDK_OUTPUT_PADS = 5,
  NSDK_TRANSPOSE_A = 6,
  NSDK_TRANSPOSE_B = 7,
  NSDK_KERNEL = 8,
  NSDK_COUNT_PADS = 9,
  NSDK_AXIS = 10,
  NSDK_AXES = 11,
  NSDK_STARTS = 12,
  NSDK_STEPS = 13,
  NSDK_VALUE = 14,
  NSDK_PERM = 15,
  NSDK_MODE = 16,
  NSDK_COORDINATES = 17, /* 0 half_pixel, 1 asymmetric, 2 align_corners, 3 pytorch_half_pixel */
  NSDK_ROUNDING = 18,    /* 0 round_prefer_floor, 1 round_prefer_ceil, 2 floor, 3 ceil */
  NSDK_SCALES = 19,
  NSDK_EPSILON = 20,
  NSDK_LOW = 21,
  NSDK_HIGH = 22
};

/* One parameter. Axes count from the front. What is left out: strides, dilations, groups and steps are 1, all else is
 * 0. [N135 N136] An SDK declines an operator of a kind, or with a key, that it doesn't know. */
typedef struct NsdkParam {
  uint32_t struct_size;
  uint32_t key;
  uint32_t int_count;
  uint32_t float_count;
  const int64_t* ints;
  const float* floats;
} NsdkParam;

#define NSDK_NONE 0xFFFFFFFFu

typedef struct NsdkOp {
  uint32_t struct_size;
  uint32_t kind;
  const char* name; /* for reasons, counters and traces; may be null */
  uint32_t input_count;
  uint32_t output_count;
  const uint32_t* inputs; /* indices of tensors, or NSDK_NONE */
  const uint32_t* outputs;
  uint32_t param_count;
  uint32_t reserved;
  const NsdkParam* params;
} NsdkOp;

/* Operators stand in an order in which they can run; each tensor is written at most once. */
typedef struct NsdkGraph {
  uint32_t struct_size;
  uint32_t tensor_count;
  const char* name; /* unique in a blob [N148]: 1 to 1,023 bytes */
  const NsdkTensor* tensors;
  const NsdkOp* ops;
  uint32_t op_count;
  uint32_t input_count;
  const uint32_t* inputs;
  const uint32_t* outputs;
  uint32_t output_count;
  uint32_t reserved;
} NsdkGraph;

/* --- What the SDK is, and what it can compile for ------------------------------------------------------------------
 */

enum NsdkCapability {
  NSDK_CAN_COMPILE = 1,
  NSDK_CAN_GROUP = 2,
  NSDK_CAN_BIND_MEMORY = 4,
  NSDK_CAN_RUN_ASYNC = 8,
  NSDK_CAN_COUNT = 16
};

/* Texts are good as long as the library is open. [N110] The same at every call. */
typedef struct NsdkVersionInfo {
  uint32_t struct_size;
  uint32_t nsdk_version; /* of this header */
  uint64_t capabilities; /* NsdkCapability */
  const char* vendor;
  const char* name;     /* of the product */
  const char* version;  /* of the SDK: "major.minor.patch" */
  const char* build_id; /* may be "" */
  uint32_t blob_version_written;
  uint32_t blob_version_min; /* that can be loaded; [N123] at most blob_version_written */
  uint32_t blob_version_max;
  uint32_t reserved;
} NsdkVersionInfo;

enum NsdkDeviceFlag {
  NSDK_DEVICE_SOFTWARE = 1 /* the host's processor stands in for it: nobody takes it who doesn't ask for it */
};

/* [N111] Devices that are here now; none is no error. [N124] Each has an id of its own, and texts as above. */
typedef struct NsdkDevice {
  uint32_t struct_size;
  uint32_t id;
  const char* name;
  const char* architecture; /* [N129] blobs are for an architecture: that of a context without options; they name it */
  uint64_t memory_size;     /* 0: that of the host */
  uint32_t flags;           /* NsdkDeviceFlag */
  uint32_t reserved;
} NsdkDevice;

/* [N127] What a context compiles for and runs on. */
typedef struct NsdkTarget {
  uint32_t struct_size;
  uint32_t macs_per_cycle;
  const char* architecture; /* good as long as the context */
  uint64_t scratchpad_size; /* bytes on the chip */
  uint64_t types;           /* 1 << NsdkType */
  uint64_t ops;             /* 1 << NsdkOpKind: may be, query_op knows; [N146] no others are */
  uint32_t max_rank;
  uint32_t memory_alignment; /* of bound memory, a power of two; 1: any */
  int64_t max_dimension;
  double clock_hz; /* 0: not known */
} NsdkTarget;

typedef struct NsdkOption {
  uint32_t struct_size;
  uint32_t reserved;
  const char* key;
  const char* value;
} NsdkOption;

enum NsdkLogLevel { NSDK_LOG_ERROR = 1, NSDK_LOG_WARNING = 2, NSDK_LOG_INFO = 3, NSDK_LOG_DEBUG = 4 };

#define NSDK_WITHOUT_DEVICE 0xFFFFFFFFu

/* A context for a device, by its id ([N126] NSDK_NO_DEVICE when it isn't there), or for none, [N147] to compile and to
 * look into blobs. Options are the SDK's own, as text; [N112] one that it doesn't know, or [N125] whose value it can't
 * use, is an error (NSDK_INVALID_ARGUMENT) that names it and says what there is.
 * log may be null; it is called from any thread until the context is destroyed. */
typedef struct NsdkContextOptions {
  uint32_t struct_size;
  uint32_t device;
  uint32_t option_count;
  uint32_t reserved;
  const NsdkOption* options;
  void (*log)(void* user, uint32_t level, const char* text);
  void* user;
} NsdkContextOptions;

typedef struct NsdkContext NsdkContext;

/* --- Compiling -----------------------------------------------------------------------------------------------------
 */

typedef struct NsdkCompiled NsdkCompiled;

/* What takes long calls it often (at least each 100 ms of its work), [N134 N183] on the thread that it was called on,
 * with a part done, 0 to 1, that never falls. [N120 N182] Not 0 from it: stop, and return NSDK_CANCELLED within a
 * second; what was being run can be run again. progress may be null. */
typedef struct NsdkTask {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*progress)(void* user, double done, const char* text);
  void* user;
} NsdkTask;

/* [N143] Takes a blob piece by piece, from its first byte to its last. total is the same at every call. [N144] Not 0
 * from write: stop, and return NSDK_CANCELLED. */
typedef struct NsdkSink {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*write)(void* user, const void* data, uint64_t size, uint64_t total);
  void* user;
} NsdkSink;

/* --- Blobs
 * ----------------------------------------------------------------------------------------------------------*/

/* [N154] What is said of a blob holds for every bit of it: one in which something was changed isn't taken, unless it
 * computes the same. [N153] A truncated blob, [N152] none at all, [N155] one of a later format version, [N157] one
 * whose head is in another byte order, [N158] what another program wrote, and [N159] sizes, counts and offsets that lie
 * are found by check_blob and by load. */
enum NsdkVerdict {
  NSDK_OPTIMAL = 1,          /* [N150] runs here as well as one compiled now */
  NSDK_PREFER_RECOMPILE = 2, /* runs here, but would be better compiled again */
  NSDK_MUST_RECOMPILE = 3,   /* whole, but not for here: another architecture [N156], version or SDK */
  NSDK_NOT_A_BLOB = 4        /* damaged, or something else */
};

typedef struct NsdkIo {
  uint32_t struct_size;
  uint32_t type;
  const char* name;
  const int64_t* dims;
  uint32_t rank;
  float scale; /* 0: not quantised */
  int32_t zero_point;
  uint32_t reserved;
  uint64_t size; /* bytes to bind: elements row by row */
} NsdkIo;

typedef struct NsdkBlobGraph {
  uint32_t struct_size;
  uint32_t input_count;
  const char* name;
  const NsdkIo* inputs;
  const NsdkIo* outputs;
  uint32_t output_count;
  uint32_t reserved;
  uint64_t scratch_size; /* memory beside the blob that a run needs, which a scratch group shares */
  uint64_t weights_size;
} NsdkBlobGraph;

/* [N149] Read from the blob alone: no device, no context. [N130] The same as what compile was given. */
typedef struct NsdkBlobInfo {
  uint32_t struct_size;
  uint32_t blob_version;
  const char* sdk_version;
  const char* architecture;
  uint64_t size; /* of the blob; [N151] bytes behind it are no part of it */
  uint64_t weights_size;
  const NsdkBlobGraph* graphs;
  uint32_t graph_count;
  uint32_t reserved;
} NsdkBlobInfo;

/* --- Loading and running -------------------------------------------------------------------------------------------
 */

typedef struct NsdkProgram NsdkProgram;     /* a loaded blob */
typedef struct NsdkGroup NsdkGroup;         /* programs that share */
typedef struct NsdkMemory NsdkMemory;       /* memory that the device reads and writes in place */
typedef struct NsdkExecution NsdkExecution; /* one graph of a program, with inputs and outputs bound */

enum NsdkGroupKind {
  NSDK_SHARE_SCRATCH = 1, /* [N170] one scratch memory, as large as the largest; [N171] runs come one after the other */
  NSDK_SHARE_WEIGHTS = 2  /* [N172] weights with equal bytes are in the device once */
};

enum NsdkLoadFlag {
  NSDK_BLOB_STAYS = 1 /* [N164] the caller keeps the blob where it is, unchanged, until unload; [N163] else a copy is */
};

typedef struct NsdkLoadOptions {
  uint32_t struct_size;
  uint32_t flags;
  NsdkGroup* scratch; /* null: none */
  NsdkGroup* weights;
  /* 0: as others. Where runs wait for each other (a group's scratch memory, a device that is busy), those of programs
   * with more come first. [N196] Any number is taken; an SDK that doesn't order runs itself passes it over. */
  int32_t priority;
  uint32_t reserved;
} NsdkLoadOptions;

enum NsdkMemoryKind {
  NSDK_ALLOCATE = 1,    /* [N184] new memory; address is set */
  NSDK_IMPORT_HOST = 2, /* [N185] the caller's, at address, until mem_destroy */
  NSDK_IMPORT_FD = 3    /* [N186] size bytes at offset of a file descriptor that can be mapped; it isn't kept */
};

typedef struct NsdkMemoryOptions {
  uint32_t struct_size;
  uint32_t kind;
  uint64_t size;
  void* address;
  uint64_t offset;
  int32_t fd;
  uint32_t reserved;
} NsdkMemoryOptions;

/* Where an input or an output is: in a memory, at a multiple of the target's memory_alignment, or [N178] at a host
 * address of any alignment. It stays until it is [N181] bound anew or the execution is destroyed. */
typedef struct NsdkBinding {
  uint32_t struct_size;
  uint32_t reserved;
  NsdkMemory* memory; /* null: host_address */
  uint64_t offset;
  void* host_address; /* of an input: only read [N177]; of an output: written whole [N176] */
  uint64_t size;      /* at least the NsdkIo's */
} NsdkBinding;

enum NsdkDirection { NSDK_INPUT = 0, NSDK_OUTPUT = 1 };

/* Of the last finished run. [N140] Cycles are a function of blob and device alone. [N195] Active and idle ones are the
 * total. What isn't known is 0. */
typedef struct NsdkCounters {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t npu_active_cycles;
  uint64_t npu_idle_cycles;
  uint64_t npu_total_cycles;
  uint64_t axi_read_beats;
  uint64_t axi_write_beats;
  uint64_t axi_beat_bytes;
  uint64_t macs;
  uint64_t mac_active_cycles;
  uint64_t stall_dma_cycles;
  uint64_t stall_dependency_cycles;
  uint64_t scratchpad_peak;
} NsdkCounters;

/* --- The table -----------------------------------------------------------------------------------------------------
 */

typedef struct NsdkApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* 1 */ NsdkStatus (*get_version_info)(NsdkVersionInfo* info);
  /* 2: fills at most *count devices and sets *count to how many there are; devices may be null when *count is 0. Each
   * device's struct_size is set by the caller. */
  NsdkStatus (*list_devices)(uint32_t* count, NsdkDevice* devices);

  /* 3 */ NsdkStatus (*context_create)(const NsdkContextOptions* options, NsdkContext** context, NsdkReason* reason);
  /* 4 */ void (*context_destroy)(NsdkContext* context);
  /* 5 */ NsdkStatus (*get_target)(NsdkContext* context, NsdkTarget* target);

  /* 6: can this operator of the graph be compiled? Cheap: builds nothing. [N138] The same answer each time. [N137] All
   * constants may come without data (only with data_size), a LOOKUP's table, too. NSDK_UNSUPPORTED with a reason.
   * [N121] What it accepts, compile accepts, as far as a single operator can say. */
  NsdkStatus (*query_op)(NsdkContext* context, const NsdkGraph* graph, uint32_t op, NsdkReason* reason);
  /* 7: task may be null. NSDK_UNSUPPORTED: the whole of it can't be compiled after all. */
  NsdkStatus (*compile)(NsdkContext* context, const NsdkGraph* graph, const NsdkTask* task, NsdkCompiled** compiled,
                        NsdkReason* reason);
  /* 8 */ void (*compiled_destroy)(NsdkCompiled* compiled);
  /* 9: [N122] one blob of all of them, in this order, [N141] with equal weights stored once. [N142] Equal graphs and
   * options give equal bytes. [N145] They may be of several contexts with one target. */
  NsdkStatus (*write_blob)(NsdkContext* context, NsdkCompiled* const* compiled, uint32_t count, const NsdkSink* sink,
                           NsdkReason* reason);

  /* 10: without context and device. NSDK_CORRUPT, NSDK_INCOMPATIBLE. Released by 11, before the blob goes away. Cheap:
   * needn't look at what it doesn't tell of, so it may describe a blob whose weights or commands were damaged. */
  NsdkStatus (*blob_info)(const void* blob, uint64_t size, const NsdkBlobInfo** info, NsdkReason* reason);
  /* 11 */ void (*blob_info_release)(const NsdkBlobInfo* info);
  /* 12: what load would say to it, and why when it isn't NSDK_OPTIMAL; [N162] needs no device, and reads every byte. */
  NsdkStatus (*check_blob)(NsdkContext* context, const void* blob, uint64_t size, uint32_t* verdict,
                           NsdkReason* reason);

  /* 13 */ NsdkStatus (*group_create)(NsdkContext* context, uint32_t kind, NsdkGroup** group, NsdkReason* reason);
  /* 14: [N173] programs that are in it keep what they share */
  void (*group_destroy)(NsdkGroup* group);

  /* 15: options may be null: the blob is copied. [N131] Succeeds exactly where check_blob says NSDK_OPTIMAL or
   * NSDK_PREFER_RECOMPILE; else [N161] NSDK_INCOMPATIBLE for NSDK_MUST_RECOMPILE, NSDK_CORRUPT for NSDK_NOT_A_BLOB;
   * [N168] NSDK_NO_DEVICE in a context for none. [N165] The blob may be at any address, [N167] and may be loaded many
   * times; [N169] what it computes is the same bits each time. */
  NsdkStatus (*load)(NsdkContext* context, const void* blob, uint64_t size, const NsdkLoadOptions* options,
                     NsdkProgram** program, NsdkReason* reason);
  /* 16 */ void (*unload)(NsdkProgram* program);

  /* 17: [N187] NSDK_INVALID_ARGUMENT for what can't be memory: no size, no address, a file that is too short */
  NsdkStatus (*mem_create)(NsdkContext* context, NsdkMemoryOptions* options, NsdkMemory** memory, NsdkReason* reason);
  /* 18 */ void (*mem_destroy)(NsdkMemory* memory);

  /* 19: graph is an index into the blob's graphs [N166], [N174] or NSDK_INVALID_ARGUMENT. [N180] Executions of one
   * program may run at once. */
  NsdkStatus (*exec_create)(NsdkProgram* program, uint32_t graph, NsdkExecution** execution, NsdkReason* reason);
  /* 20: [N132] too small, [N189] misaligned or [N188] beyond the memory: NSDK_INVALID_ARGUMENT, and what was bound
   * stays bound. */
  NsdkStatus (*exec_bind)(NsdkExecution* execution, uint32_t direction, uint32_t index, const NsdkBinding* binding,
                          NsdkReason* reason);
  /* 21: [N192] waits for a run that was started */
  void (*exec_destroy)(NsdkExecution* execution);

  /* 22: until the outputs are written; [N179] the same inputs give the same bits. [N133] Something isn't bound:
   * NSDK_INVALID_ARGUMENT. Another run of this execution is under way: NSDK_BUSY. task may be null. */
  NsdkStatus (*run)(NsdkExecution* execution, const NsdkTask* task, NsdkReason* reason);
  /* 23: returns at once; [N193] until it is over, run is NSDK_BUSY. [N190] done, [N194] unless null, is called once, on
   * any thread, after which wait returns at once; it calls no function of the table. */
  NsdkStatus (*run_async)(NsdkExecution* execution, void (*done)(void* user, NsdkStatus status), void* user,
                          NsdkReason* reason);
  /* 24: until the run that was started is over; its status. [N191] NSDK_INVALID_ARGUMENT where none was. */
  NsdkStatus (*wait)(NsdkExecution* execution, NsdkReason* reason);
  /* 25 */ NsdkStatus (*get_counters)(NsdkExecution* execution, NsdkCounters* counters);
} NsdkApi;

/* Fills the part of the table that both know: table->struct_size is the caller's before, the smaller of both after it.
 * NSDK_INCOMPATIBLE when version is of another major version. [N100] Callable many times, from any thread. */
typedef NsdkStatus (*NsdkGetApi)(uint32_t version, NsdkApi* table);

/* For the one source of an SDK that has the function: it defines NSDK_IMPLEMENTATION before it includes this. */
#ifdef NSDK_IMPLEMENTATION
#ifndef NSDK_EXPORT
#ifdef _WIN32
#define NSDK_EXPORT __declspec(dllexport)
#else
#define NSDK_EXPORT __attribute__((visibility("default")))
#endif
#endif
NSDK_EXPORT NsdkStatus nsdk_get_api(uint32_t version, NsdkApi* table);
#endif

#ifdef __cplusplus
}
#endif
#endif /* EPIPHYTE_NSDK_H_ */
