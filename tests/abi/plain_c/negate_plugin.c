/* A plugin in plain C: runs ONNX Neg and Abs on float tensors, with contexts of its own. */
#include <stdlib.h>
#include <string.h>

#include <epiphyte/ep_plugin.h>

static const EpHostInfo* host;

struct EpPlugin {
  int unused;
};
struct EpProvider {
  uint32_t kernel_count; /* of all Compile calls */
  unsigned char* programs; /* one operation for each compiled partition: what a context stores */
};
struct EpKernel {
  unsigned char operation;
};

enum { kNegate = 'n', kAbsolute = 'a' };

static EpStatus* Fail(EpStatusCode code, const char* message) { return host->status->Create(code, message); }

static struct EpPlugin the_plugin;

static EpStatus* EP_CALL Initialize(const EpHostInfo* info, const EpPluginEnvironment* environment, EpPlugin** plugin) {
  (void)environment;
  host = info;
  *plugin = &the_plugin;
  return NULL;
}

static void EP_CALL Shutdown(EpPlugin* plugin) { (void)plugin; }

static EpStatus* EP_CALL GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  static const EpDeviceInfo device = {sizeof(EpDeviceInfo), EP_DEVICE_OTHER, "negator", "Example", "1.0", "any"};
  (void)plugin;
  *count = 1;
  if (capacity > 0) devices[0] = &device;
  return NULL;
}

static EpStatus* EP_CALL CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
  (void)plugin;
  (void)config;
  *provider = calloc(1, sizeof(EpProvider));
  return *provider == NULL ? Fail(EP_STATUS_FAIL, "out of memory") : NULL;
}

static void EP_CALL DestroyProvider(EpProvider* provider) {
  free(provider->programs);
  free(provider);
}

static unsigned char OperationOf(const EpNode* node) {
  EpNodeInfo info;
  EpValueDefInfo input;
  EpStatus* status;
  memset(&info, 0, sizeof(info));
  memset(&input, 0, sizeof(input));
  info.struct_size = sizeof(info);
  input.struct_size = sizeof(input);
  status = host->graph->GetNodeInfo(node, &info);
  if (status == NULL && info.input_count == 1 && info.inputs[0] != NULL) status = host->graph->GetValueDefInfo(info.inputs[0], &input);
  if (status != NULL) {
    host->status->Release(status);
    return 0;
  }
  if (input.type == NULL || input.type->element_type != EP_TYPE_FLOAT || (info.flags & EP_NODE_PLACED) != 0) return 0;
  if (info.domain[0] != '\0') return 0;
  if (strcmp(info.op_type, "Neg") == 0) return kNegate;
  if (strcmp(info.op_type, "Abs") == 0) return kAbsolute;
  return 0;
}

static EpStatus* EP_CALL GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
  EpGraphInfo info;
  EpStatus* status;
  uint64_t i;
  (void)provider;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  status = host->graph->GetGraphInfo(graph, &info);
  for (i = 0; status == NULL && i < info.node_count; ++i) {
    /* As groups of one: this plugin runs single nodes and never a fused partition. */
    if (OperationOf(info.nodes[i]) != 0) {
      status = host->capability->SupportGroup(sink, &info.nodes[i], 1, "negator");
    } else {
      status = host->capability->DeclineNode(sink, info.nodes[i], "only Neg and Abs of float");
    }
  }
  return status;
}

static EpKernel* NewKernel(unsigned char operation) {
  EpKernel* kernel = malloc(sizeof(EpKernel));
  if (kernel != NULL) kernel->operation = operation;
  return kernel;
}

/* A partition may hold several nodes, because the host merges neighbours: their composition is one operation again. */
static unsigned char Compose(const EpGraphInfo* graph) {
  unsigned char result = 0;
  uint64_t i;
  for (i = 0; i < graph->node_count; ++i) {
    unsigned char next = OperationOf(graph->nodes[i]);
    if (next == 0) return 0;
    if (result == 0 || next == kAbsolute) {
      result = next;
    } else if (result == kNegate) {
      result = '+'; /* twice negated: unchanged */
    } else {
      result = result == '+' ? kNegate : result == '-' ? kAbsolute : '-'; /* '-': minus the absolute value */
    }
  }
  return result;
}

static EpStatus* EP_CALL Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count,
                                 EpProgress* progress, EpKernel** kernels) {
  uint64_t i;
  unsigned char* grown = realloc(provider->programs, provider->kernel_count + count);
  if (grown == NULL) return Fail(EP_STATUS_FAIL, "out of memory");
  provider->programs = grown;
  for (i = 0; i < count; ++i) {
    EpGraphInfo info;
    EpStatus* status;
    unsigned char operation;
    memset(&info, 0, sizeof(info));
    info.struct_size = sizeof(info);
    status = host->graph->GetGraphInfo(partitions[i]->graph, &info);
    if (status != NULL) return status;
    operation = Compose(&info);
    if (operation == 0 || info.input_count != 1 || info.output_count != 1) return Fail(EP_STATUS_NOT_IMPLEMENTED, "only chains of Neg and Abs can be compiled");
    kernels[i] = NewKernel(operation);
    if (kernels[i] == NULL) return Fail(EP_STATUS_FAIL, "out of memory");
    provider->programs[provider->kernel_count++] = operation;
    if (host->services->ReportProgress(progress, i + 1, count, "negator") != 0) return Fail(EP_STATUS_MODEL_LOAD_CANCELED, "cancelled");
  }
  return NULL;
}

static EpStatus* EP_CALL GetEpContextNodes(EpProvider* provider, EpContextSink* sink) {
  EpContextWriter* payload = NULL;
  uint32_t i;
  EpStatus* status = host->context->BeginPayload(sink, &payload);
  if (status == NULL) status = host->context->Write(payload, provider->programs, provider->kernel_count);
  if (status == NULL) status = host->context->EndPayload(payload);
  for (i = 0; status == NULL && i < provider->kernel_count; ++i) {
    EpContextNodeDesc node;
    char notes[16];
    memset(&node, 0, sizeof(node));
    node.struct_size = sizeof(node);
    node.partition = i;
    node.main_context = i == 0;
    node.payload = i == 0 ? payload : NULL;
    node.ep_sdk_version = "negator 1.0";
    notes[0] = (char)('0' + i % 10); /* the place in the payload */
    notes[1] = (char)('0' + i / 10 % 10);
    notes[2] = '\0';
    node.notes = notes;
    status = host->context->AddNode(sink, &node);
  }
  return status;
}

static EpStatus* EP_CALL LoadContext(EpProvider* provider, const EpContextNodeInfo* const* nodes, uint64_t node_count,
                                     const EpContextBlob* const* blobs, uint64_t blob_count, EpProgress* progress,
                                     EpKernel** kernels) {
  uint64_t i;
  (void)provider;
  (void)progress;
  for (i = 0; i < node_count; ++i) {
    const char* notes = nodes[i]->notes;
    const EpContextBlob* blob;
    uint64_t place;
    if (nodes[i]->blob < 0 || (uint64_t)nodes[i]->blob >= blob_count || strlen(notes) != 2 || notes[0] < '0' || notes[0] > '9' || notes[1] < '0' || notes[1] > '9') {
      return Fail(EP_STATUS_INVALID_GRAPH, "the node was not written by negator 1.0; compile the model again");
    }
    blob = blobs[nodes[i]->blob];
    place = (uint64_t)(notes[0] - '0') + 10u * (uint64_t)(notes[1] - '0');
    if (place >= blob->size) return Fail(EP_STATUS_INVALID_GRAPH, "the payload is cut off; compile the model again");
    kernels[i] = NewKernel(((const unsigned char*)blob->data)[place]);
    if (kernels[i] == NULL) return Fail(EP_STATUS_FAIL, "out of memory");
  }
  return NULL;
}

static void EP_CALL ReleaseKernel(EpKernel* kernel) { free(kernel); }

static EpStatus* EP_CALL Execute(EpKernel* kernel, EpKernelState* state, EpRun* run) {
  EpRunInfo info;
  const EpTensorView* x;
  void* data = NULL;
  EpStatus* status;
  uint64_t i;
  (void)state;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  status = host->run->GetInfo(run, &info);
  if (status != NULL) return status;
  x = info.inputs[0]->tensor;
  status = host->run->AllocateOutput(run, 0, EP_TYPE_FLOAT, x->dims, x->rank, &data);
  if (status != NULL) return status;
  for (i = 0; i < x->element_count; ++i) {
    float value = ((const float*)x->data)[i];
    float magnitude = value < 0 ? -value : value;
    ((float*)data)[i] = kernel->operation == kNegate ? -value : kernel->operation == kAbsolute ? magnitude : kernel->operation == '-' ? -magnitude : value;
  }
  return NULL;
}

static const EpProviderApi provider_api = {
    sizeof(EpProviderApi), 0, CreateProvider, DestroyProvider, GetCapability, Compile, GetEpContextNodes, LoadContext, ReleaseKernel, NULL, NULL, Execute};

static const char* const sources[] = {"ExampleNegator"};

static const EpPluginDescriptor descriptor = {
    sizeof(EpPluginDescriptor), EP_ABI_VERSION, "negator", "Example", "1.0.0", sources, 1, 0, Initialize, Shutdown, GetDevices, NULL, &provider_api, NULL};

EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* info) {
  if (info == NULL || info->abi_min > EP_ABI_VERSION || info->abi_max < EP_ABI_VERSION) return NULL;
  return &descriptor;
}
