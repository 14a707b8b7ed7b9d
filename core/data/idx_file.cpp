// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/idx_file.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "core/base/units.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::format_count;
using base::Result;

constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 33;
constexpr std::int64_t kMaxSamples = 200'000'000;
constexpr std::uint64_t kMaxFeatures = std::uint64_t{1} << 24;

constexpr const char *kDamagedAdvice = "Download or copy the file again.",
                     *kHeaderAdvice =
                         "Correct the header (big-endian numbers), or download the "
                         "file again.";

Result<void> read_exactly(ByteSource& source, std::span<std::uint8_t> bytes, const char* what) {
  return source.read(bytes).and_then([&](std::size_t got) -> Result<void> {
    if (got == bytes.size()) return {};
    return fail(source.problem(fmt::format("the file is truncated: it ends within its {}", what),
                               "", "Download or copy it again."));
  });
}

// Checks the extents in the header one by one, so that no product of extents can overflow.
Result<void> check_extents(const IdxFile& file) {
  std::uint64_t elements = 1;
  for (const std::int64_t extent : file.extents) {
    if (extent == 0)
      return fail(file.source.problem("the header states an extent of 0", "extents of 1 or more",
                                      kHeaderAdvice));
    if (static_cast<std::uint64_t>(extent) > kMaxElements / elements)
      return fail(file.source.problem(
          fmt::format("the header states more than {} elements", format_count(kMaxElements)),
          "fewer elements", kHeaderAdvice));
    elements *= static_cast<std::uint64_t>(extent);
  }
  if (elements / static_cast<std::uint64_t>(file.extents[0]) > kMaxFeatures)
    return fail(
        file.source.problem(fmt::format("the header states more than {} features per sample",
                                        format_count(kMaxFeatures)),
                            "fewer features", kHeaderAdvice));
  if (elements * file.width() > file.source.max_bytes())
    return fail(file.source.problem(
        fmt::format("the header states {} elements, but the file is too small for them",
                    format_count(static_cast<std::int64_t>(elements))),
        "as many elements as the header states", kDamagedAdvice));
  if (file.extents[0] > kMaxSamples)
    return fail(file.source.problem(
        fmt::format("the header states {} samples", format_count(file.extents[0])),
        fmt::format("at most {}", format_count(kMaxSamples)), kHeaderAdvice));
  return {};
}

std::string in_hex(std::array<std::uint8_t, 4> word) {
  char text[12];
  std::snprintf(text, sizeof text, "%02x %02x %02x %02x", word[0], word[1], word[2], word[3]);
  return text;
}

std::string accepted_magic(int min_rank, int max_rank) {
  return fmt::format(
      "00 00, a byte for the element type (08, 09, 0b, 0c, 0d or 0e), and the number of dimensions "
      "({} to {})",
      min_rank, max_rank);
}

// Returns advice if the file seems to be the other file of a data set.
std::string swap_advice(int found_rank, int min_rank) {
  const bool expects_labels = min_rank == 1;
  return found_rank == 1 || expects_labels ? "Are the files of images and labels swapped?" : "";
}

}  // namespace

std::size_t element_bytes(std::uint8_t code) {
  switch (static_cast<ElementType>(code)) {
    case ElementType::uint8:
    case ElementType::int8: return 1;
    case ElementType::int16: return 2;
    case ElementType::int32:
    case ElementType::float32: return 4;
    case ElementType::float64: return 8;
  }
  return 0;
}

double element_value(ElementType type, const std::uint8_t* bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < element_bytes(static_cast<std::uint8_t>(type)); ++i)
    word = word << 8 | bytes[i];
  switch (type) {
    case ElementType::uint8: return static_cast<double>(word);
    case ElementType::int8: return static_cast<std::int8_t>(word);
    case ElementType::int16: return static_cast<std::int16_t>(word);
    case ElementType::int32: return static_cast<std::int32_t>(word);
    case ElementType::float32: return std::bit_cast<float>(static_cast<std::uint32_t>(word));
    case ElementType::float64: return std::bit_cast<double>(word);
  }
  return 0;
}

Result<IdxFile> open_idx_file(const std::filesystem::path& path, int min_rank, int max_rank) {
  auto source = ByteSource::open(path);
  if (!source) return fail(source.error());
  IdxFile file{std::move(*source), {}, {}};
  std::array<std::uint8_t, 4> word{};
  if (auto read = read_exactly(file.source, word, "header"); !read) return fail(read.error());
  const std::string_view start(reinterpret_cast<const char*>(word.data()), word.size());
  if (start.starts_with('<'))
    return fail(
        file.source.problem("the file begins with \"<\", as a web page does, so it is not an "
                            "IDX file",
                            accepted_magic(min_rank, max_rank), "Download the file again."));
  if (word[0] != 0 || word[1] != 0 || element_bytes(word[2]) == 0)
    return fail(file.source.problem(
        fmt::format("the file begins with {}, so it is not an IDX file", in_hex(word)),
        accepted_magic(min_rank, max_rank), "Name an IDX file, or set data.kind to csv."));
  if (word[3] < min_rank || word[3] > max_rank)
    return fail(file.source.problem(
        fmt::format("the file has {}", base::counted(std::int64_t{word[3]}, "dimension")),
        fmt::format("{} to {} dimensions, the first of them samples", min_rank, max_rank),
        swap_advice(word[3], min_rank)));
  file.type = static_cast<ElementType>(word[2]);
  for (int dimension = word[3]; dimension > 0; --dimension) {
    if (auto read = read_exactly(file.source, word, "header"); !read) return fail(read.error());
    file.extents.push_back(std::int64_t{word[0]} << 24 | std::int64_t{word[1]} << 16 |
                           std::int64_t{word[2]} << 8 | std::int64_t{word[3]});
  }
  return check_extents(file).map([&] { return std::move(file); });
}

Result<void> read_rows(
    IdxFile& file,
    const std::function<void(std::int64_t sample, std::span<const std::uint8_t> row)>& use) {
  std::vector<std::uint8_t> row(file.row() * file.width());
  for (std::int64_t sample = 0; sample < file.extents[0]; ++sample) {
    if (auto read = read_exactly(file.source, row, "elements"); !read) return read;
    use(sample, std::span<const std::uint8_t>(row));
  }
  std::uint8_t extra = 0;
  return file.source.read({&extra, 1}).and_then([&](std::size_t got) -> Result<void> {
    if (got == 0) return {};
    return fail(
        file.source.problem(fmt::format("bytes follow the {} elements that the header states",
                                        format_count(static_cast<std::int64_t>(file.elements()))),
                            "no more elements than the header states", kDamagedAdvice));
  });
}

std::optional<base::Problem> wrong_number(const IdxFile& file, std::int64_t sample,
                                          std::span<const std::uint8_t> row) {
  if (file.type != ElementType::float32 && file.type != ElementType::float64) return std::nullopt;
  for (std::size_t at = 0; at < row.size(); at += file.width())
    if (!(std::abs(element_value(file.type, row.data() + at)) <= std::numeric_limits<float>::max()))
      return file.source.problem(
          fmt::format("sample {} contains a number that is not finite or too large",
                      format_count(sample)),
          "numbers up to 3.4e+38", "Remove the sample from both files, or correct the number.");
  return std::nullopt;
}

Result<void> check_complete(IdxFile& file, const std::filesystem::path& path) {
  struct Version {
    std::uintmax_t size = 0;
    std::filesystem::file_time_type written;
    bool operator==(const Version&) const = default;
  };
  static std::mutex mutex;
  static std::map<std::filesystem::path, Version> checked;
  std::error_code error;
  const Version now{std::filesystem::file_size(path, error),
                    std::filesystem::last_write_time(path, error)};
  const auto absolute = std::filesystem::absolute(path, error);
  {
    const std::scoped_lock lock(mutex);
    if (const auto known = checked.find(absolute);
        !error && known != checked.end() && known->second == now)
      return {};
  }
  std::optional<base::Problem> wrong;
  auto read = read_rows(file, [&](std::int64_t sample, std::span<const std::uint8_t> row) {
    if (!wrong) wrong = wrong_number(file, sample, row);
  });
  if (!read) return read;
  if (wrong) return fail(*wrong);
  const std::scoped_lock lock(mutex);
  if (!error) checked[absolute] = now;
  return {};
}

}  // namespace trainyard::data
