// SPDX-License-Identifier: GPL-3.0-or-later
// Data files for tests: a folder that goes away, and the bytes of IDX and gzip.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/data/dataset.h"

namespace trainyard::data {

class Folder {
 public:
  Folder() {
    std::string pattern = (place() / "trainyard-data-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  // Uses shared memory if Linux provides it: these tests write thousands of small files.
  static std::filesystem::path place() {
    const std::filesystem::path memory = "/dev/shm";
    return access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

inline std::string idx(std::initializer_list<std::uint32_t> extents, const std::string& elements) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(extents.size())};
  for (const std::uint32_t extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(extent >> shift);
  return bytes + elements;
}

inline std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// Opens a data set of a kind that reads no files.
inline std::shared_ptr<const Dataset> make(const DataSpec& spec) { return open(spec, "").value(); }

struct Samples {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
};

inline Samples read(const Dataset& set, Split split, std::vector<std::int64_t> indices) {
  Samples samples{
      std::vector<float>(indices.size() * static_cast<std::size_t>(set.summary().features())),
      std::vector<std::int32_t>(indices.size())};
  set.fill(split, indices, samples.features, samples.labels);
  return samples;
}

inline Samples read_all(const Dataset& set, Split split) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(
      split == Split::train ? set.summary().train_samples : set.summary().held_out_samples));
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  return read(set, split, std::move(indices));
}

inline std::pair<double, double> mean_and_deviation(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const float value : values) sum += value, squares += double{value} * value;
  const double count = static_cast<double>(values.size()), mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

}  // namespace trainyard::data
