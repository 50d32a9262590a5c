/* Run: inputs, outputs and state of a kernel's execution.
 *
 * Inputs are given. Outputs are allocated through the run, because their shapes may be known only now. Input views and
 * output memory are valid until Execute returns. Functions may be called only inside Execute, from its thread, unless
 * their comment says otherwise. A function that fails sets nothing, and the same output may be tried again.
 *
 * Example
 *     EpRunInfo run_info = {sizeof run_info};
 *     host->run->GetInfo(run, &run_info);
 *     const EpTensorView* x = run_info.inputs[0]->tensor;
 *     void* y = NULL;
 *     EpStatus* status = host->run->AllocateOutput(run, 0, x->element_type, x->dims, x->rank, &y);
 */
#ifndef EPIPHYTE_EP_RUN_H_
#define EPIPHYTE_EP_RUN_H_

#include "ep_status.h"
#include "ep_task.h"
#include "ep_value.h"

EP_EXTERN_C_BEGIN

typedef struct EpRun EpRun;

typedef struct EpRunInfo {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t thread_count; /* maximum number of threads of ParallelFor, including this one; see GetThreadCount */
  const EpValueView* const* inputs; /* `input_count`; null entry: an optional input that is absent */
  const char* tag;                  /* the application's name for this run, for logs and traces; "" if none */
  const EpKeyValue* options;        /* the application's options for this run and this provider; ignore unknown keys */
  uint32_t option_count;
  uint32_t reserved;
  uint64_t run_id; /* not 0; the same for all kernels of one run, unique in the process */
  /* Not 0: inputs and outputs have the same addresses and shapes as in all earlier runs of this kernel with the same
   * number, so recorded commands may be replayed. 0: no such promise. */
  uint64_t binding;
} EpRunInfo;

typedef struct EpRunApi {
  uint32_t struct_size;
  uint32_t reserved;

  EpStatus*(EP_CALL* GetInfo)(const EpRun* run, EpRunInfo* info); /* [R710 R713 R718] */

  /* Makes output `index` [R705] a dense tensor and gives its uninitialised memory, aligned to 64 bytes. [R712 R720] For
   * strings use SetStringOutput. Call it once for each output. [R704] If the run would exceed its memory limit, the
   * call gives FAIL, and the message names the option to raise. */
  EpStatus*(EP_CALL* AllocateOutput)(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                                     uint32_t rank, void** data);

  /* Makes output `index` a string tensor; the strings are copied. */
  EpStatus*(EP_CALL* SetStringOutput)(EpRun* run, uint32_t index, const int64_t* dims, uint32_t rank,
                                      const EpString* strings);

  /* Values other than tensors are built bottom-up and then set. A function that creates a value gives one reference,
   * valid in this Execute only. [R714] The host releases references that are left. SetOutput, CreateSequence and
   * CreateMap take their own references. */
  EpStatus*(EP_CALL* CreateTensor)(EpRun* run, EpElementType element_type, const int64_t* dims, uint32_t rank,
                                   EpValue** value, void** data);
  EpStatus*(EP_CALL* CreateStringTensor)(EpRun* run, const int64_t* dims, uint32_t rank, const EpString* strings,
                                         EpValue** value);
  /* `element_type` is the element type of the tensors inside, needed when the sequence is empty. */
  EpStatus*(EP_CALL* CreateSequence)(EpRun* run, EpElementType element_type, EpValue* const* elements, uint64_t count,
                                     EpValue** value);
  /* `keys` is a 1-D tensor of int64 or string. `values` is a 1-D tensor of equal length. */
  EpStatus*(EP_CALL* CreateMap)(EpRun* run, EpValue* keys, EpValue* values, EpValue** value);
  /* Creates an optional without a value. An optional with a value is that value itself. */
  EpStatus*(EP_CALL* CreateEmptyOptional)(EpRun* run, EpValue** value);
  /* Gives a reference to an input's value or to an element of it, to pass it on without a copy. `view` must be the
   * input's own view, not a copy of it. */
  EpStatus*(EP_CALL* ShareValue)(EpRun* run, const EpValueView* view, EpValue** value); /* [R717] */
  EpStatus*(EP_CALL* SetOutput)(EpRun* run, uint32_t index, EpValue* value);            /* [R715] */
  /* Null is allowed. [R716] */
  void(EP_CALL* ReleaseValue)(EpValue* value);

  /* Returns non-zero when the application has cancelled the run: then return CANCELED soon.
   * [any thread, while Execute runs] */
  uint32_t(EP_CALL* IsCancelled)(const EpRun* run); /* [R723] */

  /* `listener` is called when the application cancels the run, or at once if it has cancelled already. It runs on the
   * thread that cancels, and that thread waits for it; see EpCancelListener. An Execute has one listener. Null removes
   * it and waits until it isn't running. It is not called after Execute. */
  EpStatus*(EP_CALL* SetCancelListener)(EpRun* run, EpCancelListener listener, void* user);
} EpRunApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_RUN_H_ */
