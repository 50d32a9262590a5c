/* Run: what a kernel sees while it executes.
 *
 * Inputs are given; outputs are allocated through the run, because their shapes may be known only now. Input views
 * and output memory are valid until Execute returns. Functions may be called only inside Execute, from its thread,
 * where they don't say otherwise. A function that fails sets nothing; the output that it was about may be tried again.
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
  uint32_t thread_count; /* how many threads ParallelFor uses at most, this one included; see GetThreadCount */
  const EpValueView* const* inputs; /* `input_count`; null entry: an optional input that is absent */
  const char* tag;                  /* what the application calls this run, for logs and traces; "" if nothing */
  const EpKeyValue* options;        /* that the application gave this run for this provider; unknown keys are ignored */
  uint32_t option_count;
  uint32_t reserved;
  uint64_t run_id; /* not 0; the same for all kernels of one run, and no other run of the process has it */
  /* Not 0: inputs and outputs have the addresses and shapes that they had in all earlier runs of this kernel with the
   * same number, so that recorded commands may be replayed. 0: nothing of the kind is promised. */
  uint64_t binding;
} EpRunInfo;

typedef struct EpRunApi {
  uint32_t struct_size;
  uint32_t reserved;

  EpStatus*(EP_CALL* GetInfo)(const EpRun* run, EpRunInfo* info); /* [R710 R713 R718] */

  /* Makes output `index` [R705] a dense tensor and gives its memory, aligned to 64 bytes, [R712] uninitialised. [R720]
   * For strings use SetStringOutput. Once per output. [R704] FAIL, with the option to raise, when the run would take
   * more memory than it may. */
  EpStatus*(EP_CALL* AllocateOutput)(EpRun* run, uint32_t index, EpElementType element_type, const int64_t* dims,
                                     uint32_t rank, void** data);

  /* Output `index` becomes a string tensor; the strings are copied. */
  EpStatus*(EP_CALL* SetStringOutput)(EpRun* run, uint32_t index, const int64_t* dims, uint32_t rank,
                                      const EpString* strings);

  /* Values other than tensors are built bottom-up and then set. What makes a value gives one reference, good in this
   * Execute only [R714]; the host releases what is left. SetOutput, CreateSequence and CreateMap take their own. */
  EpStatus*(EP_CALL* CreateTensor)(EpRun* run, EpElementType element_type, const int64_t* dims, uint32_t rank,
                                   EpValue** value, void** data);
  EpStatus*(EP_CALL* CreateStringTensor)(EpRun* run, const int64_t* dims, uint32_t rank, const EpString* strings,
                                         EpValue** value);
  /* `element_type` is the element type of the tensors inside, needed when the sequence is empty. */
  EpStatus*(EP_CALL* CreateSequence)(EpRun* run, EpElementType element_type, EpValue* const* elements, uint64_t count,
                                     EpValue** value);
  /* Keys: a 1-D tensor of int64 or string; values: a 1-D tensor of equal length. */
  EpStatus*(EP_CALL* CreateMap)(EpRun* run, EpValue* keys, EpValue* values, EpValue** value);
  /* An optional without a value. An optional with one is that value itself. */
  EpStatus*(EP_CALL* CreateEmptyOptional)(EpRun* run, EpValue** value);
  /* A reference to the value behind the very view of an input, or of an element of one: passes it on without a copy. */
  EpStatus*(EP_CALL* ShareValue)(EpRun* run, const EpValueView* view, EpValue** value); /* [R717] */
  EpStatus*(EP_CALL* SetOutput)(EpRun* run, uint32_t index, EpValue* value); /* [R715] */
  /* Null is allowed. [R716] */
  void(EP_CALL* ReleaseValue)(EpValue* value);

  /* Non-zero when the application has cancelled the run: return CANCELED soon. [any thread, while Execute runs] */
  uint32_t(EP_CALL* IsCancelled)(const EpRun* run); /* [R723] */

  /* `listener` is called when the application cancels the run, on the thread that does so and waits for it, at once if
   * that has happened already; see EpCancelListener. One for each Execute; null takes it away, and waits until it isn't
   * running. After Execute it is not called any more. */
  EpStatus*(EP_CALL* SetCancelListener)(EpRun* run, EpCancelListener listener, void* user);
} EpRunApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_RUN_H_ */
