/* Epiphyte plugin ABI: version, calling convention and the rules every struct follows.
 *
 * The ABI is a set of C structs and function tables. It grows in two ways only:
 *   - a struct gets new fields at its end; `struct_size` (always the first field, set by whoever fills the struct)
 *     tells the reader which fields are there;
 *   - a new feature gets a string id and is asked for by name (`GetExtension`), in both directions.
 * Nothing else crosses the boundary: no bool, enum of unknown width, bitfield, `long`, FILE, errno, C++ type,
 * exception or free(). Strings are UTF-8. Whoever allocates memory frees it.
 *
 * While the major version is 0 a minor version may break the one before it; from 1.0 on a plugin built against
 * 1.x loads in every host 1.y.
 *
 * Example: reading a field that was appended later
 *     if (EP_HAS_FIELD(info, EpNodeInfo, flags)) use(info->flags);
 */
#ifndef EPIPHYTE_EP_ABI_H_
#define EPIPHYTE_EP_ABI_H_

#include <stddef.h>
#include <stdint.h>

#define EP_ABI_MAJOR 0u
#define EP_ABI_MINOR 1u
/* Versions travel as one number so that they compare with `<`. */
#define EP_MAKE_ABI_VERSION(major, minor) ((((uint32_t)(major)) << 16) | ((uint32_t)(minor)))
#define EP_ABI_VERSION EP_MAKE_ABI_VERSION(EP_ABI_MAJOR, EP_ABI_MINOR)
#define EP_ABI_VERSION_MAJOR(version) (((uint32_t)(version)) >> 16)
#define EP_ABI_VERSION_MINOR(version) (((uint32_t)(version)) & 0xFFFFu)

#if defined(_WIN32)
#define EP_CALL __cdecl
#define EP_EXPORT __declspec(dllexport)
#else
#define EP_CALL
#define EP_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define EP_EXTERN_C_BEGIN extern "C" {
#define EP_EXTERN_C_END }
#else
#define EP_EXTERN_C_BEGIN
#define EP_EXTERN_C_END
#endif

/* True when `ptr->struct_size` says that `field` is present. */
#define EP_HAS_FIELD(ptr, type, field) \
  ((size_t)(ptr)->struct_size >= offsetof(type, field) + sizeof((ptr)->field))

EP_EXTERN_C_BEGIN

/* A string that may hold zero bytes and is not necessarily zero-terminated. */
typedef struct EpString {
  const char* data;
  uint64_t size;
} EpString;

/* A key and its value, both zero-terminated. */
typedef struct EpKeyValue {
  const char* key;
  const char* value;
} EpKeyValue;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_ABI_H_ */
