/* A plugin in plain C: runs ONNX Neg and Abs on float tensors, with contexts of its own.
 *
 * The host merges claimed nodes into the largest partitions that can be one kernel. A partition therefore holds any
 * number of Neg and Abs, with any number of inputs and outputs, and its parts need not be connected. Both operators
 * have one input, so each output of a partition is a chain of operators on one input. A chain is again one operation.
 */
#include <stdlib.h>
#include <string.h>

#include <epiphyte/ep_entry.h>

/* Each object of the plugin stores its host, because several hosts may use one library. */
struct EpPlugin {
  const EpHostInfo* host;
};
/* One output of a partition: an operation on one of the partition's inputs. */
typedef struct Step {
  uint32_t input;
  unsigned char operation;
} Step;
struct EpKernel {
  const EpHostInfo* host;
  uint32_t output_count;
  Step steps[1]; /* has output_count entries */
};
struct EpProvider {
  const EpHostInfo* host;
  unsigned char* payload; /* payload of the context: a record for each compiled partition */
  uint64_t size;
};

enum { kUnchanged = '+', kNegate = 'n', kAbsolute = 'a', kNegativeAbsolute = '-' };

static EpStatus* Fail(const EpHostInfo* host, EpStatusCode code, const char* message) {
  return host->status->Create(code, message);
}

static EpStatus* EP_CALL Initialize(const EpHostInfo* host, const EpPluginEnvironment* environment, EpPlugin** plugin) {
  (void)environment;
  *plugin = calloc(1, sizeof(EpPlugin));
  if (*plugin == NULL) return Fail(host, EP_STATUS_OUT_OF_MEMORY, "out of memory");
  (*plugin)->host = host;
  return NULL;
}

static void EP_CALL Shutdown(EpPlugin* plugin) { free(plugin); }

static EpStatus* EP_CALL GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity,
                                    uint32_t* count) {
  static const EpDeviceInfo device = {
      sizeof(EpDeviceInfo), EP_DEVICE_OTHER, 0, 0, 0, 0, "plain_c", "Example", "1.0", "any", "", "", 0};
  (void)plugin;
  *count = 1;
  if (capacity > 0) devices[0] = &device;
  return NULL;
}

static EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
  if (config->option_count != 0) {
    return Fail(plugin->host, EP_STATUS_INVALID_ARGUMENT, "plain_c got an option; it takes none, leave it out");
  }
  *provider = calloc(1, sizeof(EpProvider));
  if (*provider == NULL) return Fail(plugin->host, EP_STATUS_OUT_OF_MEMORY, "out of memory");
  (*provider)->host = plugin->host;
  return NULL;
}

static void EP_CALL DestroyProvider(EpProvider* provider) {
  free(provider->payload);
  free(provider);
}

static unsigned char OperationOf(const EpHostInfo* host, const EpNode* node) {
  EpNodeInfo info;
  EpValueDefInfo input;
  EpStatus* status;
  memset(&info, 0, sizeof(info));
  memset(&input, 0, sizeof(input));
  info.struct_size = sizeof(info);
  input.struct_size = sizeof(input);
  status = host->graph->GetNodeInfo(node, &info);
  if (status == NULL && info.input_count == 1 && info.inputs[0] != NULL)
    status = host->graph->GetValueDefInfo(info.inputs[0], &input);
  if (status != NULL) {
    host->status->Release(status);
    return 0;
  }
  if ((input.flags & EP_VALUE_CONSTANT) != 0) return 0; /* Execute gets run-time inputs only */
  if (input.type == NULL || input.type->element_type != EP_TYPE_FLOAT || (info.flags & EP_NODE_PLACED) != 0) return 0;
  if (info.domain[0] != '\0') return 0;
  if (strcmp(info.op_type, "Neg") == 0) return kNegate;
  if (strcmp(info.op_type, "Abs") == 0) return kAbsolute;
  return 0;
}

static EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
  const EpHostInfo* host = provider->host;
  EpGraphInfo info;
  EpStatus* status;
  uint64_t i;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  status = host->graph->GetGraphInfo(graph, &info);
  for (i = 0; status == NULL && i < info.node_count; ++i) {
    if (OperationOf(host, info.nodes[i]) != 0) {
      status = host->capability->SupportNodes(sink, &info.nodes[i], 1);
    } else {
      status = host->capability->DeclineNode(sink, info.nodes[i], "only Neg and Abs of float");
    }
  }
  return status;
}

/* Returns the operation that applies `first`, then `second`. */
static unsigned char Compose(unsigned char first, unsigned char second) {
  if (second == kUnchanged) return first;
  if (second == kAbsolute || second == kNegativeAbsolute) return second;
  switch (first) {
    case kUnchanged: return kNegate;
    case kNegate: return kUnchanged;
    case kAbsolute: return kNegativeAbsolute;
    default: return kAbsolute;
  }
}

/* Follows `value` back to one of the partition's inputs. */
static EpStatus* Trace(const EpHostInfo* host, const EpGraphInfo* graph, const EpValueDef* value, Step* step) {
  step->operation = kUnchanged;
  for (;;) {
    EpValueDefInfo info;
    EpNodeInfo node;
    EpStatus* status;
    uint32_t i;
    unsigned char operation;
    for (i = 0; i < graph->input_count; ++i) {
      if (graph->inputs[i] == value) {
        step->input = i;
        return NULL;
      }
    }
    memset(&info, 0, sizeof(info));
    memset(&node, 0, sizeof(node));
    info.struct_size = sizeof(info);
    node.struct_size = sizeof(node);
    status = host->graph->GetValueDefInfo(value, &info);
    if (status != NULL) return status;
    operation = info.producer == NULL ? 0 : OperationOf(host, info.producer);
    if (operation == 0) return Fail(host, EP_STATUS_NOT_IMPLEMENTED, "only Neg and Abs can be compiled");
    status = host->graph->GetNodeInfo(info.producer, &node);
    if (status != NULL) return status;
    step->operation = Compose(operation, step->operation); /* the walk goes backwards */
    value = node.inputs[0];
  }
}

static EpKernel* NewKernel(const EpHostInfo* host, uint32_t output_count) {
  EpKernel* kernel = calloc(1, sizeof(EpKernel) + output_count * sizeof(Step));
  if (kernel == NULL) return NULL;
  kernel->host = host;
  kernel->output_count = output_count;
  return kernel;
}

/* A record is: length of the partition's name, number of outputs, the name, then input and operation of each output.
 * Numbers are four bytes, little endian; an operation is one byte. */
static void PutNumber(unsigned char** to, uint32_t number) {
  int i;
  for (i = 0; i < 4; ++i) *(*to)++ = (unsigned char)(number >> 8 * i);
}

static uint32_t GetNumber(const unsigned char* from) {
  return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static EpStatus* AppendRecord(EpProvider* provider, const char* name, const EpKernel* kernel) {
  uint32_t length = (uint32_t)strlen(name);
  uint64_t size = 8u + length + (uint64_t)kernel->output_count * 5u;
  unsigned char* grown = realloc(provider->payload, provider->size + size);
  unsigned char* to;
  uint32_t i;
  if (grown == NULL) return Fail(provider->host, EP_STATUS_OUT_OF_MEMORY, "out of memory");
  to = grown + provider->size;
  provider->payload = grown;
  provider->size += size;
  PutNumber(&to, length);
  PutNumber(&to, kernel->output_count);
  memcpy(to, name, length);
  to += length;
  for (i = 0; i < kernel->output_count; ++i) {
    PutNumber(&to, kernel->steps[i].input);
    *to++ = kernel->steps[i].operation;
  }
  return NULL;
}

/* Returns the kernel of a partition, or null when the payload doesn't hold a complete record of it. A node without a
 * name means the payload's only partition. */
static EpKernel* FindRecord(const EpHostInfo* host, const EpContextBlob* blob, const char* name) {
  const unsigned char* at = blob->data;
  uint64_t left = blob->size;
  while (left >= 8) {
    uint32_t length = GetNumber(at);
    uint32_t count = GetNumber(at + 4);
    uint64_t size = 8u + (uint64_t)length + (uint64_t)count * 5u;
    if (size > left) return NULL;
    if (*name == '\0' ? size == blob->size : length == strlen(name) && memcmp(at + 8, name, length) == 0) {
      EpKernel* kernel = NewKernel(host, count);
      uint32_t i;
      at += 8 + length;
      for (i = 0; kernel != NULL && i < count; ++i, at += 5) {
        kernel->steps[i].input = GetNumber(at);
        kernel->steps[i].operation = at[4];
      }
      return kernel;
    }
    at += size;
    left -= size;
  }
  return NULL;
}

static EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                                 EpTask* task, EpKernel** kernels) {
  const EpHostInfo* host = provider->host;
  uint64_t i;
  for (i = 0; i < count; ++i) {
    EpGraphInfo info;
    EpStatus* status;
    uint32_t k;
    memset(&info, 0, sizeof(info));
    info.struct_size = sizeof(info);
    status = host->graph->GetGraphInfo(partitions[i]->graph, &info);
    if (status != NULL) return status;
    kernels[i] = NewKernel(host, (uint32_t)info.output_count);
    if (kernels[i] == NULL) return Fail(host, EP_STATUS_OUT_OF_MEMORY, "out of memory");
    for (k = 0; status == NULL && k < info.output_count; ++k) {
      status = Trace(host, &info, info.outputs[k], &kernels[i]->steps[k]);
    }
    if (status == NULL) status = AppendRecord(provider, partitions[i]->name, kernels[i]);
    if (status != NULL) return status;
    if (host->task->ReportProgress(task, i + 1, count, "plain_c") != 0) {
      return Fail(host, EP_STATUS_MODEL_LOAD_CANCELED, "cancelled");
    }
  }
  return NULL;
}

static EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink, EpTask* task) {
  const EpHostInfo* host = provider->host;
  EpContextWriter* payload = NULL;
  EpContextSinkInfo info;
  uint32_t i;
  EpStatus* status;
  (void)task;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  status = host->context->GetSinkInfo(sink, &info);
  if (status == NULL) status = host->context->BeginPayload(sink, &payload);
  if (status == NULL) status = host->context->Write(payload, provider->payload, provider->size);
  if (status == NULL) status = host->context->EndPayload(payload);
  for (i = 0; status == NULL && i < info.partition_count; ++i) {
    EpContextNodeDesc node;
    memset(&node, 0, sizeof(node));
    node.struct_size = sizeof(node);
    node.partition = i;
    node.main_context = i == 0;
    node.payload = i == 0 ? payload : NULL;
    node.ep_sdk_version = "plain_c 1.0";
    status = host->context->AddNode(sink, &node);
  }
  return status;
}

static EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                                     const EpContextBlob* const* blobs, uint64_t blob_count, EpTask* task,
                                     EpKernel** kernels) {
  const EpHostInfo* host = provider->host;
  uint64_t i;
  (void)task;
  for (i = 0; i < node_count; ++i) {
    uint64_t k;
    if (strcmp(nodes[i]->ep_sdk_version, "plain_c 1.0") != 0) {
      return Fail(host, EP_STATUS_INVALID_GRAPH, "the node was not written by plain_c 1.0; compile the model again");
    }
    /* If the node's payload is not known (blob is -1), search all payloads. */
    for (k = 0; kernels[i] == NULL && k < blob_count; ++k) {
      if (nodes[i]->blob < 0 || (uint64_t)nodes[i]->blob == k) {
        kernels[i] = FindRecord(host, blobs[k], nodes[i]->partition_name);
      }
    }
    if (kernels[i] == NULL)
      return Fail(host, EP_STATUS_INVALID_GRAPH, "the payload doesn't hold the partition; compile the model again");
  }
  return NULL;
}

static void EP_CALL ReleaseKernel(EpKernel* kernel) { free(kernel); }

static float Apply(unsigned char operation, float value) {
  float magnitude = value < 0 ? -value : value;
  return operation == kNegate             ? -value
         : operation == kAbsolute         ? magnitude
         : operation == kNegativeAbsolute ? -magnitude
                                          : value;
}

static EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState* state, EpRun* run) {
  const EpHostInfo* host = kernel->host;
  EpRunInfo info;
  EpStatus* status;
  uint32_t output;
  (void)state;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  status = host->run->GetInfo(run, &info);
  for (output = 0; status == NULL && output < kernel->output_count; ++output) {
    const Step* step = &kernel->steps[output];
    const EpTensorView* x;
    void* data = NULL;
    uint64_t i;
    /* Check the step: the record came from a file and may be wrong. */
    if (step->input >= info.input_count || info.inputs[step->input] == NULL ||
        info.inputs[step->input]->tensor == NULL || info.inputs[step->input]->tensor->element_type != EP_TYPE_FLOAT) {
      return Fail(host, EP_STATUS_INVALID_ARGUMENT,
                  "the partition has no float tensor at the input that it was compiled with");
    }
    x = info.inputs[step->input]->tensor;
    status = host->run->AllocateOutput(run, output, EP_TYPE_FLOAT, x->dims, x->rank, &data);
    for (i = 0; status == NULL && i < x->element_count; ++i) {
      /* Copied, because memory of an application may have any alignment [R724]. */
      float element;
      memcpy(&element, (const char*)x->data + i * sizeof element, sizeof element);
      element = Apply(step->operation, element);
      memcpy((char*)data + i * sizeof element, &element, sizeof element);
    }
  }
  return status;
}

static const EpProviderApi provider_api = {sizeof(EpProviderApi),
                                           0,
                                           CreateProvider,
                                           DestroyProvider,
                                           GetCapability,
                                           Compile,
                                           GetEpContextNodes,
                                           LoadContext,
                                           ReleaseKernel,
                                           NULL,
                                           NULL,
                                           Execute,
                                           NULL};

static const char* const sources[] = {"ExamplePlainC"};

static const EpPluginDescriptor descriptor = {sizeof(EpPluginDescriptor),
                                              EP_MAKE_ABI_VERSION(0, 2),
                                              "plain_c",
                                              "Example",
                                              "1.0.0",
                                              sources,
                                              1,
                                              0,
                                              Initialize,
                                              Shutdown,
                                              GetDevices,
                                              NULL,
                                              &provider_api,
                                              NULL};

EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host,
                                                          const EpPluginEnvironment* environment) {
  (void)host;
  (void)environment;
  return &descriptor;
}
