// The ways in which misbehaving_plugin.cpp can misbehave. Each name is also the name of the plugin's file.
#pragma once

// CMakeLists.txt reads the names from this file, too.
// clang-format off
#define EPIPHYTE_MISBEHAVIOURS(X)                                                                                      \
  X(kWellBehaved) X(kNullDescriptor) X(kThrowsInQuery) X(kDescriptorTooSmall) X(kDescriptorFromTheFuture)              \
  X(kProviderTableTooSmall) X(kAbiTooNew) X(kAbiTooOld) X(kNullName) X(kNullSources) X(kTooManySources)                \
  X(kGarbageStrings) X(kLiesAboutName) X(kLiesAboutSources) X(kNullInitialize) X(kNullProviderTable)                   \
  X(kNullCompile) X(kNullExecute) X(kHalfOfContextPair) X(kThrowsInInitialize) X(kFailsInInitialize)                   \
  X(kThrowsInGetDevices) X(kNoDevices) X(kNullDevice) X(kTooManyDevices) X(kThrowsInCreateProvider)                    \
  X(kFailsInCreateProvider) X(kNullProvider) X(kThrowsInGetCapability) X(kFailsInGetCapability)                        \
  X(kClaimsForeignNode) X(kClaimsNullNode) X(kClaimsHugeCount) X(kClaimsTwice) X(kClaimsNonConvexGroup)                \
  X(kGarbageReason) X(kThrowsInCompile) X(kFailsInCompile) X(kTooFewKernels) X(kSameKernelTwice)                       \
  X(kThrowsInExecute) X(kFailsInExecute) X(kSetsNoOutput) X(kSetsOutputTwice) X(kWrongOutputType)                      \
  X(kWrongOutputIndex) X(kHugeRank) X(kNegativeDims) X(kThrowsInGetEpContextNodes) X(kNoContextNodes)                  \
  X(kUnfinishedPayload) X(kContextForUnknownPartition) X(kForeignContextSource) X(kThrowsInLoadContext)                \
  X(kThrowsInRelease) X(kWrongOutputKind) X(kWrongOutputDims) X(kWrongOutputRank) X(kForeignValue)                     \
  X(kReleasedValue) X(kReleasesValueTwice) X(kNeverReleasesValue) X(kForeignView) X(kValueOfAnotherRun)                \
  X(kValueOnAnotherThread) X(kNullState) X(kSameStateTwice) X(kThrowsInReleaseState) X(kThrowsInCreateState)           \
  X(kForeignStatus) X(kReleasedStatus) X(kForeignWriter) X(kStaleWriter) X(kStaleContextSink)                          \
  X(kStaleCapabilitySink) X(kSameKernelInEverySession) X(kManyDevices) X(kUnknownDeviceKind)                           \
  X(kSmallClaim) X(kClaimsExactly) X(kClaimsConnected) X(kInfoWithoutRoom) X(kDeclinesOthers)      \
  X(kDeclinesAll) X(kDeclinesTwice) X(kDeclinesAndCompiles) X(kDeclinesUnknown) X(kStaleTask) X(kForeignTask)         \
  X(kThrowsInDescribeKernel) X(kExclusiveKernels) X(kReservedInDescriptor) X(kReservedInProviderTable)                \
  X(kReservedInDevice) X(kReservedInContextNode) X(kTellsOfItsRun) X(kDeviceElsewhere) X(kLostDevice)                  \
  X(kClaimsFunctionInALostGroup) X(kFailsOnFunctions) X(kReportsOnFourThreads) X(kLiesAboutVersion)
// clang-format on

#define EPIPHYTE_ENUMERATOR(name) name,
enum Misbehaviour { EPIPHYTE_MISBEHAVIOURS(EPIPHYTE_ENUMERATOR) };
#undef EPIPHYTE_ENUMERATOR
