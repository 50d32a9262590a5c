// TIFF, by libtiff: the first image of the file.
#include <tiffio.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "plugins/cpu/images/decoder.h"

namespace epiphyte::cpu::images {
namespace {

// The file as a source for the library.
struct File {
  Source source;
  uint64_t at = 0;
  char message[256] = {};
};

File& Of(thandle_t handle) { return *static_cast<File*>(handle); }

tmsize_t Read(thandle_t handle, void* to, tmsize_t count) {
  File& file = Of(handle);
  if (count < 0 || file.at >= file.source.size()) return 0;
  const uint64_t there = std::min<uint64_t>(static_cast<uint64_t>(count), file.source.size() - file.at);
  std::memcpy(to, file.source.data() + file.at, there);
  file.at += there;
  return static_cast<tmsize_t>(there);
}

tmsize_t Write(thandle_t, void*, tmsize_t) { return 0; }

toff_t Seek(thandle_t handle, toff_t offset, int from) {
  File& file = Of(handle);
  const uint64_t base = from == SEEK_CUR ? file.at : from == SEEK_END ? file.source.size() : 0;
  return file.at = base + offset;
}

int Close(thandle_t) { return 0; }
toff_t Size(thandle_t handle) { return Of(handle).source.size(); }
// The library only reads the mapped memory.
int Map(thandle_t handle, void** base, toff_t* size) {
  const Source source = Of(handle).source;
  *base = const_cast<uint8_t*>(source.data());
  *size = source.size();
  return 1;
}

void Unmap(thandle_t, void*, toff_t) {}

// Keeps the first error, because it is the cause of the others.
int KeepError(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  File& file = *static_cast<File*>(user);
  if (file.message[0] == '\0') std::vsnprintf(file.message, sizeof file.message, format, arguments);
  return 1;
}

int DropWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct Closer {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

// Requests colors as stored, not multiplied by their opacity.
void LeaveColors(TIFF* tiff) {
  uint16_t count = 0;
  const uint16_t* kinds = nullptr;
  if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) != 1 || count == 0) return;
  if (kinds[0] != EXTRASAMPLE_UNASSALPHA) return;
  std::unique_ptr<uint16_t[]> changed(new uint16_t[count]);
  std::copy(kinds, kinds + count, changed.get());
  changed[0] = EXTRASAMPLE_ASSOCALPHA;
  TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, count, changed.get());
}

// Bytes of the file that the library holds at a time: a strip or tile of each plane. It may be larger than the image.
uint64_t PartBytes(TIFF* tiff) {
  constexpr uint64_t kMostPlanes = 4;  // planes that colors are made from
  uint16_t planes = PLANARCONFIG_CONTIG;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planes);
  const uint64_t bytes = TIFFIsTiled(tiff) != 0 ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
  const uint64_t most = UINT64_MAX / 2 / kMostPlanes;
  return std::min(bytes, most) * (planes == PLANARCONFIG_SEPARATE ? kMostPlanes : 1);
}

}  // namespace

void DecodeTiff(Source source, const Sink& sink) {
  File file{source};
  const std::unique_ptr<TIFFOpenOptions, Closer> options(TIFFOpenOptionsAlloc());
  if (!options) FailWrong("libtiff has no memory");
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), KeepError, &file);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), DropWarning, &file);
  // Limits memory for the file's lists; the pixels have been checked before.
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), tmsize_t{1} << 32);
  const std::unique_ptr<TIFF, Closer> tiff(
      TIFFClientOpenExt("image", "r", &file, Read, Write, Seek, Close, Size, Map, Unmap, options.get()));
  const auto fail = [&] { FailWrong(file.message[0] == '\0' ? "the TIFF is damaged" : file.message); };
  if (!tiff) fail();
  char reason[1024] = {};
  if (TIFFRGBAImageOK(tiff.get(), reason) == 0) FailUnsupported(reason);
  uint32_t width = 0, height = 0;
  if (TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) != 1 ||
      TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) != 1)
    fail();
  LeaveColors(tiff.get());
  uint8_t* pixels = sink.Allocate(height, width);
  const uint64_t count = uint64_t{height} * width;
  auto* raster = static_cast<uint32_t*>(sink.Scratch(count * sizeof(uint32_t) + PartBytes(tiff.get())));
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, raster, ORIENTATION_TOPLEFT, 1) == 0) fail();
  for (uint64_t i = 0; i < count; ++i, pixels += 3) {
    pixels[0] = static_cast<uint8_t>(TIFFGetR(raster[i]));
    pixels[1] = static_cast<uint8_t>(TIFFGetG(raster[i]));
    pixels[2] = static_cast<uint8_t>(TIFFGetB(raster[i]));
  }
}

}  // namespace epiphyte::cpu::images
