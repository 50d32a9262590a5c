/* Epiphyte plugin ABI: version, calling convention and the rules that every struct and every call follows.
 *
 * The ABI is a set of C structs and function tables. It grows in two ways only: a struct gets new fields at its end,
 * and a new feature gets a string id and is asked for by name (`GetExtension`), in both directions. Nothing else
 * crosses the boundary: no bool, enum of unknown width, bitfield, `long`, FILE, errno, C++ type, exception or free().
 * Strings are UTF-8 and zero-terminated. [R508] Memory is freed by the side that allocated it. No call ends the
 * process. [R1001]
 *
 * Sizes. `struct_size` is always the first field, except in structs that say that they are frozen.
 *   - The writer of a struct sets it to sizeof the struct that it was compiled with. A reader reads a field only where
 *     the size covers it (EP_HAS_FIELD). It ignores bytes beyond the struct that it was compiled with.
 *   - If the callee fills a struct of the caller (an `…Info` that a call gives), the caller sets struct_size to the
 *     room there is. [R512] The callee lowers it to the bytes that it filled. Afterwards EP_HAS_FIELD is true only for
 *     filled fields, also with a host that is older than the plugin. If the room is less than the size of the struct
 *     when its function came into the ABI, the result is INVALID_ARGUMENT and nothing is filled.
 *   - `reserved` is zero; a reader refuses anything else. [R206 R319 R824] Unknown bits in `flags` are ignored. For a
 *     number that selects one of several things, its header says how an unknown number is treated.
 *   - Structs have no padding at their end, on any data model. A field that is appended later therefore never lies in
 *     former padding.
 *
 * Calls. A count of 0 may come with a null pointer; otherwise a pointer is null only where its comment says so.
 * Arguments of a function (structs, arrays, strings, handles) live until it returns, unless its comment says longer.
 * The callee copies everything that it keeps. No call unwinds: neither side lets an exception or a longjmp pass the
 * other. [R104 R301 R311 R401 R501 R601 R701 R731 R801 R813 R831 R1010 R1202 R1302] An out parameter is set only on
 * success, unless a comment says otherwise. Each function says on which threads it is called: [any thread] means also
 * on several at once.
 *
 * Versions. While the major version is 0, a minor version may break the one before it, and a host speaks only its own.
 * From 1.0 on, a plugin built against 1.x loads in every host 1.y with y at least the minor version of
 * EpPluginDescriptor::abi_version, the lowest ABI that the plugin accepts. A newer plugin checks with EP_HAS_FIELD
 * before it uses a feature that its lowest version lacks.
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
/* A version is one number, so that versions compare with `<`. */
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

/* Size in bytes of a struct up to and including `field`. */
#define EP_SIZE_THROUGH(type, field) (offsetof(type, field) + sizeof(((type*)0)->field))

/* True when `ptr->struct_size` says that `field` is present. */
#define EP_HAS_FIELD(ptr, type, field) ((size_t)(ptr)->struct_size >= EP_SIZE_THROUGH(type, field))

EP_EXTERN_C_BEGIN

/* A string that may hold zero bytes and is not necessarily zero-terminated. The struct is frozen, because arrays of it
 * cross the boundary: it never gets another field. */
typedef struct EpString {
  const char* data; /* may be null when size is 0 */
  uint64_t size;
} EpString;

/* A key and its value, both zero-terminated and never null. The struct is frozen, as EpString is. */
typedef struct EpKeyValue {
  const char* key;
  const char* value;
} EpKeyValue;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_ABI_H_ */
