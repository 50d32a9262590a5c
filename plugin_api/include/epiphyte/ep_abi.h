/* Epiphyte plugin ABI: version, calling convention and the rules every struct and every call follows.
 *
 * The ABI is a set of C structs and function tables. It grows in two ways only: a struct gets new fields at its end,
 * and a new feature gets a string id and is asked for by name (`GetExtension`), in both directions. Nothing else
 * crosses the boundary: no bool, enum of unknown width, bitfield, `long`, FILE, errno, C++ type, exception or free().
 * Strings are UTF-8 and zero-terminated. [R508] Whoever allocates memory frees it. No call ends the process. [R1001]
 *
 * Sizes. `struct_size` is always the first field, but in structs that say that they are frozen.
 *   - Who fills a struct sets it to sizeof the struct that it knows. A reader reads a field only where the size covers
 *     it (EP_HAS_FIELD); what lies beyond the struct that it knows, it leaves alone.
 *   - Where the callee fills a struct of the caller's (an `…Info` that a call gives), the caller sets struct_size to
 *     the room there is [R512], and the callee lowers it to how far it filled. So EP_HAS_FIELD is true afterwards only
 *     for what was filled, also with a host that is older than the plugin. Room for less than the struct had when its
 *     function came into the ABI is INVALID_ARGUMENT, and nothing is filled.
 *   - `reserved` is zero; [R206 R319 R824] a reader refuses anything else. Unknown bits in `flags` are ignored. Where a
 *     number names one of several things, its header says what an unknown one means.
 *   - Structs have no padding at their end, on any data model, so that a field which is appended later never lies in
 *     what used to be padding.
 *
 * Calls. A count of 0 may come with a null pointer; otherwise a pointer is null only where its comment says so. What is
 * passed to a function (structs, arrays, strings, handles) lives until it returns, unless its comment says longer; what
 * is to be kept is copied. No call unwinds: neither side lets an exception or a longjmp pass the other. [R104
 * R301 R311 R401 R501 R601 R701 R731 R801 R813 R831 R1010 R1202 R1302] An out parameter is set only on success, unless
 * a comment says otherwise. Each function says on which threads it is called: [any thread] means also on several at once.
 *
 * Versions. While the major version is 0, a minor version may break the one before it, and a host speaks only its own.
 * From 1.0 on, a plugin built against 1.x loads in every host 1.y whose y is at least what the plugin says that it can
 * live with (EpPluginDescriptor::abi_version): a newer plugin looks, with EP_HAS_FIELD, before it uses what its lowest
 * version doesn't have.
 *
 * Example: reading a field that was appended later
 *     if (EP_HAS_FIELD(info, EpNodeInfo, flags)) use(info->flags);
 */
#ifndef EPIPHYTE_EP_ABI_H_
#define EPIPHYTE_EP_ABI_H_

#include <stddef.h>
#include <stdint.h>

#define EP_ABI_MAJOR 0u
#define EP_ABI_MINOR 2u
/* Versions travel as one number so that they compare with `<`. */
#define EP_MAKE_ABI_VERSION(major, minor) ((((uint32_t)(major)) << 16) | ((uint32_t)(minor)))
#define EP_ABI_VERSION EP_MAKE_ABI_VERSION(EP_ABI_MAJOR, EP_ABI_MINOR)
#define EP_ABI_VERSION_MAJOR(version) (((uint32_t)(version)) >> 16)
#define EP_ABI_VERSION_MINOR(version) (((uint32_t)(version)) & 0xFFFFu)

#if defined(_WIN32)
#define EP_CALL __cdecl
#else
#define EP_CALL
#endif

#ifdef __cplusplus
#define EP_EXTERN_C_BEGIN extern "C" {
#define EP_EXTERN_C_END }
#else
#define EP_EXTERN_C_BEGIN
#define EP_EXTERN_C_END
#endif

/* How large a struct is up to and with `field`. */
#define EP_SIZE_THROUGH(type, field) (offsetof(type, field) + sizeof(((type*)0)->field))

/* True when `ptr->struct_size` says that `field` is present. */
#define EP_HAS_FIELD(ptr, type, field) ((size_t)(ptr)->struct_size >= EP_SIZE_THROUGH(type, field))

EP_EXTERN_C_BEGIN

/* A string that may hold zero bytes and is not necessarily zero-terminated. Arrays of these cross the boundary, so the
 * struct is frozen: it never gets another field. */
typedef struct EpString {
  const char* data; /* may be null when size is 0 */
  uint64_t size;
} EpString;

/* A key and its value, both zero-terminated and never null. Frozen for ever, as EpString is. */
typedef struct EpKeyValue {
  const char* key;
  const char* value;
} EpKeyValue;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_ABI_H_ */
