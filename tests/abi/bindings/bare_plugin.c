/* A plugin that uses no macro of the headers, like one in another language. It sees the declarations and constants that
 * a generator of bindings makes of the headers (make_bindings.sh). It runs chains of Neg on float, unless its option
 * `claim` is false. */
#include "bindings.h"

void* malloc(size_t size);
void free(void* memory);
int strcmp(const char* left, const char* right);

struct EpPlugin {
  const EpHostInfo* host;
  EpDeviceInfo device;
};
struct EpProvider {
  const EpHostInfo* host;
  int claims;
};
struct EpKernel {
  const EpHostInfo* host;
  uint32_t output_count;
  uint32_t inputs[16]; /* input number of each output */
  float signs[16];
};

static EpStatus* Fail(const EpHostInfo* host, EpStatusCode code, const char* message) { return host->status->Create(code, message); }

static EpStatus* Initialize(const EpHostInfo* host, const EpPluginEnvironment* environment, EpPlugin** plugin) {
  EpDeviceInfo device = {0};
  (void)environment;
  *plugin = malloc(sizeof(struct EpPlugin));
  if (*plugin == 0) return Fail(host, EP_STATUS_OUT_OF_MEMORY, "no memory for the plugin");
  device.struct_size = sizeof(device);
  device.kind = EP_DEVICE_OTHER;
  device.name = "bare";
  device.vendor = device.driver_version = device.architecture = device.location = device.uuid = "";
  (*plugin)->host = host;
  (*plugin)->device = device;
  return 0;
}

static void Shutdown(EpPlugin* plugin) { free(plugin); }

static EpStatus* GetDevices(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count) {
  *count = 1;
  if (capacity > 0) devices[0] = &plugin->device;
  return 0;
}

static const EpOptionInfo claim_option = {
    .struct_size = sizeof(EpOptionInfo),
    .type = EP_OPTION_BOOL,
    .name = "claim",
    .default_value = "true",
    .help = "false: no node is claimed",
};

static EpStatus* GetOptions(EpPlugin* plugin, const EpOptionInfo** options, uint32_t capacity, uint32_t* count) {
  (void)plugin;
  *count = 1;
  if (capacity > 0) options[0] = &claim_option;
  return 0;
}

static const EpOptionsApi options_api = {.struct_size = sizeof(EpOptionsApi), .GetOptions = GetOptions};

static const void* GetExtension(EpPlugin* plugin, const char* id) {
  (void)plugin;
  return strcmp(id, EP_OPTIONS_EXTENSION) == 0 ? &options_api : 0;
}

static EpStatus* CreateProvider(EpPlugin* plugin, const EpProviderConfig* config, EpProvider** provider) {
  int claims = 1;
  uint32_t i;
  for (i = 0; i < config->option_count; ++i) {
    if (strcmp(config->options[i].key, "claim") != 0) return Fail(plugin->host, EP_STATUS_INVALID_ARGUMENT, "bare has the option 'claim'");
    claims = strcmp(config->options[i].value, "1") == 0;
  }
  *provider = malloc(sizeof(struct EpProvider));
  if (*provider == 0) return Fail(plugin->host, EP_STATUS_OUT_OF_MEMORY, "no memory for a provider");
  (*provider)->host = plugin->host;
  (*provider)->claims = claims;
  return 0;
}

static void DestroyProvider(EpProvider* provider) { free(provider); }

static EpStatus* GetCapability(EpProvider* provider, const EpGraph* graph, EpCapabilitySink* sink) {
  const EpHostInfo* host = provider->host;
  EpGraphInfo info = {0};
  EpStatus* status;
  uint64_t i;
  info.struct_size = sizeof(info);
  status = host->graph->GetGraphInfo(graph, &info);
  for (i = 0; provider->claims && status == 0 && i < info.node_count; ++i) {
    EpNodeInfo node = {0};
    EpValueDefInfo input = {0};
    node.struct_size = sizeof(node);
    input.struct_size = sizeof(input);
    status = host->graph->GetNodeInfo(info.nodes[i], &node);
    if (status != 0 || node.input_count != 1 || strcmp(node.op_type, "Neg") != 0 || *node.domain != 0) continue;
    status = host->graph->GetValueDefInfo(node.inputs[0], &input);
    if (status != 0 || (node.flags & EP_NODE_PLACED) != 0 || (input.flags & EP_VALUE_CONSTANT) != 0) continue;
    if (input.type->element_type == EP_TYPE_FLOAT) status = host->capability->SupportNodes(sink, &info.nodes[i], 1);
  }
  return status;
}

/* Finds the input that an output comes from. The output is that input, negated once for each node between them. */
static EpStatus* Trace(const EpHostInfo* host, const EpGraphInfo* graph, const EpValueDef* value, uint32_t* input, float* sign) {
  *sign = 1;
  for (;;) {
    EpValueDefInfo info = {0};
    EpNodeInfo node = {0};
    EpStatus* status;
    for (*input = 0; *input < graph->input_count; ++*input) {
      if (graph->inputs[*input] == value) return 0;
    }
    info.struct_size = sizeof(info);
    node.struct_size = sizeof(node);
    status = host->graph->GetValueDefInfo(value, &info);
    if (status == 0) status = host->graph->GetNodeInfo(info.producer, &node);
    if (status != 0) return status;
    value = node.inputs[0];
    *sign = -*sign;
  }
}

static EpStatus* Compile(EpProvider* provider, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task, EpKernel** kernels) {
  const EpHostInfo* host = provider->host;
  uint64_t i;
  for (i = 0; i < count; ++i) {
    EpGraphInfo info = {0};
    EpStatus* status;
    uint32_t k;
    info.struct_size = sizeof(info);
    if (host->task->ReportProgress(task, i, count, 0) != 0) return Fail(host, EP_STATUS_MODEL_LOAD_CANCELED, "compiling was cancelled");
    status = host->graph->GetGraphInfo(partitions[i]->graph, &info);
    if (status != 0) return status;
    if (info.output_count > 16) {
      status = host->task->DeclinePartition(task, i, "more than 16 outputs");
      if (status != 0) return status;
      continue;
    }
    kernels[i] = malloc(sizeof(struct EpKernel));
    if (kernels[i] == 0) return Fail(host, EP_STATUS_OUT_OF_MEMORY, "no memory for a kernel");
    kernels[i]->host = host;
    kernels[i]->output_count = (uint32_t)info.output_count;
    for (k = 0; k < info.output_count; ++k) {
      status = Trace(host, &info, info.outputs[k], &kernels[i]->inputs[k], &kernels[i]->signs[k]);
      if (status != 0) return status;
    }
  }
  return 0;
}

static void ReleaseKernel(EpKernel* kernel) { free(kernel); }

static EpStatus* Execute(EpKernel* kernel, EpKernelState* state, EpRun* run) {
  EpRunInfo info = {0};
  EpStatus* status;
  uint32_t output;
  (void)state;
  info.struct_size = sizeof(info);
  status = kernel->host->run->GetInfo(run, &info);
  for (output = 0; status == 0 && output < kernel->output_count; ++output) {
    const EpTensorView* x = info.inputs[kernel->inputs[output]]->tensor;
    void* data = 0;
    uint64_t i;
    status = kernel->host->run->AllocateOutput(run, output, EP_TYPE_FLOAT, x->dims, x->rank, &data);
    for (i = 0; status == 0 && i < x->element_count; ++i) ((float*)data)[i] = kernel->signs[output] * ((const float*)x->data)[i];
  }
  return status;
}

static const EpProviderApi provider_api = {
    .struct_size = sizeof(EpProviderApi),
    .CreateProvider = CreateProvider,
    .DestroyProvider = DestroyProvider,
    .GetCapability = GetCapability,
    .Compile = Compile,
    .ReleaseKernel = ReleaseKernel,
    .Execute = Execute,
};

static const EpPluginDescriptor descriptor = {
    .struct_size = sizeof(EpPluginDescriptor),
    .abi_version = EP_ABI_MAJOR << 16 | EP_ABI_MINOR,
    .name = "bare",
    .vendor = "Example",
    .version = "1.0.0",
    .Initialize = Initialize,
    .Shutdown = Shutdown,
    .GetDevices = GetDevices,
    .provider = &provider_api,
    .GetExtension = GetExtension,
};

const EpPluginDescriptor* EpPluginQuery(const EpHostInfo* host, const EpPluginEnvironment* environment) {
  (void)host;
  (void)environment;
  return &descriptor;
}
