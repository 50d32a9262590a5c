/* nsdk.h: the interface that the SDK of an NPU offers to the NPU plugin. It is C11, without ONNX, protobuf or C++.
 *
 * An SDK is a shared library with one exported symbol, nsdk_get_api, which fills a table of at most 25 functions.
 * [N108] With the table the plugin queries which operators the NPU has, compiles graphs to a blob, inspects blobs,
 * loads and runs them. The blob's format is the SDK's own; the plugin stores the blob and returns it byte for byte.
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
 * Shipping. A separate manifest over the library of the NPU plugin makes an SDK a provider with its own name and
 * source, beside those of other vendors. `version` is the plugin's version:
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
 * `nsdk_conformance LIBRARY` checks each rule below on a vendor's library. A rule's number follows the rule in
 * brackets.
 *
 * Growth. Every struct that crosses the interface begins with struct_size. The side that makes the struct sets it to
 * the size that it knows. A reader takes fields beyond struct_size as zero. [N113] A writer writes nothing beyond
 * it. [N101] The elements of an array of structs are as far apart as the first one's struct_size says. [N114]
 * Structs and the table grow at the end; nothing is ever removed or changes its meaning.
 *
 * Optional functions. A function that belongs to a capability bit may be null if the bit is not set:
 * NSDK_CAN_COMPILE (query_op, compile, compiled_destroy, write_blob), NSDK_CAN_GROUP (group_create, group_destroy),
 * NSDK_CAN_BIND_MEMORY (mem_create, mem_destroy), NSDK_CAN_RUN_ASYNC (run_async, wait), NSDK_CAN_COUNT
 * (get_counters). All other functions are never null, and neither are functions with their bit set. [N102]
 *
 * Errors. A function that fails returns a status other than NSDK_OK and leaves its out parameter null or zero. It
 * fills the reason, if there is one, with one line: found value, expected value. [N103] No function ends the
 * process, prints, or throws. [N109] A reason may be null everywhere, and so may every parameter that is documented
 * so below. [N117]
 *
 * Threads. Every function may be called from many threads at once, in one context. [N104] The same holds for several
 * contexts. [N128] Two calls must not use one execution at once; the second one returns NSDK_BUSY immediately.
 * [N175] No function may be called while one of its arguments is being destroyed.
 *
 * Lifetime. The caller's data is only read, and only during the call. The exception is data that this header says is
 * kept: a blob in load, bound memory, callbacks. [N105] Objects may be destroyed in any order that leaves no child
 * without its parent: contexts last, a program after its executions. Nothing is left behind. [N116] Destroying null
 * does nothing. [N115]
 *
 * Trust. A blob is hostile: whatever its bytes are, blob_info, check_blob and load return. [N106] They read nothing
 * beyond its size. [N160] Graphs come from a program that checked them, but may ask for features that the NPU lacks. */
#ifndef EPIPHYTE_NSDK_H_
#define EPIPHYTE_NSDK_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NSDK_VERSION_MAJOR 1u
#define NSDK_VERSION_MINOR 0u
/* Major version in the upper 16 bits. An SDK serves callers of its own major version, whatever their minor version
 * is. [N107] */
#define NSDK_VERSION 0x00010000u

typedef int32_t NsdkStatus;
enum {
  NSDK_OK = 0,
  NSDK_INVALID_ARGUMENT = 1, /* the caller broke a rule of this header */
  NSDK_UNSUPPORTED = 2,      /* the NPU lacks the feature; another provider may have it */
  NSDK_CORRUPT = 3,          /* the bytes are no blob, or were damaged */
  NSDK_INCOMPATIBLE = 4,     /* a blob of another SDK, version or architecture; a caller of another major version */
  NSDK_OUT_OF_MEMORY = 5,
  NSDK_CANCELLED = 6,
  NSDK_BUSY = 7,        /* the execution is running */
  NSDK_NO_DEVICE = 8,   /* there is no such device, or the context was made for none */
  NSDK_DEVICE_LOST = 9, /* all that was loaded is gone; a new context may work */
  NSDK_INTERNAL = 10
};

/* Receives the reason of a failure. text always ends with a zero within struct_size. [N118] */
typedef struct NsdkReason {
  uint32_t struct_size;
  char text[508];
} NsdkReason;

/* --- Graphs: flat arrays that the caller owns -----------------------------------------------------------------------
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

/* A tensor: real = (stored - zero_point) * scale. Elements are row-major, little endian, without gaps. scale_count
 * is 0 (not quantised), 1, or dims[axis]. Scales are finite and positive; zero points are in the type's range. A
 * bias is INT32 with zero point 0. Its scale for each channel is the input's scale times the weights'. */
typedef struct NsdkTensor {
  uint32_t struct_size;
  uint32_t type;
  const char* name; /* unique among inputs and outputs; may be null elsewhere */
  uint32_t rank;    /* 0 to 8 */
  uint32_t scale_count;
  const int64_t* dims; /* rank elements, each at least 1 */
  const float* scales;
  const int32_t* zero_points; /* scale_count elements; null: all are 0 */
  uint32_t axis;
  uint32_t reserved;
  const void* data; /* constants only; null for all others */
  uint64_t data_size;
} NsdkTensor;

/* Operators, with their inputs ("?" may be NSDK_NONE) and parameters. Dimensions are in ONNX's order: batch,
 * channels, then one or two spatial dimensions. Results are computed as if on real numbers and quantised to the
 * output's scale, at most one step off. This holds for each operator of a graph, from the inputs that it was given.
 * [N224] Elements that are only moved or selected keep their stored value between tensors of one type, scale and
 * zero point. Every operator then clamps its result to NSDK_LOW and NSDK_HIGH, in quantised numbers, if these are
 * given. This is how Relu and Clip are fused. [N222] Weights may have a scale for each output channel. [N223] The
 * rule of a kind is 200 plus its number. [N201 N202 N203 N204 N205 N206 N207 N208 N209 N210 N211 N212 N213 N214 N215
 * N216 N217 N218 N219 N220 N221] */
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
  NSDK_PADS = 2, /* of windows: all spatial begins, then all ends */
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

/* One parameter. Axes count from the front. Omitted strides, dilations, groups and steps are 1; all other omitted
 * parameters are 0. An SDK declines an operator with a kind, or with a key, that it doesn't know. [N135 N136] */
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

/* Operators are in an execution order; each tensor is written at most once. */
typedef struct NsdkGraph {
  uint32_t struct_size;
  uint32_t tensor_count;
  const char* name; /* unique in a blob, 1 to 1,023 bytes [N148] */
  const NsdkTensor* tensors;
  const NsdkOp* ops;
  uint32_t op_count;
  uint32_t input_count;
  const uint32_t* inputs;
  const uint32_t* outputs;
  uint32_t output_count;
  uint32_t reserved;
} NsdkGraph;

/* --- The SDK, its devices and its targets --------------------------------------------------------------------------
 */

enum NsdkCapability {
  NSDK_CAN_COMPILE = 1,
  NSDK_CAN_GROUP = 2,
  NSDK_CAN_BIND_MEMORY = 4,
  NSDK_CAN_RUN_ASYNC = 8,
  NSDK_CAN_COUNT = 16
};

/* Texts are valid as long as the library is open. Every call gives the same values. [N110] */
typedef struct NsdkVersionInfo {
  uint32_t struct_size;
  uint32_t nsdk_version; /* version of this header */
  uint64_t capabilities; /* NsdkCapability */
  const char* vendor;
  const char* name;     /* product name */
  const char* version;  /* version of the SDK: "major.minor.patch" */
  const char* build_id; /* may be "" */
  uint32_t blob_version_written;
  uint32_t blob_version_min; /* oldest that can be loaded; at most blob_version_written [N123] */
  uint32_t blob_version_max;
  uint32_t reserved;
} NsdkVersionInfo;

enum NsdkDeviceFlag {
  NSDK_DEVICE_SOFTWARE = 1 /* the host's processor emulates the device; it is used only on request */
};

/* A device that is present now; having no device is no error. [N111] Each device has its own id, and its texts are
 * valid as long as the library is open. [N124] */
typedef struct NsdkDevice {
  uint32_t struct_size;
  uint32_t id;
  const char* name;
  /* The architecture of a context without options. A blob is for one architecture and names it. [N129] */
  const char* architecture;
  uint64_t memory_size; /* 0: the host's memory */
  uint32_t flags;       /* NsdkDeviceFlag */
  uint32_t reserved;
} NsdkDevice;

/* Properties of the device that a context compiles for and runs on. [N127] */
typedef struct NsdkTarget {
  uint32_t struct_size;
  uint32_t macs_per_cycle;
  const char* architecture; /* valid as long as the context */
  uint64_t scratchpad_size; /* bytes on the chip */
  uint64_t types;           /* 1 << NsdkType */
  /* 1 << NsdkOpKind: possible kinds, subject to query_op; all others are unsupported [N146] */
  uint64_t ops;
  uint32_t max_rank;
  uint32_t memory_alignment; /* alignment of bound memory, a power of two; 1: any */
  int64_t max_dimension;
  double clock_hz; /* 0: unknown */
} NsdkTarget;

typedef struct NsdkOption {
  uint32_t struct_size;
  uint32_t reserved;
  const char* key;
  const char* value;
} NsdkOption;

enum NsdkLogLevel { NSDK_LOG_ERROR = 1, NSDK_LOG_WARNING = 2, NSDK_LOG_INFO = 3, NSDK_LOG_DEBUG = 4 };

#define NSDK_WITHOUT_DEVICE 0xFFFFFFFFu

/* A context is for a device, by its id, or for none, to compile and to inspect blobs. [N147] NSDK_NO_DEVICE means
 * that there is no device with this id. [N126] Options are the SDK's own, as text. An option that the SDK doesn't
 * know is an error (NSDK_INVALID_ARGUMENT) that names the option and the valid ones. [N112] A value that the SDK
 * can't use is the same error, with the valid values. [N125] log may be null; it is called from any thread until the
 * context is destroyed. */
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

/* Progress of a function that takes long. The function calls progress often (at least each 100 ms of its work), on
 * the thread that called the function. done is the finished part, 0 to 1, and never falls. [N134 N183] If progress
 * doesn't return 0, the function stops and returns NSDK_CANCELLED within a second. An execution that was cancelled
 * can be run again. [N120 N182] progress may be null. */
typedef struct NsdkTask {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*progress)(void* user, double done, const char* text);
  void* user;
} NsdkTask;

/* Receives a blob in consecutive pieces, from its first byte to its last. total is the same at every call. [N143] If
 * write doesn't return 0, the function stops and returns NSDK_CANCELLED. [N144] */
typedef struct NsdkSink {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*write)(void* user, const void* data, uint64_t size, uint64_t total);
  void* user;
} NsdkSink;

/* --- Blobs
 * ----------------------------------------------------------------------------------------------------------*/

/* A verdict holds for every bit of a blob: a blob that was changed is rejected, unless it computes the same. [N154]
 * check_blob and load find:
 * - bytes that are no blob at all [N152],
 * - a truncated blob [N153],
 * - a blob of a later format version [N155],
 * - a blob with a head in another byte order [N157],
 * - the output of another program [N158],
 * - false sizes, counts and offsets [N159]. */
enum NsdkVerdict {
  NSDK_OPTIMAL = 1,          /* runs here as well as a blob compiled now [N150] */
  NSDK_PREFER_RECOMPILE = 2, /* runs here, but would run better after recompilation */
  NSDK_MUST_RECOMPILE = 3,   /* intact, but for another SDK, version or architecture [N156] */
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
  uint64_t size; /* bytes to bind, row-major */
} NsdkIo;

typedef struct NsdkBlobGraph {
  uint32_t struct_size;
  uint32_t input_count;
  const char* name;
  const NsdkIo* inputs;
  const NsdkIo* outputs;
  uint32_t output_count;
  uint32_t reserved;
  uint64_t scratch_size; /* memory that a run needs beside the blob; a scratch group shares it */
  uint64_t weights_size;
} NsdkBlobGraph;

/* Description of a blob, read from the blob alone, without device and context. [N149] It says what compile was given.
 * [N130] */
typedef struct NsdkBlobInfo {
  uint32_t struct_size;
  uint32_t blob_version;
  const char* sdk_version;
  const char* architecture;
  uint64_t size; /* size of the blob; bytes after it are not part of it [N151] */
  uint64_t weights_size;
  const NsdkBlobGraph* graphs;
  uint32_t graph_count;
  uint32_t reserved;
} NsdkBlobInfo;

/* --- Loading and running -------------------------------------------------------------------------------------------
 */

typedef struct NsdkProgram NsdkProgram;     /* a loaded blob */
typedef struct NsdkGroup NsdkGroup;         /* programs that share memory */
typedef struct NsdkMemory NsdkMemory;       /* memory that the device reads and writes in place */
typedef struct NsdkExecution NsdkExecution; /* one graph of a program, with inputs and outputs bound */

enum NsdkGroupKind {
  NSDK_SHARE_SCRATCH = 1, /* one scratch memory, as large as the largest [N170]; runs don't overlap [N171] */
  NSDK_SHARE_WEIGHTS = 2  /* weights with equal bytes are in the device once [N172] */
};

enum NsdkLoadFlag {
  /* the caller keeps the blob in place, unchanged, until unload [N164]; without this flag load copies it [N163] */
  NSDK_BLOB_STAYS = 1
};

typedef struct NsdkLoadOptions {
  uint32_t struct_size;
  uint32_t flags;
  NsdkGroup* scratch; /* null: none */
  NsdkGroup* weights;
  /* Priority; 0 is normal. When runs wait for each other (for a group's scratch memory or a busy device), those of
   * programs with a higher priority come first. Any number is accepted; an SDK that doesn't order runs itself
   * ignores it. [N196] */
  int32_t priority;
  uint32_t reserved;
} NsdkLoadOptions;

enum NsdkMemoryKind {
  NSDK_ALLOCATE = 1,    /* new memory; address is set [N184] */
  NSDK_IMPORT_HOST = 2, /* the caller's memory at address, until mem_destroy [N185] */
  NSDK_IMPORT_FD = 3    /* size bytes at offset of a mappable file descriptor, which isn't kept [N186] */
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

/* Place of an input or an output: in a memory, at a multiple of the target's memory_alignment, or at a host address
 * of any alignment. [N178] It stays bound until the execution is destroyed or another place is bound. [N181] */
typedef struct NsdkBinding {
  uint32_t struct_size;
  uint32_t reserved;
  NsdkMemory* memory; /* null: host_address is used */
  uint64_t offset;
  void* host_address; /* an input is only read [N177]; an output is written completely [N176] */
  uint64_t size;      /* at least the size of the NsdkIo */
} NsdkBinding;

enum NsdkDirection { NSDK_INPUT = 0, NSDK_OUTPUT = 1 };

/* Counters of the last finished run. Cycles are a function of blob and device alone. [N140] Active and idle cycles
 * add up to the total. [N195] An unknown counter is 0. */
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
  /* 2: fills at most *count devices and sets *count to the number of devices. devices may be null if *count is 0.
   * The caller sets each device's struct_size. */
  NsdkStatus (*list_devices)(uint32_t* count, NsdkDevice* devices);

  /* 3 */ NsdkStatus (*context_create)(const NsdkContextOptions* options, NsdkContext** context, NsdkReason* reason);
  /* 4 */ void (*context_destroy)(NsdkContext* context);
  /* 5 */ NsdkStatus (*get_target)(NsdkContext* context, NsdkTarget* target);

  /* 6: returns NSDK_OK if this operator of the graph can be compiled, otherwise NSDK_UNSUPPORTED with a reason. It
   * is cheap and builds nothing. The answer is the same each time. [N138] All constants may come without data, only
   * with data_size; a LOOKUP's table, too. [N137] compile accepts every operator that query_op accepts, as far as a
   * single operator can tell. [N121] */
  NsdkStatus (*query_op)(NsdkContext* context, const NsdkGraph* graph, uint32_t op, NsdkReason* reason);
  /* 7: task may be null. NSDK_UNSUPPORTED: the graph as a whole can't be compiled after all. */
  NsdkStatus (*compile)(NsdkContext* context, const NsdkGraph* graph, const NsdkTask* task, NsdkCompiled** compiled,
                        NsdkReason* reason);
  /* 8 */ void (*compiled_destroy)(NsdkCompiled* compiled);
  /* 9: writes one blob of all graphs, in this order. [N122] Equal weights are stored once. [N141] Equal graphs and
   * options give equal bytes. [N142] The graphs may be of several contexts with one target. [N145] */
  NsdkStatus (*write_blob)(NsdkContext* context, NsdkCompiled* const* compiled, uint32_t count, const NsdkSink* sink,
                           NsdkReason* reason);

  /* 10: needs no context and no device. Fails with NSDK_CORRUPT or NSDK_INCOMPATIBLE. The info must be released by
   * 11 before the blob goes away. The call is cheap: it needn't read parts that it doesn't describe, so it may
   * describe a blob with damaged weights or commands. */
  NsdkStatus (*blob_info)(const void* blob, uint64_t size, const NsdkBlobInfo** info, NsdkReason* reason);
  /* 11 */ void (*blob_info_release)(const NsdkBlobInfo* info);
  /* 12: predicts the result of load, with a reason unless it is NSDK_OPTIMAL. It needs no device, and reads every
   * byte. [N162] */
  NsdkStatus (*check_blob)(NsdkContext* context, const void* blob, uint64_t size, uint32_t* verdict,
                           NsdkReason* reason);

  /* 13 */ NsdkStatus (*group_create)(NsdkContext* context, uint32_t kind, NsdkGroup** group, NsdkReason* reason);
  /* 14: programs in the group keep the memory that they share [N173] */
  void (*group_destroy)(NsdkGroup* group);

  /* 15: options may be null; the blob is then copied. load succeeds exactly if check_blob says NSDK_OPTIMAL or
   * NSDK_PREFER_RECOMPILE. [N131] Otherwise it returns NSDK_INCOMPATIBLE for NSDK_MUST_RECOMPILE, and NSDK_CORRUPT
   * for NSDK_NOT_A_BLOB. [N161] In a context for no device it returns NSDK_NO_DEVICE. [N168] The blob may be at any
   * address. [N165] It may be loaded many times. [N167] It computes the same bits each time. [N169] */
  NsdkStatus (*load)(NsdkContext* context, const void* blob, uint64_t size, const NsdkLoadOptions* options,
                     NsdkProgram** program, NsdkReason* reason);
  /* 16 */ void (*unload)(NsdkProgram* program);

  /* 17: NSDK_INVALID_ARGUMENT for impossible memory: no size, no address, a file that is too short [N187] */
  NsdkStatus (*mem_create)(NsdkContext* context, NsdkMemoryOptions* options, NsdkMemory** memory, NsdkReason* reason);
  /* 18 */ void (*mem_destroy)(NsdkMemory* memory);

  /* 19: graph is an index into the blob's graphs. [N166] Any other index gives NSDK_INVALID_ARGUMENT. [N174]
   * Executions of one program may run at once. [N180] */
  NsdkStatus (*exec_create)(NsdkProgram* program, uint32_t graph, NsdkExecution** execution, NsdkReason* reason);
  /* 20: NSDK_INVALID_ARGUMENT for a binding that is too small [N132], misaligned [N189] or beyond the memory [N188].
   * The previous binding then stays. */
  NsdkStatus (*exec_bind)(NsdkExecution* execution, uint32_t direction, uint32_t index, const NsdkBinding* binding,
                          NsdkReason* reason);
  /* 21: waits for a run that was started [N192] */
  void (*exec_destroy)(NsdkExecution* execution);

  /* 22: returns when the outputs are written. The same inputs give the same bits. [N179] NSDK_INVALID_ARGUMENT: an
   * input or an output isn't bound. [N133] NSDK_BUSY: another run of this execution is under way. task may be null. */
  NsdkStatus (*run)(NsdkExecution* execution, const NsdkTask* task, NsdkReason* reason);
  /* 23: returns at once; run is NSDK_BUSY until the run is over. [N193] done is called once, on any thread;
   * afterwards wait returns at once. [N190] done may be null. [N194] It must not call functions of the table. */
  NsdkStatus (*run_async)(NsdkExecution* execution, void (*done)(void* user, NsdkStatus status), void* user,
                          NsdkReason* reason);
  /* 24: waits until the run that was started is over, and returns its status. NSDK_INVALID_ARGUMENT: no run was
   * started. [N191] */
  NsdkStatus (*wait)(NsdkExecution* execution, NsdkReason* reason);
  /* 25 */ NsdkStatus (*get_counters)(NsdkExecution* execution, NsdkCounters* counters);
} NsdkApi;

/* Fills the part of the table that caller and SDK both know. table->struct_size is the caller's size before the
 * call, and the smaller of both sizes after it. NSDK_INCOMPATIBLE: version is of another major version. The function
 * may be called many times, from any thread. [N100] */
typedef NsdkStatus (*NsdkGetApi)(uint32_t version, NsdkApi* table);

/* The source file of an SDK that contains the function defines NSDK_IMPLEMENTATION before it includes this header. */
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
